"""Apply the user's decisions on hunks: keep a hunk, undo it, or replace it by another text.

A decision on one hunk never changes another hunk, so the order of decisions does not matter. Ids that belong to
no open hunk are ignored. The caller recognises ignored ids because `LedgerChange.changed` does not contain
them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from agent_ls.review.hunks import LedgerHunk, Lines
from agent_ls.review.ledger import FileLedger, LedgerChange, diff_ledgers
from agent_ls.review.segments import Segment, join_segments, shared_segment, split_ledger
from agent_ls.review.sub_hunks import extract_sub_hunk
from agent_ls.review.whole_file import whole_hunk
from agent_ls.text import line_ending, preferred_ending, split_lines, strip_ending


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision on hunks of one file.

    `lines` [first, last) limits the decision to some new lines; `ids` must then contain exactly one id.
    `replacement` is the text to keep instead of the agent's text. None keeps the agent's text.
    """

    ids: frozenset[str]
    state: Literal["kept", "undone"]
    lines: tuple[int, int] | None = None
    replacement: str | None = None


def apply_decision(ledger: FileLedger, decision: Decision) -> LedgerChange:
    """Return the ledger after the decision. The caller writes the ledger's current text to the file.

    If the user types before the file is written, apply that text afterwards with `apply_user_edit`. If the user
    keeps a stale hunk, the hunk is dismissed.

    Raises:
        ValueError: the hunk does not have these lines.
    """
    divided, ids = narrow_to_lines(ledger, decision)
    if decision.state == "kept":
        closed = tuple(
            replace(hunk, state="kept") if hunk.id in ids and hunk.state == "stale" else hunk
            for hunk in divided.closed
        )
        divided = replace(divided, closed=closed)
    after = _decide(divided, ids, decision)
    if decision.lines and decision.state == "undone" and (made := whole_hunk(ledger)):
        after = _shrink_created(after, made)
    return diff_ledgers(ledger, after)


def narrow_to_lines(ledger: FileLedger, decision: Decision) -> tuple[FileLedger, frozenset[str]]:
    """Split a hunk if the decision concerns only some of its lines. Return the ledger and the ids to decide.

    Raises:
        ValueError: the hunk does not have these lines.
    """
    if decision.lines is None:
        return ledger, decision.ids
    (hunk_id,) = decision.ids
    divided, chosen = extract_sub_hunk(ledger, hunk_id, *decision.lines)
    return divided, frozenset((chosen,))


def replacement_lines(text: str, instead: Lines, file: Lines) -> Lines:
    """Return the user's `text` as whole lines with the line ending of `file`. They replace the lines `instead`."""
    ending = preferred_ending(file)
    lines = [strip_ending(line) + ending for line in split_lines(text)]
    if lines and instead and not line_ending(instead[-1]):
        lines[-1] = strip_ending(lines[-1])  # the last line of a file that ends without a line ending
    return tuple(lines)


def _decide(ledger: FileLedger, ids: frozenset[str], decision: Decision) -> FileLedger:
    whole = whole_hunk(ledger)
    if whole:
        return _decide_whole_file(ledger, whole, decision) if whole.id in ids else ledger
    if ledger.base is None or not any(hunk.id in ids for hunk in ledger.open_hunks):
        return ledger
    closed = [replace(hunk, state=decision.state) for hunk in ledger.open_hunks if hunk.id in ids]
    pieces = [
        shared_segment(_choose_lines(ledger, piece.base, piece.current, decision))
        if _is_meant(piece, ids)
        else piece
        for piece in split_ledger(ledger)
    ]
    return join_segments(ledger, pieces, closed)


def _choose_lines(ledger: FileLedger, base: Lines, current: Lines, decision: Decision) -> Lines:
    if decision.state == "undone":
        return base
    if decision.replacement is None:
        return current
    return replacement_lines(decision.replacement, current or base, ledger.current or ())


def _is_meant(piece: Segment, ids: Collection[str]) -> bool:
    return piece.hunk is not None and piece.is_open and piece.hunk.id in ids


def _decide_whole_file(ledger: FileLedger, hunk: LedgerHunk, decision: Decision) -> FileLedger:
    lines = ledger.base if decision.state == "undone" else ledger.current
    if decision.state == "kept" and decision.replacement is not None and lines is not None:
        lines = replacement_lines(decision.replacement, lines, lines)
    return FileLedger(ledger.path, lines, lines, (), (*ledger.closed, replace(hunk, state=decision.state)))


def _shrink_created(after: FileLedger, made: LedgerHunk) -> FileLedger:
    """Return the ledger after some lines of a created file were undone. The file keeps its `create` hunk."""
    current = after.current or ()
    hunk = replace(made, agent_lines=current, start=0, end=len(current))
    return FileLedger(after.path, None, current, (hunk,), after.closed)
