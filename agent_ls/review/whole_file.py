"""Changes of the whole file: created, deleted, recreated. One hunk covers the whole file.

A ledger with a `create` hunk has no base text. A ledger with a `delete` hunk has no current text.
"""

from __future__ import annotations

from dataclasses import replace

from agent_ls.review.hunks import Author, HunkState, LedgerHunk, Lines, add_turns, new_hunk
from agent_ls.review.ledger import FileLedger
from agent_ls.review.segments import Segment, apply_same_change, join_segments, shared_segment, split_ledger
from agent_ls.review.stale_hunks import close_hunks_of_deleted_file
from agent_ls.text import split_lines


def whole_hunk(ledger: FileLedger) -> LedgerHunk | None:
    """Return the open create or delete hunk, if there is one."""
    return next((hunk for hunk in ledger.hunks if hunk.what != "content"), None)


def is_whole_file_change(ledger: FileLedger) -> bool:
    """Return True if the base or the current text does not exist, so that lines cannot be compared."""
    return ledger.base is None or ledger.current is None


def apply_user_file_change(ledger: FileLedger, new_text: str | None) -> FileLedger:
    """Apply a user's change to a file that an agent has created or deleted, or that the user creates or deletes now."""
    lines = None if new_text is None else tuple(split_lines(new_text))
    if lines == ledger.current:
        return ledger
    hunk = whole_hunk(ledger)
    if hunk and hunk.what == "create" and lines is not None:
        return _with(replace(ledger, current=lines), _derive_state(hunk, lines))
    returned = _find_redone(ledger, lines)
    if returned:
        rest = tuple(closed for closed in ledger.closed if closed.id != returned.id)
        return _with(replace(ledger, current=lines, closed=rest), replace(returned, state="pending"))
    return accept_file(ledger, lines)


def apply_agent_file_change(ledger: FileLedger, new_text: str | None, author: Author) -> FileLedger:
    """Apply an agent's creation or deletion of a file, or its change of a created file. New hunks have no id yet."""
    lines = None if new_text is None else tuple(split_lines(new_text))
    if lines == ledger.current:
        return ledger
    hunk = whole_hunk(ledger)
    if lines is None:
        return accept_file(ledger, None) if hunk else _delete(ledger, author)
    if hunk is None:
        return _with(replace(ledger, current=lines), new_hunk(author, "create", (), lines))
    agent = lines
    if hunk.session_id == author.session_id:
        hunk = add_turns(hunk, [author.turn_id])
    if hunk.session_id != author.session_id:
        agent = hunk.agent_lines
    elif hunk.state == "edited":
        agent = apply_same_change(ledger.current or (), lines, hunk.agent_lines)
    return _with(replace(ledger, current=lines), _derive_state(replace(hunk, agent_lines=agent), lines))


def _derive_state(created: LedgerHunk, lines: Lines) -> LedgerHunk:
    """Return the hunk as `pending` if `lines` are exactly the lines that the agent wrote, otherwise as
    `edited`.
    """
    state: HunkState = "pending" if lines == created.agent_lines else "edited"
    return replace(created, state=state)


def recreate_file(ledger: FileLedger) -> FileLedger:
    """Return the ledger of a deleted file after the file was recreated with its base text."""
    return accept_file(ledger, ledger.base)


def _find_redone(ledger: FileLedger, lines: Lines | None) -> LedgerHunk | None:
    """Return the gone hunk that a redo by the user restored: a creation with the same text, or the same
    deletion.
    """
    if ledger.base is None and ledger.current is None:
        made = [hunk for hunk in ledger.closed if hunk.what == "create" and hunk.agent_lines == lines]
    elif lines is None and not ledger.open_hunks:
        made = [hunk for hunk in ledger.closed if hunk.what == "delete" and hunk.base_lines == ledger.base]
    else:
        return None
    return next((hunk for hunk in reversed(made) if hunk.state == "gone"), None)


def accept_file(ledger: FileLedger, lines: Lines | None) -> FileLedger:
    """Set base and current text to `lines`, so that no hunk is left to review."""
    gone = tuple(replace(hunk, state="gone") for hunk in ledger.hunks)
    return FileLedger(ledger.path, lines, lines, (), (*ledger.closed, *gone))


def _delete(ledger: FileLedger, author: Author) -> FileLedger:
    # The base does not contain text that the user typed inside hunks. That text must reappear if the deletion is
    # reverted. So the lines of edited hunks become part of the base; all other hunks are reverted.
    closed = close_hunks_of_deleted_file(ledger.hunks)
    pieces = [
        shared_segment(piece.current if _is_edited(piece) else piece.base) for piece in split_ledger(ledger)
    ]
    joined = join_segments(ledger, pieces, closed)
    return _with(replace(joined, current=None), new_hunk(author, "delete", joined.base or (), ()))


def _is_edited(piece: Segment) -> bool:
    return piece.hunk is not None and piece.hunk.state == "edited"


def _with(ledger: FileLedger, hunk: LedgerHunk) -> FileLedger:
    base, current = ledger.base or (), ledger.current or ()
    placed = replace(hunk, base_start=0, base_end=len(base), start=0, end=len(current))
    return replace(ledger, hunks=(placed,))
