"""Turn computed file changes into effects, commit them, and report what was written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from agent_ls.environments.base import ExecutionEnvironment, FileState, FileWrite, sha256
from agent_ls.environments.effects import Effect, NoEffect, PlannedWrite, WriteEffect
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.environments.wrappers.scoped import check_scope
from agent_ls.patch.hunks import Action, PlannedChange
from agent_ls.patch.splice import text_hunks
from agent_ls.patch.unified import change_diff, is_text
from agent_ls.text import decode
from agent_ls.tools.base import ToolContext, ToolOutput
from agent_ls.tools.paths import absolute, folder_and_name, shown_path


async def read_existing(path: str, context: ToolContext) -> bytes | None:
    """Return a file's content, None if it does not exist."""
    try:
        return await context.environment.read_bytes(path)
    except PathNotFoundError:
        return None


async def read_to_change(path: str, context: ToolContext) -> bytes | None:
    """Return the content of a file that the call is to change, None if it does not exist.

    Raises:
        AccessDeniedError: the agent may not change this file. EnvError: the file cannot be read.
    """
    check_scope(path, context.environment)
    return await read_existing(path, context)


def whole_file_change(name: str, before: bytes | None, after: bytes) -> PlannedChange:
    """Return the change that gives a file this content; `before` None creates it."""
    action: Action = "create" if before is None else "modify"
    if not (is_text(before) and is_text(after)):
        return PlannedChange(name, action, before, after)
    return PlannedChange(name, action, before, after, text_hunks(_text(before or b""), _text(after)))


def write_effect(changes: Sequence[PlannedChange], environment: ExecutionEnvironment) -> Effect:
    """Return the effect of these changes. NoEffect if nothing changes, so that no approval is needed.

    Raises:
        AccessDeniedError: the agent may not change one of the files.
    """
    planned = [write for change in changes for write in _plan_writes(change, environment)]
    for write in planned:
        check_scope(write.path, environment)
    return WriteEffect(tuple(planned)) if planned else NoEffect()


def effect_of_writes(writes: Sequence[FileWrite], environment: ExecutionEnvironment) -> Effect:
    """Return the effect of these writes. If one write deletes a file and another write copies the mode bits
    of this file, both are one move.
    """
    by_path = {write.path: write for write in writes}
    sources = {
        write.mode_from
        for write in writes
        if write.mode_from in by_path and by_path[write.mode_from].content is None
    }
    changes = []
    for write in writes:
        if write.path in sources or write.content == write.base:
            continue
        if write.content is None:
            changes.append(PlannedChange(write.path, "delete", write.base, None))
        elif write.mode_from in sources:
            moved = whole_file_change(write.path, by_path[write.mode_from].base, write.content)
            move = replace(moved, action="move", moved_from=write.mode_from, overwritten=write.base)
            changes.append(move)
        else:
            changes.append(whole_file_change(write.path, write.base, write.content))
    return write_effect(changes, environment)


async def commit_files(writes: Sequence[FileWrite], context: ToolContext) -> tuple[FileState, ...]:
    """Commit all writes in one call, and record that the model has seen the new content of each file.

    If the environment merged the content with the user's typing, the content that the model wrote is recorded
    nevertheless. So the next edit detects that the file has changed.
    """
    missing = {write.path: await _missing_folders(write, context.environment) for write in writes}
    states = await context.environment.commit(writes, context.attribution)
    refused = {state.path for state in states if state.note and state.after == state.before}
    for write in writes:
        if write.content is not None and write.path not in refused:
            context.reads.record(write.path, sha256(write.content), write.content)
    deleted = {write.path for write in writes if write.content is None}
    known: set[str] = set()
    detailed = []
    for write, state in zip(writes, states, strict=True):
        made = tuple(
            folder for folder in missing[write.path] if folder not in known and state.after is not None
        )
        known.update(made)
        moved_from = write.mode_from if write.mode_from in deleted and state.after is not None else ""
        detailed.append(replace(state, moved_from=moved_from, created_folders=made))
    return tuple(detailed)


async def _missing_folders(write: FileWrite, environment: ExecutionEnvironment) -> tuple[str, ...]:
    """Return the missing parent folders of a new file, the topmost first."""
    if write.content is None or write.base is not None:
        return ()
    missing: list[str] = []
    folder, _ = folder_and_name(write.path, environment)
    while not await environment.file_exists(folder):
        missing.insert(0, folder)
        above, _ = folder_and_name(folder, environment)
        if above == folder:
            break
        folder = above
    return tuple(missing)


async def commit_unread_files(writes: Sequence[FileWrite], context: ToolContext) -> tuple[FileState, ...]:
    """Commit files whose text the model may not know.

    A file counts as read after the commit only if the model had read its previous content.
    """
    known = [write for write in writes if context.reads.digest_of(write.path) == sha256(write.base or b"")]
    states = tuple(await context.environment.commit(writes, context.attribution))
    for write in known:
        if write.content is not None:
            context.reads.record(write.path, sha256(write.content), write.content)
    return states


def describe_decision(states: Sequence[FileState], context: ToolContext) -> ToolOutput | None:
    """Report the user's decisions on a change that was reviewed before it was written.

    Return None if the user accepted the whole change. The files count as read by the model, because the report
    contains the differences.
    """
    return describe_review(states, context) if any(state.note for state in states) else None


def describe_review(states: Sequence[FileState], context: ToolContext) -> ToolOutput:
    """Report the user's decisions, like `describe_decision`, for a call that an earlier process prepared."""
    for state in states:
        if state.after is not None:
            context.reads.record(state.path, sha256(state.after), state.after)
    whole = [
        f"{shown_path(state.path, context.environment)}: changed as you proposed."
        for state in states
        if not state.note and state.before != state.after
    ]
    text = "\n\n".join([*(state.note for state in states if state.note), *whole])
    if all(state.before == state.after for state in states):
        return ToolOutput(text, is_error=True, error_kind="permission_denied", summary="refused by the user")
    return ToolOutput(text, files=tuple(states), summary="changed as the user decided")


def concurrent_edit_notes(
    writes: Sequence[FileWrite], states: Sequence[FileState], context: ToolContext
) -> list[str]:
    """Return one sentence for each file whose content differs from the content of its write."""
    return [
        f"[{shown_path(write.path, context.environment)} also contains changes that the user made at the same time. "
        f"Read the file again before you rely on its text.]"
        for write, state in zip(writes, states, strict=True)
        if state.after != write.content or state.moved_on
    ]


def _plan_writes(change: PlannedChange, environment: ExecutionEnvironment) -> list[PlannedWrite]:
    """Return the planned writes of a change. A move has two writes, so that the policy checks both paths."""
    path = absolute(change.path, environment)
    source = absolute(change.moved_from, environment) if change.moved_from else ""
    named = replace(
        change,
        path=shown_path(path, environment),
        moved_from=shown_path(source, environment) if source else "",
    )
    key = _change_key(named)
    target = PlannedWrite(path, change.action, change_diff(named).text, key)
    return [PlannedWrite(source, "move", "", key), target] if source else [target]


def _change_key(change: PlannedChange) -> str:
    """Return a digest of the removed and added lines, or of both contents if the change has no hunks."""
    parts = [[hunk.removed, hunk.added] for hunk in change.hunks]
    sides = (
        [] if parts else [None if side is None else sha256(side) for side in (change.before, change.after)]
    )
    text = json.dumps([change.action, change.moved_from, parts, sides], ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _text(data: bytes) -> str:
    return decode(data).text
