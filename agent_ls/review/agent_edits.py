"""Apply an agent's change to a ledger: new hunks, or additions to hunks of the same session.

Rules for each block of changed lines. (A line directly before or after a hunk is outside it, except that
lines inserted where a hunk of the same session removed some belong to that hunk.)

- Outside all hunks: the block becomes a new pending hunk.
- Inside an open hunk of the same session: the hunk keeps its id and its first call, and gets the new lines. If the
  change restores the base lines, the hunk is `gone`. A hunk that the user edited stays `edited`, because it contains
  text of the user.
- Inside a hunk of another session: that hunk becomes `edited`, as if the user had changed it.
- Across hunk borders: one hunk grows over the whole block. It is the first open hunk of the same session, or a new
  hunk if there is none. The other hunks of the same session become `gone` (merged into the grown hunk). Hunks of other
  sessions become `stale`. If the grown hunk contains text of the user or of another session, it is `edited`, so that
  an undo asks the user first.
- A gone hunk cannot be reopened after a change has touched its lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agent_ls.patch.hunks import LineHunk, hunk_ids
from agent_ls.patch.line_diff import line_hunks
from agent_ls.patch.splice import LineSplice, line_splice
from agent_ls.review.hunks import Author, LedgerHunk, Lines, add_turns, new_hunk
from agent_ls.review.ledger import FileLedger, LedgerChange, diff_ledgers, with_known_text
from agent_ls.review.segment_changes import apply_changes, segments_around, without_closed
from agent_ls.review.segments import (
    Segment,
    apply_same_change,
    current_lines,
    hunk_segment,
    join_segments,
    shared_segment,
)
from agent_ls.review.stale_hunks import close_overlapped_hunks
from agent_ls.review.sub_hunks import free_ids
from agent_ls.review.user_edits import extend_hunk, trim_pending
from agent_ls.review.whole_file import apply_agent_file_change, is_whole_file_change, recreate_file


def apply_agent_edit(ledger: FileLedger, new_text: str | None, author: Author) -> LedgerChange:
    """Return the ledger after an agent changed the file's text to `new_text`. None means a deleted file."""
    if new_text is not None and ledger.current is None and ledger.base is not None:
        return diff_ledgers(ledger, apply_agent_edit(recreate_file(ledger), new_text, author).ledger)
    if new_text is None or is_whole_file_change(ledger):
        return diff_ledgers(ledger, _with_ids(apply_agent_file_change(ledger, new_text, author), author))
    splice = line_splice(ledger.current_text or "", new_text)
    if splice.is_empty:
        return LedgerChange(ledger, ())
    edited = with_known_text(_apply_splice(ledger, splice, author), new_text)
    return diff_ledgers(ledger, _with_ids(edited, author))


def link_new_hunks(made: LedgerChange, link: str) -> LedgerChange:
    """Return the change with `link` set on its new hunks; "" leaves it unchanged."""
    if not link:
        return made
    new = {hunk.id for hunk in made.new}

    def named(hunks: Sequence[LedgerHunk]) -> tuple[LedgerHunk, ...]:
        return tuple(replace(hunk, link=link) if hunk.id in new else hunk for hunk in hunks)

    ledger = replace(made.ledger, hunks=named(made.ledger.hunks))
    return replace(made, ledger=ledger, changed=named(made.changed), new=named(made.new))


def _apply_splice(ledger: FileLedger, splice: LineSplice, author: Author) -> FileLedger:
    current = ledger.current or ()
    about = segments_around(ledger, splice.start, splice.end)
    lines = (*current[about.start : splice.start], *splice.lines, *current[splice.end : about.end])
    agent = _Agent(author)
    pieces = apply_changes(about.middle, line_hunks(current_lines(about.middle), lines), agent.take)
    middle = [part for piece in pieces for part in _close_reverted(piece)]
    return join_segments(ledger, [*about.head, *middle, *about.tail], agent.closed)


def _close_reverted(piece: Segment) -> list[Segment]:
    hunk = piece.hunk
    if hunk is None or not hunk.is_open or piece.current != hunk.base_lines:
        return trim_pending(piece)
    return (
        [Segment(replace(hunk, state="gone"), piece.current, piece.current)]
        if hunk.id
        else [shared_segment(piece.current)]
    )


def _with_ids(ledger: FileLedger, author: Author) -> FileLedger:
    """Assign ids to new hunks, continuing the numbers of the earlier hunks of the same call.

    A call id is unique only within its session, and a ledger has hunks of several sessions.
    """
    call = (author.session_id, author.call_id)
    placed_and_closed = (*ledger.hunks, *ledger.closed)
    known = [hunk for hunk in placed_and_closed if hunk.id and (hunk.session_id, hunk.call_id) == call]
    fresh = [hunk for hunk in ledger.hunks if not hunk.id]
    changes = [
        LineHunk(hunk.base_start, hunk.base_end, hunk.base_lines, hunk.agent_lines)
        for hunk in [*known, *fresh]
    ]
    ids = iter(hunk_ids("/".join(call), ledger.path, changes)[len(known) :])
    taken = {hunk.id for hunk in known}
    hunks = []
    for hunk in ledger.hunks:
        if not hunk.id:
            # An earlier hunk keeps its id when its lines change; the same change made again gets another one.
            id_ = next(ids)
            hunk = replace(hunk, id=free_ids(id_, taken)[0] if id_ in taken else id_)
        taken.add(hunk.id)
        hunks.append(hunk)
    return replace(ledger, hunks=tuple(hunks))


@dataclass(slots=True)
class _Agent:
    """The change handler for agent edits. `closed` collects hunks that lose their position."""

    author: Author
    closed: list[LedgerHunk] = field(default_factory=list)

    def take(self, group: list[Segment], start: int, end: int, lines: Lines) -> list[Segment]:
        if len(group) == 1 and group[0].hunk and not group[0].current and not self._is_own(group[0].hunk):
            return [group[0], hunk_segment(new_hunk(self.author, "content", (), lines), lines)]
        group = [without_closed(piece, self.closed) for piece in group]
        old = current_lines(group)
        if not any(piece.hunk for piece in group):
            hunk = new_hunk(self.author, "content", old[start:end], lines)
            return [shared_segment(old[:start]), hunk_segment(hunk, lines), shared_segment(old[end:])]
        return [self._extend_over_group(group, old, (*old[:start], *lines, *old[end:]))]

    def _is_own(self, hunk: LedgerHunk) -> bool:
        return hunk.is_open and hunk.session_id == self.author.session_id

    def _extend_over_group(self, group: Sequence[Segment], old: Lines, new: Lines) -> Segment:
        hunks = [piece.hunk for piece in group if piece.hunk]
        own = next((hunk for hunk in hunks if self._is_own(hunk)), None)
        if own is None and len(group) == 1:
            return hunk_segment(replace(hunks[0], state="edited"), new)
        keeper = own or new_hunk(self.author, "content", (), ())
        # A hunk without an id was made by this same edit.
        absorbed = [hunk for hunk in hunks if hunk is not keeper and hunk.id]
        self.closed += close_overlapped_hunks(absorbed, merging_session_id=self.author.session_id)
        if any(self._is_own(hunk) for hunk in hunks):
            parts = (turn for hunk in hunks if self._is_own(hunk) for turn in hunk.turns)
            keeper = add_turns(keeper, (*parts, self.author.turn_id))
        piece = extend_hunk(keeper, group, new)
        taken = piece.hunk
        assert taken is not None
        if new == taken.base_lines:
            return piece
        if all(self._is_own(hunk) and hunk.state == "pending" for hunk in hunks):
            return hunk_segment(replace(taken, state="pending", agent_lines=new), new)
        return hunk_segment(replace(taken, agent_lines=apply_same_change(old, new, taken.agent_lines)), new)
