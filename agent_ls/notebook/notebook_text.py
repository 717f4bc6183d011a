"""Build a notebook's text with changed cells. Unchanged cells keep their bytes; new cells get the file's layout."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from agent_ls.notebook.cells import Cell, Kind, Notebook
from agent_ls.notebook.json_spans import Value, items, skip_blank

NEW_NOTEBOOK = '{\n "cells": [],\n "metadata": {},\n "nbformat": 4,\n "nbformat_minor": 5\n}\n'

_OF_CODE_ONLY = ("execution_count", "outputs")


@dataclass(frozen=True, slots=True)
class TargetCell:
    """A cell of the changed notebook. `origin` is the index (from 0) of the original cell, None for a new cell.

    `id` is the id of a new cell, "" to generate an id. `data` is the complete JSON of a new cell, None to generate
    it.
    """

    kind: Kind
    source: str
    origin: int | None = None
    id: str = ""
    data: Mapping[str, Any] | None = None


def target_cells(notebook: Notebook) -> list[TargetCell]:
    """Return the cells of the notebook as unchanged target cells."""
    return [TargetCell(cell.kind, cell.source, at) for at, cell in enumerate(notebook.cells)]


def build_notebook_text(notebook: Notebook, wanted: Sequence[TargetCell]) -> str:
    """Return the file's text with the cells `wanted`. Each origin may be used at most once.

    Cells of the notebook that are not the origin of a wanted cell are deleted.
    """
    style = _Style.of(notebook)
    parts = [_cell_text(notebook, style, cell, at) for at, cell in enumerate(wanted)]
    if [cell.origin for cell in wanted] == [*range(len(notebook.cells))]:
        places = [cell.place for cell in notebook.cells]
        return _splice_values(notebook.text, places, parts)
    text, array = notebook.text, notebook.array
    lead, tail = _inner_blanks(text, array, [cell.place for cell in notebook.cells])
    if not notebook.cells and style.unit is not None:
        lead, tail = style.line(2), style.line(1)
    inner = lead + ("," + (lead or style.gap)).join(parts) + tail if parts else ""
    return f"{text[: array.start]}[{inner}]{text[array.end :]}"


@dataclass(frozen=True, slots=True)
class _Style:
    """The layout of the file. `unit` is one step of indentation, None if the file has only one line.

    In a file of one line, `gap` follows each comma.
    """

    unit: str | None
    newline: str
    gap: str
    colon: str
    is_ascii: bool

    @staticmethod
    def of(notebook: Notebook) -> _Style:
        text, first = notebook.text, notebook.root[0]
        before = text[skip_blank(text, 0) + 1 : first.start]
        colon = text[first.start : first.value.start].rpartition('"')[2]
        unit = before.rpartition("\n")[2] if "\n" in before else None
        newline = "\r\n" if "\r\n" in text else "\n"
        is_ascii = text.isascii() and "\\u" in text
        gap = " " if colon.endswith(" ") else ""
        return _Style(unit, newline, gap, ": " if gap else ":", is_ascii)

    def line(self, depth: int) -> str:
        return self.newline + (self.unit or "") * depth

    def dump(self, data: Any, depth: int) -> str:
        if self.unit is None:
            separators = (f",{self.gap}", self.colon)
            return json.dumps(data, ensure_ascii=self.is_ascii, separators=separators)
        text = json.dumps(data, ensure_ascii=self.is_ascii, indent=self.unit)
        return text.replace("\n", self.line(depth))

    def string(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=self.is_ascii)


def _cell_text(notebook: Notebook, style: _Style, wanted: TargetCell, at: int) -> str:
    if wanted.origin is None:
        return style.dump(wanted.data or _new_cell(notebook, wanted, at), 2)
    cell = notebook.cells[wanted.origin]
    start, end = cell.place.start, cell.place.end
    if wanted.kind != cell.kind:
        return _change_kind(notebook, style, cell, wanted)
    member = cell.member("source")
    if wanted.source == cell.source:
        return notebook.text[start:end]
    if member is None:
        return _change_kind(notebook, style, cell, wanted)
    text, value = notebook.text, member.value
    return (
        text[start : value.start]
        + _source_text(notebook, style, value, wanted.source)
        + text[value.end : end]
    )


def _new_cell(notebook: Notebook, wanted: TargetCell, at: int) -> dict[str, Any]:
    """Return the JSON of a new cell, with the keys in the order that nbformat writes."""
    cell: dict[str, Any] = {"cell_type": wanted.kind}
    if wanted.kind == "code":
        cell["execution_count"] = None
    if notebook.has_ids:
        cell["id"] = wanted.id or _new_id(notebook, wanted, at)
    cell["metadata"] = {}
    if wanted.kind == "code":
        cell["outputs"] = []
    cell["source"] = _lines(wanted.source)
    return cell


def _new_id(notebook: Notebook, wanted: TargetCell, at: int) -> str:
    """Generate a cell id. The same insertion always gets the same id, so that the written cell equals the approved
    cell.
    """
    taken = {cell.id for cell in notebook.cells}
    number = 0
    while True:
        seed = f"{number}\n{at}\n{wanted.source}\n{notebook.text}".encode("utf-8", "surrogatepass")
        if (made := sha256(seed).hexdigest()[:8]) not in taken:
            return made
        number += 1


def _source_text(notebook: Notebook, style: _Style, value: Value, source: str) -> str:
    """Return the JSON text of `source` in the form of `value`: a string, or a list of lines.

    Unchanged lines keep their JSON spelling.
    """
    if not isinstance(value.data, list):
        return style.string(source)
    text = notebook.text
    old = items(text, value)
    spelled = {item.data: text[item.start : item.end] for item in old}
    parts = [spelled.get(line) or style.string(line) for line in _lines(source)]
    if not parts:
        return "[]"
    lead, tail = _inner_blanks(text, value, old)
    if not old and style.unit is not None:
        lead, tail = style.line(4), style.line(3)
    return f"[{lead}{f',{lead or style.gap}'.join(parts)}{tail}]"


def _change_kind(notebook: Notebook, style: _Style, cell: Cell, wanted: TargetCell) -> str:
    """Return the JSON text of `cell` with the kind and source of `wanted`.

    Members that the new kind does not allow are removed. All other members keep their JSON spelling.
    """
    text, is_code = notebook.text, wanted.kind == "code"
    spelled: dict[str, str] = {}
    for member in cell.members:
        if (member.key in _OF_CODE_ONLY and not is_code) or (member.key == "attachments" and is_code):
            continue
        spelled[member.key] = text[member.value.start : member.value.end]
    was_sorted = [*spelled] == sorted(spelled)
    spelled["cell_type"] = style.string(wanted.kind)
    source = cell.member("source")
    if source is None:
        spelled["source"] = style.dump(_lines(wanted.source), 3)
    elif wanted.source != cell.source:
        spelled["source"] = _source_text(notebook, style, source.value, wanted.source)
    if is_code:
        spelled.setdefault("execution_count", "null")
        spelled.setdefault("outputs", "[]")
    keys = sorted(spelled) if was_sorted else [*spelled]
    values = [member.value for member in cell.members]
    lead, tail = text[cell.place.start + 1 : cell.members[0].start], text[values[-1].end : cell.place.end - 1]
    pairs = [f"{style.string(key)}{style.colon}{spelled[key]}" for key in keys]
    return f"{{{lead}{f',{lead or style.gap}'.join(pairs)}{tail}}}"


def _inner_blanks(text: str, array: Value, found: Sequence[Value]) -> tuple[str, str]:
    """Return the white space before the first item of an array, and the white space after the last item."""
    if not found:
        return "", ""
    return text[array.start + 1 : found[0].start], text[found[-1].end : array.end - 1]


def _splice_values(text: str, places: Sequence[Value], parts: Sequence[str]) -> str:
    pieces, at = [], 0
    for place, part in zip(places, parts, strict=True):
        pieces += [text[at : place.start], part]
        at = place.end
    return "".join([*pieces, text[at:]])


def _lines(source: str) -> list[str]:
    """Split `source` into lines as notebooks store them: each line with its newline."""
    found = source.split("\n")
    kept = [f"{line}\n" for line in found[:-1]]
    return [*kept, found[-1]] if found[-1] else kept
