"""Accept clients of the local channel (docs/panel.md). Each must send the token first."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import anyio
import anyio.to_thread
from anyio.abc import SocketStream

from agent_ls.server.channel.client import ChannelClient, read_bodies
from agent_ls.server.channel.paths import listen, read_channel_token, socket_path
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.idempotency import RecentAnswers
from agent_ls.server.rpc.router import Route
from agent_ls.server.transport.framing import FrameError, FrameParser, frame
from agent_ls.server.transport.tcp import MAX_CONNECTIONS, has_token, refusal
from agent_ls.store.locks import make_own_owner

log = logging.getLogger(__name__)

FIRST_MESSAGE_S = 10.0
"""A connection without a first message after this time is closed."""

MAX_BODY_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class LocalChannel:
    """The channel of one server. `context` is the Context of the editor's connection; each client gets a
    copy.

    `answers` runs requests that change something, in tasks of the server. Therefore these requests are
    completed even if their client disconnects. `clean` removes API keys from an encoded message.
    """

    context: Context
    routes: Mapping[str, Route]
    answers: RecentAnswers
    clean: Callable[[bytes], bytes]

    async def run(self) -> None:
        """Serve until cancelled. If the channel cannot be opened, the server runs without a channel."""
        path = socket_path(make_own_owner())
        try:
            token = await anyio.to_thread.run_sync(read_channel_token)
            listener = await listen(path)
        except OSError as error:
            log.info("other processes cannot reach this server: %s", error)
            return
        running = 0

        async def serve(stream: SocketStream) -> None:
            nonlocal running
            running += 1
            try:
                async with stream:
                    if running <= MAX_CONNECTIONS:
                        await self._serve(stream, token)
            except (FrameError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
                log.debug("a connection of the local channel was lost: %s", error)
            except Exception:  # last resort: an error of one client must not end the server
                log.exception("a connection of the local channel failed")
            finally:
                running -= 1

        try:
            async with listener:
                await listener.serve(serve)
        finally:
            path.unlink(missing_ok=True)

    async def _serve(self, stream: SocketStream, token: str) -> None:
        parser = FrameParser(MAX_BODY_BYTES)
        bodies: Sequence[bytes] = ()
        with anyio.move_on_after(FIRST_MESSAGE_S):
            bodies = await read_bodies(stream, parser)
        if not bodies:
            return
        if not has_token(bodies[0], token):
            await stream.send(frame(refusal(bodies[0])))
            return
        client = ChannelClient(self.context, self.routes, self.answers, self.clean, stream)
        await client.run(bodies, parser)
