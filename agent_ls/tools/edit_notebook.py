"""edit_notebook: change one cell of a notebook; the rest of the file keeps its bytes.

The environment applies the change in the editor if the notebook is open there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import AliasChoices, Field, field_validator

from agent_ls.environments.base import FileWrite
from agent_ls.notebook.cells import Cell, Notebook, NotebookError, is_notebook, parse_notebook
from agent_ls.notebook.notebook_text import NEW_NOTEBOOK, TargetCell, build_notebook_text, target_cells
from agent_ls.notebook.render import render_cell_heading
from agent_ls.text import decode, encode
from agent_ls.tools import descriptions
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.file_commits import (
    commit_files,
    concurrent_edit_notes,
    describe_decision,
    read_to_change,
    whole_file_change,
    write_effect,
)
from agent_ls.tools.freshness import is_current, require_read
from agent_ls.tools.look import Look
from agent_ls.tools.paths import absolute, shown_path, touched_file
from agent_ls.tools.summary import one_line

SHOWN_LINES = 30


class EditNotebookArguments(Arguments):
    # The further names are those of other agents' tools for notebooks, which models have learned.
    file_path: str = Field(description="Path of the notebook, absolute or relative to the working directory.")
    action: Literal["replace", "insert", "delete", "change_kind"] = Field(
        validation_alias=AliasChoices("action", "edit_mode"), description="The action on the cell."
    )
    cell: str = Field(
        default="",
        validation_alias=AliasChoices("cell", "cell_id", "cell_number"),
        description="The number of the cell in the output of read_file, or its id. For insert: the cell before "
        "the new cell; 0 is the beginning, the default is the end.",
    )
    source: str = Field(
        default="",
        validation_alias=AliasChoices("source", "new_source", "content", "new_string"),
        description="For replace and insert: the new source of the cell, or the text that replaces old_string.",
    )
    old_string: str = Field(
        default="",
        description="For replace: a text that occurs once in the cell. Only this text is replaced; default: the "
        "whole source.",
    )
    kind: Literal["code", "markdown", "raw"] = Field(
        default="code",
        validation_alias=AliasChoices("kind", "cell_type"),
        description="For insert and change_kind: the kind of the cell.",
    )

    @field_validator("cell", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if type(value) is int else value


@dataclass(frozen=True, slots=True)
class _Edit:
    """A prepared edit. `at` is the index of the changed cell in `wanted`, None if it was deleted."""

    wanted: list[TargetCell]
    at: int | None
    outcome: str


async def prepare(arguments: EditNotebookArguments, context: ToolContext) -> Prepared:
    path = absolute(arguments.file_path, context.environment)
    name = shown_path(path, context.environment)
    if not is_notebook(path):
        raise ToolError(
            f"{name} is not a notebook (.ipynb). Change the file with another tool.", kind="validation"
        )
    current = await read_to_change(path, context)
    if current is None and arguments.action != "insert":
        raise ToolError(
            f"{name} does not exist. Use the action insert to create a new notebook.", kind="file_not_found"
        )
    decoded = decode(current or b"")
    notebook = _parse(NEW_NOTEBOOK if current is None else decoded.text, name)
    if current is not None:
        _require_known_cell(arguments, notebook, path, current, context)
    edit = _edit_cells(arguments, notebook, name)
    content = encode(replace(decoded, text=build_notebook_text(notebook, edit.wanted)))
    if content == current:
        raise ToolError(
            f"{name}: the cell already has this content. Nothing was written.", kind="edit_conflict"
        )
    write = FileWrite(path, content, current)

    async def run() -> ToolOutput:
        states = await commit_files((write,), context)
        if decided := describe_decision(states, context):
            return decided
        notes = concurrent_edit_notes((write,), states, context)
        head = f"{name}: {edit.outcome}"
        return ToolOutput(
            "\n".join([head, *notes, *_render_edited_cell(content, edit)]), files=states, summary=head
        )

    return Prepared(write_effect((whole_file_change(name, current, content),), context.environment), run)


def _parse(text: str, name: str) -> Notebook:
    try:
        return parse_notebook(text)
    except NotebookError as error:
        raise ToolError(f"{name} {error}. Nothing was written.", kind="invalid_notebook") from None


def _require_known_cell(
    arguments: EditNotebookArguments, notebook: Notebook, path: str, current: bytes, context: ToolContext
) -> None:
    """Require that the model has read the notebook, except with `read_first` "overwrite".

    If the notebook has changed since the model read it, the cell that `arguments.cell` names must be
    unchanged. (An insertion at the start names no cell.)
    """
    if context.read_first != "overwrite":
        require_read(path, context)
    if context.reads.digest_of(path) is None or is_current(path, current, context):
        return
    if arguments.action == "insert" and arguments.cell in ("", "0"):
        return
    now, remembered = _find_cell(arguments.cell, notebook), context.reads.content_of(path)
    try:
        then = _find_cell(arguments.cell, parse_notebook(decode(remembered).text)) if remembered else None
    except NotebookError:
        then = None
    if now is None or then is None or _cell_identity(notebook.cells[now[0]]) != _cell_identity(then[1]):
        name = shown_path(path, context.environment)
        raise ToolError(
            f"{name} has changed since you last read it, and the given cell is now a different cell or has a "
            "different source. Read the notebook again. Nothing was written.",
            kind="stale",
        )


def _cell_identity(cell: Cell) -> tuple[str, str, str]:
    return cell.kind, cell.source, cell.id


def _find_cell(named: str, notebook: Notebook) -> tuple[int, Cell] | None:
    """Find a cell by id or number. The ids are searched first, because an id may look like a number.

    Raises:
        ToolError: several cells have this id, as after a merge.
    """
    found = [(at, cell) for at, cell in enumerate(notebook.cells) if cell.id and cell.id == named]
    if len(found) > 1:
        numbers = ", ".join(str(at + 1) for at, _ in found)
        raise ToolError(
            f"The cells {numbers} have the id {named!r}: use the number of one.", kind="validation"
        )
    if found:
        return found[0]
    number = int(named) if named.isdecimal() and len(named) < 9 else 0
    return (number - 1, notebook.cells[number - 1]) if 1 <= number <= len(notebook.cells) else None


def _edit_cells(arguments: EditNotebookArguments, notebook: Notebook, name: str) -> _Edit:
    wanted = target_cells(notebook)
    if arguments.action == "insert":
        at = _insertion(arguments.cell, notebook, name)
        wanted.insert(at, TargetCell(arguments.kind, arguments.source))
        return _Edit(wanted, at, f"inserted cell {at + 1} ({arguments.kind}).")
    at, cell = _find_cell(arguments.cell, notebook) or _refuse_unknown(arguments.cell, notebook, name)
    if arguments.action == "delete":
        del wanted[at]
        return _Edit(wanted, None, f"deleted cell {at + 1} ({cell.kind}).")
    if arguments.action == "change_kind":
        wanted[at] = replace(wanted[at], kind=arguments.kind)
        lost = " The outputs of the cell were removed." if cell.outputs else ""
        return _Edit(wanted, at, f"cell {at + 1} is {arguments.kind} now.{lost}")
    wanted[at] = replace(wanted[at], source=_source(arguments, cell, name, at + 1))
    kept = " The outputs of the cell are from the last run." if cell.outputs else ""
    return _Edit(wanted, at, f"replaced the source of cell {at + 1}.{kept}")


def _insertion(named: str, notebook: Notebook, name: str) -> int:
    if not named:
        return len(notebook.cells)
    found = _find_cell(named, notebook)
    if found is None and named == "0":
        return 0
    where = "; 0 inserts at the beginning, no cell at the end"
    return (found or _refuse_unknown(named, notebook, name, where))[0] + 1


def _refuse_unknown(named: str, notebook: Notebook, name: str, where: str = "") -> tuple[int, Cell]:
    """Refuse a cell name that does not exist.

    Raises:
        ToolError: always.
    """
    count = len(notebook.cells)
    cells = f"The notebook has cells 1 to {count}" if count else "The notebook has no cells"
    missing = f"{name} has no cell {named!r}" if named else "The number or the id of the cell is missing"
    raise ToolError(f"{missing}. {cells}; read_file lists them with their ids{where}.", kind="validation")


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
            f"old_string does not occur {where}. Read the cell again, and copy the text exactly.",
            kind="edit_conflict",
        )
    raise ToolError(
        f"old_string occurs {count} times {where}. Add the surrounding text until it occurs once.",
        kind="edit_conflict",
    )


def _render_edited_cell(content: bytes, edit: _Edit) -> list[str]:
    if edit.at is None:
        return []
    cell = parse_notebook(decode(content).text).cells[edit.at]
    lines = cell.source.rstrip("\n").split("\n")
    more = [f"[... {len(lines) - SHOWN_LINES} more lines]"] if len(lines) > SHOWN_LINES else []
    return ["", render_cell_heading(cell, edit.at + 1), *lines[:SHOWN_LINES], *more]


def summarize(arguments: EditNotebookArguments) -> str:
    cell = f" cell {arguments.cell}" if arguments.cell else ""
    return one_line(f"{arguments.file_path}: {arguments.action.replace('_', ' ')}{cell}")


EDIT_NOTEBOOK = Tool(
    name="edit_notebook",
    description=descriptions.load("edit_notebook"),
    category="write",
    arguments=EditNotebookArguments,
    prepare=prepare,
    look=Look("edit", "Editing", "Edited"),
    summarize=summarize,
    touches=touched_file,
)
