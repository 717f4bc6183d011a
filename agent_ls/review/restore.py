"""A ledger built again after a restart, from hunks as they were stored and the file as it is now. Never guesses.

Only lines and last positions of hunks are stored, not the text about them. (Where the text is still known, there is
nothing to restore: keep the ledger and tell it the new text by `user_edit`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_ls.review.hunks import LedgerHunk, Lines, State
from agent_ls.review.ledger import FileLedger
from agent_ls.review.pieces import Piece, held, join, shared
from agent_ls.text import split_lines


@dataclass(frozen=True, slots=True)
class StoredHunk:
    """A hunk as it was stored last, with the lines that stood at it then.

    `is_placed`: its place is that in the current text; it need not be looked for. `is_beside`: it was proposed, and
    stands beside the file, not in it.
    """

    hunk: LedgerHunk
    lines: Lines
    is_placed: bool = False
    is_beside: bool = False

    @property
    def awaits(self) -> bool:
        """It is not over."""
        return self.hunk.state in ("proposed", "stale") if self.is_beside else self.hunk.is_open


def restore(
    path: str, stored: Sequence[StoredHunk], current_text: str | None, *, is_unchanged: bool = False
) -> FileLedger:
    """The ledger with the open hunks of `stored`, as far as they can be found in `current_text`.

    `is_unchanged`: the file is known (by its hash) to be as it was when the hunks were stored, so that all of them are
    placed. One that is not is where its lines, or the agent's, occur exactly once and on no other hunk's lines; if
    only its base lines occur, exactly once, it is `gone`; else it is `stale`. What was kept, undone or stale stays so.
    """
    lines = None if current_text is None else tuple(split_lines(current_text))
    awaiting = [item for item in stored if _can_be_placed(item.hunk)]
    empty = FileLedger(path, lines, lines, (), tuple(it.hunk for it in stored if not _can_be_placed(it.hunk)))
    whole = next((item for item in awaiting if item.hunk.what != "content"), None)
    if whole:
        return _whole(empty, whole, [item for item in awaiting if item is not whole])
    if lines is None:
        return replace(empty, closed=(*empty.closed, *(_as(item.hunk, "gone") for item in awaiting)))
    return _placed(empty, awaiting, lines, is_unchanged=is_unchanged)


def _can_be_placed(hunk: LedgerHunk) -> bool:
    return hunk.is_open or (hunk.state == "gone" and hunk.what == "content")


def _whole(empty: FileLedger, item: StoredHunk, others: Sequence[StoredHunk]) -> FileLedger:
    hunk, lines = item.hunk, empty.current
    closed = (*empty.closed, *(_as(other.hunk, "stale") for other in others))
    if hunk.what == "create" and lines is not None:
        state: State = "pending" if lines == hunk.agent_lines else "edited"
        created = replace(hunk, state=state, base_start=0, base_end=0, start=0, end=len(lines))
        return FileLedger(empty.path, None, lines, (created,), closed)
    if hunk.what == "delete" and lines is None:
        deleted = replace(hunk, base_start=0, base_end=len(hunk.base_lines), start=0, end=0)
        return FileLedger(empty.path, hunk.base_lines, None, (deleted,), closed)
    return replace(empty, closed=(*closed, _as(hunk, "gone")))


def _placed(
    empty: FileLedger, awaiting: Sequence[StoredHunk], lines: Lines, *, is_unchanged: bool
) -> FileLedger:
    sure: list[_Found] = []
    found: list[_Found] = []
    lost: list[LedgerHunk] = []
    for item in awaiting:
        is_placed = is_unchanged or item.is_placed
        place = _kept_place(item, lines) if is_placed else _find(item, lines)
        if isinstance(place, _Found):
            (sure if is_placed else found).append(place)
        else:
            lost.append(_as(item.hunk, place))
    apart: list[_Found] = []
    # What had to be looked for must not cost a placed hunk its place; nor a gone one, which only waits for a redo, an
    # open one.
    for some in (sure, found):
        apart = _apart([place for place in some if place.piece.is_open], apart)
        apart = _apart([place for place in some if not place.piece.is_open], apart)
    lost += [_lost(place.hunk) for place in (*sure, *found) if place not in apart]
    pieces: list[Piece] = []
    at = 0
    for place in apart:
        pieces += [shared(lines[at : place.start]), place.piece]
        at = place.end
    return join(empty, [*pieces, shared(lines[at:])], lost)


def _apart(found: Sequence[_Found], fixed: list[_Found]) -> list[_Found]:
    """`fixed`, with those that are on no other's lines: of two on the same, neither can be told from the other."""
    return sorted(
        [
            *fixed,
            *(
                it
                for it in found
                if not any(it.overlaps(other) for other in (*found, *fixed) if other is not it)
            ),
        ],
        key=lambda place: (place.start, place.end, place.hunk.base_start, place.hunk.base_end),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    hunk: LedgerHunk
    piece: Piece
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.piece.current)

    def overlaps(self, other: _Found) -> bool:
        return self.start < other.end and other.start < self.end


def _kept_place(item: StoredHunk, lines: Lines) -> _Found | State:
    hunk = item.hunk
    if lines[hunk.start : hunk.end] != item.lines:
        return _lost(hunk).state
    piece = held(hunk, item.lines) if hunk.is_open else Piece(hunk, item.lines, item.lines)
    return _Found(hunk, piece, hunk.start)


def _find(item: StoredHunk, lines: Lines) -> _Found | State:
    """The hunk at its one place, or what it is without one."""
    hunk = item.hunk
    states: tuple[tuple[Lines, State], ...] = ((hunk.agent_lines, "pending"), (item.lines, "edited"))
    for current, state in states if hunk.is_open else ():
        places = _places(current, lines)
        if len(places) == 1:
            return _Found(hunk, held(_as(hunk, state), current), places[0])
        if places:
            return "stale"
    places = _places(hunk.base_lines, lines)
    if len(places) == 1:
        return _Found(hunk, Piece(_as(hunk, "gone"), hunk.base_lines, hunk.base_lines), places[0])
    return "gone" if not hunk.is_open or not hunk.base_lines else "stale"


def _places(wanted: Lines, lines: Lines) -> list[int]:
    """Where these lines occur; no lines are nowhere."""
    if not wanted:
        return []
    return [k for k, line in enumerate(lines) if line == wanted[0] and lines[k : k + len(wanted)] == wanted]


def _lost(hunk: LedgerHunk) -> LedgerHunk:
    return _as(hunk, "stale") if hunk.is_open else hunk


def _as(hunk: LedgerHunk, state: State) -> LedgerHunk:
    return replace(hunk, state=state)
