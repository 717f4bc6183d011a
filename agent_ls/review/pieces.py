"""A ledger cut at its hunks: text that base and current share, and hunks in between. Knows no rule of review.

Every change of a ledger is a change of this list; ranges are counted anew when it is joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from agent_ls.review.hunks import LedgerHunk, Lines
from agent_ls.review.ledger import FileLedger
from agent_ls.text import line_ending, preferred_ending

FEW_PARTS = 5
"""Of a file with one hunk: it, and what stands before and after it. Adding many would copy the first ones often."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines of both sides. Without a hunk, and at a gone one, both sides are the same."""

    hunk: LedgerHunk | None
    base: Lines
    current: Lines

    @property
    def is_open(self) -> bool:
        return self.hunk is not None and self.hunk.is_open


def shared(lines: Lines) -> Piece:
    return Piece(None, lines, lines)


def held(hunk: LedgerHunk, current: Lines) -> Piece:
    """An open hunk's piece."""
    return Piece(hunk, hunk.base_lines, current)


def current_lines(pieces: Iterable[Piece]) -> Lines:
    return _together(piece.current for piece in pieces)


def base_lines(pieces: Iterable[Piece]) -> Lines:
    return _together(piece.base for piece in pieces)


def _together(parts: Iterable[Lines]) -> Lines:
    filled = [part for part in parts if part]
    if len(filled) > FEW_PARTS:
        return tuple(chain.from_iterable(filled))
    return sum(filled[1:], filled[0]) if filled else ()  # a third of the time: each part is copied in one go


def cut(ledger: FileLedger) -> list[Piece]:
    """The pieces of a ledger whose file exists on both sides."""
    base, current = ledger.base or (), ledger.current or ()
    pieces = []
    at = 0
    for hunk in ledger.hunks:
        if at < hunk.start:
            pieces.append(shared(current[at : hunk.start]))
        pieces.append(Piece(hunk, base[hunk.base_start : hunk.base_end], current[hunk.start : hunk.end]))
        at = hunk.end
    if at < len(current):
        pieces.append(shared(current[at:]))
    return pieces


def join(ledger: FileLedger, pieces: Sequence[Piece], closed: Iterable[LedgerHunk] = ()) -> FileLedger:
    """The ledger of these pieces; `closed` are added to those that were closed before."""
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


def _with_line_ends(pieces: list[Piece]) -> list[Piece]:
    """Ends lines that had no ending and are no longer the last (SEMANTICS 1.5, 10.6).

    Such a line becomes part of the hunk that follows it, so that the line end comes and goes with that hunk. In a
    hunk, or where the user's text follows, it is ended for good.
    """
    for side in (_base, _current):
        filled = [at for at, piece in enumerate(pieces) if side(piece)]
        for at, following in pairwise(filled):
            if not line_ending(side(pieces[at])[-1]):
                pieces = _ended(pieces, at, following, side)
                break  # only one line of a side can be unended: the one that was the last
    return pieces


def _ended(pieces: list[Piece], at: int, following: int, side: Callable[[Piece], Lines]) -> list[Piece]:
    ending = preferred_ending([line for piece in pieces for line in side(piece)])
    piece, follower = pieces[at], pieces[following]
    if piece.is_open:
        return [*pieces[:at], _ended_open(piece, ending, side), *pieces[at + 1 :]]
    line = piece.current[-1]
    rest = Piece(piece.hunk, piece.base[:-1], piece.current[:-1])
    between = pieces[at + 1 : following]
    if follower.hunk is None or not follower.is_open or any(_base(it) or _current(it) for it in between):
        return [*pieces[:at], rest, shared((line + ending,)), *pieces[at + 1 :]]
    before, now = (line + ending, line) if side is _base else (line, line + ending)
    grown = replace(
        follower.hunk,
        base_lines=(before, *follower.hunk.base_lines),
        agent_lines=(now, *follower.hunk.agent_lines),
    )
    return [*pieces[:at], rest, *between, held(grown, (now, *follower.current)), *pieces[following + 1 :]]


def _ended_open(piece: Piece, ending: str, side: Callable[[Piece], Lines]) -> Piece:
    hunk = piece.hunk
    assert hunk is not None
    if side is _base:
        return _or_gone(replace(hunk, base_lines=_last_ended(hunk.base_lines, ending)), piece.current)
    agent = hunk.agent_lines
    if agent[-1:] == piece.current[-1:]:
        agent = _last_ended(agent, ending)
    return _or_gone(replace(hunk, agent_lines=agent), _last_ended(piece.current, ending))


def _or_gone(hunk: LedgerHunk, current: Lines) -> Piece:
    """An open hunk's piece, unless the line end was all that it changed."""
    return (
        held(hunk, current)
        if current != hunk.base_lines
        else Piece(replace(hunk, state="gone"), current, current)
    )


def _last_ended(lines: Lines, ending: str) -> Lines:
    return (*lines[:-1], lines[-1] + ending)


def _base(piece: Piece) -> Lines:
    return piece.base


def _current(piece: Piece) -> Lines:
    return piece.current
