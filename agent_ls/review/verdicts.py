"""What the user decides about hunks: keep them, take them back, or put a text of his own in their place.

It does not know who asks, or when. A verdict on one hunk never touches another, so the order of verdicts makes no
difference. Ids that have no open hunk are left alone: the caller tells which by what is not in `changed`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from agent_ls.patch.lines import line_hunks
from agent_ls.review.hunks import LedgerHunk, Lines
from agent_ls.review.ledger import Change, FileLedger, change
from agent_ls.review.pieces import Piece, cut, join, shared
from agent_ls.review.portions import portioned
from agent_ls.review.whole_file import whole_hunk
from agent_ls.text import line_ending, preferred_ending, split_lines, strip_ending


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict on hunks of one file.

    `lines` [first, last) narrows it to new lines of the one hunk that it is about. `replacement` stands in place of
    what is kept, None for what the agent wrote.
    """

    ids: frozenset[str]
    state: Literal["kept", "undone"]
    lines: tuple[int, int] | None = None
    replacement: str | None = None


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
    would be decided, `edited` the ids of those among them that hold text of the user's (ask first).
    """

    hunks: tuple[LedgerHunk, ...]
    edits: tuple[UndoEdit, ...]
    expected: str | None
    edited: tuple[str, ...]


def plan(ledger: FileLedger, decision: Decision) -> UndoPlan:
    """What a decision does to the text, as the ledger knows it.

    Raises:
        ValueError: there are no such lines.
    """
    ledger, ids = narrowed(ledger, decision)
    after = _decided(ledger, ids, decision)
    hunks = tuple(hunk for hunk in ledger.open_hunks if hunk.id in ids)
    runs = (
        () if ledger.current is None or after.current is None else line_hunks(ledger.current, after.current)
    )
    edits = tuple(UndoEdit(run.base_start, run.base_end, "".join(run.added)) for run in runs)
    edited = tuple(hunk.id for hunk in hunks if hunk.state == "edited")
    return UndoPlan(hunks, edits, after.current_text, edited)


def decided(ledger: FileLedger, decision: Decision) -> Change:
    """The ledger after the decision was carried out: the text is what `plan` expected.

    What the user typed while that was done comes after it, by `user_edit`. A stale hunk that is kept is put aside:
    there is nothing left to decide.

    Raises:
        ValueError: there are no such lines.
    """
    divided, ids = narrowed(ledger, decision)
    if decision.state == "kept":
        closed = tuple(
            replace(hunk, state="kept") if hunk.id in ids and hunk.state == "stale" else hunk
            for hunk in divided.closed
        )
        divided = replace(divided, closed=closed)
    after = _decided(divided, ids, decision)
    if decision.lines and decision.state == "undone" and (made := whole_hunk(ledger)):
        after = _less(after, made)
    return change(ledger, after)


def narrowed(ledger: FileLedger, decision: Decision) -> tuple[FileLedger, frozenset[str]]:
    """The ledger in which the decision is about whole hunks, and their ids.

    Raises:
        ValueError: there are no such lines.
    """
    if decision.lines is None:
        return ledger, decision.ids
    (hunk_id,) = decision.ids
    divided, chosen = portioned(ledger, hunk_id, *decision.lines)
    return divided, frozenset((chosen,))


def keep(ledger: FileLedger, ids: Collection[str]) -> Change:
    """What stands at these hunks is accepted."""
    return decided(ledger, Decision(frozenset(ids), "kept"))


def undo_plan(ledger: FileLedger, ids: Collection[str]) -> UndoPlan:
    """How to take these hunks back."""
    return plan(ledger, Decision(frozenset(ids), "undone"))


def undone(ledger: FileLedger, ids: Collection[str]) -> Change:
    """These hunks have been taken back."""
    return decided(ledger, Decision(frozenset(ids), "undone"))


def replacement_lines(text: str, instead: Lines, file: Lines) -> Lines:
    """A text that a person sent, as whole lines with the line ends of the file, in place of the lines `instead`."""
    ending = preferred_ending(file)
    lines = [strip_ending(line) + ending for line in split_lines(text)]
    if lines and instead and not line_ending(instead[-1]):
        lines[-1] = strip_ending(lines[-1])  # the last line of a file that ends without a line end
    return tuple(lines)


def _decided(ledger: FileLedger, ids: frozenset[str], decision: Decision) -> FileLedger:
    whole = whole_hunk(ledger)
    if whole:
        return _decided_whole(ledger, whole, decision) if whole.id in ids else ledger
    if ledger.base is None or not any(hunk.id in ids for hunk in ledger.open_hunks):
        return ledger
    closed = [replace(hunk, state=decision.state) for hunk in ledger.open_hunks if hunk.id in ids]
    pieces = [
        shared(_chosen(ledger, piece.base, piece.current, decision)) if _is_meant(piece, ids) else piece
        for piece in cut(ledger)
    ]
    return join(ledger, pieces, closed)


def _chosen(ledger: FileLedger, base: Lines, current: Lines, decision: Decision) -> Lines:
    if decision.state == "undone":
        return base
    if decision.replacement is None:
        return current
    return replacement_lines(decision.replacement, current or base, ledger.current or ())


def _is_meant(piece: Piece, ids: Collection[str]) -> bool:
    return piece.hunk is not None and piece.is_open and piece.hunk.id in ids


def _decided_whole(ledger: FileLedger, hunk: LedgerHunk, decision: Decision) -> FileLedger:
    lines = ledger.base if decision.state == "undone" else ledger.current
    if decision.state == "kept" and decision.replacement is not None and lines is not None:
        lines = replacement_lines(decision.replacement, lines, lines)
    return FileLedger(ledger.path, lines, lines, (), (*ledger.closed, replace(hunk, state=decision.state)))


def _less(after: FileLedger, made: LedgerHunk) -> FileLedger:
    """Of a file that an agent made, lines were taken out: it is still one that the agent made."""
    current = after.current or ()
    hunk = replace(made, agent_lines=current, start=0, end=len(current))
    return FileLedger(after.path, None, current, (hunk,), after.closed)
