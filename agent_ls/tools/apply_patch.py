"""apply_patch: apply a v4a patch to any number of files, the whole patch or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from pydantic import AliasChoices, Field

from agent_ls.environments.base import ExecutionEnvironment, FileWrite
from agent_ls.environments.errors import EnvError, NotAFileError, OutsideBoundsError, PathNotFoundError
from agent_ls.environments.wrappers.scoped import check_scope
from agent_ls.llm.requests import FreeText
from agent_ls.patch.errors import PatchError
from agent_ls.patch.hunks import ChangeSet, PlannedChange
from agent_ls.patch.v4a_apply import Contents, Patch, Unreadable, parse, plan
from agent_ls.patch.v4a_parser import UpdateFile
from agent_ls.patterns import regex
from agent_ls.tools import descriptions
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.file_commits import commit_files, concurrent_edit_notes, describe_decision, write_effect
from agent_ls.tools.freshness import is_current, require_current, require_read, stale_error
from agent_ls.tools.look import Look
from agent_ls.tools.not_found import suggest_names
from agent_ls.tools.notebooks import refuse_notebook
from agent_ls.tools.patch_errors import as_tool_error
from agent_ls.tools.paths import absolute, shown_path
from agent_ls.tools.summary import one_line

_HEADER = regex(r"^\*\*\* (?:Add|Update|Delete) File: *(.+?) *$", re.MULTILINE)
_DIFF_HEADER = regex(r"^(?:---|\+\+\+) (?:[ab]/)?(?!/dev/null)(.+?) *(?:\t.*)?$", re.MULTILINE)


class ApplyPatchArguments(Arguments):
    patch: str = Field(
        validation_alias=AliasChoices("patch", "input"),
        description="The patch, from `*** Begin Patch` to `*** End Patch`.",
    )


async def prepare(arguments: ApplyPatchArguments, context: ToolContext) -> Prepared:
    return await prepare_patch(arguments.patch, context)


async def prepare_patch(text: str, context: ToolContext, folder: str = "") -> Prepared:
    """Prepare a patch from a tool call or a shell command.

    Paths are relative to `folder`; "" means the working directory.

    Raises:
        ToolError: the patch cannot be applied, changes nothing, or changes files that the model has not read. EnvError:
        a file may not be read.
    """
    change_set = await _plan_patch(text, context, lambda path: absolute(path, context.environment, folder))
    unchanged = _unchanged(change_set, lambda path: absolute(path, context.environment, folder))
    if not change_set.changes:
        raise ToolError(
            f"The patch changes nothing: {', '.join(unchanged)} would have the same content. Lines to remove begin "
            "with '-', lines to add with '+'.",
            kind="validation",
        )
    for change in change_set.changes:
        _require_read(change, context)
    writes = [
        FileWrite(
            absolute(file.path, context.environment),
            file.after,
            file.before,
            absolute(file.mode_from, context.environment) if file.mode_from else "",
        )
        for file in change_set.writes
    ]

    async def run() -> ToolOutput:
        states = await commit_files(writes, context) if writes else ()
        if decided := describe_decision(states, context):
            return decided
        same = [f"[{path}: the patch changes nothing in this file.]" for path in unchanged]
        notes = [*_remarks(change_set), *same, *concurrent_edit_notes(writes, states, context)]
        return ToolOutput(change_set.summary() + "\n".join(notes), files=states)

    return Prepared(write_effect(change_set.changes, context.environment), run)


async def _plan_patch(text: str, context: ToolContext, locate: Callable[[str], str]) -> ChangeSet:
    unseen: list[str] = []
    try:
        patch = parse(text)
        unseen = [path for path in patch.paths if _is_unseen_outside(locate(path), context)]
        files = {path: await _content(locate(path), context) for path in patch.paths}
        _refuse_notebooks(patch, files)
        return plan(patch, files, locate, refuse_ambiguous=context.refuse_ambiguous)
    except PatchError as error:
        if unseen:
            # The error message of the patch would quote the file, but the user has not yet given permission to
            # read it.
            raise ToolError(
                f"The patch does not apply to {', '.join(unseen)}, which is outside the workspace. Read the "
                "file first.",
                kind="edit_conflict",
            ) from None
        raise await _refusal(error, context, locate) from None


def _unchanged(change_set: ChangeSet, locate: Callable[[str], str]) -> list[str]:
    """Return the files whose content stays the same, as the patch spells them."""
    changed = {
        locate(path) for change in change_set.changes for path in (change.path, change.moved_from) if path
    }
    return [it.path for it in change_set.reported if locate(it.path) not in changed]


def _refuse_notebooks(patch: Patch, files: Mapping[str, Contents]) -> None:
    """Refuse to patch notebooks, before an error message of the patch could quote their JSON.

    Moving a notebook is allowed.
    """
    for section in (*patch.strict.sections, *patch.lenient.sections):
        if isinstance(section, UpdateFile) and section.chunks:
            current = files.get(section.path)
            refuse_notebook(section.path, section.path, current if isinstance(current, bytes) else None)


def _is_unseen_outside(path: str, context: ToolContext) -> bool:
    return shown_path(path, context.environment) == path and context.reads.digest_of(path) is None


async def _refusal(error: PatchError, context: ToolContext, locate: Callable[[str], str]) -> ToolError:
    said = as_tool_error(error)
    missing = dict.fromkeys(problem.path for problem in error.problems if problem.code == "FILE_MISSING")
    near = [f"{path}: {await suggest_names(locate(path), context.environment)}" for path in missing]
    return ToolError("\n".join([str(said), *near]), kind=said.kind)


async def _content(path: str, context: ToolContext) -> Contents:
    check_scope(path, context.environment)
    try:
        return await context.environment.read_bytes(path)
    except PathNotFoundError:
        return None
    except OutsideBoundsError:
        raise  # the patch is valid, but reading the file needs the user's permission
    except NotAFileError as error:
        return Unreadable(str(error), "IS_DIRECTORY")
    except EnvError as error:
        return Unreadable(str(error))


def _require_read(change: PlannedChange, context: ToolContext) -> None:
    """Require that the model has read the current content of a file that the patch replaces as a whole.

    For other changed files, the lines that the patch quotes usually prove that the model has read the file.
    With `read_first` "all", these files must have been read too.
    """
    path = absolute(change.path, context.environment)
    replaced = change.before if change.replaces_whole else change.overwritten
    refuse_notebook(path, shown_path(path, context.environment), replaced)
    if change.replaces_whole and change.before:
        require_current(path, change.before, context)
    if change.overwritten:
        require_current(path, change.overwritten, context)
    if context.read_first == "all" and change.before and change.action in ("modify", "move"):
        require_read(absolute(change.moved_from or change.path, context.environment), context)
    # Deleting a file that the model never read is deliberate. Deleting a file that changed after the model read it may
    # be a mistake.
    if change.action == "delete" and change.before and context.reads.digest_of(path) is not None:
        if not is_current(path, change.before, context):
            raise stale_error(path, change.before, context)


def _remarks(change_set: ChangeSet) -> Sequence[str]:
    """Return notes for the model on chunks that matched loosely or at several positions."""
    several = [
        f"[{place.path}, chunk {place.chunk}: its lines occur {place.candidates} times, "
        f"at lines {', '.join(map(str, place.lines))}{' …' if place.candidates > len(place.lines) else ''}; "
        f"the one at line {place.line} was changed. Check that this is the right place.]"
        for place in change_set.placements
        if place.candidates > 1
    ]
    loose = [
        f"[{place.path}, chunk {place.chunk}: matched at line {place.line}, although blanks or punctuation differ.]"
        for place in change_set.placements
        if place.candidates == 1 and place.level > 1
    ]
    return [*several, *loose, *(f"[Repaired: {note}]" for note in change_set.notes())]


def touches(arguments: ApplyPatchArguments, environment: ExecutionEnvironment) -> Sequence[str]:
    """Return the absolute paths that the patch names.

    Raises:
        PatchError: the patch cannot be parsed.
    """
    return tuple(absolute(path, environment) for path in parse(arguments.patch).paths)


def list_patch_paths(text: str) -> str:
    """Return the file names of a patch, for display."""
    return ", ".join(dict.fromkeys(_HEADER.findall(text) or _DIFF_HEADER.findall(text))) or "patch"


APPLY_PATCH = Tool(
    name="apply_patch",
    description=descriptions.load("apply_patch"),
    category="write",
    arguments=ApplyPatchArguments,
    prepare=prepare,
    look=Look("edit", "Editing", "Edited"),
    summarize=lambda arguments: one_line(list_patch_paths(arguments.patch)),
    touches=touches,
    free_text=FreeText("patch", descriptions.load_grammar("apply_patch")),
)
