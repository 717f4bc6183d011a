"""Defaults for an environment of your own: derive from BasicEnvironment, and override what your environment has."""

from __future__ import annotations

import posixpath
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence

import anyio

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


class BasicEnvironment(NoProcesses, ABC):
    """An environment with the files of `files()`, written by `save`. Commands are refused, in the way the contract
    asks for; without `save`, writes are too.

    `working_directory` is the absolute path of its only folder, with `/`.
    """

    name = "environment"
    """What the environment is, in messages to the model."""

    @typed
    def __init__(self, working_directory: str = "/files") -> None:
        self._root = working_directory
        self._saving = anyio.Lock()

    @abstractmethod
    async def files(self) -> Mapping[str, bytes]:
        """Return the contents of all files, newest first, by their path relative to the working directory.

        Called for each read and search, so keep what is slow to get.
        """

    async def initialize(self) -> None:
        return None

    async def cleanup(self) -> None:
        return None

    def working_directory(self) -> str:
        return self._root

    def platform(self) -> str:
        return "linux"  # whose rules its paths follow

    def os_version(self) -> str:
        return self.name

    # --- files

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        tree = await self._tree()
        content = tree.content(self._resolve(path), path)
        if len(content) > max_bytes:
            raise FileTooLargeError(path, len(content), max_bytes)
        return content

    async def file_exists(self, path: str) -> bool:
        tree, where = await self._tree(), self._resolve(path)
        return where in tree.files or where in tree.folders

    async def list_directory(self, path: str, depth: int = 1) -> Sequence[DirEntry]:
        tree, folder = await self._tree(), self._resolve(path)
        tree.check_folder(folder, path)
        return list(tree.listed(folder, "", depth))

    async def save(self, changes: Mapping[str, bytes | None]) -> None:
        """Write the new contents of files, all or none; None deletes a file. Override it if files can be written.

        The paths are those of `files()`. They were compared with it before, and no other `save` runs at the same time.
        """
        raise NotImplementedError

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        if not writes:
            return []
        if type(self).save is BasicEnvironment.save:
            raise AccessDeniedError(writes[0].path, f"the {self.name} is only read")
        async with self._saving:
            tree = await self._tree()
            states = tree.check_writes([(self._resolve(write.path), write) for write in writes])
            changes = {
                search.shown_path(state.path, self._root): state.after
                for state in states
                if state.before != state.after
            }
            if changes:
                await self.save(changes)
        return states

    # --- commands

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        raise UnsupportedError(f"Commands cannot be run in the {self.name}.")

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        raise UnsupportedError(f"Background processes cannot be started in the {self.name}.")

    # --- search

    async def grep(self, pattern: str, path: str, options: GrepOptions) -> GrepResult:
        regex, passes = search.compile_pattern(pattern, options), globs.file_filter(options)
        tree, top = await self._tree(), self._resolve(path)
        if top not in tree.files and top not in tree.folders:
            raise PathNotFoundError(path)
        texts = [
            (shown, tree.files[file])
            for file in ([top] if top in tree.files else search.walk(tree, top, self._root))
            if passes(shown := search.shown_path(file, self._root), search.shown_path(file, top))
        ]
        findings = search.ResultLines(options)
        for lines in await run_timed(pattern, options, grep_texts, texts, regex, options):
            if not all(map(findings.add, lines)):
                break
        return findings.result()

    async def glob(self, pattern: str, path: str) -> Sequence[str]:
        tree, top = await self._tree(), self._resolve(path)
        plan = globs.plan_glob(pattern, top)
        tree.check_folder(top, path)
        files = search.walk(tree, plan.folder, self._root)
        by_name = {search.shown_path(file, plan.folder): file for file in files}
        found = {by_name[name] for name in plan.select(by_name)}
        return [search.shown_path(file, self._root) for file in tree.files if file in found]

    def _resolve(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self._root, path))

    async def _tree(self) -> _Tree:
        placed = {self._resolve(path): content for path, content in (await self.files()).items()}
        # A path such as "../../etc/passwd" leads out of the folder: such a file does not exist here.
        return _Tree(
            self._root, {path: it for path, it in placed.items() if search.is_below(path, self._root)}
        )


class _Tree:
    """The files and folders by absolute path. Implements search.Tree."""

    def __init__(self, root: str, files: Mapping[str, bytes]) -> None:
        self._root = root
        self.files = files
        self.folders = {root, *(parent for path in files for parent in _parents(path))}

    def content(self, where: str, asked: str) -> bytes:
        if where in self.folders:
            raise NotAFileError(asked)
        if where not in self.files:
            raise PathNotFoundError(asked)
        return self.files[where]

    def check_writes(self, writes: Sequence[tuple[str, FileWrite]]) -> list[FileState]:
        """Return the states before and after each write. Raises what `commit` raises, before anything is written."""
        states: list[FileState] = []
        for where, write in writes:
            if any(state.path == where for state in states):
                raise CommitError(write.path, "the same file occurs twice in one set of changes")
            if not search.is_below(where, self._root):
                raise AccessDeniedError(write.path, f"it is outside of {self._root}")
            if where in self.folders:
                raise NotAFileError(write.path)
            before = self.files.get(where)
            if before != write.base:
                raise StaleFileError(write.path)
            if any(parent in self.files for parent in _parents(where)):
                raise NotAFolderError(write.path)
            states.append(FileState(where, before, write.content))
        return states

    def check_folder(self, where: str, asked: str) -> None:
        if where not in self.folders:
            raise (NotAFolderError if where in self.files else PathNotFoundError)(asked)

    def listed(self, folder: str, prefix: str, depth: int) -> Iterator[DirEntry]:
        for name, is_dir in sorted(self.entries(folder)):
            path = posixpath.join(folder, name)
            yield DirEntry(prefix + name, is_dir, None if is_dir else len(self.files[path]))
            if is_dir and depth > 1:
                yield from self.listed(path, f"{prefix}{name}/", depth - 1)

    def entries(self, folder: str) -> Iterable[tuple[str, bool]]:
        for paths, is_dir in ((self.files, False), (self.folders, True)):
            inside = (path for path in paths if posixpath.dirname(path) == folder != path)
            yield from ((posixpath.basename(path), is_dir) for path in inside)

    def text(self, path: str) -> str:
        return self.files[path].decode("utf-8", "replace")


def _parents(path: str) -> Iterator[str]:
    while path != (path := posixpath.dirname(path)):
        yield path
