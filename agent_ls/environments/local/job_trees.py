"""Commands as job objects of Windows: a process cannot leave the job it was started in, and a job ends as a whole.

Windows has no signal that asks a program without a window to end: what is stopped is stopped at once, with no time
of grace. A job ends with its last handle, so nothing outlives us, however we end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

import anyio
from anyio.abc import Process

from agent_ls.environments.errors import ProcessStartError
from agent_ls.environments.local.jobs import CREATE_NO_WINDOW, CREATE_SUSPENDED, Job
from agent_ls.environments.local.relay_link import Launch
from agent_ls.environments.local.trees import KILL_WAIT_SECONDS, Child

POLL_SECONDS = 0.02  # a job tells of its end to completion ports only

SHELL = ("cmd.exe", "/c")  # the platform's default shell (000 section 4.2)
MAX_LINE_CHARS = 8_000  # cmd.exe ends at 8,191, with what stands before
UTF_8_CONSOLE = "chcp 65001>nul & "
"""Else what the shell and old programs print is in the code page of the country. It holds for their console alone."""


class _Line(tuple[str, ...]):
    """What cmd.exe is to take as it is: quoted as an argument is, it would mean something else to it."""


class JobTrees:
    """ADAPTER Trees of Windows."""

    adopts_orphans = False

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}

    async def initialize(self) -> None: ...

    def argv(self, command: str, argv: Sequence[str]) -> Sequence[str]:
        if not argv and "\n" in command.strip():
            raise ProcessStartError(
                "cmd.exe runs only the first of several lines: join them with &&, or run a script that has them."
            )
        if not argv and len(command) > MAX_LINE_CHARS:
            raise ProcessStartError(
                f"cmd.exe takes {MAX_LINE_CHARS:,} characters at most: write them to a script, and run that."
            )
        return argv or _Line((*SHELL, command.strip()))

    async def start(self, launch: Launch, *, stdin: int, stdout: int, stderr: int) -> Process:
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
                process.kill()  # it has not run yet
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

    async def left_behind(self, child: Child) -> list[int]:
        job = self._jobs.get(child.mark)
        return job.pids() if job else []

    def forget(self, child: Child) -> None:
        """What it left behind is ended with the environment; a job without processes is not kept."""
        job = self._jobs.get(child.mark)
        if job and not job.pids():
            del self._jobs[child.mark]
            job.close()
