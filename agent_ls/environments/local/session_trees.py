"""Commands as sessions of POSIX: found by session, mark and descent (process_tree.py), ended by signals."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterable, Sequence

import anyio
from anyio import to_thread
from anyio.abc import Process

from agent_ls.environments.local import process_tree
from agent_ls.environments.local.process_tree import Root
from agent_ls.environments.local.relay_link import Launch
from agent_ls.environments.local.trees import Child


class SessionTrees:
    """ADAPTER Trees of Linux and macOS."""

    def __init__(self, mark: str, grace_seconds: float) -> None:
        """`grace_seconds` lie between TERM and KILL."""
        self._mark = mark
        self._grace_seconds = grace_seconds
        self._orphans: set[process_tree.Row] = set()
        self._orphans_lock = threading.Lock()
        self._launcher: tuple[str, ...] = ()
        self.adopts_orphans = False

    async def initialize(self) -> None:
        self.adopts_orphans = process_tree.adopt_orphans()
        self._launcher = await _death_signal_launcher()

    def argv(self, command: str, argv: Sequence[str]) -> Sequence[str]:
        return (*self._launcher, *(argv or (default_shell(), "-c", command)))

    async def start(self, launch: Launch, *, stdin: int, stdout: int, stderr: int) -> Process:
        return await anyio.open_process(
            launch.argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=launch.folder,
            env=launch.environ,
            start_new_session=True,
        )

    async def end(self, child: Child) -> list[int]:
        return await process_tree.end(_root(child), self._grace_seconds)

    async def end_all(self, children: Iterable[Child]) -> None:
        sessions = frozenset(child.process.pid for child in children if child.is_running)
        await process_tree.end(Root(sessions, self._mark), self._grace_seconds)

    async def left_behind(self, child: Child) -> list[int]:
        """Takes leave of orphans that ended as well."""
        return await to_thread.run_sync(self._count_orphans, _root(child), limiter=anyio.CapacityLimiter(1))

    def _count_orphans(self, root: Root) -> list[int]:
        left = process_tree.members(root)
        with self._orphans_lock:
            self._orphans = process_tree.reap_orphans(self._orphans | left)
        return sorted(row.pid for row in left)

    def forget(self, child: Child) -> None:
        """Its mark finds what it left behind."""


def default_shell() -> str:
    bash = "/bin/bash" if os.path.exists("/bin/bash") else shutil.which("bash")
    return bash or "/bin/sh"


def _root(child: Child) -> Root:
    """Once it is reaped its pid may be another's: then only the mark tells."""
    return Root(frozenset({child.process.pid}) if child.is_running else frozenset(), child.mark)


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
