"""Apply changes by the user to a ledger: typing, undo, redo, a checkout, a formatter.

Rules:
- Outside hunks, the user's text is accepted: it becomes part of the base, and hunks only move.
- A change inside a hunk makes the hunk `edited`. A line typed directly before or after a hunk, or at the position
  where a hunk removed lines, is outside the hunk.
- A hunk whose lines equal its base lines again is `gone`. A hunk whose lines equal the agent's lines again is
  `pending`. This rule is checked first, and for all hunks near the change at once, because an editor reports an undo
  as one change.
- A change across a hunk border is split at the border if it only deletes lines or replaces lines one for one.
  Otherwise the first hunk grows over the whole change. Other hunks that the change touches become `stale`, because
  their lines can no longer be distinguished from the grown hunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agent_ls.patch.hunks import LineHunk
from agent_ls.patch.line_diff import line_hunks
from agent_ls.patch.splice import LineSplice, line_splice
from agent_ls.review.hunks import LedgerHunk, Lines
from agent_ls.review.ledger import FileLedger, LedgerChange, diff_ledgers, with_known_text
from agent_ls.review.segment_changes import apply_changes, segments_around, without_closed
from agent_ls.review.segments import Segment, current_lines, hunk_segment, join_segments, shared_segment
from agent_ls.review.stale_hunks import close_overlapped_hunks
from agent_ls.review.whole_file import apply_user_file_change, is_whole_file_change


def apply_user_edit(ledger: FileLedger, new_text: str | None) -> LedgerChange:
    """Return the ledger after someone other than an agent changed the text to `new_text`. None: no file."""
    if new_text is None or is_whole_file_change(ledger):
        return diff_ledgers(ledger, apply_user_file_change(ledger, new_text))
    splice = line_splice(ledger.current_text or "", new_text)
    if splice.is_empty:
        return LedgerChange(ledger, ())
    return diff_ledgers(ledger, with_known_text(_apply_splice(ledger, splice), new_text))


def _apply_splice(ledger: FileLedger, splice: LineSplice) -> FileLedger:
    current = ledger.current or ()
    about = segments_around(ledger, splice.start - _slack(current, splice), splice.end)
    lines = (*current[about.start : splice.start], *splice.lines, *current[splice.end : about.end])
    if not any(piece.hunk for piece in about.middle):
        return join_segments(ledger, [*about.head, shared_segment(lines), *about.tail])
    recalled = _undo_or_redo(about.middle, lines)
    if recalled is not None:
        return join_segments(ledger, [*about.head, *recalled, *about.tail])
    typing = _Typing()
    runs = _move_to_borders(line_hunks(current_lines(about.middle), lines), about.middle)
    pieces = apply_changes(about.middle, runs, typing.take)
    middle = [part for piece in pieces for part in with_derived_state(piece)]
    return join_segments(ledger, [*about.head, *middle, *about.tail], typing.closed)


def _slack(current: Lines, splice: LineSplice) -> int:
    """Return by how many lines the splice could be moved up and still produce the same text."""
    if splice.start < splice.end and splice.lines:
        return 0
    block = splice.lines or current[splice.start : splice.end]
    slack = 0
    while slack < splice.start and current[splice.start - 1 - slack] == block[-1 - slack % len(block)]:
        slack += 1
    return slack


def _undo_or_redo(pieces: Sequence[Segment], lines: Lines) -> list[Segment] | None:
    """Return the segments with some hunks undone or redone, if this produces exactly `lines`; otherwise None.

    Each hunk may have its current, base or agent lines. The text between hunks must be unchanged.
    """
    # The keys of reached[k] are the possible line numbers at which the first k segments end, if they match the start of
    # `lines`. The value of a key is the line number at which the last of these segments begins, and the variant of this
    # segment that matches.
    reached: list[dict[int, tuple[int, Segment]]] = [{0: (0, shared_segment(()))}]
    for piece in pieces:
        ends: dict[int, tuple[int, Segment]] = {}
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
    recalled: list[Segment] = []
    at = len(lines)
    for ends in reversed(reached[1:]):
        at, piece = ends[at]
        recalled = [*trim_pending(piece), *recalled]
    return recalled


def _variants(piece: Segment) -> list[Segment]:
    hunk = piece.hunk
    if hunk is None:
        return [piece]
    back = Segment(replace(hunk, state="gone"), hunk.base_lines, hunk.base_lines)
    again = hunk_segment(replace(hunk, state="pending"), hunk.agent_lines)
    return [piece, back] if hunk.agent_lines == hunk.base_lines else [piece, back, again]


def with_derived_state(piece: Segment) -> list[Segment]:
    """Return the segments that replace `piece`. Its hunk becomes `gone`, `pending` or `edited`, depending on
    the current lines of `piece`.
    """
    hunk = piece.hunk
    if hunk is None:
        return [piece]
    if piece.current == hunk.base_lines or (not hunk.is_open and piece.current != hunk.agent_lines):
        return [Segment(replace(hunk, state="gone"), piece.current, piece.current)]
    if piece.current == hunk.agent_lines:
        return trim_pending(hunk_segment(replace(hunk, state="pending"), piece.current))
    return [hunk_segment(replace(hunk, state="edited"), piece.current)]


def trim_pending(piece: Segment) -> list[Segment]:
    """Shrink a pending hunk by the unchanged lines at its ends, which become segments of shared text."""
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
    return [shared_segment(new[:head]), hunk_segment(hunk, inner), shared_segment(new[len(new) - tail :])]


def _move_to_borders(runs: Sequence[LineHunk], pieces: Sequence[Segment]) -> list[LineHunk]:
    """Move insertions to hunk borders where the resulting text is the same, so that they are outside the hunk.

    Without this, a copy of a hunk's first line that was typed above the hunk would count as typed inside it.
    """
    lines = current_lines(pieces)
    borders = [0]
    for piece in pieces:
        borders.append(borders[-1] + len(piece.current))
    # There must be at least one line between an insertion and the changes before and after it.
    lowest = [0, *(run.base_end + 1 for run in runs[:-1])]
    highest = [*(run.base_start - 1 for run in runs[1:]), len(lines)]
    slid = []
    for run, low, high in zip(runs, lowest, highest, strict=True):
        is_insertion = run.base_start == run.base_end
        slid.append(_slide(run, lines, set(borders), low, high) if is_insertion else run)
    return slid


def _slide(run: LineHunk, lines: Lines, borders: set[int], low: int, high: int) -> LineHunk:
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
    """The change handler for typing. `closed` collects hunks that lose their position."""

    closed: list[LedgerHunk] = field(default_factory=list)

    def take(self, group: list[Segment], start: int, end: int, lines: Lines) -> list[Segment]:
        if len(group) == 1 and group[0].hunk:
            return self._replace_inside(group[0], start, end, lines)
        group = [without_closed(piece, self.closed) for piece in group]
        if not any(piece.hunk for piece in group):
            return (
                [shared_segment(lines)]
                if not group
                else [shared_segment(_replace_lines(current_lines(group), start, end, lines))]
            )
        if not lines or len(lines) == end - start:
            return _split_among(group, start, end, lines)
        return [self._grow_group(group, start, end, lines)]

    def _replace_inside(self, piece: Segment, start: int, end: int, lines: Lines) -> list[Segment]:
        hunk = piece.hunk
        if hunk and not piece.current and lines not in (hunk.base_lines, hunk.agent_lines):
            return [piece, shared_segment(lines)]
        return [replace(piece, current=_replace_lines(piece.current, start, end, lines))]

    def _grow_group(self, group: list[Segment], start: int, end: int, lines: Lines) -> Segment:
        first, *others = [piece.hunk for piece in group if piece.hunk]
        self.closed += close_overlapped_hunks(others)
        return extend_hunk(first, group, _replace_lines(current_lines(group), start, end, lines))


def extend_hunk(hunk: LedgerHunk, group: Sequence[Segment], current: Lines) -> Segment:
    """Extend `hunk` over all segments of the group. It gets the base lines and the agent lines of all segments."""
    base = tuple(line for piece in group for line in piece.base)
    agent = tuple(
        line for piece in group for line in (piece.hunk.agent_lines if piece.hunk else piece.current)
    )
    return hunk_segment(replace(hunk, state="edited", base_lines=base, agent_lines=agent), current)


def _split_among(group: Sequence[Segment], start: int, end: int, lines: Lines) -> list[Segment]:
    """Split a change that deletes lines, or replaces them one for one, among the segments of the group."""
    divided = []
    at = 0
    for piece in group:
        size = len(piece.current)
        a, b = max(start - at, 0), min(end - at, size)
        part = lines[at + a - start : at + b - start]
        current = _replace_lines(piece.current, a, max(a, b), part)
        divided.append(replace(piece, current=current) if piece.hunk else shared_segment(current))
        at += size
    return divided


def _replace_lines(old: Lines, start: int, end: int, lines: Lines) -> Lines:
    return (*old[:start], *lines, *old[end:])
