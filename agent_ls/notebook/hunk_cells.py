"""Map hunks of a notebook's file to lines of its cells, so that clients can highlight hunks in cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from agent_ls.notebook.cell_alignment import EditorCell, align_cells, editor_cells
from agent_ls.notebook.cells import Notebook, NotebookError, parse_notebook
from agent_ls.text import split_lines

Lines = Sequence[str]

MAX_LINES = 2_000
"""Longer cell sources are not compared line by line, because the comparison takes quadratic time."""


@dataclass(frozen=True, slots=True)
class CellHunk:
    """A part of a hunk: a range of lines of one cell. `cell` is the index of the cell in the notebook, from 0.

    Lines [start, end) of the cell's source are `lines`. `other_lines` are these lines without the hunk. If the
    hunk removes a cell, the range is empty and at the start of the next cell, or at the end of the last cell.
    """

    cell: int
    start: int
    end: int
    lines: tuple[str, ...]
    other_lines: tuple[str, ...]


class HunkMapper:
    """Maps hunks of one notebook. `other_text` is the file without any of its hunks, None for a new file.

    A hunk is mapped by comparing the file with and without the hunk. If the file without the hunk is not
    valid JSON, for example because a later hunk needs a comma of this hunk, the file is compared with
    `other_text`.
    """

    def __init__(self, notebook: Notebook, other_text: str | None) -> None:
        self._notebook = notebook
        self._cells = editor_cells(notebook)
        self._lines = split_lines(notebook.text)
        self._other_text = other_text

    def map_hunk(self, start: int, end: int, other_lines: Lines) -> tuple[CellHunk, ...]:
        """Return the parts of the hunk at lines [start, end) of the file, which `other_lines` would replace.

        Cells with equal source are left out, even if their outputs or metadata differ.
        """
        text = "".join((*self._lines[:start], *other_lines, *self._lines[end:]))
        if (other := _maybe_cells(text)) is not None:
            return compare_cells(other, self._cells)
        if self._other_text is None or (other := _maybe_cells(self._other_text)) is None:
            return ()
        within = self._cells_at(start, end)
        return tuple(found for found in compare_cells(other, self._cells) if found.cell in within)

    def map_new_file(self) -> tuple[CellHunk, ...]:
        """Return the parts of the hunk that created the file: all cells."""
        return compare_cells((), self._cells)

    def _cells_at(self, start: int, end: int) -> set[int]:
        """Return the indexes of the cells that have a part in lines [start, end) of the file."""
        first, last = (sum(map(len, self._lines[:line])) for line in (start, end))
        places = (cell.place for cell in self._notebook.cells)
        return {at for at, place in enumerate(places) if place.start < last and first < place.end}


def compare_cells(other: Sequence[EditorCell], current: Sequence[EditorCell]) -> tuple[CellHunk, ...]:
    """Return the ranges of lines in which the `current` cells differ from `other`, sorted by cell and line.

    A cell that only `other` has becomes an empty range before the lines of the next cell.
    """
    origins = [cell.origin for cell in align_cells(other, current)]
    removed = _removed_lines(other, origins)
    found: list[CellHunk] = []
    for at, (cell, origin) in enumerate(zip(current, origins, strict=True)):
        if gone := removed.get(at):
            found.append(CellHunk(at, 0, 0, (), gone))
        found += _compare_sources(at, other[origin].source if origin is not None else "", cell.source)
    if current and (gone := removed.get(len(current))):
        last = len(current) - 1
        end = len(_lines(current[last].source))
        found.append(CellHunk(last, end, end, (), gone))
    return tuple(found)


def _maybe_cells(text: str) -> list[EditorCell] | None:
    try:
        return editor_cells(parse_notebook(text))
    except NotebookError:
        return None


def _removed_lines(
    other: Sequence[EditorCell], origins: Sequence[int | None]
) -> Mapping[int, tuple[str, ...]]:
    """Return the lines of removed cells, by the index of the current cell that follows them.

    `origins` has, for each current cell, the index of its cell in `other`, None for a new cell.
    """
    places = {origin: at for at, origin in enumerate(origins) if origin is not None}
    found: dict[int, tuple[str, ...]] = {}
    follows = 0
    for at, cell in enumerate(other):
        if at in places:
            follows = places[at] + 1
        else:
            found[follows] = (*found.get(follows, ()), *_lines(cell.source))
    return found


def _compare_sources(cell: int, other: str, current: str) -> list[CellHunk]:
    """Return the ranges in which the sources differ."""
    old, new = _lines(other), _lines(current)
    if other == current or not old or not new or max(len(old), len(new)) > MAX_LINES:
        ranges = [] if old == new else [(0, len(old), 0, len(new))]
    else:
        matcher = SequenceMatcher(None, _texts(old), _texts(new), autojunk=False)
        ranges = [code[1:] for code in matcher.get_opcodes() if code[0] != "equal"]
    return [
        CellHunk(cell, start, end, tuple(new[start:end]), tuple(old[first:last]))
        for first, last, start, end in ranges
    ]


def _lines(source: str) -> list[str]:
    """Return the lines as editors count them: after a final newline there is another, empty line."""
    lines = split_lines(source)
    return [*lines, ""] if source.endswith(("\n", "\r")) else lines


def _texts(lines: Lines) -> list[str]:
    return [line.rstrip("\r\n") for line in lines]
