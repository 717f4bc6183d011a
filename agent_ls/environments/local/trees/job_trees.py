"""Commands as Windows job objects: a process cannot leave its job, and a job is ended as a whole.

Windows has no signal that asks a program without a window to end, so processes are ended without a grace
period. Windows ends a job when its last handle is closed. So no process outlives agent-ls, even if agent-ls
is killed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress

import anyio
from anyio.abc import Process

from agent_ls.environments.errors import ProcessStartError
from agent_ls.environments.local.terminals.relay_link import CommandLaunch
from agent_ls.environments.local.trees.base import KILL_WAIT_SECONDS, Child
from agent_ls.environments.local.trees.jobs import CREATE_NO_WINDOW, CREATE_SUSPENDED, Job

POLL_SECONDS = 0.02  # polling interval: a job reports its end only to completion ports

SHELL = ("cmd.exe", "/c")  # the platform's default shell
MAX_LINE_CHARS = 8_000  # cmd.exe's limit is 8,191 characters, including the prefix
UTF_8_CONSOLE = os.environ.get("SYSTEMROOT", "C:\\Windows") + "\\System32\\chcp.com 65001>nul & "
"""Prefix that sets the console to UTF-8.

Without it, output of the shell and older programs is in the local code page. The prefix affects only the
console of the command. It has the whole path, because the shell searches the command's folder first.
"""


class _Line(tuple[str, ...]):
    """The arguments of cmd.exe. The last argument is a whole command line and must not be quoted."""


class JobTrees:
    """Implements Trees on Windows."""

    adopts_orphans = False

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}

    async def initialize(self) -> None: ...

    async def argv(self, command: str, argv: Sequence[str]) -> Sequence[str]:
        if not argv and "\n" in command.strip():
            raise ProcessStartError(
                "cmd.exe runs only the first of several lines: join the lines with &&, or put them into a "
                "script and run the script."
            )
        if not argv and len(command) > MAX_LINE_CHARS:
            raise ProcessStartError(
                f"cmd.exe accepts at most {MAX_LINE_CHARS:,} characters: put the command into a script, and run "
                "the script."
            )
        return argv or _Line((*SHELL, command.strip()))

    async def start(self, launch: CommandLaunch, *, stdin: int, stdout: int, stderr: int) -> Process:
        process = await anyio.open_process(
            UTF_8_CONSOLE + launch.argv[-1] if isinstance(launch.argv, _Line) else launch.argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=launch.folder,
            env=launch.environ,
            creationflags=CREATE_SUSPENDED | CREATE_NO_WINDOW,
        )
        try:
            self._jobs[launch.mark] = Job(process.pid)
        except OSError:
            with suppress(OSError):
                process.kill()  # the process has not run yet
            raise
        return process

    async def end(self, child: Child) -> list[int]:
        job = self._jobs.get(child.mark)
        if job is None:
            return []
        job.terminate()
        with anyio.move_on_after(KILL_WAIT_SECONDS):
            while job.pids():  # noqa: ASYNC110  # nothing sets an event
                await anyio.sleep(POLL_SECONDS)
        return job.pids()

    async def end_all(self, children: Iterable[Child]) -> None:
        for job in self._jobs.values():
            job.terminate()
            job.close()
        self._jobs.clear()

    async def find_left_processes(self, child: Child) -> list[int]:
        job = self._jobs.get(child.mark)
        return job.pids() if job else []

    def forget(self, child: Child) -> None:
        """Close the job of the command if no process is left in it.

        Processes that the command left running are ended in `end_all`.
        """
        job = self._jobs.get(child.mark)
        if job and not job.pids():
            del self._jobs[child.mark]
            job.close()
