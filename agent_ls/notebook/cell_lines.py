"""Map lines of a notebook's file to lines of cells, to display search results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agent_ls.notebook.cells import Notebook
from agent_ls.notebook.json_spans import items


@dataclass(frozen=True, slots=True)
class CellLine:
    """A line of a cell. `cell` and `line` count from 1; `text` has no newline."""

    cell: int
    line: int
    text: str


def map_source_lines(notebook: Notebook) -> Mapping[int, CellLine]:
    """Map line numbers of the file (from 1) to lines of cells.

    If a line of the file contains several lines of a cell, the first is used. A cell whose source is not stored as a
    list of lines is left out.
    """
    found: dict[int, CellLine] = {}
    text, line, at = notebook.text, 1, 0
    for number, cell in enumerate(notebook.cells, 1):
        member = cell.member("source")
        if member is None or not isinstance(member.value.data, list):
            continue
        for index, item in enumerate(items(text, member.value), 1):
            line += text.count("\n", at, item.start)
            at = item.start
            if line not in found:
                found[line] = CellLine(number, index, str(item.data).rstrip("\r\n"))
    return found
