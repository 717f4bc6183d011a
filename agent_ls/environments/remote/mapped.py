"""Convert paths between this machine and another place, if the editor's folders mirror the folders there.

The editor, the review and the policy use paths of this machine. Commands run at the place, so they use paths
there.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

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
from agent_ls.environments.errors import EnvError
from agent_ls.environments.opened import current_check, opening_check
from agent_ls.environments.search import shown_path
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.paths import is_within


@dataclass(frozen=True, slots=True)
class PathMap:
    """Pairs of a local folder and the remote folder that it mirrors.

    Paths outside of these folders are not converted.
    """

    pairs: tuple[tuple[str, str], ...]

    def to_remote(self, path: str) -> str:
        return _map_path(path, self.pairs)

    def to_near(self, path: str) -> str:
        return _map_path(path, [(remote, near) for near, remote in self.pairs])

    def canonical(self, path: str) -> str:
        """Return the local path of a file. `path` is the local path, or the path on the other machine."""
        is_near = any(is_within(path, near, "/") for near, _ in self.pairs)
        return path if is_near else self.to_near(path)


def _map_path(path: str, pairs: Sequence[tuple[str, str]]) -> str:
    for source, target in sorted(pairs, key=lambda pair: len(pair[0]), reverse=True):
        if is_within(path, source, "/"):
            return posixpath.join(target, path[len(source) :].lstrip("/")) if path != source else target
    return path


class MappedEnvironment(ForwardingEnvironment):
    """A remote environment, called with paths of this machine. `folder` is the local path of the working
    directory.
    """

    def __init__(self, inner: ExecutionEnvironment, folder: str, names: PathMap) -> None:
        super().__init__(inner)
        self._folder = folder
        self._names = names

    def working_directory(self) -> str:
        return self._folder

    def os_version(self) -> str:
        there = self._names.to_remote(self._folder)
        where = "" if there == self._folder else f"; commands see this folder as {there}"
        return self.inner.os_version() + where

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        with self._acting(path):
            return await self.inner.read_bytes(self._to_remote(path), max_bytes)

    async def file_exists(self, path: str) -> bool:
        return await self.inner.file_exists(self._to_remote(path))

    async def list_directory(self, path: str, depth: int = 1) -> Sequence[DirEntry]:
        with self._acting(path):
            return await self.inner.list_directory(self._to_remote(path), depth)

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        moved = [
            replace(
                write,
                path=self._to_remote(write.path),
                mode_from=self._to_remote(write.mode_from) if write.mode_from else "",
            )
            for write in writes
        ]
        with self._acting(*(write.path for write in writes)):
            states = await self.inner.commit(moved, attribution)
        return [replace(state, path=self._to_near(state.path)) for state in states]

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        with self._acting(options.working_dir):
            return await self.inner.exec_command(command, self._options(options), on_output)

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        with self._acting(options.working_dir):
            return await self.inner.start_process(command, self._options(options))

    async def grep(self, pattern: str, path: str, options: GrepOptions) -> GrepResult:
        with self._acting(path):
            found = await self.inner.grep(pattern, self._to_remote(path), options)
        return replace(
            found, lines=tuple(replace(it, path=self._display_path(it.path)) for it in found.lines)
        )

    async def glob(self, pattern: str, path: str) -> Sequence[str]:
        moved = self._renamed(pattern) if posixpath.isabs(pattern) else pattern
        with self._acting(path):
            return [self._display_path(name) for name in await self.inner.glob(moved, self._to_remote(path))]

    def _options(self, options: CommandOptions) -> CommandOptions:
        return replace(options, working_dir=self._to_remote(options.working_dir))

    def _to_remote(self, path: str) -> str:
        return self._renamed(posixpath.normpath(posixpath.join(self._folder, path)))

    def _renamed(self, path: str) -> str:
        return self._names.to_remote(path)

    def _to_near(self, path: str) -> str:
        return self._names.to_near(path)

    def _display_path(self, path: str) -> str:
        """Convert a path in a result to the path for display on this machine."""
        if not posixpath.isabs(path):
            return path
        return shown_path(self._to_near(path), self._folder)

    @contextmanager
    def _acting(self, *asked: str) -> Iterator[None]:
        """Run an operation of the inner environment, and convert paths in its errors and in its checks of
        opened files. They are converted to this machine's paths.

        `asked` are the local paths that the operation uses.
        """
        check = current_check()
        try:
            if check is None:
                yield
                return
            allowed = check
            with opening_check(lambda real, facts: allowed(self._to_near(real), facts)):
                yield
        except EnvError as error:
            raise _renamed(error, {self._to_remote(path): path for path in asked}) from error


def _renamed(error: EnvError, names: dict[str, str]) -> EnvError:
    text = str(error)
    for remote in sorted(names, key=len, reverse=True):
        text = text.replace(remote, names[remote])
    error.args = (text,)
    if error.path:
        error.path = names.get(error.path, error.path)
    return error


class CanonicalPaths(MappedEnvironment):
    """Wrapper around an editor's environment that also accepts paths of the other machine.

    It converts them to the editor's paths.
    """

    def _renamed(self, path: str) -> str:
        return self._names.canonical(path)

    def _to_near(self, path: str) -> str:
        return path  # the inner environment uses paths of this machine

    def os_version(self) -> str:
        return self.inner.os_version()
