"""Compare lists of lines and apply line hunks, without quadratic cost."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import NamedTuple

from agent_ls.patch.hunks import LineHunk
from agent_ls.text import line_ending, preferred_ending

# A longer gap between equal lines is treated as one replaced block, because SequenceMatcher would take seconds.
GAP_MAX_LINES = 500
# The maximum total number of lines in all gaps that SequenceMatcher compares. Without this limit, a reformatted
# file of 100,000 lines would take ten seconds.
DIFFLIB_MAX_LINES = 10_000
_SLICE_LINES = 1024


class MatchingBlock(NamedTuple):
    """A block of `length` equal lines. It begins at index `old` in the old list and at `new` in the new list."""

    old: int
    new: int
    length: int


@dataclass(frozen=True, slots=True)
class _Window:
    old_start: int
    old_end: int
    new_start: int
    new_end: int

    @property
    def is_empty(self) -> bool:
        return self.old_start == self.old_end or self.new_start == self.new_end

    @property
    def longest(self) -> int:
        return max(self.old_end - self.old_start, self.new_end - self.new_start)


def equal_blocks(old: Sequence[str], new: Sequence[str]) -> list[MatchingBlock]:
    """Return the blocks of equal lines, in order and not overlapping."""
    blocks: list[MatchingBlock] = []
    windows = [_Window(0, len(old), 0, len(new))]
    left = DIFFLIB_MAX_LINES
    while windows:
        window = _trim(old, new, windows.pop(), blocks)
        if window.is_empty:
            continue
        anchors = _unique_anchors(old, new, window)
        if anchors:
            windows += _gaps_between(anchors, window, blocks)
        elif window.longest <= min(GAP_MAX_LINES, left):
            left -= window.longest
            blocks += _by_difflib(old, new, window)
    return _join_blocks(sorted(blocks))


def line_hunks(old_lines: Sequence[str], new_lines: Sequence[str]) -> tuple[LineHunk, ...]:
    """Return the hunks from old to new, sorted and disjoint, with at least one equal line between two hunks."""
    hunks = []
    i = j = 0
    for block in [*equal_blocks(old_lines, new_lines), MatchingBlock(len(old_lines), len(new_lines), 0)]:
        if i < block.old or j < block.new:
            hunks.append(
                LineHunk(i, block.old, tuple(old_lines[i : block.old]), tuple(new_lines[j : block.new]))
            )
        i, j = block.old + block.length, block.new + block.length
    return tuple(hunks)


def atomic_hunks(base_start: int, removed: Sequence[str], added: Sequence[str]) -> tuple[LineHunk, ...]:
    """Split one block of removed and added lines into hunks, separated by the lines that are equal on both
    sides.
    """
    if max(len(removed), len(added)) > GAP_MAX_LINES:
        return tuple(
            replace(hunk, base_start=base_start + hunk.base_start, base_end=base_start + hunk.base_end)
            for hunk in line_hunks(removed, added)
        )
    codes = SequenceMatcher(None, removed, added, autojunk=False).get_opcodes()
    return tuple(
        LineHunk(base_start + i, base_start + i_end, tuple(removed[i:i_end]), tuple(added[j:j_end]))
        for tag, i, i_end, j, j_end in codes
        if tag != "equal"
    )


def apply_hunks(old_lines: Sequence[str], hunks: Sequence[LineHunk]) -> list[str]:
    """Return the base lines with exactly these hunks applied. Any subset of a file's hunks is allowed.

    Raises:
        ValueError: the hunks are not sorted and disjoint, or were made for another list of lines.
    """
    result: list[str] = []
    ending = preferred_ending(old_lines[:1])
    at = 0
    for hunk in hunks:
        if hunk.base_start < at or tuple(old_lines[hunk.base_start : hunk.base_end]) != hunk.removed:
            raise ValueError(f"hunk at line {hunk.base_start + 1} does not belong to these lines")
        append_lines(result, old_lines[at : hunk.base_start], ending)
        append_lines(result, hunk.added, ending)
        at = hunk.base_end
    append_lines(result, old_lines[at:], ending)
    return result


def append_lines(result: list[str], lines: Sequence[str], ending: str) -> None:
    """Append lines to `result`. If the last line of `result` has no line ending, add `ending` to that line
    first.
    """
    if result and lines and not line_ending(result[-1]):
        result[-1] += ending
    result.extend(lines)


def explicit_endings(old_lines: Sequence[str], hunks: Sequence[LineHunk]) -> tuple[LineHunk, ...]:
    """Return the hunks in the form that a diff displays.

    If lines are added after a last base line without a line ending, this base line gets a line ending. The
    returned last hunk then also replaces this base line, so that the diff lists it as changed, as other diff
    programs do.
    """
    if not hunks or not old_lines or line_ending(old_lines[-1]):
        return tuple(hunks)
    last, end = hunks[-1], len(old_lines)
    if last.base_start != end or not last.added:
        return tuple(hunks)
    kept = old_lines[-1]
    widened = LineHunk(end - 1, end, (kept,), (kept + preferred_ending(old_lines[:1]), *last.added))
    return (*hunks[:-1], widened)


def _trim(old: Sequence[str], new: Sequence[str], window: _Window, blocks: list[MatchingBlock]) -> _Window:
    """Record the common head and tail of a window as blocks, and return the window between them."""
    a, a_end, b, b_end = window.old_start, window.old_end, window.new_start, window.new_end
    head = _common_head(old, new, window)
    a, b = a + head, b + head
    tail = _common_tail(old, new, _Window(a, a_end, b, b_end))
    if head:
        blocks.append(MatchingBlock(a - head, b - head, head))
    if tail:
        blocks.append(MatchingBlock(a_end - tail, b_end - tail, tail))
    return _Window(a, a_end - tail, b, b_end - tail)


def _common_head(old: Sequence[str], new: Sequence[str], window: _Window) -> int:
    a, b = window.old_start, window.new_start
    most = min(window.old_end - a, window.new_end - b)
    head = 0
    # Compare whole slices first: list comparison runs in C, and one edit leaves most of a large file equal.
    while head + _SLICE_LINES <= most:
        end = head + _SLICE_LINES
        if old[a + head : a + end] != new[b + head : b + end]:
            break
        head = end
    while head < most and old[a + head] == new[b + head]:
        head += 1
    return head


def _common_tail(old: Sequence[str], new: Sequence[str], window: _Window) -> int:
    a, b = window.old_end, window.new_end
    most = min(a - window.old_start, b - window.new_start)
    tail = 0
    while tail + _SLICE_LINES <= most:
        end = tail + _SLICE_LINES
        if old[a - end : a - tail] != new[b - end : b - tail]:
            break
        tail = end
    while tail < most and old[a - tail - 1] == new[b - tail - 1]:
        tail += 1
    return tail


def _unique_anchors(old: Sequence[str], new: Sequence[str], window: _Window) -> list[tuple[int, int]]:
    """Return pairs of equal lines that are unique in both lists: the longest sequence in the same order."""
    old_count = Counter(old[window.old_start : window.old_end])
    new_count = Counter(new[window.new_start : window.new_end])
    new_place = {line: j for j in range(window.new_start, window.new_end) if new_count[line := new[j]] == 1}
    pairs = [
        (i, new_place[line])
        for i in range(window.old_start, window.old_end)
        if old_count[line := old[i]] == 1 and line in new_place
    ]
    return _longest_increasing(pairs)


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence of `pairs` (sorted by first member) whose second members increase."""
    tails: list[int] = []  # by length - 1: the smallest last value of an increasing sequence of this length
    ends: list[int] = []  # by length - 1: the index in `pairs` of the pair with this last value
    previous: list[int] = []
    for at, (_, value) in enumerate(pairs):
        length = bisect_left(tails, value)
        previous.append(ends[length - 1] if length else -1)
        tails[length : length + 1] = [value]
        ends[length : length + 1] = [at]
    chosen = []
    at = ends[-1] if ends else -1
    while at >= 0:
        chosen.append(pairs[at])
        at = previous[at]
    return chosen[::-1]


def _gaps_between(
    anchors: list[tuple[int, int]], window: _Window, blocks: list[MatchingBlock]
) -> list[_Window]:
    gaps = []
    a, b = window.old_start, window.new_start
    for i, j in [*anchors, (window.old_end, window.new_end)]:
        if a < i and b < j:
            gaps.append(_Window(a, i, b, j))
        a, b = i + 1, j + 1
    blocks += [MatchingBlock(i, j, 1) for i, j in anchors]
    return gaps


def _by_difflib(old: Sequence[str], new: Sequence[str], window: _Window) -> list[MatchingBlock]:
    a = old[window.old_start : window.old_end]
    b = new[window.new_start : window.new_end]
    found = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return [MatchingBlock(window.old_start + m.a, window.new_start + m.b, m.size) for m in found if m.size]


def _join_blocks(blocks: list[MatchingBlock]) -> list[MatchingBlock]:
    joined: list[MatchingBlock] = []
    for block in blocks:
        last = joined[-1] if joined else None
        if last and last.old + last.length == block.old and last.new + last.length == block.new:
            joined[-1] = MatchingBlock(last.old, last.new, last.length + block.length)
        else:
            joined.append(block)
    return joined
