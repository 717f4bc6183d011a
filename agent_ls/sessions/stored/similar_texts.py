"""Split many versions of a text into lines, at the cost of what differs between them. Pure."""

from __future__ import annotations

from agent_ls.review.provenance import SharedLines
from agent_ls.text import split_lines

_CHUNK = 1 << 16
_ODD = "\r\v\f\x1c\x1d\x1e\x1f"
"""The white space of ASCII that is neither blank, tab nor line feed."""


class SimilarTexts:
    """Splits texts into lines without the white space that editors, formatters and git convert: line endings,
    indentation, and the width of the gaps between words.

    Most texts differ in a few lines from the one before. The equal lines at both ends are the same objects as there, so
    splitting and comparing them costs little.
    """

    def __init__(self) -> None:
        self._text = ""
        self._lines = SharedLines()

    def split(self, text: str) -> SharedLines:
        """Return the words of each line, with one blank between them."""
        head = _whole_lines(text, 0, _common_start(self._text, text))
        most = min(len(self._text), len(text)) - head
        tail = _common_end(self._text, text, most)
        # An equal end begins with a whole line only behind a line end that is part of it.
        first_end = text.find("\n", len(text) - tail) if tail else -1
        tail = len(text) - first_end - 1 if first_end >= 0 else 0
        middle = _words(text[head : len(text) - tail])
        end = len(self._text) - tail
        changed = _count_lines(self._text, head, end)
        if head < tail:  # the shorter end is counted
            before = _count_lines(self._text, 0, head)
        else:
            before = len(self._lines) - changed - _count_lines(self._text, end, len(self._text))
        self._text, self._lines = text, self._lines.replaced(before, before + changed, middle)
        return self._lines


def _words(text: str) -> list[str]:
    """Return the words of each line. Without odd white space, the whole text is handled in a few calls."""
    if not text.isascii() or any(odd in text for odd in _ODD):
        return list(map(" ".join, map(str.split, split_lines(text))))
    is_ended = not text or text.endswith("\n")
    stripped = map(str.strip, text.replace("\t", " ").split("\n"))
    lines = [" ".join(line.split()) if "  " in line else line for line in stripped]
    return lines[:-1] if is_ended else lines


def _whole_lines(text: str, start: int, end: int) -> int:
    """Return the end of the last whole line in text[start:end]."""
    return text.rfind("\n", start, end) + 1


def _count_lines(text: str, start: int, end: int) -> int:
    if text.find("\r", start, end) >= 0:
        return len(split_lines(text[start:end]))
    return text.count("\n", start, end) + (start < end and text[end - 1] != "\n")


def _common_start(one: str, other: str) -> int:
    """Return the length of the longest common start of two texts."""
    most, at = min(len(one), len(other)), 0
    step = _CHUNK
    while step:
        while at + step <= most and one[at : at + step] == other[at : at + step]:
            at += step
        step //= 2
    return at


def _common_end(one: str, other: str, most: int) -> int:
    """Return the length of the longest common end of two texts, at most `most`."""
    at, step = 0, _CHUNK
    while step:
        while (
            at + step <= most
            and one[len(one) - at - step : len(one) - at] == (other[len(other) - at - step : len(other) - at])
        ):
            at += step
        step //= 2
    return at
