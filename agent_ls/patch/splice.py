"""The one place where two texts differ, at whole lines. Local in cost: what is equal is compared in C.

A keystroke in a file of 50,000 lines must not be answered by a comparison of 50,000 lines in Python.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.patch.hunks import LineHunk
from agent_ls.patch.lines import line_hunks
from agent_ls.recent import Recent
from agent_ls.text import line_count, split_lines

_COMPARED_CHARS = 32 * 1024


@dataclass(frozen=True, slots=True)
class TextSplice:
    """Characters [start, start + len(removed)) of the old text give way to `added`; both ends lie between lines."""

    start: int
    removed: str
    added: str


@dataclass(frozen=True, slots=True)
class LineSplice:
    """Lines [start, end) of the old lines give way to `lines`."""

    start: int
    end: int
    lines: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        return self.start == self.end and not self.lines


def text_splice(old: str, new: str) -> TextSplice:
    """The smallest splice at line borders; where it could slide, the last place (equal heads are taken first)."""
    head = _common_head(old, new)
    while not (_begins_line(old, head) and _begins_line(new, head)):
        head -= 1
    tail = _common_tail(old, new, min(len(old), len(new)) - head)
    while not (_begins_line(old, len(old) - tail) and _begins_line(new, len(new) - tail)):
        tail -= 1
    return TextSplice(head, old[head : len(old) - tail], new[head : len(new) - tail])


def line_splice(old: str, new: str) -> LineSplice:
    """The same, in lines of the old text."""
    splice, start = _placed(old, new)
    return LineSplice(start, start + line_count(splice.removed), tuple(split_lines(splice.added)))


def text_hunks(old: str, new: str) -> tuple[LineHunk, ...]:
    """`line_hunks` of the lines of both, at the cost of what differs."""
    splice, at = _placed(old, new)
    hunks = line_hunks(split_lines(splice.removed), split_lines(splice.added))
    return tuple(
        LineHunk(hunk.base_start + at, hunk.base_end + at, hunk.removed, hunk.added) for hunk in hunks
    )


def _placed(old: str, new: str) -> tuple[TextSplice, int]:
    """The splice, and the line of the old text that it begins at."""
    return _places((old, new))


def _place(texts: tuple[str, str]) -> tuple[TextSplice, int]:
    splice = text_splice(*texts)
    return splice, line_count(texts[0], splice.start)


def _chars(texts: tuple[str, str]) -> int:
    return len(texts[0]) + len(texts[1])


# One edit asks three times: for what is shown, for what is told and for the ledger.
_places = Recent(_place, least=64 * 1024, most=8 * 1024 * 1024, size=_chars)


def _begins_line(text: str, at: int) -> bool:
    """True where a line begins or the text ends after a line."""
    if at == 0:
        return True
    if text[at - 1] == "\r":
        return text[at : at + 1] != "\n"
    return text[at - 1] == "\n" or at == len(text)


def _common_head(a: str, b: str) -> int:
    low, most = 0, min(len(a), len(b))
    # By pieces that stay in the processor's cache, each compared in C; the first that differs is halved.
    while low < most and a[low : low + _COMPARED_CHARS] == b[low : low + _COMPARED_CHARS]:
        low = min(low + _COMPARED_CHARS, most)
    high = min(low + _COMPARED_CHARS, most)
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_tail(a: str, b: str, most: int) -> int:
    low = 0
    while low < most:
        high = min(low + _COMPARED_CHARS, most)
        if a[len(a) - high : len(a) - low] != b[len(b) - high : len(b) - low]:
            break
        low = high
    high = min(low + _COMPARED_CHARS, most)
    while low < high:
        middle = (low + high + 1) // 2
        if a[len(a) - middle : len(a) - low] == b[len(b) - middle : len(b) - low]:
            low = middle
        else:
            high = middle - 1
    return low
