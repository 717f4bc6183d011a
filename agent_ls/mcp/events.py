"""Mend the bodies of a server's HTTP answers: event streams with other data, lists of messages, byte order marks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeAlias

import httpx2

from agent_ls.patterns import regex

BOM = b"\xef\xbb\xbf"
MAX_EVENT_BYTES = 16 * 1024 * 1024
MAX_ERROR_BYTES = 64 * 1024
_END = regex(rb"\r\n\r\n|\n\n|\r\r")

Note: TypeAlias = Callable[[str, str], None]
"""Gets the kind of a remarkable event and its text: "endpoint" (of the obsolete transport), or "error" (an answer that
names no request).
"""


class MendedBody(httpx2.AsyncByteStream):
    """A body without a byte order mark."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        is_first = True
        async for data in self._stream:
            yield data.removeprefix(BOM) if is_first else data
            is_first = False

    async def aclose(self) -> None:
        await self._stream.aclose()


class MendedEvents(MendedBody):
    """A body with the events that have a message. Servers send heartbeats as JSON, put several messages into one event,
    and forget the empty line behind the last one.
    """

    def __init__(self, stream: httpx2.AsyncByteStream, note: Note) -> None:
        super().__init__(stream)
        self._note = note

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest = b""
        async for data in super().__aiter__():
            rest += data
            while found := _END.search(rest):
                event, rest = rest[: found.end()], rest[found.end() :]
                yield mended_event(event, self._note)
            if len(rest) > MAX_EVENT_BYTES:  # the SDK refuses it
                yield rest
                rest = b""
        yield mended_event(rest + b"\n\n", self._note) if rest.strip() else b""


class ListAsEvents(MendedBody):
    """A list of messages in JSON, or an error that names no request, as events."""

    def __init__(self, stream: httpx2.AsyncByteStream, note: Note) -> None:
        super().__init__(stream)
        self._note = note

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = b"".join([data async for data in super().__aiter__()])
        yield b"".join(_events_of(body, b"", self._note))


def mended_event(event: bytes, note: Note) -> bytes:
    """Return an event, b"" if it has no message and no id, and several events if it has several messages."""
    lines = event.splitlines()
    data = b"\n".join(line[5:].strip() for line in lines if line.startswith(b"data:"))
    if any(line.startswith(b"event:") and line[6:].strip() == b"endpoint" for line in lines):
        note("endpoint", data.decode("utf-8", "replace"))
    if not data or (data.startswith(b"{") and b'"jsonrpc"' in data and not is_error_of_none(data)):
        return event
    kept = b"".join(line + b"\n" for line in lines if line.startswith((b"id:", b"retry:")))
    return b"".join(_events_of(data, kept, note)) or (kept + b"data:\n\n" if kept else b"")


def is_error_of_none(data: bytes) -> bool:
    """Return whether this is an error that names no request, also one that is no message of JSON-RPC."""
    return len(data) <= MAX_ERROR_BYTES and b'"error"' in data and _names_no_request(_parsed(data))


def _names_no_request(found: Any) -> bool:
    return (
        isinstance(found, dict)
        and bool(found.get("error"))
        and found.get("id") is None
        and "method" not in found
    )


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _events_of(data: bytes, head: bytes, note: Note) -> Iterator[bytes]:
    found = _parsed(data)
    for message in found if isinstance(found, list) else [found]:
        if _names_no_request(message):
            message = _error_of(message["error"], note)
        if isinstance(message, dict) and "jsonrpc" in message:
            yield head + b"data: " + json.dumps(message).encode() + b"\n\n"


def _error_of(error: Any, note: Note) -> dict[str, Any]:
    """Return an error as the SDK understands it. It answers the request whose answer it is in."""
    raw = error if isinstance(error, dict) else {"message": str(error)}
    words, code = str(raw.get("message") or json.dumps(error)), raw.get("code")
    note("error", words)
    kept = {"code": code if type(code) is int else -32603, "message": words}
    return {"jsonrpc": "2.0", "id": None, "error": kept | ({"data": it} if (it := raw.get("data")) else {})}
