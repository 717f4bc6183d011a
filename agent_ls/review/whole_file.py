"""Changes of the file as a whole: created, deleted, brought back. One hunk covers all of such a file.

A file with a `create` hunk has no base, one with a `delete` hunk has no current text.
"""

from __future__ import annotations

from dataclasses import replace

from agent_ls.review.hunks import Author, LedgerHunk, Lines, State, made_by, new_hunk
from agent_ls.review.ledger import FileLedger
from agent_ls.review.merging import carried
from agent_ls.review.pieces import Piece, cut, join, shared
from agent_ls.text import split_lines


def whole_hunk(ledger: FileLedger) -> LedgerHunk | None:
    """The open create or delete hunk, if there is one."""
    return next((hunk for hunk in ledger.hunks if hunk.what != "content"), None)


def is_about_the_file(ledger: FileLedger) -> bool:
    """True when lines cannot be compared one by one: a side is absent."""
    return ledger.base is None or ledger.current is None


def user_changed_file(ledger: FileLedger, new_text: str | None) -> FileLedger:
    """The user deleted the file, or it is one that was created or deleted by an agent, or is new."""
    lines = None if new_text is None else tuple(split_lines(new_text))
    if lines == ledger.current:
        return ledger
    hunk = whole_hunk(ledger)
    if hunk and hunk.what == "create" and lines is not None:
        return _with(replace(ledger, current=lines), _judged(hunk, lines))
    returned = _returned(ledger, lines)
    if returned:
        rest = tuple(closed for closed in ledger.closed if closed.id != returned.id)
        return _with(replace(ledger, current=lines, closed=rest), replace(returned, state="pending"))
    return _settled(ledger, lines)


def agent_changed_file(ledger: FileLedger, new_text: str | None, author: Author) -> FileLedger:
    """An agent created or deleted the file, or changed one that it had created. New hunks have no id yet."""
    lines = None if new_text is None else tuple(split_lines(new_text))
    if lines == ledger.current:
        return ledger
    hunk = whole_hunk(ledger)
    if lines is None:
        return _settled(ledger, None) if hunk else _deleted(ledger, author)
    if hunk is None:
        return _with(replace(ledger, current=lines), new_hunk(author, "create", (), lines))
    agent = lines
    if hunk.session_id == author.session_id:
        hunk = made_by(hunk, [author.turn_id])
    if hunk.session_id != author.session_id:
        agent = hunk.agent_lines
    elif hunk.state == "edited":
        agent = carried(ledger.current or (), lines, hunk.agent_lines)
    return _with(replace(ledger, current=lines), _judged(replace(hunk, agent_lines=agent), lines))


def _judged(created: LedgerHunk, lines: Lines) -> LedgerHunk:
    """Edited as long as something in it is not the agent's."""
    state: State = "pending" if lines == created.agent_lines else "edited"
    return replace(created, state=state)


def brought_back(ledger: FileLedger) -> FileLedger:
    """The ledger of a deleted file as it is once the deletion is taken back: with its base text."""
    return _settled(ledger, ledger.base)


def _returned(ledger: FileLedger, lines: Lines | None) -> LedgerHunk | None:
    """The hunk whose change the user made again (redo): created with the same text, or deleted."""
    if ledger.base is None and ledger.current is None:
        made = [hunk for hunk in ledger.closed if hunk.what == "create" and hunk.agent_lines == lines]
    elif lines is None and not ledger.open_hunks:
        made = [hunk for hunk in ledger.closed if hunk.what == "delete" and hunk.base_lines == ledger.base]
    else:
        return None
    return next((hunk for hunk in reversed(made) if hunk.state == "gone"), None)


def _settled(ledger: FileLedger, lines: Lines | None) -> FileLedger:
    """Both sides are `lines`; nothing is left to review."""
    gone = tuple(replace(hunk, state="gone") for hunk in ledger.hunks)
    return FileLedger(ledger.path, lines, lines, (), (*ledger.closed, *gone))


def _deleted(ledger: FileLedger, author: Author) -> FileLedger:
    # What the user typed inside hunks is in no base. It must come back if the deletion is taken back, so it is
    # accepted as it stands; hunks that nobody touched are reversed.
    closed = [replace(hunk, state="stale" if hunk.state == "edited" else "gone") for hunk in ledger.hunks]
    pieces = [shared(piece.current if _is_edited(piece) else piece.base) for piece in cut(ledger)]
    settled = join(ledger, pieces, closed)
    return _with(replace(settled, current=None), new_hunk(author, "delete", settled.base or (), ()))


def _is_edited(piece: Piece) -> bool:
    return piece.hunk is not None and piece.hunk.state == "edited"


def _with(ledger: FileLedger, hunk: LedgerHunk) -> FileLedger:
    base, current = ledger.base or (), ledger.current or ()
    placed = replace(hunk, base_start=0, base_end=len(base), start=0, end=len(current))
    return replace(ledger, hunks=(placed,))
