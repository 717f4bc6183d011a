"""Some lines of a hunk, made a hunk of their own, so that a verdict can be about them alone.

Lines of a hunk are paired from its top: new line n stands for old line n. Old lines that are left over belong to the
last new line; where there are fewer old lines, the new ones below have none. So what is taken back with some lines is
never a guess by likeness: it is what stood beside them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from agent_ls.review.hunks import LedgerHunk, Lines
from agent_ls.review.ledger import FileLedger
from agent_ls.review.pieces import Piece, cut, held, join

Part = tuple[Lines, Lines]
"""Old lines and new lines."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A hunk's lines in three: before the chosen ones, those, and behind them. Each is (old lines, new lines)."""

    head: Part
    chosen: Part
    tail: Part


def parts(old: Lines, new: Lines, first: int, last: int) -> Parts:
    """Lines [first, last) of `new` with the old ones beside them.

    Raises:
        ValueError: there are no such lines.
    """
    if not 0 <= first < last <= len(new):
        raise ValueError(f"lines [{first}, {last}) are not among its {len(new)} new lines")
    begin = min(first, len(old))
    end = len(old) if last == len(new) else min(last, len(old))
    return Parts((old[:begin], new[:first]), (old[begin:end], new[first:last]), (old[end:], new[last:]))


def portioned(ledger: FileLedger, hunk_id: str, first: int, last: int) -> tuple[FileLedger, str]:
    """The ledger with lines [first, last) of a pending hunk as a hunk of their own, and the id of that one.

    What is left keeps the hunk's id; where that is two parts, the second gets a new one. A file that an agent made
    is divided like text that it added.

    Raises:
        ValueError: no pending hunk with such lines. Its text says which.
    """
    hunk = next((found for found in ledger.open_hunks if found.id == hunk_id), None)
    if hunk is None or hunk.state != "pending":
        raise ValueError("it has no lines to choose from: only a pending hunk can be divided")
    found = parts(hunk.base_lines, hunk.agent_lines, first, last)
    if first == 0 and last == len(hunk.agent_lines):
        return ledger, hunk_id
    ids = _free_ids(hunk_id, {other.id for other in (*ledger.hunks, *ledger.closed)})
    content = replace(hunk, what="content")
    if found.head[1]:
        named = [(hunk_id, found.head), (ids[0], found.chosen), (ids[1], found.tail)]
    else:
        named = [(ids[0], found.chosen), (hunk_id, found.tail)]
    middle = [held(_part(content, id_, part), part[1]) for id_, part in named if part[1]]
    pieces: list[Piece] = []
    for piece in cut(ledger):
        pieces += middle if piece.hunk is not None and piece.hunk.id == hunk_id else [piece]
    return join(ledger, pieces), ids[0]


def _part(hunk: LedgerHunk, hunk_id: str, part: Part) -> LedgerHunk:
    return replace(hunk, id=hunk_id, base_lines=part[0], agent_lines=part[1])


def _free_ids(hunk_id: str, taken: Collection[str]) -> tuple[str, str]:
    numbers = (f"{hunk_id}.{n}" for n in range(1, len(taken) + 3))
    free = [name for name in numbers if name not in taken]
    return free[0], free[1]
