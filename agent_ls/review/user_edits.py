"""What the user does to a file with hunks in it: typing, undo and redo, a checkout, a formatter.

Rules:

- Outside the hunks, his text is accepted text: it goes into the base, and hunks only move.
- Inside a hunk, the hunk is `edited`. Inside means among its lines: a line typed directly before or after a hunk,
  or where a hunk removed lines, is outside.
- Hunks that are back at the base lines are `gone`, hunks back at the agent's lines are `pending` again. This is
  looked for first, for all hunks about the change together, since an editor's undo tells them as one.
- A change across the border of a hunk is divided where that needs no guess: lines that are only deleted, and lines
  replaced one for one. Else the hunk grows over the whole change. Other hunks that it runs into are `stale`: they can
  no longer be told apart from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agent_ls.patch.hunks import LineHunk
from agent_ls.patch.lines import line_hunks
from agent_ls.patch.splice import LineSplice, line_splice
from agent_ls.review.hunks import LedgerHunk, Lines
from agent_ls.review.ledger import Change, FileLedger, change
from agent_ls.review.pieces import Piece, current_lines, held, join, shared
from agent_ls.review.runs import take_up, window
from agent_ls.review.whole_file import is_about_the_file, user_changed_file


def user_edit(ledger: FileLedger, new_text: str | None) -> Change:
    """The file's text is `new_text` now, and no agent did it; None: the file is not there any more."""
    if new_text is None or is_about_the_file(ledger):
        return change(ledger, user_changed_file(ledger, new_text))
    splice = line_splice(ledger.current_text or "", new_text)
    if splice.is_empty:
        return Change(ledger, ())
    return change(ledger, _edited(ledger, splice))


def _edited(ledger: FileLedger, splice: LineSplice) -> FileLedger:
    current = ledger.current or ()
    about = window(ledger, splice.start - _slack(current, splice), splice.end)
    lines = (*current[about.start : splice.start], *splice.lines, *current[splice.end : about.end])
    if not any(piece.hunk for piece in about.middle):
        return join(ledger, [*about.head, shared(lines), *about.tail])
    recalled = _recalled(about.middle, lines)
    if recalled is not None:
        return join(ledger, [*about.head, *recalled, *about.tail])
    typing = _Typing()
    runs = _outward(line_hunks(current_lines(about.middle), lines), about.middle)
    pieces = take_up(about.middle, runs, typing.take)
    middle = [part for piece in pieces for part in judged(piece)]
    return join(ledger, [*about.head, *middle, *about.tail], typing.closed)


def _slack(current: Lines, splice: LineSplice) -> int:
    """How many lines further up the same change could be told: lines added or removed among equal ones."""
    if splice.start < splice.end and splice.lines:
        return 0
    block = splice.lines or current[splice.start : splice.end]
    slack = 0
    while slack < splice.start and current[splice.start - 1 - slack] == block[-1 - slack % len(block)]:
        slack += 1
    return slack


def _recalled(pieces: Sequence[Piece], lines: Lines) -> list[Piece] | None:
    """The pieces with some hunks undone or redone, if that alone gives exactly `lines`.

    Each hunk's lines may be as now, at the base, or at the agent's; text between hunks must stand as it does.
    """
    # reached[k]: each place in `lines` that the first k pieces can fill up to, with the last piece that did so.
    reached: list[dict[int, tuple[int, Piece]]] = [{0: (0, shared(()))}]
    for piece in pieces:
        ends: dict[int, tuple[int, Piece]] = {}
        for at in reached[-1]:
            for variant in _variants(piece):
                end = at + len(variant.current)
                if end not in ends and lines[at:end] == variant.current:
                    ends[end] = (at, variant)
        if not ends:
            return None
        reached.append(ends)
    if len(lines) not in reached[-1]:
        return None
    recalled: list[Piece] = []
    at = len(lines)
    for ends in reversed(reached[1:]):
        at, piece = ends[at]
        recalled = [*tidy(piece), *recalled]
    return recalled


def _variants(piece: Piece) -> list[Piece]:
    hunk = piece.hunk
    if hunk is None:
        return [piece]
    back = Piece(replace(hunk, state="gone"), hunk.base_lines, hunk.base_lines)
    again = held(replace(hunk, state="pending"), hunk.agent_lines)
    return [piece, back] if hunk.agent_lines == hunk.base_lines else [piece, back, again]


def judged(piece: Piece) -> list[Piece]:
    """A piece with the state that its lines give it."""
    hunk = piece.hunk
    if hunk is None:
        return [piece]
    if piece.current == hunk.base_lines or (not hunk.is_open and piece.current != hunk.agent_lines):
        return [Piece(replace(hunk, state="gone"), piece.current, piece.current)]
    if piece.current == hunk.agent_lines:
        return tidy(held(replace(hunk, state="pending"), piece.current))
    return [held(replace(hunk, state="edited"), piece.current)]


def tidy(piece: Piece) -> list[Piece]:
    """A pending hunk without the lines at its ends that it does not change."""
    hunk = piece.hunk
    if hunk is None or hunk.state != "pending":
        return [piece]
    old, new = hunk.base_lines, hunk.agent_lines
    most = min(len(old), len(new))
    head = next((k for k in range(most) if old[k] != new[k]), most)
    tail = next((k for k in range(most - head) if old[-1 - k] != new[-1 - k]), most - head)
    if not head and not tail:
        return [piece]
    inner = new[head : len(new) - tail]
    hunk = replace(hunk, base_lines=old[head : len(old) - tail], agent_lines=inner)
    return [shared(new[:head]), held(hunk, inner), shared(new[len(new) - tail :])]


def _outward(runs: Sequence[LineHunk], pieces: Sequence[Piece]) -> list[LineHunk]:
    """The same change, told so that lines which could stand beside a hunk are not put into it.

    A copy of a hunk's first line typed above it would else be seen as typed below that line.
    """
    lines = current_lines(pieces)
    borders = [0]
    for piece in pieces:
        borders.append(borders[-1] + len(piece.current))
    # At least one line stays between two runs.
    lowest = [0, *(run.base_end + 1 for run in runs[:-1])]
    highest = [*(run.base_start - 1 for run in runs[1:]), len(lines)]
    slid = []
    for run, low, high in zip(runs, lowest, highest, strict=True):
        is_insertion = run.base_start == run.base_end
        slid.append(_slid(run, lines, set(borders), low, high) if is_insertion else run)
    return slid


def _slid(run: LineHunk, lines: Lines, borders: set[int], low: int, high: int) -> LineHunk:
    at, added = run.base_start, run.added
    while at not in borders and at > low and lines[at - 1] == added[-1]:
        at, added = at - 1, (added[-1], *added[:-1])
    if at in borders:
        return LineHunk(at, at, (), added)
    at, added = run.base_start, run.added
    while at not in borders and at < high and lines[at] == added[0]:
        at, added = at + 1, (*added[1:], added[0])
    return LineHunk(at, at, (), added) if at in borders else run


@dataclass(slots=True)
class _Typing:
    """The manner in which typing is taken up; `closed` collects hunks that lose their place by it."""

    closed: list[LedgerHunk] = field(default_factory=list)

    def take(self, group: list[Piece], start: int, end: int, lines: Lines) -> list[Piece]:
        if len(group) == 1 and group[0].hunk:
            return self._inside(group[0], start, end, lines)
        group = [self._without_gone(piece) for piece in group]
        if not any(piece.hunk for piece in group):
            return [shared(lines)] if not group else [shared(_put(current_lines(group), start, end, lines))]
        if not lines or len(lines) == end - start:
            return _divided(group, start, end, lines)
        return [self._grown(group, start, end, lines)]

    def _inside(self, piece: Piece, start: int, end: int, lines: Lines) -> list[Piece]:
        hunk = piece.hunk
        if hunk and not piece.current and lines not in (hunk.base_lines, hunk.agent_lines):
            return [piece, shared(lines)]
        return [replace(piece, current=_put(piece.current, start, end, lines))]

    def _without_gone(self, piece: Piece) -> Piece:
        if piece.hunk is None or piece.hunk.is_open:
            return piece
        self.closed.append(piece.hunk)
        return shared(piece.current)

    def _grown(self, group: list[Piece], start: int, end: int, lines: Lines) -> Piece:
        first, *others = [piece.hunk for piece in group if piece.hunk]
        self.closed += [replace(hunk, state="stale") for hunk in others]
        return grown(first, group, _put(current_lines(group), start, end, lines))


def grown(hunk: LedgerHunk, group: Sequence[Piece], current: Lines) -> Piece:
    """`hunk` over all of the group: what the user had accepted there, and what the agent had written."""
    base = tuple(line for piece in group for line in piece.base)
    agent = tuple(
        line for piece in group for line in (piece.hunk.agent_lines if piece.hunk else piece.current)
    )
    return held(replace(hunk, state="edited", base_lines=base, agent_lines=agent), current)


def _divided(group: Sequence[Piece], start: int, end: int, lines: Lines) -> list[Piece]:
    """Each piece with its own part of a change that deletes lines, or replaces them one for one."""
    divided = []
    at = 0
    for piece in group:
        size = len(piece.current)
        a, b = max(start - at, 0), min(end - at, size)
        part = lines[at + a - start : at + b - start]
        current = _put(piece.current, a, max(a, b), part)
        divided.append(replace(piece, current=current) if piece.hunk else shared(current))
        at += size
    return divided


def _put(old: Lines, start: int, end: int, lines: Lines) -> Lines:
    return (*old[:start], *lines, *old[end:])
