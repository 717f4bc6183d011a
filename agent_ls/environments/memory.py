"""An environment in memory, which uses no disk, no processes and no clock."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from agent_ls.argument_types import typed
from agent_ls.environments import globs, search
from agent_ls.environments.base import (
    READ_LIMIT_BYTES,
    Attribution,
    CommandOptions,
    DirEntry,
    ExecResult,
    FileState,
    FileWrite,
    GrepOptions,
    GrepResult,
    OutputSink,
    ProcessInfo,
)
from agent_ls.environments.errors import (
    AccessDeniedError,
    CommitError,
    FileTooLargeError,
    NotAFileError,
    NotAFolderError,
    PathNotFoundError,
    StaleFileError,
    UnsupportedError,
)
from agent_ls.environments.no_processes import NoProcesses
from agent_ls.environments.timed_search import grep_texts, run_timed

RunCommand: TypeAlias = Callable[[str, CommandOptions, OutputSink | None], Awaitable[ExecResult]]
"""Implementation of `exec_command`. It receives the working directory as an absolute path."""

DEFAULT_MODE = 0o644


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A file. `mtime` serves as modification time: the number of the commit that wrote the file."""

    content: bytes
    mode: int = DEFAULT_MODE
    mtime: int = 0


class MemoryEnvironment(NoProcesses):
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
        self._root = working_directory
        self._platform = platform
        self._run_command = run_command
        self._commits = 0
        self.files: dict[str, MemoryFile] = {}
        self.folders: set[str] = set(_parents(posixpath.join(self._root, "x")))
        for path, content in (files or {}).items():
            self.put(path, content)

    def put(self, path: str, content: str | bytes, mode: int = DEFAULT_MODE) -> None:
        """Write a file without a commit, as another program would. The file gets the latest `mtime`."""
        self._commits += 1
        data = content.encode() if isinstance(content, str) else content
        self._store(self.files, self.folders, self._resolve(path), MemoryFile(data, mode, self._commits))

    # --- lifecycle and facts

    async def initialize(self) -> None:
        return None

    async def cleanup(self) -> None:
        return None

    def working_directory(self) -> str:
        return self._root

    def platform(self) -> str:
        return self._platform

    def os_version(self) -> str:
        return "memory"

    # --- files

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        where = self._resolve(path)
        if where in self.folders:
            raise NotAFileError(path)
        if where not in self.files:
            raise PathNotFoundError(path)
        content = self.files[where].content
        if len(content) > max_bytes:
            raise FileTooLargeError(path, len(content), max_bytes)
        return content

    async def file_exists(self, path: str) -> bool:
        where = self._resolve(path)
        return where in self.files or where in self.folders

    async def list_directory(self, path: str, depth: int = 1) -> Sequence[DirEntry]:
        folder = self._resolve(path)
        self._check_folder(path, folder)
        return self._list_folder(folder, "", depth)

    def _list_folder(self, folder: str, prefix: str, depth: int) -> list[DirEntry]:
        found: list[DirEntry] = []
        for name, is_dir in sorted(self.entries(folder)):
            path = posixpath.join(folder, name)
            found.append(DirEntry(prefix + name, is_dir, None if is_dir else len(self.files[path].content)))
            if is_dir and depth > 1:
                found += self._list_folder(path, f"{prefix}{name}/", depth - 1)
        return found

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
        for parent in _parents(path):
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
        self._check_folder(options.working_dir, folder)
        return await self._run_command(command, replace(options, working_dir=folder), on_output)

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        raise UnsupportedError(
            "Background processes cannot be started here: the environment is in memory only."
        )

    # --- search

    async def grep(self, pattern: str, path: str, options: GrepOptions) -> GrepResult:
        regex, passes = search.compile_pattern(pattern, options), globs.file_filter(options)
        top = self._resolve(path)
        if top not in self.files and top not in self.folders:
            raise PathNotFoundError(path)
        texts = [
            (shown, self.files[file].content)
            for file in ([top] if top in self.files else search.walk(self, top, self._root))
            if passes(shown := search.shown_path(file, self._root), search.shown_path(file, top))
        ]
        findings = search.ResultLines(options)
        for lines in await run_timed(pattern, options, grep_texts, texts, regex, options):
            if not all(map(findings.add, lines)):
                break
        return findings.result()

    async def glob(self, pattern: str, path: str) -> Sequence[str]:
        top = self._resolve(path)
        plan = globs.plan_glob(pattern, top)
        self._check_folder(path, top)
        files = search.walk(self, plan.folder, self._root)
        by_name = {search.shown_path(file, plan.folder): file for file in files}
        found = [by_name[name] for name in plan.select(by_name)]
        newest_first = sorted(found, key=lambda file: -self.files[file].mtime)
        return [search.shown_path(file, self._root) for file in newest_first]

    def entries(self, folder: str) -> Iterable[tuple[str, bool]]:
        """Return the names in `folder`, each with True if it is a folder. Implements search.Tree."""
        return [
            (posixpath.basename(path), is_dir)
            for paths, is_dir in ((self.files, False), (self.folders, True))
            for path in paths
            if posixpath.dirname(path) == folder and path != "/"
        ]

    def text(self, path: str) -> str:
        """Return the text of an ignore file. Implements search.Tree."""
        return self.files[path].content.decode("utf-8", "replace")

    # --- paths

    def _resolve(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self._root, path))

    def _check_folder(self, asked: str, folder: str) -> None:
        if folder in self.files:
            raise NotAFolderError(asked)
        if folder not in self.folders:
            raise PathNotFoundError(asked)


def _parents(path: str) -> Iterable[str]:
    while path != (path := posixpath.dirname(path)):
        yield path
