"""An environment in memory, which uses no disk, no processes and no clock."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from agent_ls.argument_types import typed
from agent_ls.environments.base import (
    Attribution,
    CommandOptions,
    ExecResult,
    FileState,
    FileWrite,
    OutputSink,
    ProcessInfo,
)
from agent_ls.environments.errors import (
    AccessDeniedError,
    CommitError,
    NotAFileError,
    NotAFolderError,
    StaleFileError,
    UnsupportedError,
)
from agent_ls.environments.tree import FileTree, TreeEnvironment, parents

RunCommand: TypeAlias = Callable[[str, CommandOptions, OutputSink | None], Awaitable[ExecResult]]
"""Implementation of `exec_command`. It receives the working directory as an absolute path."""

DEFAULT_MODE = 0o644


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A file. `mtime` serves as modification time: the number of the commit that wrote the file."""

    content: bytes
    mode: int = DEFAULT_MODE
    mtime: int = 0


class MemoryEnvironment(TreeEnvironment):
    """An ExecutionEnvironment over `files`, whose paths are relative to `working_directory`."""

    @typed
    def __init__(
        self,
        files: Mapping[str, str | bytes] | None = None,
        *,
        working_directory: str = "/project",
        run_command: RunCommand | None = None,
        platform: str = "linux",
    ) -> None:
        super().__init__(working_directory)
        self._platform = platform
        self._run_command = run_command
        self._commits = 0
        self.files: dict[str, MemoryFile] = {}
        self.folders: set[str] = set(parents(posixpath.join(self._root, "x")))
        for path, content in (files or {}).items():
            self.put(path, content)

    @typed
    def put(self, path: str, content: str | bytes, mode: int = DEFAULT_MODE) -> None:
        """Write a file without a commit, as another program would. The file gets the latest `mtime`.

        Raises:
            TypeError: an argument has a wrong type, or a relative path leads out of the working directory.
        """
        if posixpath.normpath(path).split("/")[0] == "..":
            raise TypeError(f"path: {path!r} leads out of the working directory: pass an absolute path")
        self._commits += 1
        data = content.encode() if isinstance(content, str) else content
        self._store(self.files, self.folders, self._resolve(path), MemoryFile(data, mode, self._commits))

    def platform(self) -> str:
        return self._platform

    def os_version(self) -> str:
        return "memory"

    async def _read_tree(self) -> FileTree:
        newest_first = sorted(self.files.items(), key=lambda named: -named[1].mtime)
        return FileTree({path: file.content for path, file in newest_first}, self.folders)

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        targets = [self._resolve(write.path) for write in writes]
        befores = [
            self._check(write, path, path in targets[:i])
            for i, (write, path) in enumerate(zip(writes, targets, strict=True))
        ]
        files, folders = dict(self.files), set(self.folders)
        for write, path in sorted(
            zip(writes, targets, strict=True), key=lambda pair: pair[0].content is None
        ):
            if write.content is None:
                files.pop(path, None)
            elif write.content != write.base:
                new = MemoryFile(write.content, self._mode(write, path), self._commits + 1)
                self._store(files, folders, path, new)
        self.files, self.folders, self._commits = files, folders, self._commits + 1
        return [
            FileState(path, before, write.content)
            for write, path, before in zip(writes, targets, befores, strict=True)
        ]

    def _check(self, write: FileWrite, path: str, is_repeated: bool) -> bytes | None:
        """Check a write; return the content of the file before the write, None if it does not exist."""
        if is_repeated:
            raise CommitError(write.path, "the same file occurs twice in one set of changes")
        if path in self.folders:
            raise NotAFileError(write.path)
        current = self.files.get(path)
        if current and write.base is None:
            raise StaleFileError(write.path, "the file exists already")
        if not current and write.base is not None:
            raise StaleFileError(write.path, "the file no longer exists")
        if current and current.content != write.base:
            raise StaleFileError(write.path)
        if current and write.content not in (None, write.base) and not current.mode & 0o222:
            raise AccessDeniedError(write.path, "the file is read-only")
        return current.content if current else None

    def _mode(self, write: FileWrite, path: str) -> int:
        source = self._resolve(write.mode_from) if write.mode_from else path
        return self.files[source].mode if source in self.files else DEFAULT_MODE

    def _store(self, files: dict[str, MemoryFile], folders: set[str], path: str, file: MemoryFile) -> None:
        for parent in parents(path):
            if parent in files:
                raise NotAFolderError(parent)
            folders.add(parent)
        files[path] = file

    # --- commands

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        if self._run_command is None:
            raise UnsupportedError("Commands cannot be run here: the environment is in memory only.")
        folder = self._resolve(options.working_dir or ".")
        (await self._tree()).check_folder(folder, options.working_dir)
        return await self._run_command(command, replace(options, working_dir=folder), on_output)

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        raise UnsupportedError(
            "Background processes cannot be started here: the environment is in memory only."
        )
