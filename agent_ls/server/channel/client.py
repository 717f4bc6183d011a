"""One client of the local channel: JSON-RPC with the messages of ALLOWED, answered by the sessions of this server."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import anyio
import anyio.abc

from agent_ls.background import task_starter
from agent_ls.loop.ids import new_id
from agent_ls.server.channel.messages import ALLOWED
from agent_ls.server.channel.outbox import Outbox
from agent_ls.server.editor.virtual_documents import VirtualDocuments
from agent_ls.server.lsp.capabilities import ClientAbilities, client_abilities, initialize_result
from agent_ls.server.rpc.access import follow_access
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.event_sender import EventSenders
from agent_ls.server.rpc.idempotency import RecentAnswers
from agent_ls.server.rpc.router import Route, Router
from agent_ls.server.transport.errors import response_error
from agent_ls.server.transport.framing import FrameParser, frame

log = logging.getLogger(__name__)

READ_BYTES = 1 << 16
MAX_RUNNING = 64
"""Maximum number of requests of one client that run at the same time. At this number, no more messages are
read.
"""


async def read_bodies(stream: anyio.abc.ByteReceiveStream, parser: FrameParser) -> Sequence[bytes]:
    """Return the bodies of the next messages; () if the other side has closed the connection.

    Raises:
        FrameError, BrokenResourceError.
    """
    try:
        while True:
            if bodies := list(parser.feed(await stream.receive(READ_BYTES))):
                return bodies
    except anyio.EndOfStream:
        return ()


class ChannelClient:
    """A connection that has sent the valid token in its first message.

    Its `client_id` begins with "panel", so that a session's log names the panel as the origin of a decision.
    """

    def __init__(
        self,
        context: Context,
        routes: Mapping[str, Route],
        answers: RecentAnswers,
        clean: Callable[[bytes], bytes],
        stream: anyio.abc.ByteStream,
    ) -> None:
        self._shared = context
        self._routes = {method: route for method, route in routes.items() if route.params in ALLOWED}
        self._answers = answers
        self._clean = clean
        self._stream = stream
        self._outbox = Outbox(stream)
        self._room = anyio.Semaphore(MAX_RUNNING)

    async def run(self, bodies: Sequence[bytes], parser: FrameParser) -> None:
        """Answer the client's messages until it closes the connection.

        `bodies` are the messages that were already read. The first one is `initialize`.

        Raises:
            FrameError, BrokenResourceError.
        """
        first = json.loads(bodies[0])
        abilities = client_abilities(first["params"])
        async with anyio.create_task_group() as tasks:
            senders = EventSenders(
                send=self._send_events,
                drain=self._outbox.drain,
                start=task_starter(tasks, "sending events to a client of the local channel failed"),
            )
            router = Router(self._routes, self._own_context(abilities, senders), self._answers)
            forget = self._shared.manager.owners.watch(follow_access(senders))
            tasks.start_soon(self._outbox.run)
            try:
                self._send_result(first.get("id"), json.dumps(initialize_result(abilities)).encode())
                bodies = bodies[1:] or await read_bodies(self._stream, parser)
                while bodies:
                    for body in bodies:
                        await self._room.acquire()
                        tasks.start_soon(self._take, body, router)
                    bodies = await read_bodies(self._stream, parser)
            finally:
                forget()
                tasks.cancel_scope.cancel()

    def _own_context(self, abilities: ClientAbilities, senders: EventSenders) -> Context:
        return replace(
            self._shared,
            client=abilities,
            client_id=new_id("panel"),
            senders=senders,
            virtual_documents=VirtualDocuments(_send_nothing, can_refresh=False),
        )

    async def _take(self, body: bytes, router: Router) -> None:
        try:
            await self._answer(body, router)
        finally:
            self._room.release()

    async def _answer(self, body: bytes, router: Router) -> None:
        try:
            message = json.loads(body)
            message_id, method = message.get("id"), message["method"]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            log.warning("a client of the local channel sent a message that is not JSON-RPC")
            return
        try:
            answer = await router.call(method, message.get("params"))
        except Exception as error:
            if message_id is not None:
                self._send_error(message_id, error)
            return
        if message_id is not None:
            self._send_result(message_id, answer.body if answer.is_document else self._clean(answer.body))
        if answer.sent:
            answer.sent()

    def _send_result(self, message_id: object, result: bytes) -> None:
        self._send(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (json.dumps(message_id).encode(), result))

    def _send_error(self, message_id: object, error: Exception) -> None:
        known = response_error(error)
        fields = {"code": known.code, "message": known.message, "data": known.data}
        self._send(self._clean(json.dumps({"jsonrpc": "2.0", "id": message_id, "error": fields}).encode()))

    def _send_events(self, events: Sequence[bytes]) -> None:
        for event in events:
            self._send(b'{"jsonrpc":"2.0","method":"agent/event","params":%b}' % self._clean(event))

    def _send(self, body: bytes) -> None:
        self._outbox.put(frame(body))


def _send_nothing(method: str, params: object) -> Future[Any]:
    raise AssertionError("clients of the channel display no documents of their own")
