"""Apply a roll back of an agent's turns to a ledger.

The text after a roll back arrives like an edit by the user. This leaves hunks open in which the user had typed. If none
of their lines is the agent's any more, an undo would delete only what the user wrote.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from agent_ls.review.hunks import HunkState, LedgerHunk, Lines
from agent_ls.review.ledger import FileLedger, LedgerChange, diff_ledgers
from agent_ls.review.segments import Segment, apply_same_change, join_segments, shared_segment, split_ledger
from agent_ls.review.user_edits import with_derived_state
from agent_ls.review.whole_file import accept_file, is_whole_file_change


def apply_roll_back(
    ledger: FileLedger, before: FileLedger, after: FileLedger, session_id: str, turns: Collection[str]
) -> LedgerChange:
    """Return the ledger after a roll back of these turns of a session led from `before` to `after`.

    In `after`, the new text is an edit by the user; `ledger` may also have what the user typed since. A hunk of only
    these turns becomes `gone`, and its lines are accepted. A hunk that other turns changed too keeps what is left of
    the agent's lines.
    """
    own = [hunk for hunk in ledger.open_hunks if hunk.session_id == session_id]
    left = {
        hunk.id: None if set(hunk.turns) <= set(turns) else _lines_left(before, after, hunk) for hunk in own
    }
    if is_whole_file_change(ledger):
        return diff_ledgers(ledger, _with_whole_file(ledger, left))
    pieces: list[Segment] = []
    closed: list[LedgerHunk] = []
    for piece in split_ledger(ledger):
        hunk = piece.hunk
        if hunk is None or not hunk.is_open or hunk.id not in left:
            pieces.append(piece)
        elif (agent_lines := left[hunk.id]) is None or agent_lines == hunk.base_lines:
            closed.append(replace(hunk, state="gone"))
            pieces.append(shared_segment(piece.current))
        else:
            pieces += with_derived_state(replace(piece, hunk=replace(hunk, agent_lines=agent_lines)))
    return diff_ledgers(ledger, join_segments(ledger, pieces, closed))


def _lines_left(before: FileLedger, after: FileLedger, hunk: LedgerHunk) -> Lines | None:
    """Return the agent's lines that a roll back has left in a hunk, None if there are none."""
    was, now = before.find(hunk.id), after.find(hunk.id)
    if now is None or not now.is_open:
        return None
    if was is None or not was.is_open:
        return hunk.agent_lines
    new = after.lines_of(now)
    return new if was.state == "pending" else apply_same_change(before.lines_of(was), new, was.agent_lines)


def _with_whole_file(ledger: FileLedger, left: Mapping[str, Lines | None]) -> FileLedger:
    hunk = next((hunk for hunk in ledger.open_hunks if hunk.id in left), None)
    if hunk is None:
        return ledger
    lines = left[hunk.id]
    if lines is None:
        return accept_file(ledger, ledger.current)
    state: HunkState = "pending" if (ledger.current or ()) == lines else "edited"
    return replace(ledger, hunks=(replace(hunk, agent_lines=lines, state=state),))
