"""Messages over a pair of pipes. Both ends use this module. It imports only the standard library.

    message = 4 bytes length of the header, header (JSON), body (bytes)
    frame   = 4 bytes length of the piece, 8 bytes message number, 1 byte (1 for the last piece), the piece

A message is cut into pieces of at most PIECE_BYTES, and pieces of several messages may alternate, so that a
large file does not delay a ping.
"""

from __future__ import annotations

import json
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

PIECE_BYTES = 256 * 1024
MESSAGE_LIMIT_BYTES = 1024 * 1024 * 1024
"""Maximum size of all unfinished messages together. If they are longer, reading fails with RemoteFrameError."""
MAX_UNFINISHED = 64
"""Maximum number of messages of which only a part has arrived."""

_FRAME = struct.Struct(">IQB")
_LENGTH = struct.Struct(">I")


class RemoteFrameError(Exception):
    """The other end sent something that is not a frame."""


@dataclass(frozen=True, slots=True)
class RemoteMessage:
    """A message. `header` has at least `kind`. `body` is binary data, which would be larger as JSON."""

    header: Mapping[str, Any]
    body: bytes = b""

    @property
    def kind(self) -> str:
        return str(self.header.get("kind", ""))


def encode(message: RemoteMessage) -> bytes:
    header = json.dumps(message.header, separators=(",", ":")).encode("ascii")
    return _LENGTH.pack(len(header)) + header + message.body


def decode(data: bytes) -> RemoteMessage:
    """Return the message in `data`.

    Raises:
        RemoteFrameError: `data` is not a message.
    """
    try:
        (length,) = _LENGTH.unpack_from(data)
        end = _LENGTH.size + length
        header = json.loads(data[_LENGTH.size : end])
    except (struct.error, ValueError, RecursionError) as error:
        raise RemoteFrameError(f"a message that cannot be read: {error}") from error
    if not isinstance(header, dict) or end > len(data):
        raise RemoteFrameError("a message that is cut off")
    return RemoteMessage(header, data[end:])


def read_messages(file: BinaryIO) -> Iterator[RemoteMessage]:
    """Yield messages until the end of the input. Blocks.

    Raises:
        RemoteFrameError: the input is damaged. OSError, ValueError: the input cannot be read.
    """
    parts: dict[int, list[bytes]] = {}
    waiting = 0
    while head := _read_exactly(file, _FRAME.size):
        length, number, is_last = _FRAME.unpack(head)
        if length > PIECE_BYTES or is_last > 1 or (length < PIECE_BYTES and not is_last):
            raise RemoteFrameError("a frame of a wrong length")
        piece = _read_exactly(file, length)
        if len(piece) < length:
            return  # the input ended within a message
        waiting += length
        parts.setdefault(number, []).append(piece)
        if waiting > MESSAGE_LIMIT_BYTES or len(parts) > MAX_UNFINISHED + is_last:
            raise RemoteFrameError("too many or too long unfinished messages")
        if is_last:
            data = b"".join(parts.pop(number))
            waiting -= len(data)
            yield decode(data)


def _read_exactly(file: BinaryIO, size: int) -> bytes:
    """Read exactly `size` bytes. Return b"" if the input ends before that."""
    chunks = []
    while size > 0 and (chunk := file.read(size)):
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks) if size == 0 else b""


class RemoteOutbox:
    """Sends messages from a thread of its own, so that a slow reader does not block the callers.

    `write` writes all given bytes, or raises OSError. After an error, `on_failure` is called once, in that
    thread.
    """

    def __init__(self, write: Callable[[bytes], object], on_failure: Callable[[str], object]) -> None:
        self._write = write
        self._on_failure = on_failure
        self._ready = threading.Condition()
        self._queue: deque[tuple[int, memoryview]] = deque()
        self._number = 0
        self._waiting_bytes = 0
        self._is_closed = False
        self._is_writing = False
        self._thread = threading.Thread(target=self._run, daemon=True, name="agent-ls-remote-writer")
        self._thread.start()

    @property
    def waiting_bytes(self) -> int:
        """The number of bytes that are not written yet."""
        return self._waiting_bytes

    def send(self, message: RemoteMessage) -> None:
        """Queue a message. After `close`, does nothing."""
        data = memoryview(encode(message))
        with self._ready:
            if self._is_closed:
                return
            self._number += 1
            self._waiting_bytes += len(data)
            self._queue.append((self._number, data))
            self._ready.notify()

    def close(self, wait_seconds: float = 0) -> None:
        """Stop sending. First waits up to `wait_seconds` for queued messages."""
        with self._ready:
            self._ready.wait_for(lambda: not self._queue and not self._is_writing, wait_seconds)
            self._is_closed = True
            self._ready.notify_all()

    def _run(self) -> None:
        while True:
            with self._ready:
                self._is_writing = False
                self._ready.notify_all()
                self._ready.wait_for(lambda: self._queue or self._is_closed)
                if self._is_closed:
                    return
                number, data = self._queue.popleft()
                self._is_writing = True
            piece, rest = data[:PIECE_BYTES], data[PIECE_BYTES:]
            try:
                self._write(_FRAME.pack(len(piece), number, not rest) + bytes(piece))
            except (OSError, ValueError) as error:
                with self._ready:
                    self._is_closed = True
                    self._queue.clear()
                    self._is_writing = False
                    self._ready.notify_all()
                with suppress(Exception):
                    self._on_failure(str(error))
                return
            with self._ready:
                self._waiting_bytes -= len(piece)
                if rest:
                    self._queue.append((number, rest))
