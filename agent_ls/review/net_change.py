"""Pure: the net change of a session in one file, without what others changed between its writes.

The writes are replayed on a ledger, in which nothing is ever kept or undone by a decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_ls.patch.line_diff import line_hunks
from agent_ls.review.agent_edits import apply_agent_edit
from agent_ls.review.hunks import Lines
from agent_ls.review.ledger import FileLedger, open_ledger
from agent_ls.review.segments import Segment, join_segments, split_ledger
from agent_ls.review.user_edits import apply_user_edit


@dataclass(frozen=True, slots=True)
class SessionWrite:
    """One write of a session: the texts before and after it, None for no file.

    `reverts` is set for a roll back: it reverts the writes from this index on.
    """

    before: str | None
    after: str | None
    turn_id: str
    call_id: str
    reverts: int | None = None
    session_id: str = ""


def net_change(path: str, writes: Sequence[SessionWrite]) -> tuple[str | None, str | None]:
    """Return the text without and with the session's changes. `writes` are in order, and at least one.

    A line that only others typed is in both texts, except in a file that the session created.
    """
    replay = _Replay(open_ledger(path, writes[0].before))
    for write in writes:
        replay.take(write)
    ledger = replay.ledger
    if ledger.base is not None and ledger.current is not None:
        ledger = join_segments(ledger, [replay.without_typed(it) for it in split_ledger(ledger)])
    return ledger.base_text, ledger.current_text


@dataclass(slots=True)
class _Replay:
    """The ledger after the writes so far. `before` has the ledger before each, `written` the lines of the agent."""

    ledger: FileLedger
    before: list[FileLedger] = field(default_factory=list)
    written: set[str] = field(default_factory=set)

    def take(self, write: SessionWrite) -> None:
        known = apply_user_edit(self.ledger, write.before).ledger
        self.before.append(known)
        if write.reverts is not None:
            # What differs from the text of then, others have changed since.
            self.ledger = apply_user_edit(self.before[write.reverts], write.after).ledger
            return
        self.ledger = apply_agent_edit(known, write.after, write).ledger
        for hunk in line_hunks(known.current or (), self.ledger.current or ()):
            self.written.update(hunk.added)

    def without_typed(self, piece: Segment) -> Segment:
        """Return an edited hunk without the changes in it that are only by others: they are in its base text too."""
        hunk = piece.hunk
        if hunk is None or hunk.state != "edited":
            return piece
        removed, added = _agent_changes(hunk.base_lines, hunk.agent_lines)
        base: list[str] = []
        at = 0
        for typed in (*line_hunks(hunk.agent_lines, piece.current), None):
            end = len(hunk.agent_lines) if typed is None else typed.base_start
            for index in range(at, end):
                base += removed[index]
                base += [] if index in added else [hunk.agent_lines[index]]
            if typed is None:
                break
            at = typed.base_end
            replaced = range(typed.base_start, at)
            base += [line for index in replaced for line in removed[index]]
            if not added.isdisjoint(replaced) or not self.written.isdisjoint(typed.added):
                base += [hunk.agent_lines[index] for index in replaced if index not in added]
            else:
                base += typed.added
        return Segment(None, (*base, *removed[len(hunk.agent_lines)]), piece.current)


def _agent_changes(base: Lines, agent_lines: Lines) -> tuple[Sequence[Lines], frozenset[int]]:
    """Return the lines that the agent removed before each of its lines and at their end, and the lines it added."""
    removed: list[Lines] = [()] * (len(agent_lines) + 1)
    added: set[int] = set()
    grown = 0
    for each in line_hunks(base, agent_lines):
        start = each.base_start + grown
        removed[start] = each.removed
        added.update(range(start, start + len(each.added)))
        grown += len(each.added) - len(each.removed)
    return removed, frozenset(added)
