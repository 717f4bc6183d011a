"""Interface Trees: start a command on an operating system so that all its descendants can be found and ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from anyio.abc import Process

from agent_ls.environments.local.processes.starting import StartedProcess
from agent_ls.environments.local.terminals.relay_link import CommandLaunch, RelayedProcess

KILL_WAIT_SECONDS = 2.0
"""Time to wait for killed processes. A process in an uninterruptible state may remain; it is then reported."""


@dataclass(frozen=True, eq=False, slots=True)
class Child:
    """A command that this process or a relay has started in a new process group.

    `mark` identifies the command.
    """

    process: Process | StartedProcess | RelayedProcess
    mark: str

    @property
    def is_running(self) -> bool:
        return self.process.returncode is None


class Trees(Protocol):
    """Starts and ends the commands of one environment, each with all its descendants.

    The mark (id) of a command begins with the mark of the environment.
    """

    adopts_orphans: bool
    """Whether orphans of a command become children of this process, so that this process must reap them."""

    async def initialize(self) -> None: ...

    async def argv(self, command: str, argv: Sequence[str]) -> Sequence[str]:
        """Return `argv` if it is not empty, else the program and the arguments that run `command` in a shell.

        Raises:
            ProcessStartError: the system's shell cannot run the text of `command`.
        """
        ...

    async def start(
        self, launch: CommandLaunch, *, stdin: int, stdout: int, stderr: int
    ) -> Process | StartedProcess:
        """Start a process.

        Raises:
            OSError, ValueError: the process cannot be started.
        """
        ...

    async def end(self, child: Child) -> list[int]:
        """End the child and all its descendants.

        Return pids that could not be ended. Call in a shielded scope.
        """
        ...

    async def end_all(self, children: Iterable[Child]) -> None:
        """End `children` and all descendants of earlier commands, including commands passed to `forget`."""
        ...

    async def find_left_processes(self, child: Child) -> list[int]:
        """Return the pids of processes that an ended command left running."""
        ...

    def forget(self, child: Child) -> None:
        """Release the data stored for an ended command. Call when no code waits for the command any more."""
        ...
