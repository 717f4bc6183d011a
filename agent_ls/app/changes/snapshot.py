"""Find the changes that a command made to the files of a folder, by size, times and content.

Before a command, the files that are not ignored are listed, and their texts are stored up to a size limit.
After the command, files whose size or times differ are compared. A changed file whose text was not stored is
reported without its old text.
"""

from __future__ import annotations

import os
import stat
import time
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import anyio
import anyio.to_thread

from agent_ls.environments.base import FileState
from agent_ls.environments.errors import EnvError

MAX_FILES = 50_000
MAX_FILE_BYTES = 1024 * 1024
KEPT_BYTES = 16 * 1024 * 1024
"""Limit for compressed text in memory, per session: about 60 MB of uncompressed source."""

BUDGET_S = 2.0
"""Time limit in seconds of each check (before and after a command).

A change of a file whose text is not stored in time is reported without the old text.
"""

MAX_CHANGED = 200
"""Maximum number of changed files that one check records, because a checkout can change thousands."""

Stamp: TypeAlias = tuple[int, int, int, int]
"""Size, modification time, status change time, and inode of a file."""

ListFiles: TypeAlias = Callable[[int], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """State of the files at the time of a check.

    `stamps` None: there were too many files, or listing took too long. `scope`: the folders that were searched.
    """

    stamps: Mapping[str, Stamp] | None
    scope: object = None


@dataclass(frozen=True, slots=True)
class FoundChanges:
    """Result of a comparison.

    `states` are changes with the old and new content. `unknown` are changed files without a stored old content.
    """

    states: tuple[FileState, ...] = ()
    unknown: tuple[str, ...] = ()
    note: str = ""


@dataclass(slots=True)
class ChangeFinder:
    """Finds changes of files.

    `files` lists the names of files below `folder`, without ignored files. Its argument is the maximum number
    of names to list. `scope` returns the searched folders. If they change between two checks, no changes are
    reported, because the files of a folder that was just opened are not new.
    """

    folder: str
    files: ListFiles
    scope: Callable[[], object] = lambda: None
    _packed_files: dict[str, tuple[Stamp, bytes]] = field(default_factory=dict)
    _size: int = 0

    async def take_snapshot(self) -> FileSnapshot:
        """Return the state of the files before a command, and store their texts."""
        end, scope = time.monotonic() + BUDGET_S, self.scope()
        stamps = await self._stamps(end)
        if stamps is not None:
            await anyio.to_thread.run_sync(self._keep_all, stamps, end, self._renewed)
        return FileSnapshot(stamps, scope)

    async def find_changes(self, before: FileSnapshot) -> tuple[FoundChanges, FileSnapshot]:
        """Return the changes since `before`, and the new state."""
        if before.stamps is None:
            return FoundChanges(
                note="agent-ls did not look for files that the command changed, because the folder has too many "
                "files. See `git status`."
            ), before
        if before.scope != (scope := self.scope()):
            return FoundChanges(), await self.take_snapshot()
        end = time.monotonic() + BUDGET_S
        stamps = await self._stamps(end)
        if stamps is None:
            return FoundChanges(
                note=f"agent-ls did not look for files that the command changed, because {self._describe_unlisted()}."
            ), before
        found = await anyio.to_thread.run_sync(self._compare_states, before.stamps, stamps)
        await anyio.to_thread.run_sync(self._keep_all, stamps, end, self._keep_as_listed)
        return found, FileSnapshot(stamps, scope)

    async def changes(self, before: FileSnapshot) -> FoundChanges:
        """Return the changes since `before`."""
        return (await self.find_changes(before))[0]

    async def _stamps(self, end: float) -> dict[str, Stamp] | None:
        with anyio.move_on_after(end - time.monotonic()):
            try:
                listed = await self.files(MAX_FILES + 1)
            except EnvError:
                return None  # the folder was deleted
            if len(listed) > MAX_FILES:
                return None
            return await anyio.to_thread.run_sync(self._stamped, listed, abandon_on_cancel=True)
        return None

    def _describe_unlisted(self) -> str:
        return (
            "listing the files took too long" if os.path.isdir(self.folder) else "the folder no longer exists"
        )

    # -- in a thread

    def _stamped(self, listed: Sequence[str]) -> dict[str, Stamp]:
        paths = (os.path.join(self.folder, name) for name in listed)
        return {path: stamp for path in paths if (stamp := _stamp(path))}

    def _keep_all(
        self, stamps: dict[str, Stamp], end: float, keep: Callable[[str, dict[str, Stamp]], object]
    ) -> None:
        for path in [path for path in self._packed_files if path not in stamps]:
            self._forget(path)
        for path, stamp in sorted(stamps.items(), key=lambda item: item[1][0]):
            if time.monotonic() > end or self._size > KEPT_BYTES or stamp[0] > MAX_FILE_BYTES:
                return  # sorted by size: all remaining files are larger
            if path not in self._packed_files or self._packed_files[path][0] != stamp:
                keep(path, stamps)

    def _keep_as_listed(self, path: str, stamps: dict[str, Stamp]) -> None:
        """Store a file's text, unless the file has changed since it was listed; the next check then finds the
        change.
        """
        data = _content(path)
        if data is None or _stamp(path) != stamps[path]:
            self._forget(path)
        else:
            self._keep(path, stamps[path], data)

    def _renewed(self, path: str, stamps: dict[str, Stamp]) -> bytes | None:
        """Read a file again and update its stamp, because it may have changed or disappeared since it was listed."""
        stamp, data = _stamp(path), _content(path)
        self._forget(path)
        if stamp and data is not None:
            stamps[path] = stamp
            if self._size <= KEPT_BYTES:
                self._keep(path, stamp, data)
        elif not os.path.lexists(path):
            stamps.pop(path, None)
        return data

    def _keep(self, path: str, stamp: Stamp, data: bytes) -> None:
        self._forget(path)
        packed = zlib.compress(data, 1)
        self._packed_files[path] = (stamp, packed)
        self._size += len(packed)

    def _forget(self, path: str) -> None:
        if known := self._packed_files.pop(path, None):
            self._size -= len(known[1])

    def _compare_states(self, before: Mapping[str, Stamp], after: dict[str, Stamp]) -> FoundChanges:
        """Compare two states. Update `after` with the stamps of the files that were read."""
        changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        states, unknown = [], []
        for path in changed[:MAX_CHANGED]:
            was, now = before.get(path), after.get(path)
            known = self._packed_files.get(path)
            new = _content(path) if now is None else self._renewed(path, after)
            if was is not None and (known is None or known[0] != was):
                unknown.append(path)
                continue
            old = zlib.decompress(known[1]) if was is not None and known else None
            if new is None and os.path.lexists(path):
                unknown.append(path)  # now ignored, too large, or not a regular file
            elif old != new:
                states.append(FileState(path, old, new))
        more = len(changed) - MAX_CHANGED
        note = f"{more} more files were changed; they are not listed for review." if more > 0 else ""
        return FoundChanges(tuple(states), tuple(unknown), note)


def _stamp(path: str) -> Stamp | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _content(path: str) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_FILE_BYTES:
                return None
            return file.read(MAX_FILE_BYTES + 1)
    except OSError:
        return None
