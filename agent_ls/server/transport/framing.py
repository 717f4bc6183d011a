"""Pure: parse and build frames. Independent of JSON and of pipes.

A frame is `Content-Length: N`, optionally `Content-Type`, an empty line, then N bytes (LSP, base protocol). Headers
are parsed strictly. After a bad header the start of the next message is unknown: the parser searches for the next
header, and messages between them are lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent_ls.patterns import regex
from agent_ls.server.transport.large_messages import HEAD_BYTES, TAIL_BYTES, LargeMessage

MAX_BODY_BYTES = 64 * 1024 * 1024
"""The body of a larger message is skipped. It has a document that nobody edits, or comes from a broken or
hostile client.
"""

MAX_HEADER_BYTES = 4096

_LENGTH = regex(rb"[0-9]{1,10}\Z")
_NEXT_HEADER = regex(rb"(?:(?<=\r\n\r\n)|(?<!\n))content-length:", re.IGNORECASE)
_HEADER_START_BYTES = len(b"\r\n\r\nContent-Length")
_CHARSET = regex(rb"charset\s*=\s*\"?([\w-]+)", re.IGNORECASE)


class FrameError(Exception):
    """The header is invalid or announces too many bytes. The following data cannot be parsed."""


@dataclass(slots=True)
class _Skipped:
    """A body above the limit, while it is being skipped."""

    size: int
    seen: int = 0
    head: bytes = b""
    tail: bytes = b""


class FrameParser:
    """Parser that turns chunks of bytes, of any size, into whole message bodies."""

    def __init__(self, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._max_body_bytes = max_body_bytes
        self._buffer = bytearray()
        self._length: int | None = None
        self._skipped: _Skipped | None = None
        self.on_large: Callable[[LargeMessage], None] | None = None
        """Called for each message above the limit, whose body is skipped. None: such a message is an error."""
        self.on_bad_header: Callable[[str], None] | None = None
        """Called with the reason for each bad header, before the search for the next one. None: it is an error."""
        self._is_searching = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Add bytes and yield the complete bodies.

        Raises:
            FrameError: a header is invalid; raised after the bodies before this header were yielded.
        """
        self._buffer += data
        while not self._is_searching or self._find_header():
            try:
                body = self._maybe_body()
            except FrameError as error:
                if self.on_bad_header is None:
                    raise
                self._is_searching = True
                del self._buffer[:1]
                self.on_bad_header(str(error))
                continue
            if body is None:
                return
            yield body

    def _find_header(self) -> bool:
        """Drop bytes up to the next header. Return whether there is one."""
        # After a single line break, Content-Length is another line of the bad header, not the start of a message.
        found = _NEXT_HEADER.search(self._buffer)
        del self._buffer[: found.start() if found else max(0, len(self._buffer) - _HEADER_START_BYTES)]
        self._is_searching = found is None
        return found is not None

    def _maybe_body(self) -> bytes | None:
        if self._skipped is not None:
            self._skip(self._skipped)
        if self._length is None and self._skipped is None:
            self._length = self._maybe_length()
        if self._length is None or len(self._buffer) < self._length:
            return None
        body = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        self._length = None
        return body

    def _maybe_length(self) -> int | None:
        while self._buffer.startswith(
            (b"\r", b"\n")
        ):  # as in HTTP: blank lines before a message mean nothing
            del self._buffer[:1]
        end = self._buffer.find(b"\r\n\r\n", 0, MAX_HEADER_BYTES)
        if end < 0:
            if len(self._buffer) >= MAX_HEADER_BYTES or b"\n\n" in self._buffer:
                raise FrameError("the message header has no end")
            return None
        length = _content_length(bytes(self._buffer[:end]))
        if length > self._max_body_bytes and self.on_large is None:
            raise FrameError(f"the message has {length} bytes, but the limit is {self._max_body_bytes}")
        del self._buffer[: end + 4]
        if length > self._max_body_bytes:
            self._skipped = _Skipped(length)
            self._skip(self._skipped)
            return self._maybe_length() if self._skipped is None else None
        return length

    def _skip(self, skipped: _Skipped) -> None:
        """Remove the body's bytes from the buffer, and keep only its first and last bytes."""
        part = bytes(self._buffer[: skipped.size - skipped.seen])
        del self._buffer[: len(part)]
        skipped.seen += len(part)
        skipped.head += part[: HEAD_BYTES - len(skipped.head)]
        skipped.tail = (skipped.tail + part)[-TAIL_BYTES:]
        if skipped.seen == skipped.size:
            self._skipped = None
            if self.on_large:
                self.on_large(LargeMessage(skipped.head, skipped.tail, skipped.size))


def _content_length(header: bytes) -> int:
    length: int | None = None
    for line in header.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        name, value = name.strip().lower(), value.strip()
        if not colon or not name:
            raise FrameError("the message header has a line without a name")
        if name == b"content-length":
            if length is not None or not _LENGTH.match(value):
                raise FrameError("Content-Length is not a number")
            length = int(value)
        elif name == b"content-type" and (found := _CHARSET.search(value)):
            if found[1].lower() not in (b"utf-8", b"utf8"):
                raise FrameError("the charset of Content-Type is not UTF-8")
    if length is None:
        raise FrameError("the message header has no Content-Length")
    return length


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
