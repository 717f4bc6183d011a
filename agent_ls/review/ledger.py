"""The ledger of one file: what the user has accepted, what stands there now, and the hunks between the two.

Values only: each change gives a new ledger. It does not know where texts come from, nor when a person is asked.
Agents change it by `agent_edits.agent_edit`, the user's typing by `user_edits.user_edit`, verdicts by `verdicts`;
after a restart `restore.restore` builds it again.

Invariant: base and current differ exactly by the open hunks (pending, edited). What the user types outside them is
in both; what he types inside one is in current, and the hunk is `edited`. Nothing of the user's is ever dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import is_

from agent_ls.recent import Recent
from agent_ls.review.hunks import LedgerHunk, Lines
from agent_ls.text import split_lines


@dataclass(frozen=True, slots=True)
class FileLedger:
    """`base` and `current` are lines with their endings, None where there is no file.

    `hunks` are those that have a place: pending, edited, and gone ones that a redo could bring back; in the order
    of their places. `closed` are all others: kept, undone, stale, and gone for good; in the order of closing.
    """

    path: str
    base: Lines | None
    current: Lines | None
    hunks: tuple[LedgerHunk, ...] = ()
    closed: tuple[LedgerHunk, ...] = ()

    @property
    def base_text(self) -> str | None:
        return None if self.base is None else _text(self.base)

    @property
    def current_text(self) -> str | None:
        return None if self.current is None else _text(self.current)

    @property
    def open_hunks(self) -> tuple[LedgerHunk, ...]:
        """Those that await a verdict."""
        return tuple(hunk for hunk in self.hunks if hunk.is_open)

    def find(self, hunk_id: str) -> LedgerHunk | None:
        return next((hunk for hunk in (*self.hunks, *self.closed) if hunk.id == hunk_id), None)

    def lines_of(self, hunk: LedgerHunk) -> Lines:
        """What stands at a placed hunk now; for a closed one, what the agent wrote."""
        if hunk.id in _placed(self.hunks):
            return (self.current or ())[hunk.start : hunk.end]
        return hunk.agent_lines


# One change asks several times for the text of the same lines.
_text: Recent[Lines, str] = Recent("".join, least=1_000, most=400_000, alike=is_)


def _ids(hunks: tuple[LedgerHunk, ...]) -> frozenset[str]:
    return frozenset(hunk.id for hunk in hunks)


# And who shows a thousand hunks, for the ids of all of them at each.
_placed = Recent(_ids, least=8, most=100_000, alike=is_)


@dataclass(frozen=True, slots=True)
class Change:
    """A ledger after something happened. `changed` are the hunks whose state or lines are others than before,

    as they are now, in order of place, closed ones last; hunks that only moved are not among them. `new` are those
    of `changed` that were made by this.
    """

    ledger: FileLedger
    changed: tuple[LedgerHunk, ...]
    new: tuple[LedgerHunk, ...] = ()


def open_ledger(path: str, text: str | None) -> FileLedger:
    """The ledger of a file that no agent has changed; `text` None: there is no such file."""
    lines = None if text is None else tuple(split_lines(text))
    return FileLedger(path, lines, lines)


def change(before: FileLedger, after: FileLedger) -> Change:
    """What came of it."""
    known = {hunk.id: _told(before, hunk) for hunk in _all(before)}
    changed = tuple(hunk for hunk in _all(after) if known.get(hunk.id) != _told(after, hunk))
    return Change(after, changed, tuple(hunk for hunk in changed if hunk.id not in known))


def _all(ledger: FileLedger) -> Iterable[LedgerHunk]:
    return (*ledger.hunks, *ledger.closed)


def _told(ledger: FileLedger, hunk: LedgerHunk) -> tuple[object, ...]:
    """What a client shows of a hunk, without its place."""
    lines = (ledger.current or ())[hunk.start : hunk.end] if hunk.is_open else ()
    return hunk.state, hunk.base_lines, hunk.agent_lines, lines
