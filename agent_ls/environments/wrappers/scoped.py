"""The environment of an agent that works in one folder: only files in this folder may change.

Paths are relative to the folder, and commands start in it. The policy checks commands as in other
environments. The wrapper never allows more than the inner environment.
"""

from __future__ import annotations

import ntpath
import posixpath
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType

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
from agent_ls.environments.errors import AccessDeniedError
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.paths import is_within


class ScopedEnvironment(ForwardingEnvironment):
    """Limits changes to files in `folder`, which is absolute and inside the inner working directory."""

    def __init__(self, inner: ExecutionEnvironment, folder: str) -> None:
        super().__init__(inner)
        self._folder = folder

    def working_directory(self) -> str:
        return self._folder

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        return await self.inner.read_bytes(self._absolute(path), max_bytes)

    async def file_exists(self, path: str) -> bool:
        return await self.inner.file_exists(self._absolute(path))

    async def list_directory(self, path: str, depth: int = 1) -> Sequence[DirEntry]:
        return await self.inner.list_directory(self._absolute(path), depth)

    def check_inside(self, path: str) -> None:
        """Raise AccessDeniedError if the absolute `path` is outside of the folder."""
        if not self._is_inside(path):
            raise AccessDeniedError(
                path,
                f"this agent may change files in {self._folder} only; report the change that is needed instead",
            )

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        named = [replace(write, path=self._absolute(write.path)) for write in writes]
        for write in named:
            self.check_inside(write.path)
        return await self.inner.commit(named, attribution)

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        return await self.inner.exec_command(command, self._from_here(options), on_output)

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        return await self.inner.start_process(command, self._from_here(options))

    async def grep(self, pattern: str, path: str, options: GrepOptions) -> GrepResult:
        found = await self.inner.grep(pattern, self._absolute(path), options)
        lines = tuple(replace(line, path=self._display_path(line.path)) for line in found.lines)
        return replace(found, lines=lines)

    async def glob(self, pattern: str, path: str) -> Sequence[str]:
        return [self._display_path(each) for each in await self.inner.glob(pattern, self._absolute(path))]

    def _from_here(self, options: CommandOptions) -> CommandOptions:
        return replace(options, working_dir=self._absolute(options.working_dir or "."))

    def _absolute(self, path: str) -> str:
        rules = self._rules()
        return str(rules.normpath(rules.join(self._folder, path)))

    def _display_path(self, path: str) -> str:
        """Convert a path of the inner environment: relative to `folder` if it is inside, else absolute."""
        rules = self._rules()
        whole = str(rules.normpath(rules.join(self.inner.working_directory(), path)))
        return (
            whole[len(self._folder) :].lstrip("\\/").replace("\\", "/") if self._is_inside(whole) else whole
        )

    def _is_inside(self, path: str) -> bool:
        return is_within(path, self._folder, self._rules().sep)

    def _rules(self) -> ModuleType:
        return ntpath if self.platform() == "windows" else posixpath


def check_scope(path: str, environment: ExecutionEnvironment) -> None:
    """Check a file that a call is to change, before the user is asked about the call. `path` is absolute.

    Raises:
        AccessDeniedError: `environment` is limited to a folder, and the file is outside of it.
    """
    while isinstance(environment, ForwardingEnvironment):
        if isinstance(environment, ScopedEnvironment):
            environment.check_inside(path)
        environment = environment.inner
