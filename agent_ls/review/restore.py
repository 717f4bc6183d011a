"""Rebuild a ledger after a restart, from stored hunks and the file's current text. No position is guessed.

Only the lines and last positions of hunks are stored, not the text around them. (If the old text is still in
memory, nothing has to be restored: keep the ledger and pass the new text to `apply_user_edit`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_ls.review.hunks import HunkState, LedgerHunk, Lines, find_lines
from agent_ls.review.ledger import FileLedger
from agent_ls.review.segments import Segment, hunk_segment, join_segments, shared_segment
from agent_ls.review.stale_hunks import mark_stale_if_open
from agent_ls.text import split_lines


@dataclass(frozen=True, slots=True)
class StoredHunk:
    """A hunk as last stored, with its lines in the text at that time.

    `is_placed`: the hunk's position is valid in the current text, so no search is needed. `is_beside`: the hunk
    is only proposed, so the file does not contain it. `is_looked`: the user had looked at these lines.
    """

    hunk: LedgerHunk
    lines: Lines
    is_placed: bool = False
    is_beside: bool = False
    is_looked: bool = False

    @property
    def awaits(self) -> bool:
        """Return whether the hunk still waits for a decision."""
        return self.hunk.state in ("proposed", "stale") if self.is_beside else self.hunk.is_open


def restore_ledger(
    path: str, stored: Sequence[StoredHunk], current_text: str | None, *, is_unchanged: bool = False
) -> FileLedger:
    """Return a ledger for `current_text` with the `stored` hunks.

    `is_unchanged`: the file's hash shows that the file has not changed, so all hunks keep their positions.
    Otherwise an open hunk is located where its last lines, or the agent's lines, occur exactly once and overlap
    no other hunk. If only its base lines occur, exactly once, the hunk becomes `gone`. Otherwise the hunk becomes
    `stale`. Kept, undone and stale hunks keep their state.
    """
    lines = None if current_text is None else tuple(split_lines(current_text))
    awaiting = [item for item in stored if _can_be_placed(item.hunk)]
    empty = FileLedger(path, lines, lines, (), tuple(it.hunk for it in stored if not _can_be_placed(it.hunk)))
    whole = next((item for item in awaiting if item.hunk.what != "content"), None)
    if whole:
        return _restore_whole_file(empty, whole, [item for item in awaiting if item is not whole])
    if lines is None:
        return replace(empty, closed=(*empty.closed, *(_with_state(item.hunk, "gone") for item in awaiting)))
    return _place_hunks(empty, awaiting, lines, is_unchanged=is_unchanged)


def _can_be_placed(hunk: LedgerHunk) -> bool:
    return hunk.is_open or (hunk.state == "gone" and hunk.what == "content")


def _restore_whole_file(empty: FileLedger, item: StoredHunk, others: Sequence[StoredHunk]) -> FileLedger:
    hunk, lines = item.hunk, empty.current
    closed = (*empty.closed, *(replace(other.hunk, state="stale") for other in others))
    if hunk.what == "create" and lines is not None:
        state: HunkState = "pending" if lines == hunk.agent_lines else "edited"
        created = replace(hunk, state=state, base_start=0, base_end=0, start=0, end=len(lines))
        return FileLedger(empty.path, None, lines, (created,), closed)
    if hunk.what == "delete" and lines is None:
        deleted = replace(hunk, base_start=0, base_end=len(hunk.base_lines), start=0, end=0)
        return FileLedger(empty.path, hunk.base_lines, None, (deleted,), closed)
    return replace(empty, closed=(*closed, _with_state(hunk, "gone")))


def _place_hunks(
    empty: FileLedger, awaiting: Sequence[StoredHunk], lines: Lines, *, is_unchanged: bool
) -> FileLedger:
    sure: list[_Found] = []
    found: list[_Found] = []
    lost: list[LedgerHunk] = []
    for item in awaiting:
        is_placed = is_unchanged or item.is_placed
        place = _check_stored_position(item, lines) if is_placed else _find(item, lines)
        if isinstance(place, _Found):
            (sure if is_placed else found).append(place)
        else:
            lost.append(_with_state(item.hunk, place))
    apart: list[_Found] = []
    # If two hunks overlap, a hunk at its stored position takes precedence over a hunk that was found by a search.
    # If both were located in the same way, an open hunk takes precedence over a gone one, which has a position
    # only for a redo.
    for some in (sure, found):
        apart = _without_overlaps([place for place in some if place.piece.is_open], apart)
        apart = _without_overlaps([place for place in some if not place.piece.is_open], apart)
    lost += [mark_stale_if_open(place.hunk) for place in (*sure, *found) if place not in apart]
    pieces: list[Segment] = []
    at = 0
    for place in apart:
        pieces += [shared_segment(lines[at : place.start]), place.piece]
        at = place.end
    return join_segments(empty, [*pieces, shared_segment(lines[at:])], lost)


def _without_overlaps(found: Sequence[_Found], fixed: list[_Found]) -> list[_Found]:
    """Return `fixed` and the found hunks that overlap no other hunk. Two overlapping hunks are both left out,
    because either position may be wrong.
    """
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
    piece: Segment
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.piece.current)

    def overlaps(self, other: _Found) -> bool:
        return self.start < other.end and other.start < self.end


def _check_stored_position(item: StoredHunk, lines: Lines) -> _Found | HunkState:
    hunk = item.hunk
    if lines[hunk.start : hunk.end] != item.lines:
        return mark_stale_if_open(hunk).state
    piece = hunk_segment(hunk, item.lines) if hunk.is_open else Segment(hunk, item.lines, item.lines)
    return _Found(hunk, piece, hunk.start)


def _find(item: StoredHunk, lines: Lines) -> _Found | HunkState:
    """Return the hunk at its only possible position, or the new state of the hunk if there is no such position."""
    hunk = item.hunk
    states: tuple[tuple[Lines, HunkState], ...] = ((hunk.agent_lines, "pending"), (item.lines, "edited"))
    for current, state in states if hunk.is_open else ():
        places = find_lines(current, lines)
        if len(places) == 1:
            return _Found(hunk, hunk_segment(_with_state(hunk, state), current), places[0])
        if places:
            return "stale"
    places = find_lines(hunk.base_lines, lines)
    if len(places) == 1:
        return _Found(hunk, Segment(_with_state(hunk, "gone"), hunk.base_lines, hunk.base_lines), places[0])
    return "gone" if not hunk.is_open or not hunk.base_lines else "stale"


def _with_state(hunk: LedgerHunk, state: HunkState) -> LedgerHunk:
    return replace(hunk, state=state)
