"""Notebooks for tools that know files: shown as cells, and not changed as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_ls.environments.base import ExecutionEnvironment, GrepLine
from agent_ls.environments.errors import EnvError
from agent_ls.notebook.cells import NotebookError, is_notebook, parse_notebook
from agent_ls.notebook.places import CellLine, source_lines
from agent_ls.notebook.shown import shown_notebook
from agent_ls.text import decode
from agent_ls.tools.base import ToolError
from agent_ls.tools.paths import absolute

CELL_LINE_CHARS = 2_000  # as a line of any other file that is found

_WAY = (
    "Change its cells with edit_notebook. Where you have no such tool there was no notebook in the folder when this "
    "session began: then ask the user to begin a new session."
)


def demand_no_notebook(path: str, name: str, current: bytes | None) -> None:
    """For whoever changes a file as text.

    Raises:
        ToolError: it is a notebook that is there already, open in an editor or not.
    """
    if current and is_notebook(path):
        raise ToolError(
            f"{name} is a notebook, and its JSON is not changed as text: outputs and ids of cells would be at risk, "
            f"and an editor may have it open. {_WAY} Nothing was written.",
            kind="is_notebook",
        )


async def as_cells(lines: Sequence[GrepLine], environment: ExecutionEnvironment) -> list[GrepLine]:
    """What a search found, with cells in place of lines where the file is a notebook.

    What lies outside of the cells' sources is left out; a notebook that cannot be read stays as it was found.
    """
    paths = {line.path for line in lines if is_notebook(line.path)}
    known = {path: await _source_lines(path, environment) for path in paths}
    found: list[GrepLine] = []
    for line in lines:
        places = known.get(line.path)
        if places is None:
            found.append(line)
        elif place := places.get(line.line):
            path = f"{line.path}:cell {place.cell}"
            found.append(GrepLine(path, place.line, place.text[:CELL_LINE_CHARS], line.is_match))
    return found


async def _source_lines(path: str, environment: ExecutionEnvironment) -> Mapping[int, CellLine] | None:
    try:
        data = await environment.read_bytes(absolute(path, environment))
        return source_lines(parse_notebook(decode(data).text))
    except (EnvError, NotebookError):
        return None


def cells_text(data: bytes, name: str) -> str:
    """A notebook as the model sees it.

    Raises:
        ToolError: it is none that can be read.
    """
    try:
        return shown_notebook(parse_notebook(decode(data).text), name)
    except NotebookError as error:
        raise ToolError(
            f"{name} {error}. If its text matters, look at it with a command; to restore it, ask the user or its "
            f"version control.",
            kind="invalid_notebook",
        ) from None
