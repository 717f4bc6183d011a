"""The protocol between relay and server: frames of a letter, a length and bytes. Both sides import this module.

server to relay   RUN (words: cwd, title, confinement as JSON or empty, file that adds a process to the control
                  group or empty, number of arguments, the arguments, NAME=value ...)
                  INPUT (bytes as typed), SIZE (words: rows, columns)
relay to server   HELLO (words: token, pid), STARTED (words: pid), FAILED (words: errno, reason),
                  OUTPUT (bytes), WAITS (words: 1 when the command waits for input, 0 when it no longer does),
                  CLOSED (the user closed the terminal),
                  EXIT (words: code as in subprocess, 1 if a process still has the terminal open, else 0)
"""

from __future__ import annotations

import os

RUN, INPUT, SIZE = b"R", b"I", b"Z"
HELLO, STARTED, FAILED, OUTPUT, WAITS, CLOSED, EXIT = b"H", b"S", b"F", b"O", b"W", b"C", b"X"

HEAD_BYTES = 5
MAX_BYTES = 16 * 1024 * 1024
"""Limit for one frame. Every command fits, because systems limit arguments and environment to less."""


def encode_frame(kind: bytes, payload: bytes = b"") -> bytes:
    return kind + len(payload).to_bytes(4, "big") + payload


def encode_words(kind: bytes, *words: str | int) -> bytes:
    return encode_frame(kind, b"\0".join(os.fsencode(str(word)) for word in words))


def decode_words(payload: bytes) -> list[str]:
    """Return the words that `encode_words` has encoded. Arguments and variables cannot contain NUL."""
    return [os.fsdecode(word) for word in payload.split(b"\0")]


class FrameDecoder:
    """Collects bytes, and returns complete frames."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """Add bytes, and return the frames that are complete.

        Raises:
            ValueError: the data does not follow this protocol.
        """
        self._held += data
        found: list[tuple[bytes, bytes]] = []
        while len(self._held) >= HEAD_BYTES:
            size = int.from_bytes(self._held[1:HEAD_BYTES], "big")
            if size > MAX_BYTES:
                raise ValueError(f"a frame of {size} bytes is too large")
            end = HEAD_BYTES + size
            if len(self._held) < end:
                break
            found.append((bytes(self._held[:1]), bytes(self._held[HEAD_BYTES:end])))
            del self._held[:end]
        return found
