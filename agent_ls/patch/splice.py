"""Find the one region, in whole lines, where two texts differ.

The equal text before and after the region is compared by string comparison, which runs in C. So after a
keystroke in a file of 50,000 lines, Python code compares no lines.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.memo import Memo
from agent_ls.patch.hunks import LineHunk
from agent_ls.patch.line_diff import line_hunks
from agent_ls.text import count_lines, split_lines

_COMPARED_CHARS = 32 * 1024


@dataclass(frozen=True, slots=True)
class TextSplice:
    """A change that replaces characters [start, start + len(removed)) of the old text by `added`.

    The range begins and ends at line borders.
    """

    start: int
    removed: str
    added: str


@dataclass(frozen=True, slots=True)
class LineSplice:
    """A change of lines: lines [start, end) of the old text are replaced by `lines`."""

    start: int
    end: int
    lines: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        return self.start == self.end and not self.lines


def text_splice(old: str, new: str) -> TextSplice:
    """Return the smallest splice at line borders. If the splice could be at several positions, use the last
    one.
    """
    head = common_head(old, new, min(len(old), len(new)))
    while not (_begins_line(old, head) and _begins_line(new, head)):
        head -= 1
    tail = common_tail(old, new, min(len(old), len(new)) - head)
    while not (_begins_line(old, len(old) - tail) and _begins_line(new, len(new) - tail)):
        tail -= 1
    return TextSplice(head, old[head : len(old) - tail], new[head : len(new) - tail])


def line_splice(old: str, new: str) -> LineSplice:
    """Return the same change as `text_splice`, in line numbers instead of character offsets."""
    splice, start = _find_splice(old, new)
    return LineSplice(start, start + count_lines(splice.removed), tuple(split_lines(splice.added)))


def text_hunks(old: str, new: str) -> tuple[LineHunk, ...]:
    """Return the hunks between both texts, like `line_hunks`, comparing only the region that differs."""
    splice, at = _find_splice(old, new)
    hunks = line_hunks(split_lines(splice.removed), split_lines(splice.added))
    return tuple(
        LineHunk(hunk.base_start + at, hunk.base_end + at, hunk.removed, hunk.added) for hunk in hunks
    )


def _find_splice(old: str, new: str) -> tuple[TextSplice, int]:
    """Return the splice, and the line of the old text at which it begins."""
    return _cached_splice((old, new))


def _splice_with_line(texts: tuple[str, str]) -> tuple[TextSplice, int]:
    splice = text_splice(*texts)
    return splice, count_lines(texts[0], splice.start)


def _chars(texts: tuple[str, str]) -> int:
    return len(texts[0]) + len(texts[1])


# Memoised because each edit is compared three times: for the display, the message to the model, and the ledger.
_cached_splice = Memo(_splice_with_line, least=64 * 1024, most=8 * 1024 * 1024, size=_chars)


def _begins_line(text: str, at: int) -> bool:
    """Return True at the start of a line, and at the end of a text that ends with a line ending."""
    if at == 0:
        return True
    if text[at - 1] == "\r":
        return text[at : at + 1] != "\n"
    return text[at - 1] == "\n" or at == len(text)


def common_head(a: str, b: str, most: int) -> int:
    """Return the length of the longest common start of both texts, at most `most` characters."""
    low = 0
    # Compare blocks that fit the processor's cache, then bisect the first block that differs.
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


def common_tail(a: str, b: str, most: int) -> int:
    """Return the length of the longest common end of both texts, at most `most` characters."""
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
