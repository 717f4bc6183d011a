"""Defaults for an environment of your own: derive from BasicEnvironment, and override what your environment has."""

from __future__ import annotations

import inspect
import logging
from abc import abstractmethod
from collections.abc import Awaitable, Mapping, Sequence
from typing import TypeVar

import anyio

from agent_ls.argument_types import find_misuse, typed
from agent_ls.environments import search
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
from agent_ls.own_code import WrongValueError
from agent_ls.paths import is_within

T = TypeVar("T")

SHOWN_PATHS = 5

log = logging.getLogger(__name__)


class BasicEnvironment(TreeEnvironment):
    """An environment with the files of `files()`, written by `save`. Commands are refused, in the way the contract
    asks for; without `save`, writes are too.

    `working_directory` is the absolute path of its only folder, with `/`.
    """

    name = "environment"
    """What the environment is, in messages to the model."""

    @typed
    def __init__(self, working_directory: str = "/files") -> None:
        super().__init__(working_directory)
        self._saving = anyio.Lock()
        self._has_left_out = False

    @abstractmethod
    async def files(self) -> Mapping[str, bytes]:
        """Return the contents of all files, newest first, by their path relative to the working directory.

        Called for each read and search, and once when a message begins, so keep what is slow to get. A path that leads
        out of the working directory is left out, with a warning in the log.
        """

    def platform(self) -> str:
        return "linux"  # whose rules its paths follow

    def os_version(self) -> str:
        return self.name

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
            tree = await self._read_tree()
            states = self._check_writes(tree, writes)
            changes = {
                search.shown_path(state.path, self._root): state.after
                for state in states
                if state.before != state.after
            }
            if changes:
                await self._awaited("save", self.save(changes))
        return states

    # --- commands

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        raise UnsupportedError(f"Commands cannot be run in the {self.name}.")

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        raise UnsupportedError(f"Background processes cannot be started in the {self.name}.")

    async def _read_tree(self) -> FileTree:
        found = await self._awaited("files", self.files())
        if not _are_contents(found) and (misuse := find_misuse("the result", found, Mapping[str, bytes])):
            raise WrongValueError(": ".join(misuse), self._place("files"))
        placed = {self._resolve(path): content for path, content in found.items()}
        files = {path: it for path, it in placed.items() if is_within(path, self._root, "/")}
        if len(files) < len(placed):
            self._say_left_out(found)
        return FileTree(files, {self._root, *(parent for path in files for parent in parents(path))})

    def _place(self, method: str) -> str:
        return f"{type(self).__name__}.{method}"

    async def _awaited(self, name: str, result: Awaitable[T]) -> T:
        """Return the result of a method that the program wrote, perhaps as a plain function."""
        if not inspect.isawaitable(result):
            raise WrongValueError(f"it is no async function: write `async def {name}`", self._place(name))
        return await result

    def _say_left_out(self, found: Mapping[str, bytes]) -> None:
        """A path such as "../../etc/passwd" leads out of the folder: such a file does not exist here."""
        outside = [path for path in found if not is_within(self._resolve(path), self._root, "/")]
        if not self._has_left_out:
            self._has_left_out = True
            shown = ", ".join(map(repr, outside[:SHOWN_PATHS]))
            log.warning(
                "files(): %d paths are outside of %s and left out: %s", len(outside), self._root, shown
            )

    def _check_writes(self, tree: FileTree, writes: Sequence[FileWrite]) -> list[FileState]:
        """Return the states before and after each write. Raises what `commit` raises, before anything is written."""
        states: list[FileState] = []
        for write in writes:
            where = self._resolve(write.path)
            if any(state.path == where for state in states):
                raise CommitError(write.path, "the same file occurs twice in one set of changes")
            if not is_within(where, self._root, "/"):
                raise AccessDeniedError(write.path, f"it is outside of {self._root}")
            if where in tree.folders:
                raise NotAFileError(write.path)
            before = tree.files.get(where)
            if before != write.base:
                raise StaleFileError(write.path)
            if any(parent in tree.files for parent in parents(where)):
                raise NotAFolderError(write.path)
            states.append(FileState(where, before, write.content))
        return states


def _are_contents(found: object) -> bool:
    """Whether all is right, much faster than `find_misuse`."""
    return (
        isinstance(found, dict) and {*map(type, found)} <= {str} and {*map(type, found.values())} <= {bytes}
    )
