"""Start child processes on this machine, track them, and end them.

foreground.py and background.py decide which commands to start, and read the output.
"""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import anyio
from anyio import to_thread

from agent_ls.environments.base import CommandOptions
from agent_ls.environments.errors import NotAFolderError, PathNotFoundError, ProcessStartError
from agent_ls.environments.local.environ import EnvPolicy, EnvRules, child_environ
from agent_ls.environments.local.processes.pipes import Pipe
from agent_ls.environments.local.terminals.relay_link import (
    CommandLaunch,
    RelayedProcess,
    RelayLink,
    reason_of,
)
from agent_ls.environments.local.terminals.relays import Relays
from agent_ls.environments.local.terminals.terminal_commands import (
    PIPES_VARIABLES,
    in_terminal_environ,
    on_waiting,
)
from agent_ls.environments.local.trees import adoption, cgroups
from agent_ls.environments.local.trees.base import KILL_WAIT_SECONDS, Child, Trees
from agent_ls.environments.local.trees.process_tree import MARK_VARIABLE
from agent_ls.environments.local.trees.session_trees import SessionTrees
from agent_ls.program_lookup import find_on, require_program, safe_path


class Children:
    """The child processes of one environment."""

    def __init__(
        self,
        environ: Mapping[str, str],
        env_policy: EnvRules | EnvPolicy | Callable[[], EnvRules],
        grace_seconds: float,
        relays: Relays | None,
    ) -> None:
        self._environ = environ
        self._env_policy: EnvRules | EnvPolicy | Callable[[], EnvRules] = env_policy
        self._id = uuid.uuid4().hex
        self._started = 0
        self._running: set[Child] = set()
        self._relays = relays
        self._trees = _trees(f"{self._id}.", grace_seconds)

    def _rules(self) -> EnvRules | EnvPolicy:
        return self._env_policy() if callable(self._env_policy) else self._env_policy

    async def initialize(self) -> None:
        await self._trees.initialize()

    @property
    def mark(self) -> str:
        """The id by which this object finds its processes: an environment variable of each process contains it."""
        return self._id

    @property
    def adopts_orphans(self) -> bool:
        return self._trees.adopts_orphans

    @property
    def have_been(self) -> bool:
        """Whether any process was ever started."""
        return self._started > 0

    async def end_all(self) -> None:
        """End all processes of this environment, including processes that ended commands left running."""
        await self._trees.end_all(self._running)
        self._running.clear()

    async def close_terminals(self) -> None:
        if self._relays:
            await self._relays.close()

    # --- starting

    async def terminal(self, options: CommandOptions) -> RelayLink | None:
        """Return a terminal for the command of a tool call; None if the command must run with pipes.

        Returns None if the command was not started by a tool call, or if no terminal can be opened.
        """
        call_id = options.attribution.call_id
        return await self._relays.reserve_terminal(call_id) if self._relays and call_id else None

    async def prepare_launch(self, command: str, folder: str, options: CommandOptions) -> CommandLaunch:
        """Check that folder and program exist, and return the launch data (arguments, environment) of a
        command.

        The result can be started with pipes or in a terminal.

        Raises:
            PathNotFoundError, NotAFolderError: `folder` is not a folder. ProcessStartError.
        """
        await to_thread.run_sync(_check_folder, folder, options.working_dir, abandon_on_cancel=True)
        self._started += 1
        mark = f"{self._id}.{self._started};"
        environ = child_environ(
            {**PIPES_VARIABLES, **self._environ}, options.inherit or self._rules(), options.env_vars
        )
        words = options.argv
        if words and options.is_own_program:
            words = (_own_program(words[0]), *words[1:])
            environ["PATH"] = safe_path(environ.get("PATH"))
        elif words:
            _check_program(words[0], folder, environ.get("PATH"))
        environ[MARK_VARIABLE] = self._environ.get(MARK_VARIABLE, "") + mark
        argv = await self._trees.argv(command, words)
        return CommandLaunch(
            options.shown or command,
            argv,
            folder,
            environ,
            mark,
            options.confinement,
            is_own_program=options.is_own_program,
        )

    async def by_pipes(
        self, launch: CommandLaunch, stdout: Pipe, stderr: Pipe, stdin: Pipe | None = None
    ) -> Child:
        """Start a child process with these pipes. Close this process's copies of the child's pipe ends."""
        try:
            with anyio.CancelScope(shield=True):  # a cancelled start would leave a process that nobody ends
                process = await self._trees.start(
                    launch,
                    stdin=stdin.reading if stdin else subprocess.DEVNULL,
                    stdout=stdout.writing,
                    stderr=stderr.writing,
                )
        except (OSError, ValueError) as error:
            raise ProcessStartError(f"The command could not be started: {_reason(error)}.") from error
        stdout.close_writing()
        stderr.close_writing()
        if stdin:
            stdin.close_reading()
        child = Child(process, launch.mark)
        self._running.add(child)
        return child

    async def in_terminal(
        self, link: RelayLink, launch: CommandLaunch, options: CommandOptions, take: Callable[[str], None]
    ) -> tuple[Child, RelayedProcess]:
        environ = in_terminal_environ(launch.environ, options.env_vars)
        since = adoption.now_ticks() if link.adopts_orphans else 0
        launch = replace(launch, environ=environ, group=cgroups.create(launch.mark))
        process = await link.start(launch, take, on_waiting(options.terminal))
        if link.adopts_orphans:
            adoption.register_command(launch.mark, link.relay_pid, since, lambda: not process.is_over)
        if options.terminal:
            options.terminal.report_terminal(process)
        child = Child(process, launch.mark)
        self._running.add(child)
        return child, process

    # --- ending

    async def end(self, child: Child) -> list[str]:
        """End the child and its descendants.

        Return a list with one sentence about processes that could not be ended, [] if there are none.
        """
        stayed = await self._trees.end(child)
        if stayed:
            return [f"These processes could not be ended: {numbers(stayed)}."]
        with anyio.move_on_after(KILL_WAIT_SECONDS) as patience:
            await child.process.wait()
        if patience.cancelled_caught and isinstance(child.process, RelayedProcess):
            child.process.link.close()  # the relay did not report the end of the command in time
        return []

    async def find_left_processes(self, child: Child) -> list[int]:
        """Return the pids of processes that the command left running. Reap orphans that have ended."""
        return await self._trees.find_left_processes(child)

    async def end_tree(self, child: Child) -> None:
        """End the child and its descendants. Does not wait until the exit code of the child is known."""
        await self._trees.end(child)

    def forget(self, child: Child) -> None:
        self._running.discard(child)
        self._trees.forget(child)


def numbers(pids: Sequence[int]) -> str:
    return f"pid {', '.join(map(str, pids))}"


def _trees(mark: str, grace_seconds: float) -> Trees:
    if os.name == "nt":
        from agent_ls.environments.local.trees.job_trees import (
            JobTrees,  # the libraries of JobTrees exist on Windows only
        )

        return JobTrees()
    return SessionTrees(mark, grace_seconds)


def _check_folder(folder: str, asked: str) -> None:
    with suppress(ValueError):
        if os.path.isdir(folder):
            return
        if os.path.exists(folder):
            raise NotAFolderError(asked)
    raise PathNotFoundError(asked or folder)


def _own_program(name: str) -> str:
    try:
        return require_program(name)
    except FileNotFoundError as error:
        raise ProcessStartError(f"The program {name} cannot be started: {error.strerror}.") from None


def _check_program(name: str, folder: str, path: str | None) -> None:
    # Check now that the program exists. Otherwise the launcher (`setpriv`) would start, print an error and
    # end with an exit code, as if the program itself had failed.
    if find_on(name, path, folder) is None:
        raise ProcessStartError(f"The program {name} was not found. Is it installed?")


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return reason_of(error.errno or 0, error.strerror or str(error))
    return str(error)
