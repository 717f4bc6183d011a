"""What the relay and its server say to each other: frames of a letter, a length and bytes. Both sides import this.

server to relay   RUN (words: cwd, title, number of arguments, the arguments, NAME=value ...)
                  INPUT (bytes as typed), SIZE (words: rows, columns)
relay to server   HELLO (words: token, pid), STARTED (words: pid), FAILED (words: errno, reason), OUTPUT (bytes),
                  WAITS (words: 1 when the command waits for input, 0 when no more), CLOSED (the user closed the
                  terminal), EXIT (words: code as of subprocess, 1 when something still holds the terminal open)
"""

from __future__ import annotations

import os

RUN, INPUT, SIZE = b"R", b"I", b"Z"
HELLO, STARTED, FAILED, OUTPUT, WAITS, CLOSED, EXIT = b"H", b"S", b"F", b"O", b"W", b"C", b"X"

HEAD_BYTES = 5
MAX_BYTES = 16 * 1024 * 1024
"""Of one frame; what a system takes as arguments and environment is less."""


def frame(kind: bytes, payload: bytes = b"") -> bytes:
    return kind + len(payload).to_bytes(4, "big") + payload


def words_frame(kind: bytes, *words: str | int) -> bytes:
    return frame(kind, b"\0".join(os.fsencode(str(word)) for word in words))


def words(payload: bytes) -> list[str]:
    """What `words_frame` was given. No argument and no variable of a program can hold a NUL."""
    return [os.fsdecode(word) for word in payload.split(b"\0")]


class Frames:
    """Takes bytes as they come, gives frames when they are whole."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """
        Raises:
            ValueError: the other side does not speak this.
        """
        self._held += data
        found: list[tuple[bytes, bytes]] = []
        while len(self._held) >= HEAD_BYTES:
            size = int.from_bytes(self._held[1:HEAD_BYTES], "big")
            if size > MAX_BYTES:
                raise ValueError(f"a frame of {size} bytes")
            end = HEAD_BYTES + size
            if len(self._held) < end:
                break
            found.append((bytes(self._held[:1]), bytes(self._held[HEAD_BYTES:end])))
            del self._held[:end]
        return found
