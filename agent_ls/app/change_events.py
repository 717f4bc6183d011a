"""Ledger values as the events and records that tell of them. Pure: no session, no file is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from agent_ls.loop.events import FileChange, Hunk
from agent_ls.patch.unified import file_diff
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.ledger import Change, FileLedger
from agent_ls.store.journal import Standing, text_fingerprint


def file_change(
    before: str | None, after: str | None, change: Change, *, call_id: str, folder: str
) -> FileChange:
    """A call's change of a file; `folder` is the session's, which the diff leaves out of the file's name."""
    path = change.ledger.path
    diff = file_diff(before, after, relative_name(path, folder))
    hunks = tuple(shown(change.ledger, hunk) for hunk in change.new)
    return FileChange(call_id, path, action(before, after), diff.added, diff.removed, diff.text, hunks)


def action(before: object, after: object) -> Literal["create", "modify", "delete"]:
    """None is "no such file"."""
    return "create" if before is None else "delete" if after is None else "modify"


def shown(ledger: FileLedger, hunk: LedgerHunk) -> Hunk:
    return Hunk(
        id=hunk.id,
        session_id=hunk.session_id,
        turn_id=hunk.turn_id,
        call_id=hunk.call_id,
        path=ledger.path,
        what=hunk.what,
        state=hunk.state,
        base_start=hunk.base_start,
        base_end=hunk.base_end,
        start=hunk.start,
        end=hunk.end,
        base_lines=hunk.base_lines,
        lines=ledger.lines_of(hunk),
        link=hunk.link,
        later_turns=hunk.later_turns,
    )


def proposal_shown(ledger: FileLedger, hunk: LedgerHunk) -> Hunk:
    """A hunk that stands beside the file. What it would replace is in the current text, so its old range is where

    that is in the accepted one.
    """
    open_before = [other for other in ledger.open_hunks if other.end <= hunk.start]
    shift = sum((it.base_end - it.base_start) - (it.end - it.start) for it in open_before)
    return replace(
        shown(ledger, hunk),
        base_start=max(hunk.start + shift, 0),
        base_end=max(hunk.end + shift, 0),
        lines=hunk.agent_lines,
    )


def maybe_standing(
    ledger: FileLedger, session_id: str, proposed: Sequence[LedgerHunk] = ()
) -> Standing | None:
    """Where the hunks of a session are in a file, and those that stand beside it; None when it has none there."""
    hunks = [hunk for hunk in (*ledger.hunks, *proposed) if hunk.session_id == session_id]
    if not hunks:
        return None
    places = {hunk.id: (hunk.base_start, hunk.base_end, hunk.start, hunk.end) for hunk in hunks}
    return Standing(ledger.path, text_fingerprint(ledger.current_text), places)


def relative_name(path: str, folder: str) -> str:
    """As a person names it: below the session's folder without the folder."""
    top = folder.rstrip("/\\")
    return path[len(top) + 1 :] if path.startswith((f"{top}/", f"{top}\\")) else path
