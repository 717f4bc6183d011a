"""From a change that is computed to the effect that is judged, the files that are committed, and what landed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from agent_ls.environments.base import ExecutionEnvironment, FileState, FileWrite, sha256
from agent_ls.environments.effects import Effect, NoEffect, PlannedWrite, WriteEffect
from agent_ls.patch.hunks import Action, FileChange
from agent_ls.patch.splice import text_hunks
from agent_ls.patch.unified import change_diff, is_text
from agent_ls.text import decode
from agent_ls.tools.base import ToolContext, ToolOutput
from agent_ls.tools.paths import absolute, shown_path


def whole_file_change(name: str, before: bytes | None, after: bytes) -> FileChange:
    """The change that gives a file this content; `before` None creates it."""
    action: Action = "create" if before is None else "modify"
    if not (is_text(before) and is_text(after)):
        return FileChange(name, action, before, after)
    return FileChange(name, action, before, after, text_hunks(_text(before or b""), _text(after)))


def effect_of(changes: Sequence[FileChange], environment: ExecutionEnvironment) -> Effect:
    """NoEffect where nothing changes: nobody is to be asked about that."""
    planned = [write for change in changes for write in _planned(change, environment)]
    return WriteEffect(tuple(planned)) if planned else NoEffect()


def effect_of_writes(writes: Sequence[FileWrite], environment: ExecutionEnvironment) -> Effect:
    """As `effect_of`, where only the writes are known by now. A deletion that others take their mode from is a move."""
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
            changes.append(FileChange(write.path, "delete", write.base, None))
        elif write.mode_from in sources:
            moved = whole_file_change(write.path, by_path[write.mode_from].base, write.content)
            move = replace(moved, action="move", moved_from=write.mode_from, overwritten=write.base)
            changes.append(move)
        else:
            changes.append(whole_file_change(write.path, write.base, write.content))
    return effect_of(changes, environment)


async def commit(writes: Sequence[FileWrite], context: ToolContext) -> tuple[FileState, ...]:
    """Commits all of them in one call, and records what the model now knows of each file.

    That is what it wrote, also where the environment carried the change over what the user typed meanwhile: the
    next edit then sees that the file has moved on.
    """
    states = await context.environment.commit(writes, context.attribution)
    for write in writes:
        if write.content is not None:
            context.reads.show(write.path, sha256(write.content), write.content)
    return tuple(states)


async def commit_unread(writes: Sequence[FileWrite], context: ToolContext) -> tuple[FileState, ...]:
    """As `commit`, of changes by others' knowledge: what the model had not read before, it has not read now either."""
    known = [write for write in writes if context.reads.shown(write.path) == sha256(write.base or b"")]
    states = tuple(await context.environment.commit(writes, context.attribution))
    for write in known:
        if write.content is not None:
            context.reads.show(write.path, sha256(write.content), write.content)
    return states


def as_decided(states: Sequence[FileState], context: ToolContext) -> ToolOutput | None:
    """What a person made of a change that he saw before it was made; None when it is as it was proposed.

    The model knows these files then: it is told what of them is other than before.
    """
    return as_reviewed(states, context) if any(state.note for state in states) else None


def as_reviewed(states: Sequence[FileState], context: ToolContext) -> ToolOutput:
    """As `as_decided`, of a call of which an earlier process knew how it tells that all was made."""
    for state in states:
        if state.after is not None:
            context.reads.show(state.path, sha256(state.after), state.after)
    whole = [
        f"{shown_path(state.path, context.environment)}: changed as you proposed."
        for state in states
        if not state.note and state.before != state.after
    ]
    text = "\n\n".join([*(state.note for state in states if state.note), *whole])
    if all(state.before == state.after for state in states):
        return ToolOutput(text, is_error=True, error_kind="permission_denied", summary="refused by the user")
    return ToolOutput(text, files=tuple(states), summary="changed by the user's verdicts")


def landed_notes(writes: Sequence[FileWrite], states: Sequence[FileState], context: ToolContext) -> list[str]:
    """One sentence for each file that does not hold exactly what was written."""
    return [
        f"[{shown_path(write.path, context.environment)} also holds changes that the user made meanwhile. "
        f"Read it again before you rely on its text.]"
        for write, state in zip(writes, states, strict=True)
        if state.after != write.content
    ]


def _planned(change: FileChange, environment: ExecutionEnvironment) -> list[PlannedWrite]:
    """Both ends of a move are named, so that both are judged."""
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


def _change_key(change: FileChange) -> str:
    """Over the removed and added lines; over both contents where there are no lines."""
    parts = [[hunk.removed, hunk.added] for hunk in change.hunks]
    sides = (
        [] if parts else [None if side is None else sha256(side) for side in (change.before, change.after)]
    )
    text = json.dumps([change.action, change.moved_from, parts, sides], ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _text(data: bytes) -> str:
    return decode(data).text
