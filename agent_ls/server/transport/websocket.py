"""Serve clients over WebSocket, on this machine only. Each client has its own server process, as over TCP.

One JSON-RPC message is one text frame; messages are forwarded, not parsed. The token is checked before a process is
started. Clients send the token in the header `Authorization`; web pages, which cannot set headers, send it as
a subprotocol. The token is never part of the URL, because URLs are written to logs. A web page is accepted
only if its origin was configured.
"""

from __future__ import annotations

import hmac
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream, Process, SocketAttribute, SocketStream
from websockets.exceptions import InvalidHandshake
from websockets.frames import CloseCode, Frame, Opcode
from websockets.headers import parse_subprotocol
from websockets.http11 import Request, Response
from websockets.protocol import CONNECTING, OPEN
from websockets.server import ServerProtocol
from websockets.typing import Origin, Subprotocol

from agent_ls.environments.local.processes.ending import kill_and_wait
from agent_ls.patterns import regex
from agent_ls.server.transport.framing import MAX_BODY_BYTES, FrameError, FrameParser, frame
from agent_ls.server.transport.tcp import MAX_CONNECTIONS, SHUTDOWN_S, ListenError, read_token, until_signal

SUBPROTOCOL = Subprotocol("agent-ls")
TOKEN_SUBPROTOCOL = "agent-ls.token."
"""Prefix of the token for clients that cannot set a header. This subprotocol is never selected in the answer.
"""

READ_BYTES = 1 << 16
HANDSHAKE_S = 10.0
"""A connection without a complete handshake after this time is closed."""

CLOSE_S = 2.0
"""Time for the other side to read the reason and to close the connection itself."""

_ORIGIN = regex(r"[a-z][a-z0-9+.-]*://[^/?#@\s*]+\Z")


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """Keep-alive: a ping every `every_s` seconds. If no byte was received during `missed` pings, the client
    counts as disconnected.
    """

    every_s: float = 20.0
    missed: int = 3


@dataclass(frozen=True, slots=True)
class AccessRules:
    """Access control: clients need the token in `token_file`; web pages must have one of `origins`."""

    token_file: Path
    origins: Sequence[str] = ()


def parse_origin(given: str) -> str:
    """Check and normalise the origin of a web page.

    Raises:
        ListenError: `given` is not an origin, or is an origin that any page could have.
    """
    origin = given.rstrip("/").lower()
    if not _ORIGIN.match(origin):
        raise ListenError(
            f"{given!r} is not the origin of a web page: write the origin as https://example.org, without a path"
        )
    return origin


async def listen_websocket(
    address: tuple[str, int],
    access_rules: AccessRules,
    *,
    command: Sequence[str] = (),
    keep_alive: KeepAlive | None = None,
) -> int:
    """Serve until a signal. Returns the exit code of the process. `command` replaces the command that starts
    the agent-ls server.
    """
    host, port = address
    server = [*command] or [sys.executable, "-P", "-m", "agent_ls", "serve", "--stdio"]
    running = 0

    async def serve(stream: SocketStream) -> None:
        nonlocal running
        if running >= MAX_CONNECTIONS:
            sys.stderr.write(f"agent-ls: more than {MAX_CONNECTIONS} connections; one was closed\n")
            await stream.aclose()
            return
        running += 1
        try:
            async with stream:
                await _serve(stream, access_rules, server, keep_alive or KeepAlive())
        finally:
            running -= 1

    async with await anyio.create_tcp_listener(local_host=host, local_port=port) as listener:
        shown = f"[{host}]" if ":" in host else host
        place = f"ws://{shown}:{listener.extra(SocketAttribute.local_port)}/"
        sys.stderr.write(f"agent-ls: listening on {place}, the token is in {access_rules.token_file}\n")
        sys.stderr.flush()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(until_signal, tasks.cancel_scope)
            await listener.serve(serve, tasks)
    return 0


async def _serve(
    stream: SocketStream, access_rules: AccessRules, command: Sequence[str], keep_alive: KeepAlive
) -> None:
    socket = WebSocket(stream, access_rules.origins)
    try:
        with anyio.move_on_after(HANDSHAKE_S):
            token = await anyio.to_thread.run_sync(read_token, access_rules.token_file)
            await socket.do_handshake(partial(_check_token, token))
    except ListenError as error:
        sys.stderr.write(f"agent-ls: {error}\n")
    if socket.is_open:
        await _carry(socket, command, keep_alive)
    await socket.close(CloseCode.NORMAL_CLOSURE)


class WebSocket:
    """A WebSocket connection that receives and sends whole text messages. When the connection ends,
    `messages` ends without an error.
    """

    def __init__(self, stream: SocketStream, origins: Sequence[str] | None) -> None:
        """`origins`: the origins of the web pages that may connect; None: the caller checks the request."""
        # None in the list allows a client that is not a web page
        allowed = None if origins is None else (None, *map(Origin, origins))
        self._stream = stream
        self._protocol = ServerProtocol(origins=allowed, select_subprotocol=_chosen, max_size=MAX_BODY_BYTES)
        self._sending = anyio.Lock()
        self.heard = 0
        """Increases with each chunk received, pongs included."""

    @property
    def is_open(self) -> bool:
        return self._protocol.state is OPEN

    async def do_handshake(self, respond: Callable[[ServerProtocol, Request], Response]) -> None:
        """Read the request and send the response that `respond` returns. If the response is not a handshake,
        or the client disconnects, `is_open` is false afterwards.
        """
        protocol = self._protocol
        while protocol.state is CONNECTING and not protocol.eof_sent and (data := await self._received()):
            protocol.receive_data(data)
            match protocol.events_received():
                case [Request() as request]:
                    protocol.send_response(respond(protocol, request))
                case [_, *_]:  # data before the handshake ends violates the protocol
                    return
            await self._flush()

    async def messages(self) -> AsyncIterator[bytes]:
        """Yield each text message as UTF-8, joined from its fragments."""
        parts = bytearray()
        async for event in self._events():
            if not isinstance(event, Frame) or event.opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                continue
            if event.opcode is Opcode.BINARY:
                await self._fail(CloseCode.UNSUPPORTED_DATA, "each JSON-RPC message must be one text frame")
                return
            parts += event.data
            if event.fin:
                message, parts = bytes(parts), bytearray()
                if not _is_text(message):
                    await self._fail(CloseCode.INVALID_DATA, "the text frame is not valid UTF-8")
                    return
                yield message

    async def send(self, body: bytes) -> None:
        """Send a message. Waits while the other side does not read. After the connection has ended, the
        message is dropped.
        """
        async with self._sending:
            if self.is_open:
                self._protocol.send_text(body)
                await self._write()

    async def ping(self) -> None:
        """Send a ping. Sends nothing while a message is being sent, because the message shows whether the
        other side reads.
        """
        if self.is_open and not self._sending.locked():
            async with self._sending:
                self._protocol.send_ping(b"")
                await self._write()

    async def close(self, code: CloseCode, reason: str = "") -> None:
        """Send a close frame with the reason, wait for the other side to close, and close after CLOSE_S in any
        case.
        """
        with anyio.move_on_after(CLOSE_S, shield=True):
            if self.is_open:
                self._protocol.send_close(code, reason)
            await self._flush()
            # Read until the end: closing a socket with unread data would reset the connection and discard the reason.
            while data := await self._received():
                self._protocol.receive_data(data)
                self._protocol.events_received()
                await self._flush()  # sends what the protocol answers to the other side's close frame
        await self._stream.aclose()

    async def _fail(self, code: CloseCode, reason: str) -> None:
        self._protocol.fail(code, reason)
        await self._flush()

    async def _events(self) -> AsyncIterator[object]:
        while data := await self._received():
            self.heard += 1
            self._protocol.receive_data(data)
            await self._flush()
            for event in self._protocol.events_received():
                yield event
            if self._protocol.close_expected():
                return

    async def _received(self) -> bytes:
        try:
            return await self._stream.receive(READ_BYTES)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return b""

    async def _flush(self) -> None:
        async with self._sending:
            await self._write()

    async def _write(self) -> None:
        try:
            for data in self._protocol.data_to_send():
                if data:
                    await self._stream.send(data)
                else:
                    await self._stream.send_eof()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            return  # the connection is lost; the reader detects this too


async def _carry(socket: WebSocket, command: Sequence[str], keep_alive: KeepAlive) -> None:
    """Forward messages between a client and its own server process; the end of either ends both."""
    process = await anyio.open_process(list(command), stderr=None)
    # The reason to send if no other reason is set below: this process is ending.
    code, reason = CloseCode.GOING_AWAY, "agent-ls ends"
    try:
        async with anyio.create_task_group() as tasks:

            async def until_end(work: Callable[[], Awaitable[None]]) -> None:
                await work()
                tasks.cancel_scope.cancel()

            async def server_speaks() -> None:
                nonlocal code, reason
                await _to_client(process, socket)
                with anyio.move_on_after(SHUTDOWN_S):
                    await process.wait()
                code, reason = (
                    (CloseCode.NORMAL_CLOSURE, "")
                    if process.returncode == 0
                    else (CloseCode.INTERNAL_ERROR, "the server ended; its log has the reason")
                )

            tasks.start_soon(until_end, lambda: _to_server(socket, process))
            tasks.start_soon(until_end, server_speaks)
            tasks.start_soon(until_end, lambda: watch_keep_alive(socket, keep_alive))
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
        await socket.close(code, reason)


async def _to_server(socket: WebSocket, process: Process) -> None:
    assert process.stdin
    async for message in socket.messages():
        # A server that has closed its stdin may still write; its end is detected at its stdout.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            await process.stdin.send(frame(message))


async def _to_client(process: Process, socket: WebSocket) -> None:
    assert process.stdout
    parser = FrameParser()
    try:
        async for data in process.stdout:
            for body in parser.feed(data):
                await socket.send(body)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, FrameError) as error:
        sys.stderr.write(f"agent-ls: the server sent a message that cannot be forwarded: {error}\n")


async def watch_keep_alive(socket: WebSocket, keep_alive: KeepAlive) -> None:
    """Return when nothing was received for too long. A client that has lost its network sends no close frame."""
    heard, missed = -1, 0
    while missed < keep_alive.missed:
        heard, missed = socket.heard, missed + 1 if socket.heard == heard else 0
        with anyio.move_on_after(keep_alive.every_s):
            await socket.ping()
        await anyio.sleep(keep_alive.every_s)


async def _end(process: Process) -> None:
    """Close the server's stdin, so that the server ends in an orderly way; kill the server after SHUTDOWN_S."""
    assert process.stdin and process.stdout
    await process.stdin.aclose()
    async with anyio.create_task_group() as tasks:
        # Read and discard the server's output, so that a full pipe does not keep the server from ending.
        tasks.start_soon(_discard, process.stdout)
        with anyio.move_on_after(SHUTDOWN_S):
            await process.wait()
        await kill_and_wait(process)
        tasks.cancel_scope.deadline = anyio.current_time() + CLOSE_S


async def _discard(output: ByteReceiveStream) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for _ in output:
            pass


def _check_token(token: str, protocol: ServerProtocol, request: Request) -> Response:
    """Return the handshake, or a refusal if the request does not have the token."""
    response = protocol.accept(request)
    if response.status_code != HTTPStatus.SWITCHING_PROTOCOLS or _has_token(request, token):
        return response
    words = "the token is missing or wrong: send the header Authorization: Bearer TOKEN"
    refused = protocol.reject(HTTPStatus.UNAUTHORIZED, f"agent-ls: {words}\n")
    refused.headers["WWW-Authenticate"] = "Bearer"
    return refused


def _has_token(request: Request, token: str) -> bool:
    """Return whether the request has the token. Compares in constant time."""
    words = [value.split(None, 1) for value in request.headers.get_all("Authorization")]
    given = [word[1].strip() for word in words if len(word) == 2 and word[0].lower() == "bearer"]
    given += [
        name.removeprefix(TOKEN_SUBPROTOCOL)
        for name in _list_protocols(request)
        if name.startswith(TOKEN_SUBPROTOCOL)
    ]
    return any(hmac.compare_digest(one.encode("utf-8", "surrogateescape"), token.encode()) for one in given)


def _list_protocols(request: Request) -> list[str]:
    try:
        values = request.headers.get_all("Sec-WebSocket-Protocol")
        return [name for value in values for name in parse_subprotocol(value)]
    except InvalidHandshake:
        return []


def _chosen(protocol: ServerProtocol, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    return SUBPROTOCOL if SUBPROTOCOL in offered else None


def _is_text(message: bytes) -> bool:
    try:
        message.decode()
    except UnicodeDecodeError:
        return False
    return True
