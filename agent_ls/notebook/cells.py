"""The cells of a notebook file (nbformat 4), each with its range in the file's text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Any, Literal, TypeAlias, get_args

from agent_ls.notebook.json_spans import Member, Value, items, members, parse_whole

Kind: TypeAlias = Literal["code", "markdown", "raw"]
KINDS: tuple[str, ...] = get_args(Kind)

SUFFIX = ".ipynb"


class NotebookError(Exception):
    """The file is not a readable notebook. The message is the rest of a sentence that begins with the file name."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell. `id` is "" if the notebook's format has no ids (before 4.5).

    `members` are the JSON members of the cell, in file order.
    """

    kind: Kind
    source: str
    id: str
    place: Value
    members: tuple[Member, ...]

    @property
    def outputs(self) -> list[Mapping[str, Any]]:
        found = self.place.data.get("outputs")
        return [output for output in found if isinstance(output, dict)] if isinstance(found, list) else []

    def member(self, key: str) -> Member | None:
        """Return the last member with this key, because the last of several equal keys is valid."""
        return next((member for member in reversed(self.members) if member.key == key), None)


@dataclass(frozen=True, slots=True)
class Notebook:
    """A parsed notebook. `text` is the text of the file; `array` is the list of cells with its range in `text`."""

    text: str
    cells: tuple[Cell, ...]
    array: Value
    root: tuple[Member, ...]
    minor: int
    language: str

    @property
    def has_ids(self) -> bool:
        return self.minor >= 5


def is_notebook(path: str) -> bool:
    return path.lower().endswith(SUFFIX)


def parse_notebook(text: str) -> Notebook:
    """Parse a notebook.

    Raises:
        NotebookError: the text is not JSON or not a notebook, or its format is not 4.
    """
    try:
        value = parse_whole(text)
    except JSONDecodeError as error:
        raise NotebookError(f"is not valid JSON: {error.msg} (line {error.lineno})") from None
    except RecursionError:
        raise NotebookError("is nested too deeply to be read") from None
    root = value.data
    if not isinstance(root, dict):
        raise NotebookError("is not a notebook: it is not a JSON object")
    _check_format(root)
    own = members(text, value)
    array = next((member.value for member in reversed(own) if member.key == "cells"), None)
    if array is None or not isinstance(array.data, list):
        raise NotebookError("is not a notebook: it has no list of cells")
    cells = tuple(_cell(text, place, number) for number, place in enumerate(items(text, array), 1))
    minor = root.get("nbformat_minor")
    return Notebook(text, cells, array, own, minor if type(minor) is int else 0, _language(root))


def _check_format(root: Mapping[str, Any]) -> None:
    version = root.get("nbformat")
    if version == 4:
        return
    if type(version) is not int:
        raise NotebookError("is not a notebook: it has no nbformat version")
    way = (
        "convert it with `jupyter nbconvert --to notebook --nbformat 4`"
        if version < 4
        else "the format is too new"
    )
    raise NotebookError(f"has nbformat {version}, but only nbformat 4 can be read: {way}")


def _cell(text: str, place: Value, number: int) -> Cell:
    data = place.data
    if not isinstance(data, dict) or data.get("cell_type") not in KINDS:
        raise NotebookError(f"is damaged: cell {number} is neither code nor markdown nor raw")
    source = "" if data.get("source") is None else data["source"]  # some tools write null for an empty cell
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        raise NotebookError(f"is damaged: the source of cell {number} is not text")
    id_ = data.get("id")
    return Cell(data["cell_type"], source, id_ if isinstance(id_, str) else "", place, members(text, place))


def _language(root: Mapping[str, Any]) -> str:
    metadata = root.get("metadata")
    for section, key in (("language_info", "name"), ("kernelspec", "language")):
        part = metadata.get(section) if isinstance(metadata, dict) else None
        language = part.get(key) if isinstance(part, dict) else None
        if isinstance(language, str) and language:
            return language
    return "python"
