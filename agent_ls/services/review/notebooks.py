"""Pure: keep the hunks of a notebook when an editor saves its JSON in another layout.

Editors write the JSON in their own way: other indentation, key order, outputs and metadata. In a comparison by
lines, this would change every hunk. So hunks are first located in the new layout by the cells that they change;
the remaining differences are edits by the user.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from agent_ls.notebook.cell_alignment import align_cells, editor_cells
from agent_ls.notebook.cells import Notebook, NotebookError, is_notebook, parse_notebook
from agent_ls.notebook.notebook_text import TargetCell, build_notebook_text
from agent_ls.patch.splice import line_splice
from agent_ls.review.hunks import LedgerHunk, Lines
from agent_ls.review.ledger import FileLedger, LedgerChange, diff_ledgers
from agent_ls.review.segments import Segment, join_segments, shared_segment
from agent_ls.review.stale_hunks import mark_stale_if_open
from agent_ls.review.user_edits import apply_user_edit, with_derived_state
from agent_ls.text import split_lines

MAX_CHARS = 32_000_000
MAX_CELLS = 3_000
"""Limits for the characters and cells of all texts to parse: the notebook, and a version of it for each hunk.

Parsing blocks the event loop, so a larger notebook is compared by lines.
"""


def user_edited(ledger: FileLedger, new_text: str | None) -> LedgerChange:
    """Apply a user's edit to the ledger. In a notebook, a new layout of the JSON alone changes no hunk."""
    found = apply_user_edit(ledger, new_text)
    if new_text is None or not is_notebook(ledger.path) or not _is_about_hunks(ledger, new_text):
        return found
    try:
        relaid = _maybe_relaid(ledger, new_text)
    except NotebookError:  # one side is not a notebook, or a hunk by itself does not yield a notebook
        return found
    if relaid is None:
        return found
    after = apply_user_edit(relaid, new_text).ledger
    # If the line comparison found the same cells, prefer its result: changes outside cells, such as outputs, stay
    # undoable.
    is_same = not found.changed and _has_cells_of(found.ledger.base_text, after.base_text)
    return found if is_same or after.current_text != new_text else diff_ledgers(ledger, after)


def _is_about_hunks(ledger: FileLedger, new_text: str) -> bool:
    splice = line_splice(ledger.current_text or "", new_text)
    return any(hunk.start <= splice.end and splice.start <= hunk.end for hunk in ledger.hunks)


def _has_cells_of(text: str | None, other: str | None) -> bool:
    if text is None or other is None:
        return text == other
    try:
        return editor_cells(parse_notebook(text)) == editor_cells(parse_notebook(other))
    except NotebookError:
        return False


def _maybe_relaid(ledger: FileLedger, new_text: str) -> FileLedger | None:
    """Return the ledger with the same cells, but in the layout of `new_text`.

    Returns None if the ledger has that layout already, or cannot be converted within the limits.

    Raises:
        NotebookError: a text is not a notebook.
    """
    text, texts = ledger.current_text, len(ledger.hunks) + 1
    if text is None or len(new_text) * texts > MAX_CHARS:
        return None
    layout = _Layout.of(text, new_text)
    if layout.notebook.text == text or len(layout.notebook.cells) * texts > MAX_CELLS:
        return None
    if ledger.base is None:
        return _make_created_ledger(ledger, layout)
    groups: list[Group] = [(hunk,) for hunk in ledger.hunks]
    while True:
        placed = _arrange_groups(ledger, layout, groups)
        if not isinstance(placed, int):
            pieces, closed = placed
            relaid = join_segments(FileLedger(ledger.path, (), (), (), ledger.closed), pieces, closed)
            # The texts differ if the conversion added a line end to the last line of the file.
            return relaid if relaid.current_text == layout.notebook.text else None
        groups[placed - 1 : placed + 1] = [(*groups[placed - 1], *groups[placed])]


Group: TypeAlias = tuple[LedgerHunk, ...]
"""Hunks that cannot be distinguished in the new layout. The first open hunk represents all of them."""


def _arrange_groups(
    ledger: FileLedger, layout: _Layout, groups: Sequence[Group]
) -> tuple[list[Segment], list[LedgerHunk]] | int:
    """Convert each group to the new layout. Return the segments and the hunks to close.

    If that is not possible, return the number of a group that must be merged with the group before
    it.

    Raises:
        NotebookError: a hunk by itself does not yield a notebook.
    """
    pieces: list[Segment] = []
    closed: list[LedgerHunk] = []
    before, at = layout.lines(ledger.base or ()), 0
    for number, group in enumerate(groups):
        try:
            current, written = _sides(ledger, group)
            now = layout.lines(current)
            agents = now if written == current else layout.lines(written)
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
        # The hunks of this group changed no cell, only parts of the file that the editor also saves, such as outputs.
        if old == current == agent:
            others = list(group)
        else:
            piece = Segment(replace(first, base_lines=old, agent_lines=agent), old, current)
            pieces += [shared_segment(before[at:start]), *with_derived_state(piece)]
            at = len(now) - behind
        closed += [mark_stale_if_open(hunk) for hunk in others]
        before = now
    return [*pieces, shared_segment(before[at:])], closed


def _sides(ledger: FileLedger, group: Group) -> tuple[Lines, Lines]:
    """Return two versions of the file, each with the current text up to the group's end, then the accepted
    text.

    In the group, the first version contains the current lines, the second one the lines that the agent wrote.
    """
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
    """The file layout in which an editor saved a notebook. `notebook` has the cells of `current` in this layout."""

    current: Notebook
    notebook: Notebook

    @staticmethod
    def of(current_text: str, new_text: str) -> _Layout:
        current = parse_notebook(current_text)
        return _Layout(current, parse_notebook(_with_cells(parse_notebook(new_text), current, None)))

    def lines(self, lines: Lines) -> Lines:
        """Convert the lines of a notebook to the new layout. Raises NotebookError."""
        text = _with_cells(self.notebook, parse_notebook("".join(lines)), self.current)
        return tuple(split_lines(text))


def _with_cells(layout: Notebook, wanted: Notebook, known_as: Notebook | None) -> str:
    """Return the text of a notebook that has the cells of `wanted`, and the layout of `layout`.

    A cell of `wanted` that is also in `known_as` is taken from `layout`. `known_as` has the same cells as
    `layout`, written in another way; None: the cells of `layout` itself are compared.
    """
    cells = align_cells(editor_cells(known_as or layout), editor_cells(wanted))
    return build_notebook_text(layout, [_find_whole_cell(cell, at, wanted) for at, cell in enumerate(cells)])


def _find_whole_cell(cell: TargetCell, at: int, of: Notebook) -> TargetCell:
    """Return `cell`. If the cell is not from the layout, add all data (such as outputs) of cell `at` of the
    notebook `of`.
    """
    return cell if cell.origin is not None else replace(cell, data=of.cells[at].place.data)


def _make_created_ledger(ledger: FileLedger, layout: _Layout) -> FileLedger:
    """Convert the ledger of a file that an agent created to `layout`. Its only hunk covers the whole file."""
    lines = tuple(split_lines(layout.notebook.text))
    hunks = [replace(hunk, agent_lines=layout.lines(hunk.agent_lines)) for hunk in ledger.hunks]
    return replace(ledger, current=lines, hunks=tuple(replace(hunk, end=len(lines)) for hunk in hunks))


def _window(texts: Sequence[Lines]) -> tuple[int, int]:
    """Return how many lines all texts share at the beginning, and how many at the end."""
    most = min(map(len, texts))
    first = texts[0]
    head = next((k for k in range(most) if any(text[k] != first[k] for text in texts)), most)
    left = most - head
    tail = next((k for k in range(left) if any(text[-1 - k] != first[-1 - k] for text in texts)), left)
    return head, tail
