"""JSON-RPC over lines: one object per line in both directions, responses matched to requests, cancellation.

This module knows no method of ACP. One thread reads and another writes, so that a client that stops reading,
or never sends, does not block the event loop. All callbacks run on the event loop.
"""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import anyio
import anyio.from_thread
from anyio.abc import TaskGroup
from anyio.lowlevel import current_token

from agent_ls.acp.errors import (
    CANCELLED,
    INTERNAL,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE,
    RpcError,
    error_object,
)

READ_BYTES = 1 << 16
MAX_LINE_BYTES = 64 * 1024 * 1024
HIGH_WATER_BYTES = 128 * 1024
"""If more bytes than this wait to be written, producers of updates wait."""
MAX_SENT_BYTES = 8 * 1024 * 1024
"""Maximum length of a sent line: some clients cut a line at 10 MiB."""
FLUSH_S = 1.0

_CANCELLATIONS = ("session/cancel", "$/cancel_request")
"""Notifications that some clients send as requests."""

Handler: TypeAlias = Callable[[str, Any], Awaitable[Any]]
Id: TypeAlias = int | str


class ClientDisconnectedError(Exception):
    """The client has disconnected, so a request to it gets no answer."""


@dataclass(slots=True)
class _PendingRequest:
    """A request to the client. `answered` is set after `result` or `error` was stored, or without either if the
    client disconnects.
    """

    has_answer: bool = False
    answered: anyio.Event = field(default_factory=anyio.Event)
    result: Any = None
    error: RpcError | None = None


@dataclass(frozen=True, slots=True)
class WireReply:
    """The result of a request, and a function to call after the response was sent."""

    result: Any
    then: Callable[[], object]


class AcpWire:
    """The connection to a client. `clean` removes API keys and other secrets from a line before it is sent.

    A notification is handled at once and in order. A request runs in its own task, and always gets an answer.
    """

    takes_updates_always = False
    """Whether the client reads updates of any kind between prompts. Some clients of version 1 ignore them."""

    def __init__(
        self, writer: LineWriter, group: TaskGroup, *, clean: Callable[[bytes], bytes] = bytes
    ) -> None:
        self._writer = writer
        self._group = group
        self._clean = clean
        self._request: Handler
        self._notice: Callable[[str, Any], None]
        self._ids = 0
        self._asked: dict[int, _PendingRequest] = {}
        self._running: dict[Id, anyio.CancelScope] = {}
        self.is_over = False
        """True if the client has disconnected, or the process is about to end."""

    def handle(self, request: Handler, notice: Callable[[str, Any], None]) -> None:
        """Set the handlers for messages of the client. Call this before the first `handle_line`."""
        self._request = request
        self._notice = notice

    # --- to the client

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request and return its result. If this method is cancelled, the client is asked to cancel
        the request.

        Raises:
            RpcError: the client answered with an error.
            ClientDisconnectedError: the client has disconnected.
        """
        if self.is_over:
            raise ClientDisconnectedError
        self._ids += 1
        asked, number = _PendingRequest(), self._ids
        self._asked[number] = asked
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            await asked.answered.wait()
        except BaseException:
            if not self.is_over:
                self.notify("$/cancel_request", {"requestId": number})
            raise
        finally:
            del self._asked[number]
        if not asked.has_answer:
            raise ClientDisconnectedError
        if asked.error:
            raise asked.error
        return asked.result

    async def drain(self) -> None:
        """Wait until the client has read most of the lines that were sent."""
        await self._writer.drain()

    # --- from the client

    def handle_line(self, line: bytes) -> None:
        """Handle one line. Never raises: an invalid message is answered with an error."""
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._refuse(None, RpcError(PARSE, "The client sent a line that is not JSON"))
            return
        if not isinstance(message, dict):
            self._refuse(
                None, RpcError(INVALID_REQUEST, "The client sent JSON that is not one JSON-RPC message")
            )
            return
        method, id_ = message.get("method"), message.get("id")
        if type(id_) is float and id_.is_integer():  # a client whose language has no whole numbers
            id_ = message["id"] = int(id_)
        if method is None and ("result" in message or "error" in message):
            self._take_answer(message)
        elif not isinstance(method, str) or message.get("jsonrpc", "2.0") != "2.0" or not _is_id(message):
            refused = RpcError(INVALID_REQUEST, "The client sent a message that is not JSON-RPC 2.0")
            self._refuse(id_ if type(id_) in (int, str) else None, refused)
        elif not isinstance(id_, int | str) or method in _CANCELLATIONS:
            self._take_notice(method, message.get("params"))
            if isinstance(id_, int | str):  # some clients send a cancellation as a request
                self._send({"jsonrpc": "2.0", "id": id_, "result": {}})
        elif id_ in self._running:
            self._refuse(
                id_, RpcError(INVALID_REQUEST, "The client reused the id of a request that is still running")
            )
        else:
            scope = self._running[id_] = anyio.CancelScope()
            self._group.start_soon(self._answer, id_, method, message.get("params"), scope)

    def handle_disconnect(self) -> None:
        """Make all waiting `ask` calls raise ClientDisconnectedError, because the client has disconnected."""
        self.is_over = True
        for asked in self._asked.values():
            asked.answered.set()

    async def _answer(self, id_: Id, method: str, params: Any, scope: anyio.CancelScope) -> None:
        response: dict[str, Any] = {"jsonrpc": "2.0", "id": id_}
        then: Callable[[], object] = bool
        try:
            with scope:
                try:
                    result = await self._request(method, params)
                    if isinstance(result, WireReply):
                        result, then = result.result, result.then
                    response["result"] = result
                except Exception as error:  # last resort: every request gets an answer
                    response["error"] = error_object(error)
        finally:
            self._running.pop(id_, None)
        if scope.cancelled_caught:
            response["error"] = {"code": CANCELLED, "message": "The request was cancelled"}
        self._send(response)
        then()

    def _take_notice(self, method: str, params: Any) -> None:
        if method == "$/cancel_request":
            id_ = params.get("requestId") if isinstance(params, dict) else None
            if isinstance(id_, int | str) and (scope := self._running.get(id_)):
                scope.cancel()
            return
        self._notice(method, params)

    def _take_answer(self, message: dict[str, Any]) -> None:
        """Handle an answer of the client. A second answer, or an answer to an unknown request, is ignored."""
        asked = self._asked.get(_our_id(message.get("id")))
        if asked is None or asked.answered.is_set():
            return
        if "error" in message:
            error = message["error"] if isinstance(message["error"], dict) else {}
            code, words = error.get("code"), error.get("message")
            asked.error = RpcError(
                code if type(code) is int else INTERNAL,
                words if isinstance(words, str) else "The client answered with an error that has no message",
            )
        else:
            asked.result = message["result"]
        asked.has_answer = True
        asked.answered.set()

    def _refuse(self, id_: Id | None, error: RpcError) -> None:
        self._send({"jsonrpc": "2.0", "id": id_, "error": error_object(error)})

    def _send(self, message: dict[str, Any]) -> None:
        line = self._clean(
            json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        )
        if len(line) > MAX_SENT_BYTES:
            line = _shorten_line(message)
        self._writer.write(line + b"\n")


def unknown_method(method: str) -> RpcError:
    return RpcError(
        METHOD_NOT_FOUND, "The client sent a request that this version of agent-ls does not know",
        f"Unknown method {method[:100]!r}. The client may be newer than agent-ls: update agent-ls.",
    )  # fmt: skip


def _is_id(message: dict[str, Any]) -> bool:
    return "id" not in message or type(message["id"]) in (int, str)


def _our_id(id_: object) -> int:
    """Return the number of our request that an answer names, also if the client made a text or a float of it."""
    match id_:
        case bool():
            return 0
        case int() | float() if id_ == id_ // 1:
            return int(id_)
        case str() if id_.strip().isdecimal() and len(id_) < 20:
            return int(id_)
    return 0


def _shorten_line(message: dict[str, Any]) -> bytes:
    """Return the line to send instead of a message that is too long for clients.

    The line is an error if the message is a response, else the notification `_agent-ls/left_out`.
    """
    if "method" not in message:
        refused = RpcError(INTERNAL, "The answer is longer than clients can read")
        message = {"jsonrpc": "2.0", "id": message["id"], "error": error_object(refused)}
    else:
        message = {"jsonrpc": "2.0", "method": "_agent-ls/left_out", "params": {"method": message["method"]}}
    return json.dumps(message, separators=(",", ":")).encode()


class LineWriter:
    """Writes lines in a thread, in order. `write` never blocks; after the client disconnected, lines are
    discarded.
    """

    def __init__(self, fd: int, on_broken: Callable[[], None]) -> None:
        self._fd = fd
        self._on_broken = on_broken
        self._token = current_token()
        self._size = 0
        self._lock = threading.Lock()
        self._room = anyio.Event()
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="agent-ls writer", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        with self._lock:
            self._size += len(data)
        self._queue.put(data)

    async def drain(self) -> None:
        while self._size > HIGH_WATER_BYTES:
            self._room = anyio.Event()
            if self._size > HIGH_WATER_BYTES:  # the thread may have written between the two lines above
                await self._room.wait()

    def close(self) -> None:
        """Write the waiting lines, for at most FLUSH_S, because the client may not be reading."""
        self._queue.put(None)
        self._thread.join(FLUSH_S)

    def _run(self) -> None:
        is_broken = False
        while (data := self._queue.get()) is not None:
            try:
                left = memoryview(b"" if is_broken else data)
                while left:
                    left = left[os.write(self._fd, left) :]
            except OSError:
                is_broken = True
                _on_loop(self._token, self._on_broken)
            with self._lock:
                was_high = self._size > HIGH_WATER_BYTES
                self._size -= len(data)
            if was_high and self._size <= HIGH_WATER_BYTES:
                _on_loop(self._token, lambda: self._room.set())


def read_lines(fd: int, rest: bytes, take: Callable[[bytes], None], ended: Callable[[], None]) -> None:
    """Read lines in a daemon thread; `rest` are the bytes already read. `ended` is called at the end in any
    case.
    """
    token = current_token()

    def run() -> None:
        data, looked_at = bytearray(rest), 0
        try:
            while True:
                while (at := data.find(b"\n", looked_at)) >= 0:
                    if not _on_loop(token, partial(take, bytes(data[:at]))):
                        return
                    del data[: at + 1]
                    looked_at = 0
                looked_at = len(data)
                if looked_at > MAX_LINE_BYTES or not (more := os.read(fd, READ_BYTES)):
                    return
                data += more
        except OSError:
            return
        finally:
            _on_loop(token, ended)

    threading.Thread(target=run, name="agent-ls reader", daemon=True).start()


def _on_loop(token: Any, call: Callable[[], Any]) -> bool:
    """Run `call` on the event loop and wait for it. Returns False if the loop has ended."""
    try:
        anyio.from_thread.run_sync(call, token=token)
    except (RuntimeError, anyio.RunFinishedError):
        return False
    return True
