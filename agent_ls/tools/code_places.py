"""Places in the code as results list them: `path:line: text`, page by page. What may not be read is only named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from agent_ls.environments.errors import EnvError, OutsideBoundsError, SecretFileError
from agent_ls.environments.language_host import Place
from agent_ls.text import decode, looks_binary, split_lines
from agent_ls.tools.base import ToolContext, ToolError
from agent_ls.tools.paths import shown_path
from agent_ls.tools.summary import one_line

T = TypeVar("T")

PAGE = 50
LINE_MAX_CHARS = 200
NAME_MAX_CHARS = 300
CUT = "[The editor knows of more than it tells at once: narrow the question.]"


class Texts:
    """The lines of files, each read once. Nobody is asked about a file here: what is not allowed stays unread."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._known: dict[str, list[str] | str] = {}

    async def of(self, name: str) -> list[str] | str:
        """The lines, or in a few words why there are none."""
        if name not in self._known:
            self._known[name] = await self._read(name)
        return self._known[name]

    async def _read(self, path: str) -> list[str] | str:
        try:
            data = await self._context.environment.read_bytes(path)
        except SecretFileError:
            return "it holds secrets, by its name"
        except OutsideBoundsError:
            return "outside the workspace"
        except EnvError as error:
            return one_line(str(error).rpartition(f"{path}: ")[2])
        return "binary" if looks_binary(data) else split_lines(decode(data).text)


async def listed(places: Sequence[Place], first: int, noun: str, context: ToolContext) -> str:
    """One page of them, from the place number `first` (from 1) on, a line of code once."""
    rows = list({(place.name, place.line): place for place in places}.values())
    page = page_of(rows, first, noun)
    texts = Texts(context)
    lines = [await _row(place, texts, context) for place in page]
    return "\n".join([*lines, *continued(len(rows), first, len(page))])


def in_order(places: Sequence[Place], context: ToolContext) -> list[Place]:
    """Those of the workspace first, then by path and line."""

    def key(place: Place) -> tuple[bool, str, int]:
        shown = shown_path(place.name, context.environment)
        return (shown == place.name, shown, place.line)

    return sorted(places, key=key)


def page_of(rows: Sequence[T], first: int, noun: str) -> Sequence[T]:
    """
    Raises:
        ToolError: there is no such page.
    """
    if first > max(len(rows), 1):
        raise ToolError(f"offset {first} is past the end: there are {len(rows)} {noun}.", kind="validation")
    return rows[first - 1 : first - 1 + PAGE]


def continued(total: int, first: int, shown: int) -> list[str]:
    if shown == total:
        return []
    end = first + shown - 1
    rest = f" Continue with offset={end + 1}." if end < total else ""
    return ["", f"[{first} to {end} of {total}.{rest}]"]


def named(place: Place, context: ToolContext) -> str:
    """Names of files and uris are other people's text: they get no line of their own."""
    name = shown_path(place.name, context.environment) if place.is_file else place.name
    return f"{one_line(name, NAME_MAX_CHARS)}:{place.line + 1}"


async def _row(place: Place, texts: Texts, context: ToolContext) -> str:
    where = named(place, context)
    if not place.is_file:
        return f"{where} [no file: its text cannot be shown]"
    lines = await texts.of(place.name)
    if isinstance(lines, str):
        return f"{where} [text not shown: {lines}]"
    text = lines[place.line] if place.line < len(lines) else ""
    return f"{where}: {shown_line(text)}"


def shown_line(text: str) -> str:
    return one_line(text.encode("utf-8", "replace").decode(), LINE_MAX_CHARS)
