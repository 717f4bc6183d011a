"""Split some lines of a hunk into a separate hunk, so that a decision can concern only these lines.

Lines are paired from the top: new line n replaces old line n. Extra old lines belong to the last new line;
extra new lines have no old line. So undoing some new lines restores the old lines paired with them, never lines
guessed by similarity.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from agent_ls.review.hunks import LedgerHunk, Lines
from agent_ls.review.ledger import FileLedger
from agent_ls.review.segments import Segment, hunk_segment, join_segments, split_ledger

LinePair = tuple[Lines, Lines]
"""Old lines, and the new lines that replace them."""


@dataclass(frozen=True, slots=True)
class SplitHunk:
    """A hunk's lines in three parts: before the chosen lines, the chosen lines, and after them."""

    head: LinePair
    chosen: LinePair
    tail: LinePair


def split_hunk_lines(old: Lines, new: Lines, first: int, last: int) -> SplitHunk:
    """Split a hunk into lines [first, last) of `new` and the lines before and after, each with its old lines.

    Raises:
        ValueError: the hunk does not have these lines.
    """
    if not 0 <= first < last <= len(new):
        raise ValueError(f"lines [{first}, {last}) are not in this change, which has {len(new)} new lines")
    begin = min(first, len(old))
    end = len(old) if last == len(new) else min(last, len(old))
    return SplitHunk((old[:begin], new[:first]), (old[begin:end], new[first:last]), (old[end:], new[last:]))


def extract_sub_hunk(ledger: FileLedger, hunk_id: str, first: int, last: int) -> tuple[FileLedger, str]:
    """Make lines [first, last) of a pending hunk a separate hunk. Return the ledger and the separate hunk's id.

    The remaining lines keep the id `hunk_id`. If there are remaining lines before and after the separate hunk,
    those after it get a new id. A created file is split like added text.

    Raises:
        ValueError: the hunk is not pending, or does not have these lines.
    """
    hunk = next((found for found in ledger.open_hunks if found.id == hunk_id), None)
    if hunk is None or hunk.state != "pending":
        raise ValueError("only a change that waits for a decision can be decided line by line")
    found = split_hunk_lines(hunk.base_lines, hunk.agent_lines, first, last)
    if first == 0 and last == len(hunk.agent_lines):
        return ledger, hunk_id
    ids = free_ids(hunk_id, {other.id for other in (*ledger.hunks, *ledger.closed)})
    content = replace(hunk, what="content")
    if found.head[1]:
        named = [(hunk_id, found.head), (ids[0], found.chosen), (ids[1], found.tail)]
    else:
        named = [(ids[0], found.chosen), (hunk_id, found.tail)]
    middle = [hunk_segment(_sub_hunk(content, id_, part), part[1]) for id_, part in named if part[1]]
    pieces: list[Segment] = []
    for piece in split_ledger(ledger):
        pieces += middle if piece.hunk is not None and piece.hunk.id == hunk_id else [piece]
    return join_segments(ledger, pieces), ids[0]


def _sub_hunk(hunk: LedgerHunk, hunk_id: str, part: LinePair) -> LedgerHunk:
    return replace(hunk, id=hunk_id, base_lines=part[0], agent_lines=part[1])


def free_ids(hunk_id: str, taken: Collection[str]) -> tuple[str, str]:
    """Return two unused ids for parts of a hunk."""
    numbers = (f"{hunk_id}.{n}" for n in range(1, len(taken) + 3))
    free = [name for name in numbers if name not in taken]
    return free[0], free[1]
