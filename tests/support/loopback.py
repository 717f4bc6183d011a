"""HTTP servers on 127.0.0.1 with the API of each provider. They answer from a script and refuse invalid requests.

    with AnthropicServer([[Text("I look."), ToolCall("read_file", {"path": "a.py"})], "Done."]) as server:
        ...  # point ANTHROPIC_BASE_URL (or ProviderSettings.base_url) at server.base_url, any key will do
        assert server.requests[1].body["messages"][-1]["role"] == "user"

A server runs in a thread with its own loop, so it serves async tests, sync tests and other processes alike, and
needs nothing but the standard library. The script is a list with one answer for each good request, or a function
from the request's body to its answer. An answer is a list of parts (`Text`, `Reasoning`, `ToolCall`, ...; see
tests/loopback/script.py), a string (one text), a `Reply` (parts with a stop reason, usage, headers), an
`ErrorReply`, or `DropConnection()`. Among the parts, a `Gate` holds the stream until the test opens it, and
`CutStream`, `DropConnection` and `MidStreamError` end it with a fault. The answer is streamed if the request has
`stream`.

Every request is recorded (`server.requests`: body, headers, and `disconnected`, set if the client disconnects during
the answer) and checked as the real service does: roles, empty texts, a result directly after each call, known
ids, reasoning unchanged and with the item after it, required and unknown keys. An invalid request gets the service's
400, consumes no answer of the script, and makes the `with` block fail at its end, unless `allow_violations` is set.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import responses
from types import TracebackType
from typing import Any, Protocol, Self

from tests.loopback.anthropic import AnthropicWire
from tests.loopback.chat import ChatWire
from tests.loopback.gemini import WRONG_KEY, GeminiWire
from tests.loopback.openai import OpenAIResponsesWire
from tests.loopback.script import (
    DEADLINE_S,
    Answer,
    CutStream,
    DropConnection,
    ErrorReply,
    Event,
    Gate,
    Item,
    Json,
    MidStreamError,
    Reasoning,
    Reply,
    Script,
    Text,
    ToolCall,
    Violation,
    as_reply,
)

__all__ = [
    "AnthropicServer", "OpenAIResponsesServer", "ChatServer", "GeminiServer", "LoopbackProvider", "Recorded",
    "Text", "Reasoning", "ToolCall", "Event", "Gate", "CutStream", "DropConnection", "MidStreamError",
    "Reply", "ErrorReply", "Answer", "Script", "Item",
]  # fmt: skip


class Wire(Protocol):
    """One provider's format. `check` raises Violation for an invalid request.

    `steps` yields the frames of a stream, and between them the gates and faults of the script.
    """

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def base_path(self) -> str: ...
    def key_of(self, headers: Mapping[str, str]) -> str: ...
    def check(self, body: Json, headers: Mapping[str, str]) -> None: ...
    def whole(self, reply: Reply, body: Json) -> Json: ...
    def steps(self, reply: Reply, body: Json) -> Iterator[bytes | Gate | CutStream | DropConnection]: ...
    def error_body(self, error: ErrorReply) -> Json: ...


@dataclass
class Recorded:
    """One received request. Header names are lower case. `status` is the status of the answer (0: no
    answer)."""

    path: str
    headers: Mapping[str, str]
    body: Any
    method: str = "POST"
    status: int = 0
    finished: threading.Event = field(default_factory=threading.Event)
    disconnected: threading.Event = field(default_factory=threading.Event)

    def wait_disconnected(self) -> None:
        assert self.disconnected.wait(DEADLINE_S), "the client did not close the connection"


class _Reader(asyncio.StreamReader):
    """A reader that detects at once that the client has disconnected, even if no read is pending."""

    def __init__(self) -> None:
        super().__init__(limit=2**26)
        self.gone = asyncio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.gone.set()

    def set_exception(self, exc: BaseException) -> None:
        super().set_exception(exc)  # type: ignore[arg-type]  # typeshed narrows what asyncio passes
        self.gone.set()


class _Protocol(asyncio.StreamReaderProtocol):
    """The protocol of one connection, whose transport is in `transports` while it is open."""

    def __init__(self, transports: set[asyncio.Transport], handle: Callable[..., Awaitable[None]]) -> None:
        super().__init__(_Reader(), handle)
        self._transports = transports

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._mine = transport
        self._transports.add(transport)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transports.discard(self._mine)
        super().connection_lost(exc)


class LoopbackProvider:
    """A server for one wire format. `key` "" accepts any key.

    `models`: the known models; a request for another model gets a 404. None: all models are known.

    `chunk_bytes` cuts the stream into writes of that size (0: a write per frame). `port` 0: a free port.
    """

    def __init__(
        self,
        wire: Wire,
        script: Script,
        *,
        key: str = "",
        models: frozenset[str] | None = None,
        chunk_bytes: int = 0,
        allow_violations: bool = False,
        port: int = 0,
    ) -> None:
        self.requests: list[Recorded] = []
        self.violations: list[str] = []
        self.listed: Json | None = None
        """The answer to a GET request, for example for the list of models; None: 404."""
        self._wire = wire
        self._script = script
        self._played = 0
        self._key = key
        self._models = models
        self._chunk_bytes = chunk_bytes
        self._allow_violations = allow_violations
        self._changed = threading.Condition()
        self._ready = threading.Event()
        self._port = port
        self._connections: set[asyncio.Task[None]] = set()
        self._transports: set[asyncio.Transport] = set()
        self.connections_opened = 0

    # --- for the test

    @property
    def base_url(self) -> str:
        """Return the URL in the form that the provider's environment variable has."""
        return f"http://127.0.0.1:{self._port}{self._wire.base_path}"

    def wait_for_requests(self, count: int) -> None:
        """Block until `count` requests have been received."""
        with self._changed:
            are_received = self._changed.wait_for(lambda: len(self.requests) >= count, DEADLINE_S)
        assert are_received, f"{len(self.requests)} of {count} requests were received"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve()), name="loopback", daemon=True
        )
        self._thread.start()
        assert self._ready.wait(DEADLINE_S), "the loopback server did not start"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(DEADLINE_S)
        if error is None and not self._allow_violations:
            assert not self.violations, f"{self._wire.name} would have refused: {self.violations}"

    # --- the server

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()

        def protocol() -> asyncio.StreamReaderProtocol:
            return _Protocol(self._transports, self._connection)

        server = await self._loop.create_server(protocol, "127.0.0.1", self._port)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        for transport in tuple(self._transports):  # also of connections whose task has not begun
            transport.abort()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        assert isinstance(reader, _Reader)
        self._connections.add(task)
        self.connections_opened += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client disconnected, or the test has ended
        except Exception as error:
            self.violations.append(f"the loopback server itself failed: {error!r}")
        finally:
            self._connections.discard(task)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _exchange(self, reader: _Reader, writer: asyncio.StreamWriter) -> bool:
        """Handle one request; return False when the connection has ended."""
        request = await _read_request(reader)
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
        answering = asyncio.ensure_future(self._answer(request, writer))
        leaving = asyncio.ensure_future(reader.gone.wait())
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            # If the client disconnects during a write, the write fails first.
            if answering.done() and not isinstance(answering.exception(), ConnectionError):
                return answering.result()
            request.disconnected.set()
            return False
        finally:
            for task in (answering, leaving):
                task.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)
            request.finished.set()

    async def _answer(self, request: Recorded, writer: asyncio.StreamWriter) -> bool:
        if request.method == "GET":
            request.status = 200 if self.listed is not None else 404
            await _send_whole(writer, request.status, self.listed or {}, {})
            return True
        answer = self._refusal(request) or self._next(request.body)
        match answer:
            case DropConnection():
                writer.transport.abort()
                return False
            case ErrorReply(status, body, headers):
                request.status = status
                content = self._wire.error_body(answer) if body is None else body
                await _send_whole(writer, status, content, headers)
                return True
            case Reply():
                request.status = 200
                send = self._stream if request.body.get("stream") else self._whole
                return await send(answer, request.body, writer)

    def _refusal(self, request: Recorded) -> ErrorReply | None:
        try:
            self._check(request)
        except Violation as bad:
            if bad.status == 401 and isinstance(self._wire, GeminiWire):
                return ErrorReply(400, WRONG_KEY)
            if bad.status == 400:
                self.violations.append(bad.message)
            return ErrorReply(
                bad.status, kind=bad.kind, message=bad.message, headers={"x-should-retry": "false"}
            )
        return None

    def _check(self, request: Recorded) -> None:
        key = self._wire.key_of(request.headers)
        if not key or (self._key and key != self._key):
            raise Violation("invalid key", status=401)
        if not isinstance(request.body, dict):
            raise Violation("the body is not a JSON object")
        if isinstance(self._wire, GeminiWire):
            request.body = self._wire.route(request.path, request.body) or request.body
        if not (request.path == self._wire.path or ("model" in request.body and self._wire.name == "gemini")):
            raise Violation(f"no such address: {request.path}", status=404)
        if self._models is not None and request.body.get("model") not in self._models:
            raise Violation(f"model: {request.body.get('model')} does not exist", status=404)
        self._wire.check(request.body, request.headers)

    def _next(self, body: Json) -> Reply | ErrorReply | DropConnection:
        if callable(self._script):
            return as_reply(self._script(body))
        self._played += 1
        if self._played > len(self._script):
            return ErrorReply(500, message="the script of this test has no more answers", headers=_FINAL)
        return as_reply(self._script[self._played - 1])

    async def _whole(self, reply: Reply, body: Json, writer: asyncio.StreamWriter) -> bool:
        for item in reply.items:
            if isinstance(item, Gate):
                await item.passed()
            elif isinstance(item, DropConnection):
                writer.transport.abort()
                return False
            elif isinstance(item, MidStreamError):
                error = ErrorReply(500, kind=item.kind, message=item.message)
                await _send_whole(writer, 500, self._wire.error_body(error), {})
                return True
        text = json.dumps(self._wire.whole(reply, body), ensure_ascii=False)
        is_cut = any(isinstance(item, CutStream) for item in reply.items)
        await _send_whole(writer, 200, text[: len(text) // 2] if is_cut else text, reply.headers)
        return True

    async def _stream(self, reply: Reply, body: Json, writer: asyncio.StreamWriter) -> bool:
        headers = {
            "content-type": "text/event-stream; charset=utf-8",
            "transfer-encoding": "chunked",
            **reply.headers,
        }
        writer.write(_head(200, headers))
        for step in self._wire.steps(reply, body):
            if isinstance(step, DropConnection):
                await writer.drain()
                writer.transport.abort()
                return False
            if isinstance(step, Gate):
                await step.passed()
            elif isinstance(step, bytes):
                await self._write(step, writer)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _write(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        size = self._chunk_bytes or len(data)
        for start in range(0, len(data), size):
            chunk = data[start : start + size]
            writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            await writer.drain()


_FINAL = {"x-should-retry": "false"}


class AnthropicServer(LoopbackProvider):
    """Messages at `POST /v1/messages`; `base_url` is for ANTHROPIC_BASE_URL."""

    def __init__(self, script: Script, **options: Any) -> None:
        super().__init__(AnthropicWire(), script, **options)


class OpenAIResponsesServer(LoopbackProvider):
    """Responses at `POST /v1/responses`; `base_url` is for OPENAI_BASE_URL."""

    def __init__(self, script: Script, **options: Any) -> None:
        super().__init__(OpenAIResponsesWire(), script, **options)


class GeminiServer(LoopbackProvider):
    """generateContent at `POST /v1beta/models/MODEL:...`; `base_url` is for GEMINI_BASE_URL."""

    def __init__(self, script: Script, **options: Any) -> None:
        super().__init__(GeminiWire(), script, **options)


class ChatServer(LoopbackProvider):
    """Chat Completions at `POST /v1/chat/completions`; `tools` False: its model does not support tools."""

    def __init__(self, script: Script, *, tools: bool = True, **options: Any) -> None:
        super().__init__(ChatWire(tools=tools), script, **options)


async def _read_request(reader: asyncio.StreamReader) -> Recorded:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *rest = head.rstrip().split("\r\n")
    headers: dict[str, str] = {}
    for name, _, value in (entry.partition(":") for entry in rest):
        key = name.strip().lower()  # a repeated header is a list, as in HTTP
        headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
    data = await reader.readexactly(int(headers.get("content-length", "0")))
    try:
        body = json.loads(data)
    except ValueError:
        body = None
    method, path, _ = line.split(" ")
    return Recorded(path, headers, body, method)


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [
        f"HTTP/1.1 {status} {responses.get(status, 'Answer')}",
        *(f"{k}: {v}" for k, v in headers.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _send_whole(
    writer: asyncio.StreamWriter, status: int, body: Json | str, headers: Mapping[str, str]
) -> None:
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    data = text.encode()
    kind = {"content-type": "application/json", "content-length": str(len(data))}
    writer.write(_head(status, {**kind, **headers}) + data)
    await writer.drain()
