"""Mend the bodies of a server's HTTP answers: event streams with other data, lists of messages, byte order marks."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator

import httpx2

BOM = b"\xef\xbb\xbf"
MAX_EVENT_BYTES = 16 * 1024 * 1024
_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")


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

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest = b""
        async for data in super().__aiter__():
            rest += data
            while found := _END.search(rest):
                event, rest = rest[: found.end()], rest[found.end() :]
                yield mended_event(event)
            if len(rest) > MAX_EVENT_BYTES:  # the SDK refuses it
                yield rest
                rest = b""
        yield mended_event(rest + b"\n\n") if rest.strip() else b""


class ListAsEvents(MendedBody):
    """A list of messages in JSON as events."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = b"".join([data async for data in super().__aiter__()])
        yield b"".join(_events_of(body, b""))


def mended_event(event: bytes) -> bytes:
    """Return an event, b"" if it has no message and no id, and several events if it has several messages."""
    lines = event.splitlines()
    data = b"\n".join(line[5:].strip() for line in lines if line.startswith(b"data:"))
    if not data or (data.startswith(b"{") and b'"jsonrpc"' in data):
        return event
    kept = b"".join(line + b"\n" for line in lines if line.startswith((b"id:", b"retry:")))
    return b"".join(_events_of(data, kept)) or (kept + b"data:\n\n" if kept else b"")


def _events_of(data: bytes, head: bytes) -> Iterator[bytes]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return
    for message in found if isinstance(found, list) else [found]:
        if isinstance(message, dict) and "jsonrpc" in message:
            yield head + b"data: " + json.dumps(message).encode() + b"\n\n"
