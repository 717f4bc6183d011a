"""delete_file, move_file and copy_file: change one file, so that the user can review and undo the change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import Field

from agent_ls.environments.base import ExecutionEnvironment, FileWrite
from agent_ls.environments.wrappers.scoped import check_scope
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.file_commits import (
    commit_unread_files,
    concurrent_edit_notes,
    describe_decision,
    effect_of_writes,
    read_existing,
)
from agent_ls.tools.freshness import is_current, stale_error
from agent_ls.tools.look import Look
from agent_ls.tools.not_found import file_not_found
from agent_ls.tools.paths import absolute, shown_path, touched_file
from agent_ls.tools.summary import one_line


class DeleteFileArguments(Arguments):
    file_path: str = Field(description="Path of the file, absolute or relative to the working directory.")


class TwoPathArguments(Arguments):
    source: str = Field(description="Path of the file, absolute or relative to the working directory.")
    target: str = Field(description="Path of the new file. It must not exist; missing folders are created.")


async def prepare_delete(arguments: DeleteFileArguments, context: ToolContext) -> Prepared:
    path = absolute(arguments.file_path, context.environment)
    check_scope(path, context.environment)
    current = await _read_source(path, context)
    write = FileWrite(path, None, current)
    return _prepare((write,), f"Deleted {shown_path(path, context.environment)}.", context)


async def prepare_move(arguments: TwoPathArguments, context: ToolContext) -> Prepared:
    check_scope(absolute(arguments.source, context.environment), context.environment)
    source, target, content, said = await _read_both(arguments, context)
    writes = (FileWrite(target, content, None, mode_from=source), FileWrite(source, None, content))
    return _prepare(writes, f"Moved {said}.", context)


async def prepare_copy(arguments: TwoPathArguments, context: ToolContext) -> Prepared:
    source, target, content, said = await _read_both(arguments, context)
    return _prepare((FileWrite(target, content, None, mode_from=source),), f"Copied {said}.", context)


def _prepare(writes: Sequence[FileWrite], said: str, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        states = await commit_unread_files(writes, context)
        if decided := describe_decision(states, context):
            return decided
        return ToolOutput(
            "\n".join([said, *concurrent_edit_notes(writes, states, context)]), files=tuple(states)
        )

    return Prepared(effect_of_writes(writes, context.environment), run)


async def _read_both(arguments: TwoPathArguments, context: ToolContext) -> tuple[str, str, bytes, str]:
    """Return source path, target path, content of the source, and both paths as text for the result.

    Raises:
        ToolError: the source does not exist or changed after the model read it, or the target exists.
    """
    source = absolute(arguments.source, context.environment)
    target = absolute(arguments.target, context.environment)
    name = shown_path(target, context.environment)
    content = await _read_source(source, context)
    if source == target or await context.environment.file_exists(target):
        raise ToolError(f"{name} exists already. Give another target path.", kind="edit_conflict")
    return source, target, content, f"{shown_path(source, context.environment)} to {name}"


async def _read_source(path: str, context: ToolContext) -> bytes:
    current = await read_existing(path, context)
    if current is None:
        raise await file_not_found(path, context.environment)
    if context.reads.digest_of(path) is not None and not is_current(path, current, context):
        raise stale_error(path, current, context)
    return current


def touches_both(arguments: TwoPathArguments, environment: ExecutionEnvironment) -> Sequence[str]:
    return (absolute(arguments.source, environment), absolute(arguments.target, environment))


DELETE_FILE = Tool(
    name="delete_file",
    description="Delete one file. Folders are not deleted.",
    category="write",
    arguments=DeleteFileArguments,
    prepare=prepare_delete,
    look=Look("delete", "Deleting", "Deleted"),
    summarize=lambda arguments: one_line(arguments.file_path),
    touches=touched_file,
)

MOVE_FILE = Tool(
    name="move_file",
    description="Move or rename one file, with the user's unsaved changes. An existing target is never replaced.",
    category="write",
    arguments=TwoPathArguments,
    prepare=prepare_move,
    look=Look("move", "Moving", "Moved"),
    summarize=lambda arguments: one_line(f"{arguments.source} → {arguments.target}"),
    touches=touches_both,
)

COPY_FILE = replace(
    MOVE_FILE,
    name="copy_file",
    description="Copy one file, with the user's unsaved changes. An existing target is never replaced.",
    prepare=prepare_copy,
    look=Look("edit", "Copying", "Copied"),
)
