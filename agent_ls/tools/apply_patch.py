"""apply_patch: a v4a patch over any number of files, all or nothing (000 appendix A, REQUIREMENTS T4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from pydantic import Field

from agent_ls.environments.base import ExecutionEnvironment, FileWrite
from agent_ls.environments.errors import EnvError, NotAFileError, OutsideBoundsError, PathNotFoundError
from agent_ls.patch.errors import PatchError
from agent_ls.patch.hunks import ChangeSet, FileChange
from agent_ls.patch.v4a_apply import Contents, Patch, Unreadable, parse, plan
from agent_ls.patch.v4a_parser import UpdateFile
from agent_ls.tools import descriptions
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.freshness import demand_current, demand_read, is_current, stale
from agent_ls.tools.missing import nearest
from agent_ls.tools.notebooks import demand_no_notebook
from agent_ls.tools.paths import absolute, shown_path
from agent_ls.tools.planned import as_decided, commit, effect_of, landed_notes
from agent_ls.tools.refusals import refused
from agent_ls.tools.summary import one_line

_HEADER = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: *(.+?) *$", re.MULTILINE)


class ApplyPatchArguments(Arguments):
    patch: str = Field(description="The patch, from `*** Begin Patch` to `*** End Patch`.")


async def prepare(arguments: ApplyPatchArguments, context: ToolContext) -> Prepared:
    return await prepare_patch(arguments.patch, context)


async def prepare_patch(text: str, context: ToolContext, folder: str = "") -> Prepared:
    """A patch from wherever it came; its paths are relative to `folder`, "" for the working directory.

    Raises:
        ToolError: it does not fit, or changes what the model has not seen. EnvError: a file may not be looked at.
    """
    change_set = await _planned(text, context, lambda path: absolute(path, context.environment, folder))
    for change in change_set.changes:
        _demand_seen(change, context)
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
        states = await commit(writes, context) if writes else ()
        if decided := as_decided(states, context):
            return decided
        notes = [*_remarks(change_set), *landed_notes(writes, states, context)]
        return ToolOutput(change_set.summary() + "\n".join(notes), files=states)

    return Prepared(effect_of(change_set.changes, context.environment), run)


async def _planned(text: str, context: ToolContext, locate: Callable[[str], str]) -> ChangeSet:
    unseen: list[str] = []
    try:
        patch = parse(text)
        unseen = [path for path in patch.paths if _is_unseen_outside(locate(path), context)]
        files = {path: await _content(locate(path), context) for path in patch.paths}
        _demand_no_notebook(patch, files)
        return plan(patch, files, locate, refuse_ambiguous=context.refuse_ambiguous)
    except PatchError as error:
        if unseen:
            # A refusal quotes the file, and nobody has been asked yet whether this one may be read.
            raise ToolError(
                f"The patch does not apply to {', '.join(unseen)}, outside the workspace. Read it first.",
                kind="edit_conflict",
            ) from None
        raise await _refusal(error, context, locate) from None


def _demand_no_notebook(patch: Patch, files: Mapping[str, Contents]) -> None:
    """Before anything is compared: a refusal would quote the notebook's JSON. Moving one as it is remains."""
    for section in (*patch.strict.sections, *patch.lenient.sections):
        if isinstance(section, UpdateFile) and section.chunks:
            current = files.get(section.path)
            demand_no_notebook(section.path, section.path, current if isinstance(current, bytes) else None)


def _is_unseen_outside(path: str, context: ToolContext) -> bool:
    return shown_path(path, context.environment) == path and context.reads.shown(path) is None


async def _refusal(error: PatchError, context: ToolContext, locate: Callable[[str], str]) -> ToolError:
    said = refused(error)
    missing = dict.fromkeys(problem.path for problem in error.problems if problem.code == "FILE_MISSING")
    near = [f"{path}: {await nearest(locate(path), context.environment)}" for path in missing]
    return ToolError("\n".join([str(said), *near]), kind=said.kind)


async def _content(path: str, context: ToolContext) -> Contents:
    try:
        return await context.environment.read_bytes(path)
    except PathNotFoundError:
        return None
    except OutsideBoundsError:
        raise  # not the patch's fault: a person may allow it
    except NotAFileError as error:
        return Unreadable(str(error), "IS_DIRECTORY")
    except EnvError as error:
        return Unreadable(str(error))


def _demand_seen(change: FileChange, context: ToolContext) -> None:
    """A patch quotes what it changes; what goes as a whole, unquoted, must be what the model has seen (X9)."""
    path = absolute(change.path, context.environment)
    replaced = change.before if change.replaces_whole else change.overwritten
    demand_no_notebook(path, shown_path(path, context.environment), replaced)
    if change.replaces_whole and change.before:
        demand_current(path, change.before, context)
    if change.overwritten:
        demand_current(path, change.overwritten, context)
    if context.read_first == "all" and change.before and change.action in ("modify", "move"):
        demand_read(absolute(change.moved_from or change.path, context.environment), context)
    # Deleting a file that was never read is deliberate; deleting one that changed since it was read may not be.
    if change.action == "delete" and change.before and context.reads.shown(path) is not None:
        if not is_current(path, change.before, context):
            raise stale(path, change.before, context)


def _remarks(change_set: ChangeSet) -> Sequence[str]:
    """What a model should know of a patch that did not fit at exactly one place, word for word."""
    several = [
        f"[{place.path}, chunk {place.chunk}: its lines occur {place.candidates} times, "
        f"at lines {', '.join(map(str, place.lines))}{' …' if place.candidates > len(place.lines) else ''}; "
        f"the one at line {place.line} was changed. Check that it is the right one.]"
        for place in change_set.placements
        if place.candidates > 1
    ]
    loose = [
        f"[{place.path}, chunk {place.chunk}: matched at line {place.line} though blanks or punctuation differ.]"
        for place in change_set.placements
        if place.candidates == 1 and place.level > 1
    ]
    return [*several, *loose, *(f"[Repaired: {note}]" for note in change_set.notes())]


def summarize(arguments: ApplyPatchArguments) -> str:
    return one_line(paths_of(arguments.patch))


def touches(arguments: ApplyPatchArguments, environment: ExecutionEnvironment) -> Sequence[str]:
    """
    Raises:
        PatchError: what cannot be read names no files.
    """
    return tuple(absolute(path, environment) for path in parse(arguments.patch).paths)


def paths_of(text: str) -> str:
    """The files of a patch, for people."""
    return ", ".join(dict.fromkeys(_HEADER.findall(text))) or "patch"


APPLY_PATCH = Tool(
    name="apply_patch",
    description=descriptions.load("apply_patch"),
    category="write",
    arguments=ApplyPatchArguments,
    prepare=prepare,
    summarize=summarize,
    touches=touches,
)
