"""Apply the user's decisions on hunks: keep a hunk, undo it, or replace it by another text.

A decision on one hunk never changes another, so the order of decisions does not matter. Ids without an open
hunk are ignored: the caller detects them because they are missing in `changed`.
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

    `lines` [first, last) limits it to some new lines of its only hunk. `replacement` is the text to keep
    instead of the agent's, None for the agent's text.
    """

    ids: frozenset[str]
    state: Literal["kept", "undone"]
    lines: tuple[int, int] | None = None
    replacement: str | None = None


def apply_decision(ledger: FileLedger, decision: Decision) -> LedgerChange:
    """Return the ledger after the decision; its text is the one to write to the file.

    Text that the user types in the meantime is added afterwards by `apply_user_edit`. Keeping a stale hunk
    dismisses it.

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
    """Return a ledger in which the decision concerns whole hunks, and their ids.

    Raises:
        ValueError: the hunk does not have these lines.
    """
    if decision.lines is None:
        return ledger, decision.ids
    (hunk_id,) = decision.ids
    divided, chosen = extract_sub_hunk(ledger, hunk_id, *decision.lines)
    return divided, frozenset((chosen,))


def replacement_lines(text: str, instead: Lines, file: Lines) -> Lines:
    """Return a text from the user as whole lines, with the file's line ending, to replace the lines `instead`."""
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
    """Return the ledger of a file created by an agent after lines of it were undone: it is still a created file."""
    current = after.current or ()
    hunk = replace(made, agent_lines=current, start=0, end=len(current))
    return FileLedger(after.path, None, current, (hunk,), after.closed)
