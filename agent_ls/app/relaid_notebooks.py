"""What the user did to a notebook with hunks in it, where an editor has laid out the file anew as it saved it.

Editors write the JSON in their own way: another indentation, keys in another order, outputs and metadata of their own.
Line by line that would be a change of every hunk. So the hunks are first found again by what they change in cells, in
the file as it is laid out now; what is another then, the user has typed. Values only: this module reads no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from agent_ls.notebook.align import aligned, shown_cells
from agent_ls.notebook.assemble import Wanted, assemble
from agent_ls.notebook.cells import Notebook, NotebookError, is_notebook, parse_notebook
from agent_ls.patch.splice import line_splice
from agent_ls.review.hunks import LedgerHunk, Lines
from agent_ls.review.ledger import Change, FileLedger, change
from agent_ls.review.pieces import Piece, join, shared
from agent_ls.review.user_edits import judged, user_edit
from agent_ls.text import split_lines

MAX_CHARS = 32_000_000
MAX_CELLS = 3_000
"""Of all hunks' texts together, which are read on the loop: tenths of a second. What is more is compared by lines."""


def user_edited(ledger: FileLedger, new_text: str | None) -> Change:
    """As `user_edit`, but a new layout of a notebook's file is no change of its hunks."""
    found = user_edit(ledger, new_text)
    if new_text is None or not is_notebook(ledger.path) or not _is_about_hunks(ledger, new_text):
        return found
    try:
        relaid = _maybe_relaid(ledger, new_text)
    except NotebookError:  # one side is no notebook, or hunks that are none by themselves
        return found
    if relaid is None:
        return found
    after = user_edit(relaid, new_text).ledger
    # Lines may tell as much: then what is no cell, outputs of a command's say, can still be undone.
    is_same = not found.changed and _has_cells_of(found.ledger.base_text, after.base_text)
    return found if is_same or after.current_text != new_text else change(ledger, after)


def _is_about_hunks(ledger: FileLedger, new_text: str) -> bool:
    splice = line_splice(ledger.current_text or "", new_text)
    return any(hunk.start <= splice.end and splice.start <= hunk.end for hunk in ledger.hunks)


def _has_cells_of(text: str | None, other: str | None) -> bool:
    if text is None or other is None:
        return text == other
    try:
        return shown_cells(parse_notebook(text)) == shown_cells(parse_notebook(other))
    except NotebookError:
        return False


def _maybe_relaid(ledger: FileLedger, new_text: str) -> FileLedger | None:
    """The ledger in the layout of `new_text`, with the cells that it has; None where it is laid out so already.

    Raises:
        NotebookError
    """
    text, texts = ledger.current_text, len(ledger.hunks) + 1
    if text is None or len(new_text) * texts > MAX_CHARS:
        return None
    layout = _Layout.of(text, new_text)
    if layout.notebook.text == text or len(layout.notebook.cells) * texts > MAX_CELLS:
        return None
    if ledger.base is None:
        return _created(ledger, layout)
    groups: list[Group] = [(hunk,) for hunk in ledger.hunks]
    while True:
        placed = _placed(ledger, layout, groups)
        if not isinstance(placed, int):
            pieces, closed = placed
            relaid = join(FileLedger(ledger.path, (), (), (), ledger.closed), pieces, closed)
            # Lines without an end, of which there is one in a file, may have got one.
            return relaid if relaid.current_text == layout.notebook.text else None
        groups[placed - 1 : placed + 1] = [(*groups[placed - 1], *groups[placed])]


Group: TypeAlias = tuple[LedgerHunk, ...]
"""Hunks that can no longer be told apart: the first open one of them is all of them."""


def _placed(
    ledger: FileLedger, layout: _Layout, groups: Sequence[Group]
) -> tuple[list[Piece], list[LedgerHunk]] | int:
    """The pieces, and hunks that are none; or which group cannot be told from the one before it.

    Raises:
        NotebookError
    """
    pieces: list[Piece] = []
    closed: list[LedgerHunk] = []
    before, at = layout.lines(ledger.base or ()), 0
    for number, group in enumerate(groups):
        try:
            standing, written = _sides(ledger, group)
            now = layout.lines(standing)
            agents = now if written == standing else layout.lines(written)
        except NotebookError:
            if number + 1 == len(groups):
                raise
            return number + 1
        start, behind = _window((before, now, agents))
        if start < at and number:
            return number
        first = next((hunk for hunk in group if hunk.is_open), group[0])
        others = [hunk for hunk in group if hunk is not first]
        old, current, agent = (lines[start : len(lines) - behind] for lines in (before, now, agents))
        if old == current == agent:  # it changed no cell: outputs, say, which are the editor's own by now
            others = list(group)
        else:
            piece = Piece(replace(first, base_lines=old, agent_lines=agent), old, current)
            pieces += [shared(before[at:start]), *judged(piece)]
            at = len(now) - behind
        closed += [replace(hunk, state="stale") if hunk.is_open else hunk for hunk in others]
        before = now
    return [*pieces, shared(before[at:])], closed


def _sides(ledger: FileLedger, group: Group) -> tuple[Lines, Lines]:
    """The text with all hunks up to the end of the group, as it stands, and with what the agent wrote in these."""
    current, tail = ledger.current or (), (ledger.base or ())[group[-1].base_end :]
    agents: list[str] = []
    at = group[0].start
    for hunk in group:
        is_meant = hunk.is_open or len(group) == 1
        agents += (*current[at : hunk.start], *(hunk.agent_lines if is_meant else ledger.lines_of(hunk)))
        at = hunk.end
    return (*current[:at], *tail), (*current[: group[0].start], *agents, *tail)


@dataclass(frozen=True, slots=True)
class _Layout:
    """`notebook` is `current`, cell by cell, laid out anew."""

    current: Notebook
    notebook: Notebook

    @staticmethod
    def of(current_text: str, new_text: str) -> _Layout:
        current = parse_notebook(current_text)
        return _Layout(current, parse_notebook(_with_cells(parse_notebook(new_text), current, None)))

    def lines(self, lines: Lines) -> Lines:
        text = _with_cells(self.notebook, parse_notebook("".join(lines)), self.current)
        return tuple(split_lines(text))


def _with_cells(layout: Notebook, wanted: Notebook, known_as: Notebook | None) -> str:
    """The text of `layout` with the cells of `wanted`; `known_as` are its own cells as `wanted` knows them."""
    cells = aligned(shown_cells(known_as or layout), shown_cells(wanted))
    return assemble(layout, [_whole(cell, at, wanted) for at, cell in enumerate(cells)])


def _whole(cell: Wanted, at: int, of: Notebook) -> Wanted:
    """A cell that the layout does not have comes with all that it has, outputs too."""
    return cell if cell.origin is not None else replace(cell, data=of.cells[at].place.data)


def _created(ledger: FileLedger, layout: _Layout) -> FileLedger:
    """Of a file that an agent made: its one hunk is all of it."""
    lines = tuple(split_lines(layout.notebook.text))
    hunks = [replace(hunk, agent_lines=layout.lines(hunk.agent_lines)) for hunk in ledger.hunks]
    return replace(ledger, current=lines, hunks=tuple(replace(hunk, end=len(lines)) for hunk in hunks))


def _window(texts: Sequence[Lines]) -> tuple[int, int]:
    """How many lines all of them begin with, and how many more all of them end with."""
    most = min(map(len, texts))
    first = texts[0]
    head = next((k for k in range(most) if any(text[k] != first[k] for text in texts)), most)
    left = most - head
    tail = next((k for k in range(left) if any(text[-1 - k] != first[-1 - k] for text in texts)), left)
    return head, tail
