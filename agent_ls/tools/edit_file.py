"""edit_file: replace one exact and unique text of a file by another. Use a patch for several replacements."""

from __future__ import annotations

from dataclasses import dataclass, replace as with_fields
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from agent_ls.environments.base import FileState, FileWrite
from agent_ls.patch.errors import PatchError
from agent_ls.patch.hunks import PlannedChange
from agent_ls.text import plural
from agent_ls.tools import descriptions
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.excerpt import excerpt
from agent_ls.tools.file_commits import (
    commit_files,
    concurrent_edit_notes,
    describe_decision,
    read_to_change,
    write_effect,
)
from agent_ls.tools.freshness import is_current, require_read, stale_error
from agent_ls.tools.look import Look
from agent_ls.tools.not_found import file_not_found
from agent_ls.tools.notebooks import refuse_notebook
from agent_ls.tools.patch_errors import as_tool_error
from agent_ls.tools.paths import absolute, shown_path, touched_file
from agent_ls.tools.summary import one_line

if TYPE_CHECKING:
    from agent_ls.patch.replace import EditResult, MatchedWith

EXACT_LEVELS: tuple[MatchedWith, ...] = ("exact", "line endings")
CHANGED_ELSEWHERE = (
    "[Other parts of the file have changed since you last read it; the text that you replaced was unchanged.]"
)


class EditFileArguments(Arguments):
    file_path: str = Field(description="Path of the file, absolute or relative to the working directory.")
    old_string: str = Field(description="The text to replace, exactly as in the file.")
    new_string: str = Field(description="The new text that replaces old_string.")
    replace_all: bool = Field(default=False, description="Replace every occurrence of the text.")
    expected_replacements: int = Field(
        default=0,
        ge=0,
        description="The number of occurrences of the text, which are all replaced. Default: the text must "
        "occur exactly once.",
    )
    instruction: str = Field(default="", description="The purpose of the change in one sentence.")


class EditOccurrenceArguments(EditFileArguments):
    """Arguments with a choice of occurrences, for models that were not trained on an edit tool of their own."""

    occurrence: Literal["only", "first", "last", "all"] = Field(
        default="only", description="Which occurrence to replace. `only` requires that there is exactly one."
    )


@dataclass(frozen=True, slots=True)
class _Edit:
    """A prepared edit. `current` None: the file is created. `moved_on`: the file changed after the model read it."""

    path: str
    name: str
    current: bytes | None
    replaced: EditResult
    moved_on: bool


async def prepare(arguments: EditFileArguments, context: ToolContext) -> Prepared:
    edit = await _plan_edit(arguments, context)
    action: Literal["create", "modify"] = "create" if edit.current is None else "modify"
    replaced = edit.replaced
    change = PlannedChange(edit.name, action, edit.current, replaced.content, replaced.hunks)
    write = FileWrite(edit.path, replaced.content, edit.current)

    async def run() -> ToolOutput:
        states = await commit_files((write,), context)
        if decided := describe_decision(states, context):
            return decided
        return ToolOutput(
            _render_result(edit, concurrent_edit_notes((write,), states, context), states), files=states
        )

    return Prepared(write_effect((change,), context.environment), run)


async def _plan_edit(arguments: EditFileArguments, context: ToolContext) -> _Edit:
    path = absolute(arguments.file_path, context.environment)
    name = shown_path(path, context.environment)
    current = await read_to_change(path, context)
    refuse_notebook(path, name, current)
    # Edits that change nothing, or create a file that exists, are refused below with a more specific error.
    is_replaced = bool(current) and arguments.old_string not in ("", arguments.new_string)
    if is_replaced and context.read_first != "overwrite":
        require_read(path, context)
    is_known = context.reads.digest_of(path) is not None
    moved_on = bool(current) and is_known and not is_current(path, current or b"", context)
    try:
        replaced = _replace_text(current, arguments)
    except PatchError as error:
        raise await _refusal(error, path, current, moved_on, context) from None
    if (wanted := arguments.expected_replacements) and replaced.count != wanted:
        raise ToolError(
            f"old_string occurs {_times(replaced.count)} in {name}, not {_times(wanted)} as "
            f"{arguments.parameter('expected_replacements')} says. Nothing was written. "
            "Check the occurrences, then call again with the right number or with a longer text.",
            kind="edit_conflict",
        )
    if moved_on and not _is_same_replacement(arguments, replaced, context.reads.content_of(path)):
        raise stale_error(path, current or b"", context)
    return _Edit(path, name, current, replaced, moved_on)


def _replace_text(data: bytes | None, arguments: EditFileArguments) -> EditResult:
    occurrence = arguments.occurrence if isinstance(arguments, EditOccurrenceArguments) else "only"
    from agent_ls.patch.replace import replace  # imported only when needed

    return replace(
        data,
        arguments.old_string,
        arguments.new_string,
        replace_all=arguments.replace_all or arguments.expected_replacements > 1,
        occurrence=occurrence,
    )


async def _refusal(
    error: PatchError, path: str, current: bytes | None, moved_on: bool, context: ToolContext
) -> ToolError:
    if error.code == "FILE_MISSING":
        return await file_not_found(path, context.environment)
    if moved_on and error.code in ("CONTEXT_NOT_FOUND", "AMBIGUOUS"):
        return stale_error(path, current or b"", context)
    return as_tool_error(error)


def _is_same_replacement(arguments: EditFileArguments, now: EditResult, remembered: bytes | None) -> bool:
    """Return whether the edit has the same result now as in the content that the model has read.

    The match strategy, the number of replacements and the replaced lines must be the same. If that content is
    not stored (`remembered` is None), the edit must match exactly.
    """
    if remembered is None:
        return now.matched_with in EXACT_LEVELS
    try:
        then = _replace_text(remembered, arguments)
    except PatchError:
        return False
    return (now.matched_with, now.count) == (then.matched_with, then.count) and (
        [hunk.removed for hunk in now.hunks] == [hunk.removed for hunk in then.hunks]
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _render_result(edit: _Edit, notes: list[str], states: tuple[FileState, ...]) -> str:
    replaced = edit.replaced
    if edit.current is None:
        head = f"Created {edit.name}: wrote {len(replaced.content)} bytes."
    else:
        count = plural(replaced.count, "replacement")
        head = f"Edited {edit.name}: {count}, {_range(replaced)}."
    remarks = [head]
    if replaced.matched_with not in EXACT_LEVELS:
        remarks.append(f"[old_string was not found exactly; matched with: {replaced.matched_with}.]")
    if edit.moved_on:
        remarks.append(CHANGED_ELSEWHERE)
    if notes:
        # No excerpt: the user's changes may have moved the lines of the edit to other line numbers.
        return "\n".join([*remarks, *notes])
    return "\n".join([*remarks, "", excerpt(replaced.content, replaced.hunks)])


def _range(replaced: EditResult) -> str:
    if replaced.last_line <= replaced.first_line:
        return f"line {replaced.first_line}"
    return f"lines {replaced.first_line}-{replaced.last_line}"


EDIT_FILE = Tool(
    name="edit_file",
    description=descriptions.load("edit_file"),
    category="write",
    arguments=EditFileArguments,
    prepare=prepare,
    look=Look("edit", "Editing", "Edited"),
    summarize=lambda arguments: one_line(arguments.file_path),
    touches=touched_file,
)

EDIT_OCCURRENCE = with_fields(EDIT_FILE, arguments=EditOccurrenceArguments)
"""edit_file with an argument that selects one of several occurrences."""
