"""The ledger of one file: the accepted text (base), the current text, and the hunks between the two.

Immutable: each change returns a new ledger. The ledger depends neither on the source of its texts nor on when
the user is asked. `agent_edits.apply_agent_edit` applies an agent's edit, `user_edits.apply_user_edit` the
user's typing, and `decisions.apply_decision` a decision. After a restart, `restore.restore_ledger` rebuilds the
ledger.

Invariant: base and current differ exactly by the open hunks (pending, edited). Text that the user types
outside hunks is in base and in current. Text typed inside a hunk is only in current, and makes the hunk
`edited`. No text of the user is ever dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import is_

from agent_ls.memo import Memo
from agent_ls.review.hunks import LedgerHunk, Lines
from agent_ls.text import split_lines


@dataclass(frozen=True, slots=True)
class FileLedger:
    """The hunks of one file. `base` is the file's text without the hunks, `current` the text with the hunks.

    Both are lines with their endings, or None if the file does not exist in that version. `hunks` are the hunks
    with a position, in file order: pending, edited, and gone hunks that a redo could reopen. `closed` are all
    other hunks, in order of closing: kept, undone, stale, and gone hunks that a redo cannot reopen.
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
        """The hunks that wait for a decision."""
        return tuple(hunk for hunk in self.hunks if hunk.is_open)

    def find(self, hunk_id: str) -> LedgerHunk | None:
        return next((hunk for hunk in (*self.hunks, *self.closed) if hunk.id == hunk_id), None)

    def lines_of(self, hunk: LedgerHunk) -> Lines:
        """Return the current lines of a hunk that has a position; for a closed hunk, the agent's lines."""
        if hunk.id in _cached_ids(self.hunks):
            return (self.current or ())[hunk.start : hunk.end]
        return hunk.agent_lines


# Memoised because one change needs the text of the same lines several times.
_text: Memo[Lines, str] = Memo("".join, least=1_000, most=400_000, alike=is_)


def with_known_text(ledger: FileLedger, text: str) -> FileLedger:
    """Return the ledger. `text` must be the ledger's current text: it is stored, which avoids joining the lines
    later.
    """
    if ledger.current is not None:
        _text.store(ledger.current, text)
    return ledger


def _ids(hunks: tuple[LedgerHunk, ...]) -> frozenset[str]:
    return frozenset(hunk.id for hunk in hunks)


# Memoised because `lines_of` needs the ids of all hunks for each hunk that is displayed.
_cached_ids = Memo(_ids, least=8, most=100_000, alike=is_)


@dataclass(frozen=True, slots=True)
class LedgerChange:
    """A ledger after a change, with the hunks that the change affected.

    `changed` are the hunks with another state or other lines than before the change, in file order, closed hunks
    last. Hunks that only moved are left out. `new` are the hunks of `changed` that this change created.
    """

    ledger: FileLedger
    changed: tuple[LedgerHunk, ...]
    new: tuple[LedgerHunk, ...] = ()


def open_ledger(path: str, text: str | None) -> FileLedger:
    """Return the ledger of a file that no agent has changed. `text` is None if the file does not exist."""
    if text is None:
        return FileLedger(path, None, None)
    lines = tuple(split_lines(text))
    return with_known_text(FileLedger(path, lines, lines), text)


def diff_ledgers(before: FileLedger, after: FileLedger) -> LedgerChange:
    """Return the change between two ledgers: the hunks that differ or are new."""
    known = {hunk.id: _get_displayed_properties(before, hunk) for hunk in _all(before)}
    changed = tuple(
        hunk for hunk in _all(after) if known.get(hunk.id) != _get_displayed_properties(after, hunk)
    )
    return LedgerChange(after, changed, tuple(hunk for hunk in changed if hunk.id not in known))


def _all(ledger: FileLedger) -> Iterable[LedgerHunk]:
    return (*ledger.hunks, *ledger.closed)


def _get_displayed_properties(ledger: FileLedger, hunk: LedgerHunk) -> tuple[object, ...]:
    """Return the displayed properties of a hunk, without its position."""
    lines = (ledger.current or ())[hunk.start : hunk.end] if hunk.is_open else ()
    return hunk.state, hunk.base_lines, hunk.agent_lines, lines
