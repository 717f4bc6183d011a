"""Apply changed line ranges to the segments of a ledger. A handler decides what happens to the hunks.

A range is a LineHunk whose base lines are lines of the segments' current text. It lies between two segments, inside one
segment, or across several segments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agent_ls.patch.hunks import LineHunk
from agent_ls.review.hunks import LedgerHunk, Lines
from agent_ls.review.ledger import FileLedger
from agent_ls.review.segments import Segment, current_lines, shared_segment, split_ledger

ChangeHandler: TypeAlias = Callable[[list[Segment], int, int, Lines], list[Segment]]
"""Called with (group, start, end, lines) for each change. Returns the segments that replace the group.

The group has the segments that the change touches; it is empty for an insertion between two segments. The
change replaces lines [start, end) of the group's current text by `lines`. Shared text before and after the
changed lines is not part of the group. If the group begins before `start`, inside a hunk, the first returned
segment must begin with these unchanged lines.
"""


@dataclass(frozen=True, slots=True)
class SegmentWindow:
    """The segments of a file in three parts: before, middle and after. `middle` covers lines `start` to `end` of the
    current text.

    `head` are the segments before these lines, `tail` the segments after them. No hunk is divided between two
    parts.
    """

    head: list[Segment]
    middle: list[Segment]
    tail: list[Segment]
    start: int
    end: int


def segments_around(ledger: FileLedger, start: int, end: int) -> SegmentWindow:
    """Divide the segments at lines `start` and `end`, and extend the middle part to all hunks that it touches."""
    touched = [hunk for hunk in ledger.hunks if hunk.start <= end and hunk.end >= start]
    low = min([start, *(hunk.start for hunk in touched)])
    high = max([end, *(hunk.end for hunk in touched)])
    ids = {hunk.id for hunk in touched}
    found = SegmentWindow([], [], [], low, high)
    at = 0
    for piece in split_ledger(ledger):
        last = at + len(piece.current)
        if piece.hunk is None:
            _divide(found, piece, at)
        elif piece.hunk.id in ids:
            found.middle.append(piece)
        else:
            (found.head if last <= low and not found.middle else found.tail).append(piece)
        at = last
    return found


def _divide(found: SegmentWindow, piece: Segment, at: int) -> None:
    lines = piece.current
    a, b = max(found.start - at, 0), max(found.end - at, 0)
    for part, into in ((lines[:a], found.head), (lines[a:b], found.middle), (lines[b:], found.tail)):
        if part:
            into.append(shared_segment(part))


@dataclass(frozen=True, slots=True)
class _Placed:
    piece: Segment
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.piece.current)


def apply_changes(
    pieces: Sequence[Segment], runs: Sequence[LineHunk], handler: ChangeHandler
) -> list[Segment]:
    """Return the segments after the changes `runs`. The changes must be sorted. At least one unchanged
    line must be between two changes. `handler` returns the new segments for each change.
    """
    # From last to first, so that text before a range keeps its position while the range is replaced.
    left = _with_positions(pieces)
    right: list[Segment] = []
    for run in reversed(runs):
        while left and left[-1].start >= run.base_end and not _is_void_at(left[-1], run):
            right.append(left.pop().piece)
        group = _group(left, run)
        first = group[0].start if group else run.base_start
        result = _replace_group([member.piece for member in group], run, first, handler)
        if result and first < run.base_start:
            left.append(_Placed(result[0], first))
            result = result[1:]
        right += reversed(result)
    return [*(placed.piece for placed in left), *reversed(right)]


def _with_positions(pieces: Sequence[Segment]) -> list[_Placed]:
    placed = []
    at = 0
    for piece in pieces:
        placed.append(_Placed(piece, at))
        at += len(piece.current)
    return placed


def _is_void_at(placed: _Placed, run: LineHunk) -> bool:
    """Return whether `run` inserts lines at a deletion (a segment without current lines). The inserted lines
    then follow the deletion.
    """
    return run.base_start == run.base_end == placed.start == placed.end


def _group(left: list[_Placed], run: LineHunk) -> list[_Placed]:
    """Remove the segments that the range touches from `left`, and return them."""
    group: list[_Placed] = []
    while left and (left[-1].end > run.base_start or (not group and _is_void_at(left[-1], run))):
        group.insert(0, left.pop())
    return group


def _replace_group(group: list[Segment], run: LineHunk, first: int, handler: ChangeHandler) -> list[Segment]:
    start, end = run.base_start - first, run.base_end - first
    head: list[Segment] = []
    tail: list[Segment] = []
    if group and group[0].hunk is None and start:
        before, group[0] = _split(group[0], start)
        head, start, end = [before], 0, end - start
    behind = len(current_lines(group)) - end
    if group and group[-1].hunk is None and behind:
        group[-1], after = _split(group[-1], len(group[-1].current) - behind)
        tail = [after]
    group = [piece for piece in group if piece.hunk or piece.current]
    return [*head, *handler(group, start, end, run.added), *tail]


def _split(piece: Segment, at: int) -> tuple[Segment, Segment]:
    return shared_segment(piece.current[:at]), shared_segment(piece.current[at:])


def without_closed(piece: Segment, closed: list[LedgerHunk]) -> Segment:
    """Return the piece as shared text if its hunk is not open any more; the hunk is added to `closed`."""
    if piece.hunk is None or piece.hunk.is_open:
        return piece
    closed.append(piece.hunk)
    return shared_segment(piece.current)
