"""Detect an answer that repeats itself or sends control characters without end.

Small or damaged models send such answers until the output limit, and some servers have no limit.
"""

from __future__ import annotations

from collections import deque

from agent_ls.llm.errors import RunawayError
from agent_ls.llm.stream import ReasoningDelta, StreamEvent, TextDelta, ToolCallDelta
from agent_ls.patterns import regex

REPEATED_CHARS = 16_384
"""An answer counts as endless if this many characters consist of one repeated piece. Useful repetitions, such
as tables, are shorter.
"""

PIECE_CHARS = 100
"""Maximum length of the repeated piece, in characters."""

CONTROL_CHARS = 4096
"""An answer counts as endless if more than half of its last CONTROL_CHARS characters are control characters.
"""

_LOOK_EVERY = 2048
_SAMPLE_CHARS = 64
_CONTROL = regex(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]"
)  # includes U+FFFD, which replaces invalid bytes of an answer


class RunawayGuard:
    """Checks the deltas of one answer, and raises an error if the answer is endless."""

    def __init__(self, provider: str, model: str) -> None:
        self._provider = provider
        self._model = model
        self._index = -1
        self._pieces: deque[str] = deque()
        self._length = 0
        self._unlooked = 0

    def feed(self, event: StreamEvent) -> None:
        """Take the next event.

        Raises:
            RunawayError: the answer is endless.
        """
        match event:
            case TextDelta(index, text) | ReasoningDelta(index, text) | ToolCallDelta(index, text):
                self._add_text(index, text)
            case _:
                pass

    def _add_text(self, index: int, text: str) -> None:
        if index != self._index:
            self._index, self._length, self._unlooked = index, 0, 0
            self._pieces.clear()
        self._pieces.append(text)
        self._length += len(text)
        while self._length - len(self._pieces[0]) >= REPEATED_CHARS:
            self._length -= len(self._pieces.popleft())
        self._unlooked += len(text)
        if self._unlooked >= _LOOK_EVERY:
            self._unlooked = 0
            self._check_tail()

    def _check_tail(self) -> None:
        tail = "".join(self._pieces)
        if _is_mostly_control(tail[-CONTROL_CHARS:]):
            what = "sends control characters without end"
        elif len(tail) >= REPEATED_CHARS and _is_repetition(tail[-REPEATED_CHARS:]):
            what = "repeats itself without end"
        else:
            return
        raise RunawayError(
            f"the model {what}, so its answer was stopped",
            provider=self._provider,
            model=self._model,
            hint="Send the message again, or choose another model: this one may be too small, or damaged.",
        )


def _is_mostly_control(text: str) -> bool:
    if len(text) < CONTROL_CHARS or not _CONTROL.search(text, len(text) - _SAMPLE_CHARS):
        return False
    return len(_CONTROL.findall(text)) > len(text) // 2


def _is_repetition(text: str) -> bool:
    end = text[-4 * PIECE_CHARS :]
    return any(
        end[size:] == end[:-size] and text[size:] == text[:-size] for size in range(1, PIECE_CHARS + 1)
    )
