"""Takes changed runs of lines up into the pieces of a ledger. Does not know whose change it is: a manner decides.

A run (a LineHunk in lines of the pieces' current side) falls between pieces, into one, or across several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agent_ls.patch.hunks import LineHunk
from agent_ls.review.hunks import Lines
from agent_ls.review.ledger import FileLedger
from agent_ls.review.pieces import Piece, current_lines, cut, shared

Manner: TypeAlias = Callable[[list[Piece], int, int, Lines], list[Piece]]
"""(group, start, end, lines) -> pieces in place of the group.

Lines [start, end) of the group's current side give way to `lines`. The group is empty for an insertion between
two pieces; shared text at its ends reaches no further than the run. The pieces returned begin with what stands
before `start`, unchanged.
"""


@dataclass(frozen=True, slots=True)
class Window:
    """The pieces about some lines of the current side, whole hunks only, and those before and after.

    `start` and `end` are the lines that `middle` covers.
    """

    head: list[Piece]
    middle: list[Piece]
    tail: list[Piece]
    start: int
    end: int


def window(ledger: FileLedger, start: int, end: int) -> Window:
    """The pieces from line `start` to `end`, widened to the hunks that they touch."""
    touched = [hunk for hunk in ledger.hunks if hunk.start <= end and hunk.end >= start]
    low = min([start, *(hunk.start for hunk in touched)])
    high = max([end, *(hunk.end for hunk in touched)])
    ids = {hunk.id for hunk in touched}
    found = Window([], [], [], low, high)
    at = 0
    for piece in cut(ledger):
        last = at + len(piece.current)
        if piece.hunk is None:
            _divide(found, piece, at)
        elif piece.hunk.id in ids:
            found.middle.append(piece)
        else:
            (found.head if last <= low and not found.middle else found.tail).append(piece)
        at = last
    return found


def _divide(found: Window, piece: Piece, at: int) -> None:
    lines = piece.current
    a, b = max(found.start - at, 0), max(found.end - at, 0)
    for part, into in ((lines[:a], found.head), (lines[a:b], found.middle), (lines[b:], found.tail)):
        if part:
            into.append(shared(part))


@dataclass(frozen=True, slots=True)
class _Placed:
    piece: Piece
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.piece.current)


def take_up(pieces: Sequence[Piece], runs: Sequence[LineHunk], manner: Manner) -> list[Piece]:
    """The pieces after these runs, which are sorted and disjoint, with a line between any two."""
    # From the last run to the first: what lies before a run keeps its place while the run is taken up.
    left = _placed(pieces)
    right: list[Piece] = []
    for run in reversed(runs):
        while left and left[-1].start >= run.base_end and not _is_void_at(left[-1], run):
            right.append(left.pop().piece)
        group = _group(left, run)
        first = group[0].start if group else run.base_start
        result = _replaced([member.piece for member in group], run, first, manner)
        if result and first < run.base_start:
            left.append(_Placed(result[0], first))
            result = result[1:]
        right += reversed(result)
    return [*(placed.piece for placed in left), *reversed(right)]


def _placed(pieces: Sequence[Piece]) -> list[_Placed]:
    placed = []
    at = 0
    for piece in pieces:
        placed.append(_Placed(piece, at))
        at += len(piece.current)
    return placed


def _is_void_at(placed: _Placed, run: LineHunk) -> bool:
    """An insertion at a piece without current lines (a deletion) comes after it (SEMANTICS 11.4)."""
    return run.base_start == run.base_end == placed.start == placed.end


def _group(left: list[_Placed], run: LineHunk) -> list[_Placed]:
    """Takes from `left` the pieces that the run touches."""
    group: list[_Placed] = []
    while left and (left[-1].end > run.base_start or (not group and _is_void_at(left[-1], run))):
        group.insert(0, left.pop())
    return group


def _replaced(group: list[Piece], run: LineHunk, first: int, manner: Manner) -> list[Piece]:
    start, end = run.base_start - first, run.base_end - first
    head: list[Piece] = []
    tail: list[Piece] = []
    if group and group[0].hunk is None and start:
        before, group[0] = _split(group[0], start)
        head, start, end = [before], 0, end - start
    behind = len(current_lines(group)) - end
    if group and group[-1].hunk is None and behind:
        group[-1], after = _split(group[-1], len(group[-1].current) - behind)
        tail = [after]
    group = [piece for piece in group if piece.hunk or piece.current]
    return [*head, *manner(group, start, end, run.added), *tail]


def _split(piece: Piece, at: int) -> tuple[Piece, Piece]:
    return shared(piece.current[:at]), shared(piece.current[at:])
