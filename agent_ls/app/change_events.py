"""Ledger values as the events and records that tell of them. Pure: no session, no file is asked."""

from __future__ import annotations

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
    )


def maybe_standing(ledger: FileLedger, session_id: str) -> Standing | None:
    """Where the hunks of a session are in a file, None when it has none there."""
    hunks = [hunk for hunk in ledger.hunks if hunk.session_id == session_id]
    if not hunks:
        return None
    places = {hunk.id: (hunk.base_start, hunk.base_end, hunk.start, hunk.end) for hunk in hunks}
    return Standing(ledger.path, text_fingerprint(ledger.current_text), places)


def relative_name(path: str, folder: str) -> str:
    """As a person names it: below the session's folder without the folder."""
    top = folder.rstrip("/\\")
    return path[len(top) + 1 :] if path.startswith((f"{top}/", f"{top}\\")) else path
