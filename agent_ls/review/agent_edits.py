"""What an agent does to a file: new hunks, or more of a hunk that it made before.

Rules, for each run of changed lines (a line typed directly before or after a hunk is outside it, but lines put
where a hunk of the same session removed some belong to that hunk):

- Outside all hunks: a new pending hunk.
- Inside an open hunk of the same session: that hunk, with its id and its first call, now has these lines. Back at the
  base it is `gone`. A hunk that the user edited stays `edited`, because his text is in it.
- Inside a hunk of another session: to that hunk it is a user's edit (PROTOCOL, Edits); it becomes `edited`.
- Across the border of hunks: the first open one of the same session grows over all that is touched, else a new one
  does. Others of the same session are `gone` (swallowed), those of other sessions `stale`. If text that is not this
  session's was swallowed, the hunk is `edited`, so that undo asks.
- A gone hunk that is touched cannot come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agent_ls.patch.hunks import LineHunk, hunk_ids
from agent_ls.patch.lines import line_hunks
from agent_ls.patch.splice import LineSplice, line_splice
from agent_ls.review.hunks import Author, LedgerHunk, Lines, made_by, new_hunk
from agent_ls.review.ledger import Change, FileLedger, change
from agent_ls.review.merging import carried
from agent_ls.review.pieces import Piece, current_lines, held, join, shared
from agent_ls.review.runs import take_up, window
from agent_ls.review.user_edits import grown, tidy
from agent_ls.review.whole_file import agent_changed_file, brought_back, is_about_the_file


def agent_edit(ledger: FileLedger, new_text: str | None, author: Author) -> Change:
    """The agent made the file's text `new_text`; None: it deleted the file."""
    if new_text is not None and ledger.current is None and ledger.base is not None:
        return change(ledger, agent_edit(brought_back(ledger), new_text, author).ledger)
    if new_text is None or is_about_the_file(ledger):
        return change(ledger, _with_ids(agent_changed_file(ledger, new_text, author), author))
    splice = line_splice(ledger.current_text or "", new_text)
    if splice.is_empty:
        return Change(ledger, ())
    return change(ledger, _with_ids(_edited(ledger, splice, author), author))


def linked(made: Change, link: str) -> Change:
    """The change with `link` on its new hunks; "" leaves it as it is."""
    if not link:
        return made
    new = {hunk.id for hunk in made.new}

    def named(hunks: Sequence[LedgerHunk]) -> tuple[LedgerHunk, ...]:
        return tuple(replace(hunk, link=link) if hunk.id in new else hunk for hunk in hunks)

    ledger = replace(made.ledger, hunks=named(made.ledger.hunks))
    return replace(made, ledger=ledger, changed=named(made.changed), new=named(made.new))


def _edited(ledger: FileLedger, splice: LineSplice, author: Author) -> FileLedger:
    current = ledger.current or ()
    about = window(ledger, splice.start, splice.end)
    lines = (*current[about.start : splice.start], *splice.lines, *current[splice.end : about.end])
    agent = _Agent(author)
    pieces = take_up(about.middle, line_hunks(current_lines(about.middle), lines), agent.take)
    middle = [part for piece in pieces for part in _settled(piece)]
    return join(ledger, [*about.head, *middle, *about.tail], agent.closed)


def _settled(piece: Piece) -> list[Piece]:
    hunk = piece.hunk
    if hunk is None or not hunk.is_open or piece.current != hunk.base_lines:
        return tidy(piece)
    return (
        [Piece(replace(hunk, state="gone"), piece.current, piece.current)]
        if hunk.id
        else [shared(piece.current)]
    )


def _with_ids(ledger: FileLedger, author: Author) -> FileLedger:
    """Ids by SEMANTICS 10.5, counted on from the hunks that the same call made before.

    A call's id is unique in its session only, and the ledger holds the hunks of several.
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
    return replace(
        ledger, hunks=tuple(hunk if hunk.id else replace(hunk, id=next(ids)) for hunk in ledger.hunks)
    )


@dataclass(slots=True)
class _Agent:
    """The manner in which an agent's change is taken up; `closed` collects hunks that lose their place by it."""

    author: Author
    closed: list[LedgerHunk] = field(default_factory=list)

    def take(self, group: list[Piece], start: int, end: int, lines: Lines) -> list[Piece]:
        if len(group) == 1 and group[0].hunk and not group[0].current and not self._is_own(group[0].hunk):
            return [group[0], held(new_hunk(self.author, "content", (), lines), lines)]
        group = [self._without_gone(piece) for piece in group]
        old = current_lines(group)
        if not any(piece.hunk for piece in group):
            hunk = new_hunk(self.author, "content", old[start:end], lines)
            return [shared(old[:start]), held(hunk, lines), shared(old[end:])]
        return [self._taken_in(group, old, (*old[:start], *lines, *old[end:]))]

    def _is_own(self, hunk: LedgerHunk) -> bool:
        return hunk.is_open and hunk.session_id == self.author.session_id

    def _without_gone(self, piece: Piece) -> Piece:
        if piece.hunk is None or piece.hunk.is_open:
            return piece
        self.closed.append(piece.hunk)
        return shared(piece.current)

    def _taken_in(self, group: Sequence[Piece], old: Lines, new: Lines) -> Piece:
        hunks = [piece.hunk for piece in group if piece.hunk]
        own = next((hunk for hunk in hunks if self._is_own(hunk)), None)
        if own is None and len(group) == 1:
            return held(replace(hunks[0], state="edited"), new)
        keeper = own or new_hunk(self.author, "content", (), ())
        for hunk in hunks:
            if hunk is not keeper and hunk.id:  # one without an id was made by this very edit
                self.closed.append(replace(hunk, state="gone" if self._is_own(hunk) else "stale"))
        if any(self._is_own(hunk) for hunk in hunks):
            parts = (turn for hunk in hunks if self._is_own(hunk) for turn in hunk.turns)
            keeper = made_by(keeper, (*parts, self.author.turn_id))
        piece = grown(keeper, group, new)
        taken = piece.hunk
        assert taken is not None
        if new == taken.base_lines:
            return piece
        if all(self._is_own(hunk) and hunk.state == "pending" for hunk in hunks):
            return held(replace(taken, state="pending", agent_lines=new), new)
        return held(replace(taken, agent_lines=carried(old, new, taken.agent_lines)), new)
