"""What the user decides about hunks: keep them, or take them back. Does not know who asks, or when.

A verdict on one hunk never touches another, so the order of verdicts makes no difference. Ids that have no open hunk
are left alone: the caller tells which by what is not in `changed`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from agent_ls.patch.lines import line_hunks
from agent_ls.review.hunks import LedgerHunk, State
from agent_ls.review.ledger import Change, FileLedger, change
from agent_ls.review.pieces import Piece, cut, join, shared
from agent_ls.review.whole_file import whole_hunk


@dataclass(frozen=True, slots=True)
class UndoEdit:
    """Lines [start, end) of the current text give way to `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What to do to the file so that these hunks are out of it; nothing is decided yet.

    `edits` lead from the current text to `expected`, sorted and disjoint. `expected` None: the file is to be
    deleted. A current text of None with `expected` set: the file is to be written again. `hunks` are those that
    would be undone, `edited` the ids of those among them that hold text of the user's (ask first).
    """

    hunks: tuple[LedgerHunk, ...]
    edits: tuple[UndoEdit, ...]
    expected: str | None
    edited: tuple[str, ...]


def keep(ledger: FileLedger, ids: Collection[str]) -> Change:
    """What stands at these hunks is accepted. A stale hunk is put aside: there is nothing left to decide."""
    closed = tuple(
        replace(hunk, state="kept") if hunk.id in ids and hunk.state == "stale" else hunk
        for hunk in ledger.closed
    )
    return change(ledger, _decided(replace(ledger, closed=closed), ids, "kept"))


def undo_plan(ledger: FileLedger, ids: Collection[str]) -> UndoPlan:
    """How to take these hunks back, in the text as the ledger knows it."""
    after = _decided(ledger, ids, "undone")
    hunks = tuple(hunk for hunk in ledger.open_hunks if hunk.id in ids)
    runs = (
        () if ledger.current is None or after.current is None else line_hunks(ledger.current, after.current)
    )
    edits = tuple(UndoEdit(run.base_start, run.base_end, "".join(run.added)) for run in runs)
    edited = tuple(hunk.id for hunk in hunks if hunk.state == "edited")
    return UndoPlan(hunks, edits, after.current_text, edited)


def undone(ledger: FileLedger, ids: Collection[str]) -> Change:
    """These hunks have been taken back: the text is what `undo_plan` expected.

    What the user typed while that was done comes after it, by `user_edit`.
    """
    return change(ledger, _decided(ledger, ids, "undone"))


def _decided(ledger: FileLedger, ids: Collection[str], state: State) -> FileLedger:
    whole = whole_hunk(ledger)
    if whole:
        return _decided_whole(ledger, whole, state) if whole.id in ids else ledger
    if ledger.base is None or not any(hunk.id in ids for hunk in ledger.open_hunks):
        return ledger
    closed = [replace(hunk, state=state) for hunk in ledger.open_hunks if hunk.id in ids]
    pieces = [
        shared(piece.current if state == "kept" else piece.base) if _is_meant(piece, ids) else piece
        for piece in cut(ledger)
    ]
    return join(ledger, pieces, closed)


def _is_meant(piece: Piece, ids: Collection[str]) -> bool:
    return piece.hunk is not None and piece.is_open and piece.hunk.id in ids


def _decided_whole(ledger: FileLedger, hunk: LedgerHunk, state: State) -> FileLedger:
    lines = ledger.current if state == "kept" else ledger.base
    return FileLedger(ledger.path, lines, lines, (), (*ledger.closed, replace(hunk, state=state)))
