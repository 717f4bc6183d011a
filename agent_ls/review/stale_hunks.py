"""Find the hunks that become stale because another change overlaps them. They cannot be undone separately.

These are the rules for hunks whose lines are in the text. Proposals become stale in `proposals.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from agent_ls.review.hunks import LedgerHunk


def mark_stale_if_open(hunk: LedgerHunk) -> LedgerHunk:
    """Return an open hunk, whose position is lost, as `stale`; return a closed hunk unchanged."""
    return replace(hunk, state="stale") if hunk.is_open else hunk


def close_overlapped_hunks(
    hunks: Iterable[LedgerHunk], merging_session_id: str | None = None
) -> list[LedgerHunk]:
    """Close hunks that are absorbed by another hunk, because one change overlaps all of them.

    They become `stale`. Open hunks of the session `merging_session_id` become `gone` instead: the absorbing hunk
    belongs to the same session, so undoing that hunk undoes them too.
    """
    closed = []
    for hunk in hunks:
        is_merged = hunk.is_open and hunk.session_id == merging_session_id
        closed.append(replace(hunk, state="gone" if is_merged else "stale"))
    return closed


def close_hunks_of_deleted_file(hunks: Iterable[LedgerHunk]) -> list[LedgerHunk]:
    """Close the hunks of a file that an agent deletes: edited ones become `stale`, all others `gone`."""
    return [replace(hunk, state="stale" if hunk.state == "edited" else "gone") for hunk in hunks]
