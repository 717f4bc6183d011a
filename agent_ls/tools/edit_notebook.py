"""edit_notebook: one cell of a notebook (REQUIREMENTS H15); the rest of the file keeps its bytes.

An open notebook is changed by its editor: which it is, is the affair of the environment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import Field, field_validator

from agent_ls.environments.base import FileWrite
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.notebook.assemble import NEW_NOTEBOOK, Wanted, assemble, wanted_of
from agent_ls.notebook.cells import Cell, Notebook, NotebookError, is_notebook, parse_notebook
from agent_ls.notebook.shown import cell_head
from agent_ls.text import decode, encode
from agent_ls.tools import descriptions
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.freshness import demand_read, is_current
from agent_ls.tools.paths import absolute, its_file, shown_path
from agent_ls.tools.planned import as_decided, commit, effect_of, landed_notes, whole_file_change
from agent_ls.tools.summary import one_line

SHOWN_LINES = 30


class EditNotebookArguments(Arguments):
    file_path: str = Field(description="Path of the notebook, absolute or relative to the working directory.")
    action: Literal["replace", "insert", "delete", "change_kind"] = Field(
        description="What to do with the cell."
    )
    cell: str = Field(
        default="",
        description="The cell's number as read_file shows it, or its id. insert: the cell before the new one; 0 is the "
        "beginning, left out the end.",
    )
    source: str = Field(
        default="",
        description="replace and insert: the cell's new source; with old_string what takes its place.",
    )
    old_string: str = Field(
        default="", description="replace: a text that occurs once in the cell, to replace only that."
    )
    kind: Literal["code", "markdown", "raw"] = Field(default="code", description="insert and change_kind.")

    @field_validator("cell", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if type(value) is int else value


@dataclass(frozen=True, slots=True)
class _Edit:
    """`at` is the place of the cell that is changed, in what is wanted; None when it is gone."""

    wanted: list[Wanted]
    at: int | None
    told: str


async def prepare(arguments: EditNotebookArguments, context: ToolContext) -> Prepared:
    path = absolute(arguments.file_path, context.environment)
    name = shown_path(path, context.environment)
    if not is_notebook(path):
        raise ToolError(f"{name} is no notebook (.ipynb). Change it with another tool.", kind="validation")
    current = await _current(path, context)
    if current is None and arguments.action != "insert":
        raise ToolError(f"{name} does not exist. insert makes a new notebook.", kind="file_not_found")
    decoded = decode(current or b"")
    notebook = _parsed(NEW_NOTEBOOK if current is None else decoded.text, name)
    if current is not None:
        _demand_known(arguments, notebook, path, current, context)
    edit = _edited(arguments, notebook, name)
    content = encode(replace(decoded, text=assemble(notebook, edit.wanted)))
    if content == current:
        raise ToolError(f"{name}: the cell is like that already. Nothing was written.", kind="edit_conflict")
    write = FileWrite(path, content, current)

    async def run() -> ToolOutput:
        states = await commit((write,), context)
        if decided := as_decided(states, context):
            return decided
        notes = landed_notes((write,), states, context)
        head = f"{name}: {edit.told}"
        return ToolOutput("\n".join([head, *notes, *_shown(content, edit)]), files=states, summary=head)

    return Prepared(effect_of((whole_file_change(name, current, content),), context.environment), run)


async def _current(path: str, context: ToolContext) -> bytes | None:
    try:
        return await context.environment.read_bytes(path)
    except PathNotFoundError:
        return None


def _parsed(text: str, name: str) -> Notebook:
    try:
        return parse_notebook(text)
    except NotebookError as error:
        raise ToolError(f"{name} {error}. Nothing was written.", kind="invalid_notebook") from None


def _demand_known(
    arguments: EditNotebookArguments, notebook: Notebook, path: str, current: bytes, context: ToolContext
) -> None:
    """The cell that is named must be the one that the model has seen under this name (X9)."""
    if context.read_first != "overwrite":
        demand_read(path, context)
    if context.reads.shown(path) is None or is_current(path, current, context):
        return
    if arguments.action == "insert" and arguments.cell in ("", "0"):
        return
    now, remembered = _found(arguments.cell, notebook), context.reads.remembered(path)
    try:
        then = _found(arguments.cell, parse_notebook(decode(remembered).text)) if remembered else None
    except NotebookError:
        then = None
    if now is None or then is None or _said(notebook.cells[now[0]]) != _said(then[1]):
        name = shown_path(path, context.environment)
        raise ToolError(
            f"{name} has changed since you last read it, and the cell that you name is another one by now, "
            f"or reads otherwise. Read it again. Nothing was written.",
            kind="stale",
        )


def _said(cell: Cell) -> tuple[str, str, str]:
    return cell.kind, cell.source, cell.id


def _found(named: str, notebook: Notebook) -> tuple[int, Cell] | None:
    """An id goes before a number: an id may look like one."""
    for at, cell in enumerate(notebook.cells):
        if cell.id and cell.id == named:
            return at, cell
    number = int(named) if named.isdecimal() and len(named) < 9 else 0
    return (number - 1, notebook.cells[number - 1]) if 1 <= number <= len(notebook.cells) else None


def _edited(arguments: EditNotebookArguments, notebook: Notebook, name: str) -> _Edit:
    wanted = wanted_of(notebook)
    if arguments.action == "insert":
        at = _insertion(arguments.cell, notebook, name)
        wanted.insert(at, Wanted(arguments.kind, arguments.source))
        return _Edit(wanted, at, f"inserted cell {at + 1} ({arguments.kind}).")
    at, cell = _found(arguments.cell, notebook) or _missing(arguments.cell, notebook, name)
    if arguments.action == "delete":
        del wanted[at]
        return _Edit(wanted, None, f"deleted cell {at + 1} ({cell.kind}).")
    if arguments.action == "change_kind":
        wanted[at] = replace(wanted[at], kind=arguments.kind)
        lost = " Its outputs are gone." if cell.outputs else ""
        return _Edit(wanted, at, f"cell {at + 1} is {arguments.kind} now.{lost}")
    wanted[at] = replace(wanted[at], source=_source(arguments, cell, name, at + 1))
    kept = " Its outputs are those of the last run." if cell.outputs else ""
    return _Edit(wanted, at, f"replaced the source of cell {at + 1}.{kept}")


def _insertion(named: str, notebook: Notebook, name: str) -> int:
    if not named:
        return len(notebook.cells)
    found = _found(named, notebook)
    if found is None and named == "0":
        return 0
    return (found or _missing(named, notebook, name))[0] + 1


def _missing(named: str, notebook: Notebook, name: str) -> tuple[int, Cell]:
    """
    Raises:
        ToolError: always.
    """
    count = len(notebook.cells)
    there = f"It has cells 1 to {count}" if count else "It has no cells"
    what = f"{name} has no cell {named!r}" if named else "Name a cell"
    raise ToolError(f"{what}. {there}; read_file shows them with their ids.", kind="validation")


def _source(arguments: EditNotebookArguments, cell: Cell, name: str, number: int) -> str:
    old = arguments.old_string
    if not old:
        return arguments.source
    count = cell.source.count(old)
    if count == 1:
        return cell.source.replace(old, arguments.source)
    where = f"in cell {number} of {name}"
    if not count:
        raise ToolError(
            f"old_string does not occur {where}. Read it again, and copy it exactly.", kind="edit_conflict"
        )
    raise ToolError(
        f"old_string occurs {count} times {where}. Add what stands around it until it occurs once.",
        kind="edit_conflict",
    )


def _shown(content: bytes, edit: _Edit) -> list[str]:
    if edit.at is None:
        return []
    cell = parse_notebook(decode(content).text).cells[edit.at]
    lines = cell.source.rstrip("\n").split("\n")
    more = [f"[... {len(lines) - SHOWN_LINES} more lines]"] if len(lines) > SHOWN_LINES else []
    return ["", cell_head(cell, edit.at + 1), *lines[:SHOWN_LINES], *more]


def summarize(arguments: EditNotebookArguments) -> str:
    cell = f" cell {arguments.cell}" if arguments.cell else ""
    return one_line(f"{arguments.file_path}: {arguments.action.replace('_', ' ')}{cell}")


EDIT_NOTEBOOK = Tool(
    name="edit_notebook",
    description=descriptions.load("edit_notebook"),
    category="write",
    arguments=EditNotebookArguments,
    prepare=prepare,
    summarize=summarize,
    touches=its_file,
)
