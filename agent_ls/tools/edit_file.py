"""edit_file: one text for another, exact and unique (000 section 3.3, SEMANTICS 12, REQUIREMENTS T3, X9).

One replacement a call. Several at once, all or nothing, are what a patch is for; the engine takes a list too
(patch/replace.py, `replace_each`), for tools of a host's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from agent_ls.environments.base import FileState, FileWrite
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.patch.errors import PatchError
from agent_ls.patch.hunks import FileChange
from agent_ls.patch.replace import MatchedWith, Replaced, replace
from agent_ls.tools import descriptions
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.excerpt import excerpt
from agent_ls.tools.freshness import demand_read, is_current, stale
from agent_ls.tools.missing import file_not_found
from agent_ls.tools.notebooks import demand_no_notebook
from agent_ls.tools.paths import absolute, its_file, shown_path
from agent_ls.tools.planned import as_decided, commit, effect_of, landed_notes
from agent_ls.tools.refusals import refused
from agent_ls.tools.summary import one_line

EXACT_LEVELS: tuple[MatchedWith, ...] = ("exact", "line endings")
CHANGED_ELSEWHERE = (
    "[The file has changed elsewhere since you last read it; the text that you replaced had not.]"
)


class EditFileArguments(Arguments):
    file_path: str = Field(description="Path of the file, absolute or relative to the working directory.")
    old_string: str = Field(description="The text to replace, exactly as in the file.")
    new_string: str = Field(description="The text to put in its place.")
    replace_all: bool = Field(default=False, description="Replace every occurrence, not just the only one.")


class EditOccurrenceArguments(EditFileArguments):
    occurrence: Literal["only", "first", "last", "all"] = Field(
        default="only", description="Which occurrence to replace; only: there must be exactly one."
    )


@dataclass(frozen=True, slots=True)
class _Edit:
    """An edit that fits. `current` None: the file is created. `moved_on`: the file changed since it was read."""

    path: str
    name: str
    current: bytes | None
    replaced: Replaced
    moved_on: bool


async def prepare(arguments: EditFileArguments, context: ToolContext) -> Prepared:
    edit = await _planned(arguments, context)
    action: Literal["create", "modify"] = "create" if edit.current is None else "modify"
    replaced = edit.replaced
    change = FileChange(edit.name, action, edit.current, replaced.content, replaced.hunks)
    write = FileWrite(edit.path, replaced.content, edit.current)

    async def run() -> ToolOutput:
        states = await commit((write,), context)
        if decided := as_decided(states, context):
            return decided
        return ToolOutput(_told(edit, landed_notes((write,), states, context), states), files=states)

    return Prepared(effect_of((change,), context.environment), run)


async def _planned(arguments: EditFileArguments, context: ToolContext) -> _Edit:
    path = absolute(arguments.file_path, context.environment)
    name = shown_path(path, context.environment)
    current = await _current(path, context)
    demand_no_notebook(path, name, current)
    # An edit that changes nothing, or would create a file over another, is told so first (SEMANTICS 12.1).
    is_replaced = bool(current) and arguments.old_string not in ("", arguments.new_string)
    if is_replaced and context.read_first != "overwrite":
        demand_read(path, context)
    is_known = context.reads.shown(path) is not None
    moved_on = bool(current) and is_known and not is_current(path, current or b"", context)
    try:
        replaced = _replaced(current, arguments)
    except PatchError as error:
        raise await _refusal(error, path, current, moved_on, context) from None
    if moved_on and not _same_place(arguments, replaced, context.reads.remembered(path)):
        raise stale(path, current or b"", context)
    return _Edit(path, name, current, replaced, moved_on)


async def _current(path: str, context: ToolContext) -> bytes | None:
    try:
        return await context.environment.read_bytes(path)
    except PathNotFoundError:
        return None


def _replaced(data: bytes | None, arguments: EditFileArguments) -> Replaced:
    occurrence = arguments.occurrence if isinstance(arguments, EditOccurrenceArguments) else "only"
    return replace(
        data,
        arguments.old_string,
        arguments.new_string,
        replace_all=arguments.replace_all,
        occurrence=occurrence,
    )


async def _refusal(
    error: PatchError, path: str, current: bytes | None, moved_on: bool, context: ToolContext
) -> ToolError:
    if error.code == "FILE_MISSING":
        return await file_not_found(path, context.environment)
    if moved_on and error.code in ("CONTEXT_NOT_FOUND", "AMBIGUOUS"):
        return stale(path, current or b"", context)
    return refused(error)


def _same_place(arguments: EditFileArguments, now: Replaced, remembered: bytes | None) -> bool:
    """Is the text that is replaced the same, and as unique, as in what the model was shown (SEMANTICS 12.2)?"""
    if remembered is None:
        return now.matched_with in EXACT_LEVELS
    try:
        then = _replaced(remembered, arguments)
    except PatchError:
        return False
    return (now.matched_with, now.count) == (then.matched_with, then.count) and (
        [hunk.removed for hunk in now.hunks] == [hunk.removed for hunk in then.hunks]
    )


def _told(edit: _Edit, notes: list[str], states: tuple[FileState, ...]) -> str:
    replaced = edit.replaced
    if edit.current is None:
        head = f"Created {edit.name}: wrote {len(replaced.content)} bytes."
    else:
        count = "1 replacement" if replaced.count == 1 else f"{replaced.count} replacements"
        head = f"Edited {edit.name}: {count}, {_range(replaced)}."
    remarks = [head]
    if replaced.matched_with not in EXACT_LEVELS:
        remarks.append(f"[old_string was not found exactly; matched with: {replaced.matched_with}.]")
    if edit.moved_on:
        remarks.append(CHANGED_ELSEWHERE)
    if notes:
        return "\n".join([*remarks, *notes])  # numbers would be those of a text that is not there
    return "\n".join([*remarks, "", excerpt(replaced.content, replaced.hunks)])


def _range(replaced: Replaced) -> str:
    if replaced.last_line <= replaced.first_line:
        return f"line {replaced.first_line}"
    return f"lines {replaced.first_line}-{replaced.last_line}"


def summarize(arguments: EditFileArguments) -> str:
    return one_line(arguments.file_path)


EDIT_FILE = Tool(
    name="edit_file",
    description=descriptions.load("edit_file"),
    category="write",
    arguments=EditFileArguments,
    prepare=prepare,
    summarize=summarize,
    touches=its_file,
)
