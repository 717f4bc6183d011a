"""Commands as POSIX sessions. process_tree.py finds the processes of a command and ends them by signals."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress

import anyio
from anyio import to_thread

from agent_ls.environments.local.processes.starting import StartedProcess, StartRequest, start_process
from agent_ls.environments.local.terminals.relay_link import CommandLaunch
from agent_ls.environments.local.trees import adoption, cgroups, process_tree
from agent_ls.environments.local.trees.base import Child
from agent_ls.environments.local.trees.process_tree import Root
from agent_ls.environments.local.trees.rows import Row
from agent_ls.program_lookup import find_program

TRIAL_S = 10


class SessionTrees:
    """Implements Trees on Linux and macOS."""

    def __init__(self, mark: str, grace_seconds: float) -> None:
        """Create the trees. `grace_seconds` is the time between SIGTERM and SIGKILL."""
        self._mark = mark
        self._since = adoption.now_ticks() - 1 if hasattr(time, "CLOCK_BOOTTIME") else 0
        self._grace_seconds = grace_seconds
        self._orphans: set[Row] = set()
        self._orphans_lock = threading.Lock()
        self.adopts_orphans = False

    async def initialize(self) -> None:
        self.adopts_orphans = process_tree.adopt_orphans()

    async def argv(self, command: str, argv: Sequence[str]) -> Sequence[str]:
        # The launcher is tried at the first command: a session would wait for the trial when it starts.
        return (*await _death_signal_launcher(), *(argv or (default_shell(), "-c", command)))

    async def start(self, launch: CommandLaunch, *, stdin: int, stdout: int, stderr: int) -> StartedProcess:
        since = adoption.now_ticks() if self.adopts_orphans else 0
        process = await start_process(
            StartRequest(
                launch.argv,
                launch.folder,
                launch.environ,
                stdin,
                stdout,
                stderr,
                launch.confinement,
                "" if launch.is_own_program else launch.mark,
            )
        )
        if self.adopts_orphans:
            adoption.register_command(launch.mark, os.getpid(), since, lambda: process.returncode is None)
        return process

    async def end(self, child: Child) -> list[int]:
        return await process_tree.end(self._root(child), self._grace_seconds)

    async def end_all(self, children: Iterable[Child]) -> None:
        sessions = frozenset(child.process.pid for child in children if child.is_running)
        await process_tree.end(Root(sessions, self._mark, self._since), self._grace_seconds)

    async def find_left_processes(self, child: Child) -> list[int]:
        """Return the pids of processes that the command left running. Reap orphans that have ended."""
        return await to_thread.run_sync(
            self._count_orphans, self._root(child), limiter=anyio.CapacityLimiter(1)
        )

    def _count_orphans(self, root: Root) -> list[int]:
        ended = adoption.ended_commands(root.mark)
        table = process_tree.process_table()
        left = process_tree.members_in(table, root, ended)
        with self._orphans_lock:
            self._orphans = process_tree.reap_orphans(self._orphans | left, table=table)
        cgroups.remove(root.mark)
        return sorted(row.pid for row in left)

    def _root(self, child: Child) -> Root:
        """Return the Root that identifies the processes of the child: its session and its mark.

        After the child has ended, only the mark is used, because another process may get the pid of the
        session.
        """
        sessions = frozenset({child.process.pid}) if child.is_running else frozenset[int]()
        return Root(sessions, child.mark, self._since)

    def forget(self, child: Child) -> None:
        """Forget the command. Its mark and attributions made so far still identify its processes."""
        adoption.unregister_command(child.mark)


def default_shell() -> str:
    bash = "/bin/bash" if os.path.exists("/bin/bash") else find_program("bash")
    return bash or "/bin/sh"


_working_launchers: set[tuple[str, ...]] = set()
"""Command prefixes (see `_death_signal_launcher`) that this process has tried once with success."""


async def _death_signal_launcher() -> tuple[str, ...]:
    """Return a command prefix that makes the system kill a command when this process dies; () if unsupported.

    The prefix does not affect descendants of the command. Python's `preexec_fn` could do the same, but runs
    code between fork and exec, which can deadlock in a process with threads.
    """
    launcher = _find_launcher()
    if launcher and launcher not in _working_launchers:
        await to_thread.run_sync(try_launcher)
    return launcher if launcher in _working_launchers else ()


def _find_launcher() -> tuple[str, ...]:
    setpriv = find_program("setpriv")
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()


def try_launcher() -> None:
    """Try once whether the command prefix works, for this process and its forks. Blocks."""
    launcher, true = _find_launcher(), find_program("true")
    if launcher and true:
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(
                [*launcher, true], stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=TRIAL_S
            )
            _working_launchers.add(launcher)
