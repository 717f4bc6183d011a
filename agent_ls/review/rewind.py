"""Restore the content of a file before certain agent changes, but keep later changes by the user and others.

Changes are reverted by merging, never by overwriting. The caller chooses the changes, and reads and writes
the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_ls.patch.rebase import Conflicted, rebase
from agent_ls.text import NotEncodableError, decode, encode, looks_binary, split_lines

DELETED_SINCE = "the file was deleted after the change"
MADE_AGAIN = "the file was created again after the change"
CHANGED_SINCE = "the file was changed later, and the two versions cannot be merged"
LINES_CHANGED_SINCE = "lines that the agent changed were edited later"
NOT_KEPT = "the earlier content of the file was not stored"


@dataclass(frozen=True, slots=True)
class FileVersion:
    """The content of a file at one time. `name` is the content's hash, "" if the file did not exist.

    `data` is None if the file did not exist or the content was not stored.
    """

    name: str
    data: bytes | None

    @property
    def is_kept(self) -> bool:
        return self.data is not None or not self.name

    def is_same(self, other: FileVersion) -> bool:
        return self.name == other.name or (self.data is not None and self.data == other.data)


@dataclass(frozen=True, slots=True)
class AgentChange:
    """The content of a file before and after one change by an agent."""

    before: FileVersion
    after: FileVersion


@dataclass(frozen=True, slots=True)
class ConflictRange:
    """A range in conflict: lines [start, end) of the current text, from 0."""

    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class Rewound:
    """Result of a rewind without conflict. `content` is the content to write; None: delete the file."""

    content: bytes | None


@dataclass(frozen=True, slots=True)
class RewindConflict:
    """The current text and the content to restore cannot be merged.

    `at` lists the line ranges in conflict; empty means the whole file. `is_lost`: the content to restore was
    not stored.
    """

    reason: str
    at: tuple[ConflictRange, ...] = ()
    is_lost: bool = False


def rewind(
    current: FileVersion, steps: Sequence[AgentChange], *, force: bool = False
) -> Rewound | RewindConflict:
    """Revert `steps`, given in the order in which they were made. `force` overwrites conflicting text."""
    now = current
    for step in reversed(_join_changes(steps)):
        back = _revert(now, step)
        if isinstance(back, RewindConflict) and force and step.before.is_kept:
            back = step.before
        if isinstance(back, RewindConflict):
            return back if now is current else replace(back, at=())
        now = back
    return Rewound(now.data) if now.is_kept else RewindConflict(NOT_KEPT, is_lost=True)


def _join_changes(steps: Sequence[AgentChange]) -> list[AgentChange]:
    """Join consecutive changes if nobody else changed the file in between."""
    joined: list[AgentChange] = []
    for step in steps:
        if joined and joined[-1].after.is_same(step.before):
            joined[-1] = AgentChange(joined[-1].before, step.after)
        else:
            joined.append(step)
    return joined


def _revert(now: FileVersion, step: AgentChange) -> FileVersion | RewindConflict:
    if now.is_same(step.after) or now.is_same(step.before):
        return step.before
    if not step.before.is_kept or not step.after.is_kept:
        return RewindConflict(NOT_KEPT, is_lost=True)
    if now.data is None:
        return RewindConflict(DELETED_SINCE)
    if step.after.data is None:
        return RewindConflict(MADE_AGAIN)
    if looks_binary(now.data) or looks_binary(step.after.data):
        return RewindConflict(CHANGED_SINCE)
    if step.before.data is None:
        return step.before if _text(now.data) == _text(step.after.data) else RewindConflict(CHANGED_SINCE)
    if looks_binary(step.before.data):
        return RewindConflict(CHANGED_SINCE)
    return _merge(now.data, step.before.data, step.after.data)


def _merge(now: bytes, before: bytes, after: bytes) -> FileVersion | RewindConflict:
    merged = rebase(split_lines(_text(after)), split_lines(_text(before)), split_lines(_text(now)))
    if isinstance(merged, Conflicted):
        at = tuple(ConflictRange(it.start, it.end, it.reason) for it in merged.conflicts)
        return RewindConflict(LINES_CHANGED_SINCE, at)
    written_as = replace(decode(now), text="".join(merged.lines))
    try:
        return FileVersion("(merged)", encode(written_as))
    except NotEncodableError as error:
        return RewindConflict(str(error))


def _text(data: bytes) -> str:
    return decode(data).text
