"""Bounded buffers for the output of processes."""

from __future__ import annotations

import threading
from collections import deque
from typing import TypeAlias

from agent_ls.environments.base import DroppedOutput, Stream

KEPT_CHARS = 64 * 1024 * 1024
"""Maximum number of stored characters of a command's output: half from the start, half from the end."""

BACKGROUND_KEPT_CHARS = 4 * 1024 * 1024
"""Maximum number of stored characters of a background process: the end of its output is stored."""

# short segments are joined, so that a program that writes byte by byte does not create one object per byte
_JOIN_BELOW_CHARS = 4096


Piece: TypeAlias = tuple[Stream, str]


class _Tail:
    """The last `limit` characters of the added text."""

    def __init__(self, limit: int) -> None:
        self.pieces: deque[Piece] = deque()
        self._limit = limit
        self._chars = 0

    def add(self, stream: Stream, text: str) -> list[Piece]:
        """Add text. Return the text that is dropped."""
        _append(self.pieces, stream, text)
        self._chars += len(text)
        return self._cut()

    def shrink(self, limit: int) -> list[Piece]:
        """Lower the limit. Return the text that is dropped."""
        self._limit = min(self._limit, limit)
        return self._cut()

    def _cut(self) -> list[Piece]:
        dropped: list[Piece] = []
        while (excess := self._chars - self._limit) > 0:
            oldest_stream, oldest = self.pieces.popleft()
            if excess < len(oldest):
                self.pieces.appendleft((oldest_stream, oldest[excess:]))
            dropped.append((oldest_stream, oldest[:excess]))
            self._chars -= len(dropped[-1][1])
        return dropped


def _append(pieces: list[Piece] | deque[Piece], stream: Stream, text: str) -> None:
    if pieces and pieces[-1][0] == stream and len(pieces[-1][1]) < _JOIN_BELOW_CHARS:
        pieces[-1] = (stream, pieces[-1][1] + text)
    else:
        pieces.append((stream, text))


class CommandOutput:
    """A command's output as segments in order of arrival."""

    def __init__(self, kept_chars: int = KEPT_CHARS) -> None:
        self._head: list[Piece] = []
        self._head_room = kept_chars // 2
        self._tail = _Tail(kept_chars - kept_chars // 2)
        self._dropped: dict[Stream, DroppedOutput] = {"stdout": DroppedOutput(), "stderr": DroppedOutput()}

    def add(self, stream: Stream, text: str) -> None:
        kept, rest = text[: self._head_room], text[self._head_room :]
        if kept:
            self._head_room -= len(kept)
            _append(self._head, stream, kept)
        if rest:
            for oldest, gone in self._tail.add(stream, rest):
                before = self._dropped[oldest]
                self._dropped[oldest] = DroppedOutput(
                    before.chars + len(gone),
                    before.lines + gone.count("\n"),
                    before.size_bytes + len(gone.encode("utf-8", "replace")),
                )

    def dropped(self, *streams: Stream) -> DroppedOutput:
        """Return the size of the part of these streams that is not stored."""
        parts = [self._dropped[stream] for stream in streams]
        return DroppedOutput(
            sum(it.chars for it in parts), sum(it.lines for it in parts), sum(it.size_bytes for it in parts)
        )

    def text(self, *streams: Stream) -> str:
        """Return the output of these streams. If text was dropped, a line in its place contains the number."""
        head = (text for stream, text in self._head if stream in streams)
        tail = (text for stream, text in self._tail.pieces if stream in streams)
        return "".join([*head, self.dropped(*streams).marker, *tail])

    @property
    def kept_chars(self) -> int:
        return sum(len(text) for _, text in (*self._head, *self._tail.pieces))

    def texts(self) -> tuple[str, str, str]:
        """Return the texts of stdout, of stderr, and of both. Takes long for a long output."""
        stdout, stderr = self.text("stdout"), self.text("stderr")
        return stdout, stderr, self.text("stdout", "stderr") if stdout and stderr else stdout or stderr


class BackgroundOutput:
    """The last part of a process's output, addressed by character offset. Can be used by several threads."""

    def __init__(self, kept_chars: int = BACKGROUND_KEPT_CHARS) -> None:
        self._lock = threading.Lock()
        self._tail = _Tail(kept_chars)
        self._start = 0

    def add(self, text: str) -> None:
        with self._lock:
            self._start += sum(len(gone) for _, gone in self._tail.add("stdout", text))

    def shrink(self, kept_chars: int) -> None:
        """Lower the limit on stored characters."""
        with self._lock:
            self._start += sum(len(gone) for _, gone in self._tail.shrink(kept_chars))

    def read(self, offset: int) -> tuple[str, int]:
        """Return the text from `offset` on, and the offset of its end.

        If text after `offset` was dropped, the result begins with a line that contains the number of dropped
        characters.
        """
        with self._lock:
            kept, start = "".join(text for _, text in self._tail.pieces), self._start
        gone = DroppedOutput(max(start - max(offset, 0), 0))
        return gone.marker + kept[max(offset - start, 0) :], start + len(kept)
