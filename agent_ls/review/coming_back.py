"""Hunks that were not in a file when its ledger was built again, and stand in a later text of it. Never guesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent_ls.review.ledger import Change, FileLedger, change
from agent_ls.review.restore import StoredHunk, restore
from agent_ls.review.whole_file import is_about_the_file


def is_missing(ledger: FileLedger, item: StoredHunk) -> bool:
    """Whether the hunk was open and has no place in the text any more, decided by nobody."""
    found = ledger.find(item.hunk.id)
    is_own = found is not None and found.session_id == item.hunk.session_id
    is_lost = found is not None and found.state in ("gone", "stale")
    return is_own and is_lost and item.hunk.is_open and item.hunk.what == "content" and not item.is_beside


def come_back(ledger: FileLedger, missing: Sequence[StoredHunk]) -> Change | None:
    """The ledger with those of `missing` open again whose lines stand in its text exactly once; None: there is none.

    It takes them for the user's when it is told of that text, so the text of the ledger is asked, not a change of it.
    """
    wanted = [item for item in missing if is_missing(ledger, item)]
    if not wanted or ledger.current is None or is_about_the_file(ledger):
        return None
    text = ledger.current_text
    back = {hunk.id for hunk in restore(ledger.path, wanted, text).open_hunks}
    if not back:
        return None
    others = [
        StoredHunk(hunk, ledger.lines_of(hunk), is_placed=True)
        for hunk in ledger.hunks
        if hunk.id not in back
    ]
    found = restore(ledger.path, [*others, *(item for item in wanted if item.hunk.id in back)], text)
    closed = tuple(hunk for hunk in ledger.closed if hunk.id not in back)
    return change(ledger, replace(found, closed=(*closed, *found.closed)))
