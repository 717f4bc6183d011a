"""This machine as an ExecutionEnvironment: combines files, commits, processes and search."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
from anyio import to_thread

from agent_ls.argument_types import typed
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
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.environments.instruction_names import is_looked_for
from agent_ls.environments.local.commit import DeletedModes, allow_any_process, commit
from agent_ls.environments.local.environ import EnvPolicy, EnvRules, without_other_repository
from agent_ls.environments.local.files import list_folder, read_file
from agent_ls.environments.local.git_index import git_folder_of, tracked_names
from agent_ls.environments.local.processes.background import MAX_RUNNING
from agent_ls.environments.local.processes.foreground import TERMINATE_GRACE_MS, LocalProcesses
from agent_ls.environments.local.search import LocalSearch, hidden_above
from agent_ls.environments.local.spelling import existing_spelling
from agent_ls.environments.local.terminals.relays import Relays
from agent_ls.environments.local.terminals.terminal_commands import INPUT_WAIT_MS
from agent_ls.environments.terminal_host import TerminalHost
from agent_ls.program_lookup import add_workspace

_PLATFORMS = {"linux": "linux", "darwin": "darwin", "win32": "windows", "emscripten": "wasm", "wasi": "wasm"}


@dataclass(frozen=True, slots=True)
class LocalLimits:
    """Limits of an environment on this machine.

    - `terminate_grace_ms`: the time between SIGTERM and SIGKILL.
    - `input_wait_ms`: how long a command waits for the user to type, in addition to its own time limit.
    - `max_background`: how many background processes may run at once.
    - `read_limit_bytes`: maximum size of a file that is read with the default limit (READ_LIMIT_BYTES).
    - `processes_before`: how many ids of background processes (p1, p2, …) are in use already.
    """

    terminate_grace_ms: int = TERMINATE_GRACE_MS
    input_wait_ms: int = INPUT_WAIT_MS
    max_background: Callable[[], int] = lambda: MAX_RUNNING
    read_limit_bytes: Callable[[], int] = lambda: READ_LIMIT_BYTES
    processes_before: int = 0


DEFAULT_LIMITS = LocalLimits()


class LocalEnvironment:
    """Direct access to this machine.

    `environ` has the variables that commands inherit; the default is a copy of this process's environment.
    The given mapping is not copied, so that variables removed from it are not passed to later commands.
    `env_policy` filters the variables; if it is a function, it is called for each command.
    """

    @typed
    def __init__(
        self,
        working_directory: str | Path,
        *,
        env_policy: EnvRules | EnvPolicy | Callable[[], EnvRules] = "filtered",
        environ: Mapping[str, str] | None = None,
        ripgrep: str | None = None,
        terminals: TerminalHost | None = None,
        check_right: Callable[[], None] = allow_any_process,
        limits: LocalLimits = DEFAULT_LIMITS,
    ) -> None:
        """Create the environment.

        - `ripgrep`: the program to search with, "" to search without ripgrep, None to search for the program.
        - `terminals`: opens terminals that display commands and let the user type. None: commands run with
          pipes and no input.
        - `check_right`: called in a commit's thread before each of its steps (commit.py).

        Raises:
            PathNotFoundError: `working_directory` is relative, and the current folder was deleted.
        """
        try:
            self._root = os.path.abspath(working_directory)
        except FileNotFoundError:  # it is relative to the current folder, which was deleted
            raise PathNotFoundError(str(working_directory)) from None
        add_workspace(self._root)
        variables = dict(os.environ) if environ is None else environ
        inherited = without_other_repository(
            variables, git_folder_of(self._root) if variables.keys() & {"GIT_DIR", "GIT_INDEX_FILE"} else ""
        )
        relays = Relays(terminals, self._root) if terminals and os.name != "nt" else None
        self._processes = LocalProcesses(
            inherited,
            env_policy,
            limits.terminate_grace_ms,
            relays,
            limits.input_wait_ms,
            limits.max_background,
            limits.processes_before,
        )
        self._search = LocalSearch(self._root, ripgrep)
        self._deleted_modes = DeletedModes()
        self._check_right = check_right
        self._read_limit_bytes = limits.read_limit_bytes

    @property
    def mark(self) -> str:
        """An id that is contained in an environment variable of all commands of this environment.

        If this process is killed, `end_marked` uses the id to find the remaining processes of these commands.
        """
        return self._processes.mark

    async def initialize(self) -> None:
        await self._processes.initialize()

    async def cleanup(self) -> None:
        await self._processes.cleanup()

    def working_directory(self) -> str:
        return self._root

    def platform(self) -> str:
        return _PLATFORMS.get(sys.platform, "linux")

    def os_version(self) -> str:
        if sys.platform == "win32":
            import platform  # imported here, because only Windows needs it

            return f"{platform.system()} {platform.release()}"
        system = os.uname()
        return f"{system.sysname} {system.release}"

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        if max_bytes == READ_LIMIT_BYTES:
            max_bytes = self._read_limit_bytes()
        return await to_thread.run_sync(_read, self._resolve(path), path, max_bytes, abandon_on_cancel=True)

    async def file_exists(self, path: str) -> bool:
        return await to_thread.run_sync(_exists, self._resolve(path), abandon_on_cancel=True)

    async def list_directory(self, path: str, depth: int = 1) -> Sequence[DirEntry]:
        where = self._resolve(path)
        return await to_thread.run_sync(_list, where, path, depth, self._root, abandon_on_cancel=True)

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        # The thread is not abandoned on cancellation: a commit is completed or not begun, never half done. The
        # thread has its own limiter, so that reads that hang in an unreachable network folder do not delay a
        # commit.
        return await to_thread.run_sync(
            commit,
            writes,
            lambda path: existing_spelling(self._resolve(path)),
            self._deleted_modes,
            self._check_right,
            limiter=anyio.CapacityLimiter(1),
        )

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        return await self._processes.run(command, self._resolve(options.working_dir), options, on_output)

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        return await self._processes.background.start(command, self._resolve(options.working_dir), options)

    async def list_processes(self) -> Sequence[ProcessInfo]:
        return self._processes.background.infos()

    async def read_process(self, process_id: str, offset: int = 0) -> tuple[str, int]:
        return await self._processes.background.read(process_id, offset)

    async def wait_process(self, process_id: str) -> ProcessInfo:
        return await self._processes.background.wait(process_id)

    async def write_process(self, process_id: str, text: str, *, close: bool = False) -> ProcessInfo:
        return await self._processes.background.write(process_id, text, close=close)

    async def kill_process(self, process_id: str) -> ProcessInfo:
        return await self._processes.background.kill(process_id)

    async def grep(self, pattern: str, path: str, options: GrepOptions) -> GrepResult:
        return await self._search.grep(pattern, self._resolve(path), path, options)

    async def list_files(self, limit: int) -> Sequence[str]:
        """Return at most `limit` files of the working directory as relative paths, unordered, without ignored
        files.

        Raises:
            PathNotFoundError, NotAFolderError: the working directory was deleted.
        """
        return await self._search.files(limit)

    async def glob(self, pattern: str, path: str) -> Sequence[str]:
        return await self._search.glob(pattern, self._resolve(path), path)

    def _resolve(self, path: str) -> str:
        """Return the absolute path.

        As in the policy check, `a/..` is removed from the path even if `a` is a symbolic link.
        """
        return os.path.normpath(os.path.join(self._root, path))


def _read(path: str, asked: str, max_bytes: int) -> bytes:
    return read_file(existing_spelling(path), asked, max_bytes)


def _exists(path: str) -> bool:
    return os.path.exists(existing_spelling(path))


def _list(path: str, asked: str, depth: int, root: str) -> Sequence[DirEntry]:
    path = existing_spelling(path)
    entries = list_folder(path, asked, depth)
    if is_looked_for(path):  # at the start of a session, which needs no names from the index of git
        return entries
    tracked = tracked_names(path, [entry.name for entry in entries if not entry.is_dir])
    hidden = hidden_above(path, root, [(entry.name, entry.is_dir) for entry in entries], tracked)
    return [
        replace(it, is_tracked=it.name in tracked, is_hidden_above=it.name in hidden)
        if it.name in tracked or it.name in hidden
        else it
        for it in entries
    ]
