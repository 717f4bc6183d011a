"""Handle notebooks in tools that work on files. Notebooks are read as cells, and never changed as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_ls.environments.base import ExecutionEnvironment, GrepLine
from agent_ls.environments.errors import EnvError
from agent_ls.notebook.cell_lines import CellLine, map_source_lines
from agent_ls.notebook.cells import NotebookError, is_notebook, parse_notebook
from agent_ls.notebook.render import render_notebook
from agent_ls.text import decode
from agent_ls.tools.base import ToolError
from agent_ls.tools.paths import absolute

CELL_LINE_CHARS = 2_000  # the same limit as for lines of other files

_WAY = (
    "Change its cells with edit_notebook. If you do not have this tool, the folder had no notebook when this "
    "session began: ask the user to begin a new session."
)


def refuse_notebook(path: str, name: str, current: bytes | None) -> None:
    """Refuse to change an existing notebook as text.

    Raises:
        ToolError: the file is a notebook, open in an editor or not.
    """
    if current and is_notebook(path):
        raise ToolError(
            f"{name} is a notebook, and its JSON must not be edited as text, because this could damage outputs "
            f"and ids of cells, and an editor may have the notebook open. {_WAY} Nothing was written.",
            kind="is_notebook",
        )


async def map_lines_to_cells(lines: Sequence[GrepLine], environment: ExecutionEnvironment) -> list[GrepLine]:
    """Convert search results in notebooks to cell numbers and lines.

    Lines that are not in the source of a cell are dropped. Results in unreadable notebooks are not converted.
    """
    paths = {line.path for line in lines if is_notebook(line.path)}
    known = {path: await _read_source_lines(path, environment) for path in paths}
    found: list[GrepLine] = []
    for line in lines:
        places = known.get(line.path)
        if places is None:
            found.append(line)
        elif place := places.get(line.line):
            path = f"{line.path}:cell {place.cell}"
            found.append(GrepLine(path, place.line, place.text[:CELL_LINE_CHARS], line.is_match))
    return found


async def _read_source_lines(path: str, environment: ExecutionEnvironment) -> Mapping[int, CellLine] | None:
    try:
        data = await environment.read_bytes(absolute(path, environment))
        return map_source_lines(parse_notebook(decode(data).text))
    except (EnvError, NotebookError):
        return None


def render_cells(data: bytes, name: str) -> str:
    """Render a notebook for the model.

    Raises:
        ToolError: the file is not a readable notebook.
    """
    try:
        return render_notebook(parse_notebook(decode(data).text), name)
    except NotebookError as error:
        raise ToolError(
            f"{name} {error}. If you need its text, read the file with a command; to restore the file, ask the "
            "user or use version control.",
            kind="invalid_notebook",
        ) from None
