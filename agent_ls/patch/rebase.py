"""Rebase hunks onto a text that has changed since they were made, or report conflicts.

There are three texts: base (for which the hunks were made), proposed (base with the hunks), and current (the user's
text now). Lines of current outside the placed hunks never change, and no position is guessed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agent_ls.patch.hunks import LineHunk
from agent_ls.patch.line_diff import apply_hunks, equal_blocks, explicit_endings, line_hunks
from agent_ls.patch.line_search import FileLines, find_all
from agent_ls.text import strip_ending


@dataclass(frozen=True, slots=True)
class PlacedHunk:
    """A hunk with its range in lines of current."""

    hunk: LineHunk


@dataclass(frozen=True, slots=True)
class AlreadyApplied:
    """A hunk that the current text already has, because the user made the same change. It counts as accepted."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A hunk that cannot be applied to the current text. Its position are lines [start, end) of that text."""

    reason: str
    start: int
    end: int


RebasedHunk: TypeAlias = PlacedHunk | AlreadyApplied | Conflict


@dataclass(frozen=True, slots=True)
class MergedText:
    """The current text with every proposed change. `hunks` are the changes from the current text to `lines`."""

    lines: tuple[str, ...]
    hunks: tuple[LineHunk, ...]


@dataclass(frozen=True, slots=True)
class Conflicted:
    """The result of a merge that failed: the changes that cannot be applied. Nothing was merged."""

    conflicts: tuple[Conflict, ...]

    def describe(self) -> str:
        """Return one line of text for each conflict, with line numbers of the current text."""
        return "\n".join(f"lines {c.start + 1}-{max(c.end, c.start + 1)}: {c.reason}" for c in self.conflicts)


def rebase(base: Sequence[str], proposed: Sequence[str], current: Sequence[str]) -> MergedText | Conflicted:
    """Apply to `current` the changes that lead from `base` to `proposed`."""
    rebased = rebase_hunks(base, line_hunks(base, proposed), current)
    conflicts = tuple(item for item in rebased if isinstance(item, Conflict))
    if conflicts:
        return Conflicted(conflicts)
    hunks = list_placed(rebased)
    return MergedText(tuple(apply_hunks(current, hunks)), hunks)


def list_placed(rebased: Sequence[RebasedHunk]) -> tuple[LineHunk, ...]:
    """Return the hunks that could be placed, sorted. Insertions at one position keep their order in base."""
    return tuple(sorted((item.hunk for item in rebased if isinstance(item, PlacedHunk)), key=_extent))


def rebase_hunks(
    base: Sequence[str], hunks: Sequence[LineHunk], current: Sequence[str]
) -> tuple[RebasedHunk, ...]:
    """Rebase each hunk, in the order of `hunks` (sorted and disjoint, in lines of base)."""
    mapping = _LineMapping(base, current)
    spelled = explicit_endings(base, hunks)
    rebased = [mapping.place(hunk) for hunk in spelled]
    for at in _overlapping(rebased):
        rebased[at] = mapping.conflict(spelled[at], "another change affects the same lines")
    return tuple(rebased)


class _LineMapping:
    """Maps each base line to its line in current, if it still exists."""

    def __init__(self, base: Sequence[str], current: Sequence[str]) -> None:
        self._base = base
        self._current = current
        self._blocks = equal_blocks(base, current)
        self._starts = [block.old for block in self._blocks]
        self._texts: FileLines | None = None

    def current_index(self, line: int) -> int | None:
        """Return the index in current of a base line; None if current does not have that line any more.

        Line -1, before the first line, and the line after the last one always have an index.
        """
        if line < 0:
            return -1
        if line >= len(self._base):
            return len(self._current)
        at = bisect_left(self._starts, line + 1) - 1
        if at < 0:
            return None
        block = self._blocks[at]
        return block.new + line - block.old if line < block.old + block.length else None

    def place(self, hunk: LineHunk) -> RebasedHunk:
        before, after = self.current_index(hunk.base_start - 1), self.current_index(hunk.base_end)
        if before is not None and after is not None and self._lines(before + 1, after) == hunk.added:
            return AlreadyApplied()
        if hunk.removed:
            return self._place_removal(hunk)
        if before is not None:
            return self._place_at(hunk, before + 1, before + 1)
        if after is not None:
            return self._place_at(hunk, after, after)
        return self.conflict(hunk, "the lines around the change no longer exist")

    def conflict(self, hunk: LineHunk, reason: str) -> Conflict:
        left, right = self._nearest_neighbours(hunk)
        start = (-1 if left is None else left[1]) + 1
        end = len(self._current) if right is None else right[1]
        return Conflict(reason, start, max(start, end))

    def _place_removal(self, hunk: LineHunk) -> RebasedHunk:
        indexes = [self.current_index(line) for line in range(hunk.base_start, hunk.base_end)]
        first = indexes[0]
        if first is not None and indexes == list(range(first, first + len(indexes))):
            return self._place_at(hunk, first, first + len(indexes))
        return self._search(hunk) or self.conflict(hunk, "the lines of this change were edited")

    def _search(self, hunk: LineHunk) -> PlacedHunk | None:
        """Search current for the removed lines together with their nearest surviving neighbours before and
        after.

        Return None unless this sequence of lines occurs exactly once.
        """
        left, right = self._nearest_neighbours(hunk)
        head = [] if left is None else [self._base[left[0]]]
        tail = [] if right is None else [self._base[right[0]]]
        pattern = [*head, *hunk.removed, *tail]
        if self._texts is None:
            self._texts = FileLines.of(self._current)
        _, found = find_all(self._texts, [strip_ending(line) for line in pattern], levels=(1, 2))
        if len(found) != 1:
            return None
        start = found[0] + len(head)
        return self._place_at(hunk, start, start + len(hunk.removed))

    def _nearest_neighbours(self, hunk: LineHunk) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
        """Return the nearest surviving base line before and after the hunk, each with its line in current."""
        at = bisect_left(self._starts, hunk.base_start)
        left = right = None
        if at:
            block = self._blocks[at - 1]
            line = min(block.old + block.length, hunk.base_start) - 1
            left = (line, block.new + line - block.old)
        for block in self._blocks[max(at - 1, 0) :]:
            if block.old + block.length > hunk.base_end:
                line = max(block.old, hunk.base_end)
                right = (line, block.new + line - block.old)
                break
        return left, right

    def _place_at(self, hunk: LineHunk, start: int, end: int) -> PlacedHunk:
        return PlacedHunk(LineHunk(start, end, self._lines(start, end), hunk.added))

    def _lines(self, start: int, end: int) -> tuple[str, ...]:
        return tuple(self._current[start:end])


def _overlapping(rebased: Sequence[RebasedHunk]) -> set[int]:
    """Return the indices of all hunks that overlap another one."""
    placed = [(_extent(item.hunk), at) for at, item in enumerate(rebased) if isinstance(item, PlacedHunk)]
    clashing: set[int] = set()
    furthest, owner = 0, -1
    for (start, end), at in sorted(placed):
        if start < furthest:
            clashing |= {at, owner}
        if end > furthest:
            furthest, owner = end, at
    return clashing


def _extent(hunk: LineHunk) -> tuple[int, int]:
    return hunk.base_start, hunk.base_end
