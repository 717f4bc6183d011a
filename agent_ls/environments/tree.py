"""Files as values: reading, listing and searching them for environments that have their files in memory."""

from __future__ import annotations

import posixpath
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from agent_ls.environments import globs, search
from agent_ls.environments.base import READ_LIMIT_BYTES, DirEntry, GrepOptions, GrepResult, ProcessInfo
from agent_ls.environments.errors import FileTooLargeError, NotAFileError, NotAFolderError, PathNotFoundError
from agent_ls.environments.read_once import read_once
from agent_ls.environments.timed_search import grep_texts, run_timed


class FileTree:
    """The files, newest first, and the folders, by absolute path. Implements search.Tree."""

    def __init__(self, files: Mapping[str, bytes], folders: Collection[str]) -> None:
        self.files = files
        self.folders = folders

    def content(self, where: str, asked: str) -> bytes:
        if where in self.folders:
            raise NotAFileError(asked)
        if where not in self.files:
            raise PathNotFoundError(asked)
        return self.files[where]

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

    def user_rules(self) -> str:
        return ""


class TreeEnvironment(ABC):
    """The reading half of an environment. `_root` is the absolute path of its only folder, with `/`.

    Raises:
        TypeError: the path is not absolute.
    """

    def __init__(self, root: str) -> None:
        if not posixpath.isabs(root):
            raise TypeError(f"working_directory: {root!r} is no absolute path: pass one such as '/project'")
        self._root = root

    @abstractmethod
    async def _read_tree(self) -> FileTree:
        """Return the files as they are now."""

    async def _tree(self) -> FileTree:
        """Return the files as they are now, or as they were at the first read of `files_read_once`."""
        return await read_once(self, self._read_tree)

    async def initialize(self) -> None:
        return None

    async def cleanup(self) -> None:
        return None

    def working_directory(self) -> str:
        return self._root

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

    # --- no background process can be started

    async def list_processes(self) -> Sequence[ProcessInfo]:
        return ()

    async def read_process(self, process_id: str, offset: int = 0) -> tuple[str, int]:
        raise PathNotFoundError(process_id)

    async def wait_process(self, process_id: str) -> ProcessInfo:
        raise PathNotFoundError(process_id)

    async def write_process(self, process_id: str, text: str, *, close: bool = False) -> ProcessInfo:
        raise PathNotFoundError(process_id)

    async def kill_process(self, process_id: str) -> ProcessInfo:
        raise PathNotFoundError(process_id)

    def _resolve(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self._root, path))


def parents(path: str) -> Iterator[str]:
    """Yield the folders above a path, the nearest first."""
    while path != (path := posixpath.dirname(path)):
        yield path
