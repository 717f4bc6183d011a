"""An environment that resolves symbolic links and checks paths against the path policy before each operation.

The policy checked the paths of a call before the call ran, but a folder may have been replaced by a link
since then. So paths are resolved and checked again directly before the inner environment acts. If the inner
environment opens a file or folder on disk, the opened file is checked as well (environments/opened.py), which
closes the race. A search may run in a separate program, so its results are checked afterwards.

For a command only the working folder is checked: the policy has checked the command, and a sandbox limits its
actions. `file_exists` and the results of `glob` are not checked, because they are names and not contents.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial
from os import stat_result
from os.path import join, normpath
from typing import Protocol, TypeVar

from anyio.to_thread import run_sync

from agent_ls.environments.base import (
    READ_LIMIT_BYTES,
    Attribution,
    CommandOptions,
    DirEntry,
    ExecResult,
    ExecutionEnvironment,
    FileState,
    FileWrite,
    GrepOptions,
    GrepResult,
    OutputSink,
    ProcessInfo,
)
from agent_ls.environments.errors import (
    AccessDeniedError,
    OutsideBoundsError,
    PathNotFoundError,
    SecretFileError,
)
from agent_ls.environments.opened import deferred_path_check, opening_check
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.paths import is_within

T = TypeVar("T")


class Bounds(Protocol):
    """Interface to the path policy.

    Methods resolve links, so they block: call them in a thread. Paths are absolute.
    """

    def at_once(self, paths: Sequence[str]) -> AbstractContextManager[None]:
        """Look up all these paths in one request if single lookups are slow.

        Checks inside the `with` block use the results.
        """
        ...

    def real_path(self, path: str) -> str:
        """Return the path with links resolved."""
        ...

    def stat(self, path: str) -> stat_result:
        """Return the stat result of a file. Raises OSError."""
        ...

    def check_readable(self, path: str) -> str:
        """Check that a path may be read; return its real path.

        Raises:
            OutsideBoundsError: the user has to allow the path first. AccessDeniedError: the path is never
            allowed. PathNotFoundError: the path is outside of the workspace and does not exist.
        """
        ...

    def ignored(self, paths: Collection[str]) -> Collection[str]:
        """Return those of the paths that an ignore file names, so that no search or listing shows them. Blocks."""
        ...

    def check_opened(self, path: str, real: str, facts: stat_result) -> None:
        """Check a file that was opened as `path`; `real` is its real path, "" if unknown.

        Raises:
            AccessDeniedError: the opened file is not the file that the policy checked.
        """
        ...

    def check_target(self, real: str, call_id: str) -> None:
        """Check a file open for writing, or its open folder.

        Raises:
            AccessDeniedError: the policy has not checked a change of this file by this call.
        """
        ...

    def check_writable(self, path: str, call_id: str) -> None:
        """Check that a path may be written by this call.

        Raises:
            AccessDeniedError: the path resolves to another file than at the time of the policy check.
        """
        ...


@dataclass(frozen=True, slots=True)
class DiskRead:
    """A file that was read from disk. `path` is absolute.

    `began_ns` is the time (nanoseconds since the epoch) before the file was opened. `facts` is the stat
    result of the open file, from before `data` was read.
    """

    path: str
    data: bytes
    facts: stat_result
    began_ns: int


class BoundedEnvironment(ForwardingEnvironment):
    """Environment wrapper that enforces the path policy `bounds`.

    `opens_here`: a LocalEnvironment below `inner` opens the files. That environment runs the path check, in the
    thread that reads or writes. If `opens_here` is False, the paths are checked before `inner` is called.
    `on_read` is called for each read of a file that an environment opened on disk. It must not raise or block.
    """

    def __init__(
        self,
        inner: ExecutionEnvironment,
        bounds: Bounds,
        *,
        opens_here: bool = False,
        on_read: Callable[[DiskRead], None] | None = None,
    ) -> None:
        super().__init__(inner)
        self._bounds = bounds
        self._opens_here = opens_here
        self._on_read = on_read

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        began_ns = time.time_ns()
        opened: list[stat_result] = []

        def check(real: str, facts: stat_result) -> None:
            self._check_opened(path, real, facts)
            opened.append(facts)

        with opening_check(check):
            data = await self._with_path_checked(path, partial(self.inner.read_bytes, path, max_bytes))
        if opened and self._on_read:
            self._on_read(DiskRead(self._absolute(path), data, opened[-1], began_ns))
        return data

    async def list_directory(self, path: str, depth: int = 1) -> Sequence[DirEntry]:
        with opening_check(partial(self._check_opened, path)):
            found = await self._with_path_checked(path, partial(self.inner.list_directory, path, depth))
        shown = await self._without_ignored([join(path, entry.name) for entry in found])
        return [entry for entry in found if join(path, entry.name) in shown]

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        paths = [self._absolute(write.path) for write in writes if write.content != write.base]
        check = partial(self._check_writable, paths, attribution.call_id)
        with opening_check(partial(self._check_target, attribution.call_id)):
            if not self._opens_here:
                await run_sync(check, abandon_on_cancel=True)
                return await self.inner.commit(writes, attribution)
            # Each inner environment that changes files runs the check before its first change.
            with deferred_path_check(check):
                return await self.inner.commit(writes, attribution)

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        await self._check_readable(options.working_dir)
        return await self.inner.exec_command(command, options, on_output)

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        await self._check_readable(options.working_dir)
        return await self.inner.start_process(command, options)

    async def grep(self, pattern: str, path: str, options: GrepOptions) -> GrepResult:
        judged = await self._check_readable(path)
        found = await self.inner.grep(pattern, path, options)
        if not found.lines:
            return found
        paths = {line.path for line in found.lines}
        hidden = await run_sync(self._not_meant, judged, paths, abandon_on_cancel=True)
        return replace(found, lines=tuple(line for line in found.lines if line.path not in hidden))

    async def glob(self, pattern: str, path: str) -> Sequence[str]:
        await self._check_readable(path)
        found = await self.inner.glob(pattern, path)
        shown = await self._without_ignored(found)
        return [each for each in found if each in shown]

    async def _without_ignored(self, paths: Sequence[str]) -> Collection[str]:
        def select() -> set[str]:
            absolute = {path: self._absolute(path) for path in paths}
            ignored = self._bounds.ignored(absolute.values())
            return {path for path, it in absolute.items() if it not in ignored}

        return await run_sync(select, abandon_on_cancel=True) if paths else ()

    async def _with_path_checked(self, path: str, act: Callable[[], Awaitable[T]]) -> T:
        """Run the read-only operation `act` on `path`. The path is checked before the result is returned."""
        if not self._opens_here:
            await self._check_readable(path)
            return await act()
        with deferred_path_check(partial(self._bounds.check_readable, self._absolute(path))) as pending:
            try:
                return await act()
            finally:
                # If the path was not checked (the content was in memory, or an error occurred), check it now: neither
                # the content nor the error may reveal data about a forbidden path.
                if not pending.is_done:
                    await run_sync(pending.run, abandon_on_cancel=True)

    async def _check_readable(self, path: str) -> str:
        """Check that a path may be read; return its real path."""
        return await run_sync(self._bounds.check_readable, self._absolute(path), abandon_on_cancel=True)

    def _check_opened(self, path: str, real: str, facts: stat_result) -> None:
        # If the system does not report which file is open, the path is resolved again; a short race remains.
        self._bounds.check_opened(self._absolute(path), real, facts)

    def _check_target(self, call_id: str, real: str, facts: stat_result) -> None:
        if real:
            self._bounds.check_target(real, call_id)

    def _check_writable(self, paths: Sequence[str], call_id: str) -> None:
        for path in paths:
            self._bounds.check_writable(path, call_id)

    def _not_meant(self, judged: str, paths: Collection[str]) -> set[str]:
        """Return those of the found `paths` that the result of a search must not contain.

        These are files outside of `judged` (the real path that was searched), files with secrets, and files
        that the policy never allows to read.
        """
        hidden = set()
        with self._bounds.at_once([self._absolute(path) for path in paths]):
            for path in paths:
                if self._is_hidden(judged, path):
                    hidden.add(path)
        return hidden

    def _is_hidden(self, judged: str, path: str) -> bool:
        try:
            real = self._bounds.real_path(self._absolute(path))
            if not is_within(real, judged):
                return True
            self._bounds.check_readable(self._absolute(path))
            with suppress(FileNotFoundError):  # a new file in the editor that was never saved
                self._bounds.check_opened(self._absolute(path), real, self._bounds.stat(real))
        except SecretFileError:
            return True
        except (OutsideBoundsError, PathNotFoundError):
            return False
        except AccessDeniedError:
            return True
        return False

    def _absolute(self, path: str) -> str:
        return normpath(join(self.working_directory(), path))
