"""Which cell, and which line of it, a line of a notebook's file is: for what a search finds in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agent_ls.notebook.cells import Notebook
from agent_ls.notebook.json_spans import items


@dataclass(frozen=True, slots=True)
class CellLine:
    """`cell` and `line` count from 1; `text` is without its newline."""

    cell: int
    line: int
    text: str


def source_lines(notebook: Notebook) -> Mapping[int, CellLine]:
    """By the line of the file (from 1): the lines of sources that have a line of the file to themselves."""
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
