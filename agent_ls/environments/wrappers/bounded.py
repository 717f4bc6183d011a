"""An environment that looks where a path leads when it acts, and refuses what the bounds do not allow (X4, X6).

Policy judged the paths of a call before it ran; a folder may have become a link since. Here they are followed once
more, directly before the inner environment acts, and where that opens a file or a folder of a disk, what it opened is
looked at as well (environments/opened.py): nothing can change between that look and the use. A search is a program of
its own: what it found is looked at afterwards.

It does not know the bounds. Commands pass but for the folder that they begin in: what they do is for policy, and
for a sandbox, to judge. `file_exists` and `glob` tell names, no contents.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from os import stat_result
from os.path import join, normpath, realpath, sep
from typing import Protocol

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
from agent_ls.environments.opened import checking
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment


class Bounds(Protocol):
    """Who knows the bounds. Both follow links, so they block: they are called in a thread. Paths are absolute."""

    def demand_readable(self, path: str) -> str:
        """Its real path.

        Raises:
            OutsideBoundsError: a person may allow it. AccessDeniedError: never. PathNotFoundError: outside, and
            nothing is there.
        """
        ...

    def demand_opened(self, path: str, real: str, facts: stat_result) -> None:
        """Of what was opened as `path`: its real path, "" when that is not known, and its facts.

        Raises:
            AccessDeniedError: it is not what was judged.
        """
        ...

    def demand_landing(self, real: str, call_id: str) -> None:
        """Of a file, or the folder around it, that is open to be changed.

        Raises:
            AccessDeniedError: this call's change was not judged to land there.
        """
        ...

    def demand_writable(self, path: str, call_id: str) -> None:
        """
        Raises:
            AccessDeniedError: the path does not lead to where it did when this call's change was judged.
        """
        ...


class BoundedEnvironment(ForwardingEnvironment):
    def __init__(self, inner: ExecutionEnvironment, bounds: Bounds) -> None:
        super().__init__(inner)
        self._bounds = bounds

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        await self._demand_readable(path)
        with checking(partial(self._demand_opened, path)):
            return await self.inner.read_bytes(path, max_bytes)

    async def list_directory(self, path: str, depth: int = 1) -> Sequence[DirEntry]:
        await self._demand_readable(path)
        with checking(partial(self._demand_opened, path)):
            return await self.inner.list_directory(path, depth)

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        paths = [self._absolute(write.path) for write in writes if write.content != write.base]
        await run_sync(self._demand_writable, paths, attribution.call_id, abandon_on_cancel=True)
        with checking(partial(self._demand_landing, attribution.call_id)):
            return await self.inner.commit(writes, attribution)

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        await self._demand_readable(options.working_dir)
        return await self.inner.exec_command(command, options, on_output)

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        await self._demand_readable(options.working_dir)
        return await self.inner.start_process(command, options)

    async def grep(self, pattern: str, path: str, options: GrepOptions) -> GrepResult:
        judged = await self._demand_readable(path)
        found = await self.inner.grep(pattern, path, options)
        paths = {line.path for line in found.lines}
        hidden = await run_sync(self._not_meant, judged, paths, abandon_on_cancel=True)
        return replace(found, lines=tuple(line for line in found.lines if line.path not in hidden))

    async def glob(self, pattern: str, path: str) -> Sequence[str]:
        await self._demand_readable(path)
        return await self.inner.glob(pattern, path)

    async def _demand_readable(self, path: str) -> str:
        """Where it leads at this moment."""
        return await run_sync(self._bounds.demand_readable, self._absolute(path), abandon_on_cancel=True)

    def _demand_opened(self, path: str, real: str, facts: stat_result) -> None:
        # Where the system does not tell what is open, the path is followed once more: a moment is left.
        self._bounds.demand_opened(self._absolute(path), real, facts)

    def _demand_landing(self, call_id: str, real: str, facts: stat_result) -> None:
        if real:
            self._bounds.demand_landing(real, call_id)

    def _demand_writable(self, paths: Sequence[str], call_id: str) -> None:
        for path in paths:
            self._bounds.demand_writable(path, call_id)

    def _not_meant(self, judged: str, paths: Collection[str]) -> set[str]:
        """What lies below a folder that may be searched, and may not be read all the same; what lies elsewhere."""
        hidden = set()
        for path in paths:
            try:
                if not _is_below(realpath(self._absolute(path)), judged):
                    hidden.add(path)
                self._bounds.demand_readable(self._absolute(path))
            except SecretFileError:
                hidden.add(path)
            except (OutsideBoundsError, PathNotFoundError):
                continue
            except AccessDeniedError:
                hidden.add(path)
        return hidden

    def _absolute(self, path: str) -> str:
        return normpath(join(self.working_directory(), path))


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(sep) + sep)
