"""Pure: convert ledger values into events and log records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Literal

from agent_ls.loop.events.types import FileChange, Hunk
from agent_ls.notebook.cells import NotebookError, is_notebook, parse_notebook
from agent_ls.notebook.render import render_sources
from agent_ls.patch.unified import file_diff
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.ledger import FileLedger, LedgerChange
from agent_ls.store.journal import HunkPositions, text_fingerprint


def file_change(
    before: str | None, after: str | None, change: LedgerChange, *, call_id: str, folder: str
) -> FileChange:
    """Return the event for a call's change of a file. File names in the diff are relative to `folder`."""
    path = change.ledger.path
    diff = file_diff(*_as_compared(path, before, after), relative_name(path, folder))
    hunks = tuple(build_hunk(change.ledger, hunk) for hunk in change.new)
    return FileChange(call_id, path, action(before, after), diff.added, diff.removed, diff.text, hunks)


def _as_compared(path: str, before: str | None, after: str | None) -> tuple[str | None, str | None]:
    """Return the two texts that a diff compares: a notebook's cell sources if they differ, else the file's
    texts.
    """
    if not is_notebook(path):
        return before, after
    try:
        old, new = (
            None if text is None else render_sources(parse_notebook(text)) for text in (before, after)
        )
    except NotebookError:
        return before, after
    return (before, after) if old == new else (old, new)


def action(before: object, after: object) -> Literal["create", "modify", "delete"]:
    """Return the kind of change; a value of None means that the file does not exist."""
    return "create" if before is None else "delete" if after is None else "modify"


_SHARED = tuple(it.name for it in fields(LedgerHunk) if it.name != "agent_lines")


def shared_fields(hunk: Hunk | LedgerHunk) -> dict[str, Any]:
    """Return the fields that a hunk has both in the ledger and in events."""
    return {name: getattr(hunk, name) for name in _SHARED}


def build_hunk(ledger: FileLedger, hunk: LedgerHunk) -> Hunk:
    return Hunk(path=ledger.path, lines=ledger.lines_of(hunk), **shared_fields(hunk))


def build_proposed_hunk(ledger: FileLedger, hunk: LedgerHunk) -> Hunk:
    """Return a proposed hunk for clients.

    `start` and `end` are line numbers in the current text; `base_start` and `base_end` are the
    numbers of the same lines in the accepted text.
    """
    open_before = [other for other in ledger.open_hunks if other.end <= hunk.start]
    shift = sum((it.base_end - it.base_start) - (it.end - it.start) for it in open_before)
    return replace(
        build_hunk(ledger, hunk),
        base_start=max(hunk.start + shift, 0),
        base_end=max(hunk.end + shift, 0),
        lines=hunk.agent_lines,
    )


def find_hunk_positions(
    ledger: FileLedger, session_id: str, proposed: Sequence[LedgerHunk] = ()
) -> HunkPositions | None:
    """Return the positions of a session's hunks in a file, including proposed hunks; None without hunks."""
    hunks = [hunk for hunk in (*ledger.hunks, *proposed) if hunk.session_id == session_id]
    if not hunks:
        return None
    positions = {hunk.id: (hunk.base_start, hunk.base_end, hunk.start, hunk.end) for hunk in hunks}
    return HunkPositions(ledger.path, text_fingerprint(ledger.current_text), positions)


def relative_name(path: str, folder: str) -> str:
    """Return the path relative to the session's folder if it is inside, else the path."""
    top = folder.rstrip("/\\")
    return path[len(top) + 1 :] if path.startswith((f"{top}/", f"{top}\\")) else path
