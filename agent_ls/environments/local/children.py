"""The processes that are started on this machine: how they are started, marked, found again and ended.

Processes are started on the event loop's thread: a child that is to die with its parent dies with the thread that
started it. What they are started for, and who reads what they print, stands in processes.py and background.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import anyio
from anyio import to_thread
from anyio.abc import Process

from agent_ls.environments.base import CommandOptions
from agent_ls.environments.errors import (
    NotAFolderError,
    PathNotFoundError,
    ProcessStartError,
    UnsupportedError,
)
from agent_ls.environments.local import process_tree
from agent_ls.environments.local.environ import EnvPolicy, EnvRules, child_environ
from agent_ls.environments.local.pipes import Pipe
from agent_ls.environments.local.process_tree import MARK_VARIABLE, Root
from agent_ls.environments.local.relay_link import Launch, RelayedProcess, RelayLink
from agent_ls.environments.local.relays import Relays
from agent_ls.environments.local.shown import TERMINAL_VARIABLES, on_waiting


@dataclass(frozen=True, eq=False, slots=True)
class Child:
    """A shell that we or a relay started, in a session of its own."""

    process: Process | RelayedProcess
    mark: str

    @property
    def is_running(self) -> bool:
        return self.process.returncode is None

    @property
    def root(self) -> Root:
        """Once it is reaped its pid may be another's: then only the mark tells."""
        return Root(frozenset({self.process.pid}) if self.is_running else frozenset(), self.mark)


class Children:
    """Of one environment."""

    def __init__(
        self,
        environ: Mapping[str, str],
        env_policy: EnvRules | EnvPolicy | Callable[[], EnvRules],
        grace_seconds: float,
        relays: Relays | None,
    ) -> None:
        self._environ = environ
        self._env_policy: EnvRules | EnvPolicy | Callable[[], EnvRules] = env_policy
        self._grace_seconds = grace_seconds
        self._id = uuid.uuid4().hex
        self._started = 0
        self._running: set[Child] = set()
        self._orphans: set[process_tree.Row] = set()
        self._orphans_lock = threading.Lock()
        self.adopts_orphans = False
        self._launcher: tuple[str, ...] = ()
        self._relays = relays

    def _rules(self) -> EnvRules | EnvPolicy:
        return self._env_policy() if callable(self._env_policy) else self._env_policy

    async def initialize(self) -> None:
        if os.name == "nt":
            return
        self.adopts_orphans = process_tree.adopt_orphans()
        self._launcher = await _death_signal_launcher()

    @property
    def have_been(self) -> bool:
        """Whether anything was ever started."""
        return self._started > 0

    async def end_all(self) -> None:
        """Ends everything that was ever started and still runs, also what a command left behind."""
        sessions = frozenset(child.process.pid for child in self._running if child.is_running)
        await process_tree.end(Root(sessions, f"{self._id}."), self._grace_seconds)
        self._running.clear()

    async def close_terminals(self) -> None:
        if self._relays:
            await self._relays.close()

    # --- starting

    async def terminal(self, options: CommandOptions) -> RelayLink | None:
        """Where a call's command is shown; None: nowhere."""
        call_id = options.attribution.call_id
        return await self._relays.take(call_id) if self._relays and call_id else None

    async def prepared(self, command: str, folder: str, options: CommandOptions) -> Launch:
        """What is started, with which variables: the same by pipes and in a terminal."""
        await to_thread.run_sync(_demand_folder, folder, options.working_dir, abandon_on_cancel=True)
        self._started += 1
        mark = f"{self._id}.{self._started};"
        environ = child_environ(self._environ, options.inherit or self._rules(), options.env_vars)
        if options.argv:
            _demand_program(options.argv[0], folder, environ.get("PATH"))
        environ[MARK_VARIABLE] = self._environ.get(MARK_VARIABLE, "") + mark
        argv = (*self._launcher, *(options.argv or (*_shell(), command)))
        return Launch(options.shown or command, argv, folder, environ, mark)

    async def by_pipes(self, launch: Launch, stdout: Pipe, stderr: Pipe, stdin: Pipe | None = None) -> Child:
        """Starts a shell that writes to the pipes and may read from `stdin`; its ends are then its own alone."""
        try:
            with anyio.CancelScope(shield=True):  # a cancelled start would leave a process that nobody knows
                process = await anyio.open_process(
                    launch.argv,
                    stdin=stdin.reading if stdin else subprocess.DEVNULL,
                    stdout=stdout.writing,
                    stderr=stderr.writing,
                    cwd=launch.folder,
                    env=launch.environ,
                    start_new_session=True,
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
        self, link: RelayLink, launch: Launch, options: CommandOptions, take: Callable[[str], None]
    ) -> tuple[Child, RelayedProcess]:
        environ = {**launch.environ, **TERMINAL_VARIABLES, **options.env_vars}
        process = await link.start(replace(launch, environ=environ), take, on_waiting(options.terminal))
        if options.terminal:
            options.terminal.opened(process)
        child = Child(process, launch.mark)
        self._running.add(child)
        return child, process

    # --- ending

    async def end(self, child: Child) -> list[str]:
        """Ends all that the child started; a sentence when something stays."""
        stayed = await process_tree.end(child.root, self._grace_seconds)
        if stayed:
            return [f"These processes could not be ended: {numbers(stayed)}."]
        with anyio.move_on_after(process_tree.KILL_WAIT_SECONDS) as patience:
            await child.process.wait()
        if patience.cancelled_caught and isinstance(child.process, RelayedProcess):
            child.process.link.close()  # it does not say how its command ended, and never will
        return []

    async def left_behind(self, child: Child) -> list[int]:
        """What the command left running on purpose; takes leave of orphans that ended."""
        return await to_thread.run_sync(self._count_orphans, child.root, limiter=anyio.CapacityLimiter(1))

    def _count_orphans(self, root: Root) -> list[int]:
        left = process_tree.members(root)
        with self._orphans_lock:
            self._orphans = process_tree.reap_orphans(self._orphans | left)
        return sorted(row.pid for row in left)

    async def end_tree(self, child: Child) -> None:
        """Ends all that the child started, and does not wait for its exit code."""
        await process_tree.end(child.root, self._grace_seconds)

    def forget(self, child: Child) -> None:
        self._running.discard(child)


def numbers(pids: Sequence[int]) -> str:
    return f"pid {', '.join(map(str, pids))}"


def _shell() -> tuple[str, str]:
    """The platform's default shell (000 section 4.2)."""
    if os.name == "nt":
        raise UnsupportedError("Commands are not supported on Windows yet. Run agent-ls inside WSL.")
    return default_shell(), "-c"


def default_shell() -> str:
    bash = "/bin/bash" if os.path.exists("/bin/bash") else shutil.which("bash")
    return bash or "/bin/sh"


async def _death_signal_launcher() -> tuple[str, ...]:
    """A prefix that makes a command die with us even if we are killed; empty where the system has none.

    It does not reach what the command itself started. Python's own way to set it runs code between fork and
    exec, which can deadlock in a process with threads.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return ()
    launcher = (setpriv, "--pdeathsig", "KILL")
    try:
        # It takes milliseconds; cut off while it starts, it would be left behind.
        with anyio.CancelScope(shield=True):
            trial = await anyio.run_process([*launcher, "true"], check=False)
    except OSError:
        return ()
    return launcher if trial.returncode == 0 else ()


def _demand_folder(folder: str, asked: str) -> None:
    with suppress(ValueError):
        if os.path.isdir(folder):
            return
        if os.path.exists(folder):
            raise NotAFolderError(asked)
    raise PathNotFoundError(asked or folder)


def _demand_program(name: str, folder: str, path: str | None) -> None:
    # The launcher would answer in its own words, as if the program had run.
    place = os.path.join(folder, name) if os.path.dirname(name) else name
    if shutil.which(place, path=path) is None:
        raise ProcessStartError(f"No program {name} is found that could be started. Is it installed?")


def _reason(error: OSError | ValueError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
