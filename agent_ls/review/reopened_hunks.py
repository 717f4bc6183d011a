"""Reopen hunks whose lines are in the file again, after a ledger was rebuilt or after the editor's undo.

A hunk is reopened only at a position that is certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_ls.review.hunks import LedgerHunk, Lines
from agent_ls.review.ledger import FileLedger, LedgerChange, diff_ledgers
from agent_ls.review.restore import StoredHunk, restore_ledger
from agent_ls.review.whole_file import is_whole_file_change


def is_missing(ledger: FileLedger, item: StoredHunk) -> bool:
    """Return whether a stored open hunk has lost its position in the ledger without a decision of the user."""
    found = ledger.find(item.hunk.id)
    is_own = found is not None and found.session_id == item.hunk.session_id
    is_lost = found is not None and found.state in ("gone", "stale")
    return is_own and is_lost and item.hunk.is_open and item.hunk.what == "content" and not item.is_beside


def reopen_missing(ledger: FileLedger, missing: Sequence[StoredHunk]) -> LedgerChange | None:
    """Reopen the hunks of `missing` whose lines occur exactly once in the ledger's text.

    Return None if no hunk was reopened. The text stays unchanged: lines that counted as the user's text
    become lines of the reopened hunks.
    """
    wanted = [item for item in missing if is_missing(ledger, item)]
    if not wanted or ledger.current is None or is_whole_file_change(ledger):
        return None
    text = ledger.current_text
    back = {hunk.id for hunk in restore_ledger(ledger.path, wanted, text).open_hunks}
    if not back:
        return None
    return _open_again(ledger, [item for item in wanted if item.hunk.id in back])


@dataclass(frozen=True, slots=True)
class UndoneHunks:
    """Hunks that a decision removed from a text, in their state before the decision. `lines` is the whole text
    before the decision.
    """

    lines: Lines
    hunks: tuple[LedgerHunk, ...]


def reopen_undone(ledger: FileLedger, undone: UndoneHunks) -> LedgerChange | None:
    """Reopen undone hunks if the text is exactly as it was before the decision. Otherwise return None."""
    wanted = [
        StoredHunk(hunk, undone.lines[hunk.start : hunk.end], is_placed=True)
        for hunk in undone.hunks
        if (now := ledger.find(hunk.id)) and now.state == "undone"
    ]
    if not wanted or ledger.current != undone.lines or is_whole_file_change(ledger):
        return None
    back = _open_again(ledger, wanted)
    open_ids = {hunk.id for hunk in back.ledger.open_hunks}
    is_whole = open_ids >= {it.hunk.id for it in wanted} | {hunk.id for hunk in ledger.open_hunks}
    return back if is_whole else None


def _open_again(ledger: FileLedger, items: Sequence[StoredHunk]) -> LedgerChange:
    back = {item.hunk.id for item in items}
    others = [
        StoredHunk(hunk, ledger.lines_of(hunk), is_placed=True)
        for hunk in ledger.hunks
        if hunk.id not in back
    ]
    found = restore_ledger(ledger.path, [*others, *items], ledger.current_text)
    closed = tuple(hunk for hunk in ledger.closed if hunk.id not in back)
    return diff_ledgers(ledger, replace(found, closed=(*closed, *found.closed)))
