"""A connection of the panel to the local channel of one server (server/channel)."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import anyio.to_thread
from anyio.abc import SocketStream, TaskGroup

from agent_ls.server.channel.paths import connect, read_channel_token
from agent_ls.server.transport.framing import FrameError, FrameParser, frame

READ_BYTES = 1 << 16

Message: TypeAlias = dict[str, Any]

ABILITIES = {"version": 1, "events": True, "review": True, "approvals": True}
GONE: Message = {
    "error": {
        "code": -32000,
        "message": "The program in which this session was open has ended.",
        "data": {"kind": "owner_gone", "retryable": False, "hint": "Take the session over to continue here."},
    }
}


class Link:
    """A connection to one server: sends requests, and passes the server's events to `on_event`.

    `on_end` is called once, when the server is gone.
    """

    def __init__(
        self, stream: SocketStream, on_event: Callable[[Message], None], on_end: Callable[[], None]
    ) -> None:
        self._stream = stream
        self._on_event = on_event
        self._on_end = on_end
        self._ids = itertools.count(1)
        self._waiting: dict[int, Callable[[Message], None]] = {}
        self._sending = anyio.Lock()
        self._has_ended = False

    async def send_hello(self) -> None:
        """Send the token and the capabilities. `run` reads the answer later."""
        token = await anyio.to_thread.run_sync(read_channel_token)
        params = {
            "processId": os.getpid(),
            "clientInfo": {"name": "agent-ls panel"},
            "capabilities": {"experimental": {"agentLs": ABILITIES}},
            "initializationOptions": {"agentLs": {"token": token}},
        }
        await self._send({"id": next(self._ids), "method": "initialize", "params": params})

    async def request(self, method: str, params: Any) -> Message:
        """Send a request and return the response, with `result` or `error`. If the server is gone, return an
        error.
        """
        answer: list[Message] = []
        arrived = anyio.Event()

        def take(message: Message) -> None:
            answer.append(message)
            arrived.set()

        message_id = next(self._ids)
        if self._has_ended:
            return GONE
        self._waiting[message_id] = take
        try:
            await self._send({"id": message_id, "method": method, "params": params})
            await arrived.wait()
        finally:
            self._waiting.pop(message_id, None)
        return answer[0]

    async def run(self) -> None:
        """Read until the server is gone."""
        parser = FrameParser()
        try:
            while True:
                for body in parser.feed(await self._stream.receive(READ_BYTES)):
                    self._take(json.loads(body))
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, FrameError):
            self._has_ended = True
            for take in tuple(self._waiting.values()):
                take(GONE)
            self._on_end()
        finally:
            await self._stream.aclose()

    def _take(self, message: Message) -> None:
        if "method" in message:
            self._on_event(message)
        elif take := self._waiting.get(message.get("id", 0)):
            take(message)

    async def _send(self, message: Message) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        try:
            async with self._sending:
                await self._stream.send(frame(body))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # the reading task also detects the lost connection, and answers waiting requests


async def open_link(
    path: Path, tasks: TaskGroup, on_event: Callable[[Message], None], on_end: Callable[[], None]
) -> Link:
    """Connect to the server that listens on `path`.

    Raises:
        OSError: the server is gone, or has no channel.
    """
    link = Link(await connect(path), on_event, on_end)
    await link.send_hello()
    tasks.start_soon(link.run)
    return link
