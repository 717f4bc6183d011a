"""Split a ledger at its hunks into segments: shared text and hunks. Contains no review rules.

Every change of a ledger changes the list of segments. Joining the segments recomputes the ranges of the hunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from agent_ls.patch.rebase import MergedText, rebase
from agent_ls.review.hunks import LedgerHunk, Lines
from agent_ls.review.ledger import FileLedger
from agent_ls.text import line_ending, preferred_ending

FEW_PARTS = 5
"""Up to this number of parts, tuples are joined with `+`. With more parts, `+` would copy the first parts
repeatedly. (A file with one hunk has three segments.)
"""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a ledger. Its base lines and its current lines differ only if `hunk` is an open hunk."""

    hunk: LedgerHunk | None
    base: Lines
    current: Lines

    @property
    def is_open(self) -> bool:
        return self.hunk is not None and self.hunk.is_open


def shared_segment(lines: Lines) -> Segment:
    return Segment(None, lines, lines)


def hunk_segment(hunk: LedgerHunk, current: Lines) -> Segment:
    """Return the segment of an open hunk."""
    return Segment(hunk, hunk.base_lines, current)


def current_lines(pieces: Iterable[Segment]) -> Lines:
    return _concatenate(piece.current for piece in pieces)


def base_lines(pieces: Iterable[Segment]) -> Lines:
    return _concatenate(piece.base for piece in pieces)


def _concatenate(parts: Iterable[Lines]) -> Lines:
    filled = [part for part in parts if part]
    if len(filled) > FEW_PARTS:
        return tuple(chain.from_iterable(filled))
    # For few parts, `+` is three times as fast, because it copies each part in one operation.
    return sum(filled[1:], filled[0]) if filled else ()


def split_ledger(ledger: FileLedger) -> list[Segment]:
    """Return the segments of a ledger that has both a base text and a current text."""
    base, current = ledger.base or (), ledger.current or ()
    pieces = []
    at = 0
    for hunk in ledger.hunks:
        if at < hunk.start:
            pieces.append(shared_segment(current[at : hunk.start]))
        pieces.append(Segment(hunk, base[hunk.base_start : hunk.base_end], current[hunk.start : hunk.end]))
        at = hunk.end
    if at < len(current):
        pieces.append(shared_segment(current[at:]))
    return pieces


def join_segments(
    ledger: FileLedger, pieces: Sequence[Segment], closed: Iterable[LedgerHunk] = ()
) -> FileLedger:
    """Return the ledger of these segments. The hunks `closed` are appended to the ledger's closed hunks."""
    pieces = _with_line_ends(list(pieces))
    hunks = []
    base_at = at = 0
    for piece in pieces:
        base_end, end = base_at + len(piece.base), at + len(piece.current)
        if piece.hunk:
            hunks.append(replace(piece.hunk, base_start=base_at, base_end=base_end, start=at, end=end))
        base_at, at = base_end, end
    return FileLedger(
        ledger.path, base_lines(pieces), current_lines(pieces), tuple(hunks), (*ledger.closed, *closed)
    )


def _with_line_ends(pieces: list[Segment]) -> list[Segment]:
    """Add a line ending to a line that has none and is no longer the last line.

    If an open hunk follows directly, the line becomes part of this hunk, so that undoing the hunk also
    removes the line ending. If the line is itself in an open hunk, or if shared text follows, the line ending
    stays.
    """
    for side in (_base, _current_lines):
        filled = [at for at, piece in enumerate(pieces) if side(piece)]
        for at, following in pairwise(filled):
            if not line_ending(side(pieces[at])[-1]):
                pieces = _add_line_end(pieces, at, following, side)
                break  # only one line of a side can be without an ending: the former last line
    return pieces


def _add_line_end(
    pieces: list[Segment], at: int, following: int, side: Callable[[Segment], Lines]
) -> list[Segment]:
    ending = preferred_ending([line for piece in pieces for line in side(piece)])
    piece, follower = pieces[at], pieces[following]
    if piece.is_open:
        return [*pieces[:at], _add_line_end_to_open(piece, ending, side), *pieces[at + 1 :]]
    line = piece.current[-1]
    rest = Segment(piece.hunk, piece.base[:-1], piece.current[:-1])
    between = pieces[at + 1 : following]
    if (
        follower.hunk is None
        or not follower.is_open
        or any(_base(it) or _current_lines(it) for it in between)
    ):
        return [*pieces[:at], rest, shared_segment((line + ending,)), *pieces[at + 1 :]]
    before, now = (line + ending, line) if side is _base else (line, line + ending)
    grown = replace(
        follower.hunk,
        base_lines=(before, *follower.hunk.base_lines),
        agent_lines=(now, *follower.hunk.agent_lines),
    )
    return [
        *pieces[:at],
        rest,
        *between,
        hunk_segment(grown, (now, *follower.current)),
        *pieces[following + 1 :],
    ]


def _add_line_end_to_open(piece: Segment, ending: str, side: Callable[[Segment], Lines]) -> Segment:
    hunk = piece.hunk
    assert hunk is not None
    if side is _base:
        return _hunk_or_gone(
            replace(hunk, base_lines=_with_last_line_ended(hunk.base_lines, ending)), piece.current
        )
    agent = hunk.agent_lines
    if agent[-1:] == piece.current[-1:]:
        agent = _with_last_line_ended(agent, ending)
    return _hunk_or_gone(replace(hunk, agent_lines=agent), _with_last_line_ended(piece.current, ending))


def _hunk_or_gone(hunk: LedgerHunk, current: Lines) -> Segment:
    """Return the segment of an open hunk. The hunk becomes `gone` if the line ending was its only change."""
    return (
        hunk_segment(hunk, current)
        if current != hunk.base_lines
        else Segment(replace(hunk, state="gone"), current, current)
    )


def _with_last_line_ended(lines: Lines, ending: str) -> Lines:
    return (*lines[:-1], lines[-1] + ending)


def _base(piece: Segment) -> Lines:
    return piece.base


def _current_lines(piece: Segment) -> Lines:
    return piece.current


def apply_same_change(old: Lines, new: Lines, agent_lines: Lines) -> Lines:
    """Return `agent_lines` with the change from `old` to `new`, or unchanged `agent_lines` if the change does not fit.

    Called when the agent edits a hunk that the user has edited. The hunk stays `edited`. The hunk becomes `pending`
    again only if its lines equal the agent's lines.
    """
    merged = rebase(old, new, agent_lines)
    return merged.lines if isinstance(merged, MergedText) else agent_lines
