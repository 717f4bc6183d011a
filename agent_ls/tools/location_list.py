"""List locations in code as `path:line: text`, in pages. For a file that may not be read, the text is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from agent_ls.environments.errors import EnvError, OutsideBoundsError, SecretFileError
from agent_ls.environments.language_host import FoundLocation, FoundLocations
from agent_ls.text import decode, looks_binary, split_lines
from agent_ls.tools.base import ToolContext, ToolError
from agent_ls.tools.paths import shown_path
from agent_ls.tools.summary import one_line

T = TypeVar("T")

PAGE = 50
LINE_MAX_CHARS = 200
NAME_MAX_CHARS = 300
SECRET = "the file looks like a file with secrets"
CUT = "[The editor has more results than it returns at once: give a more specific symbol or query.]"


class FileTexts:
    """The lines of files. Each file is read once.

    Files that may not be read have no lines, because the user is never asked for access to them.
    """

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._known: dict[str, list[str] | str] = {}

    async def of(self, name: str) -> list[str] | str:
        """Return the lines of the file at the path `name`, or a short reason why they cannot be displayed."""
        if name not in self._known:
            self._known[name] = await self._read(name)
        return self._known[name]

    async def _read(self, path: str) -> list[str] | str:
        try:
            data = await self._context.environment.read_bytes(path)
        except SecretFileError:
            return SECRET
        except OutsideBoundsError:
            return "outside the workspace"
        except EnvError as error:
            return one_line(str(error).rpartition(f"{path}: ")[2])
        return "binary" if looks_binary(data) else split_lines(decode(data).text)


async def list_locations(places: Sequence[FoundLocation], first: int, noun: str, context: ToolContext) -> str:
    """Return one page of locations, beginning with location number `first` (from 1). Each code line is listed once."""
    rows = list({(place.name, place.line): place for place in places}.values())
    page = get_page(rows, first, noun)
    texts = FileTexts(context)
    lines = [await _render_row(place, texts, context) for place in page]
    return "\n".join([*lines, *paging_note(len(rows), first, len(page))])


async def list_found(found: FoundLocations, first: int, noun: str, context: ToolContext) -> str:
    """Return one page of an editor's answer, sorted, with a note if the editor has left out results."""
    text = await list_locations(_sort_locations(found.places, context), first, noun, context)
    return f"{text}\n{CUT}" if found.is_cut else text


def _sort_locations(places: Sequence[FoundLocation], context: ToolContext) -> list[FoundLocation]:
    """Sort workspace files first, then by path and line."""

    def key(place: FoundLocation) -> tuple[bool, str, int]:
        shown = shown_path(place.name, context.environment)
        return (shown == place.name, shown, place.line)

    return sorted(places, key=key)


def get_page(rows: Sequence[T], first: int, noun: str) -> Sequence[T]:
    """Return one page of rows.

    Raises:
        ToolError: the page does not exist.
    """
    if first > max(len(rows), 1):
        raise ToolError(f"offset {first} is past the end: there are {len(rows)} {noun}.", kind="validation")
    return rows[first - 1 : first - 1 + PAGE]


def paging_note(total: int, first: int, shown: int) -> list[str]:
    if shown == total:
        return []
    end = first + shown - 1
    rest = f" Continue with offset={end + 1}." if end < total else ""
    return ["", f"[{first} to {end} of {total}.{rest}]"]


def format_location(place: FoundLocation, context: ToolContext) -> str:
    """Return `name:line`, always on one line, because file names and URIs are untrusted text."""
    name = shown_path(place.name, context.environment) if place.is_file else place.name
    return f"{one_line(name, NAME_MAX_CHARS)}:{place.line + 1}"


async def _render_row(place: FoundLocation, texts: FileTexts, context: ToolContext) -> str:
    where = format_location(place, context)
    if not place.is_file:
        return f"{where} [no file: its text cannot be shown]"
    lines = await texts.of(place.name)
    if isinstance(lines, str):
        return f"{where} [text not shown: {lines}]"
    text = lines[place.line] if place.line < len(lines) else ""
    return f"{where}: {format_line(text)}"


def format_line(text: str) -> str:
    return one_line(text.encode("utf-8", "replace").decode(), LINE_MAX_CHARS)
