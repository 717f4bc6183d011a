"""Frames (pure): bytes in any pieces to whole messages, and back. Knows no JSON and no pipe.

A frame is `Content-Length: N`, optionally `Content-Type`, an empty line, then N bytes (LSP, base protocol).
The header is read strictly: after a bad one nobody can tell where the next message begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_BODY_BYTES = 64 * 1024 * 1024
"""A larger message is a broken or hostile client; the largest honest one is a document of some megabytes."""

MAX_HEADER_BYTES = 4096

_LENGTH = re.compile(rb"[0-9]{1,10}\Z")
_CHARSET = re.compile(rb"charset\s*=\s*\"?([\w-]+)", re.IGNORECASE)


class FrameError(Exception):
    """The header is no header, or announces too much. What follows cannot be read."""


class FrameParser:
    """Pieces of bytes in, whole bodies out; any chunking gives the same bodies."""

    def __init__(self, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._max_body_bytes = max_body_bytes
        self._buffer = bytearray()
        self._length: int | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """
        Raises:
            FrameError: after the bodies that came before the bad header.
        """
        self._buffer += data
        while (body := self._maybe_body()) is not None:
            yield body

    def _maybe_body(self) -> bytes | None:
        if self._length is None:
            self._length = self._maybe_length()
        if self._length is None or len(self._buffer) < self._length:
            return None
        body = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        self._length = None
        return body

    def _maybe_length(self) -> int | None:
        end = self._buffer.find(b"\r\n\r\n", 0, MAX_HEADER_BYTES)
        if end < 0:
            if len(self._buffer) >= MAX_HEADER_BYTES or b"\n\n" in self._buffer:
                raise FrameError("no end of the header")
            return None
        length = _content_length(bytes(self._buffer[:end]))
        if length > self._max_body_bytes:
            raise FrameError(f"a message of {length} bytes; the limit is {self._max_body_bytes}")
        del self._buffer[: end + 4]
        return length


def _content_length(header: bytes) -> int:
    length: int | None = None
    for line in header.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        name, value = name.strip().lower(), value.strip()
        if not colon or not name:
            raise FrameError("a header line without a name")
        if name == b"content-length":
            if length is not None or not _LENGTH.match(value):
                raise FrameError("Content-Length is no number")
            length = int(value)
        elif name == b"content-type" and (found := _CHARSET.search(value)):
            if found[1].lower() not in (b"utf-8", b"utf8"):
                raise FrameError("only UTF-8 is spoken here")
    if length is None:
        raise FrameError("no Content-Length")
    return length


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
