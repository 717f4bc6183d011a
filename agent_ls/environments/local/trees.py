"""How a system starts a command so that all that stems from it can be found and ended: the seam below `Children`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from anyio.abc import Process

from agent_ls.environments.local.relay_link import Launch, RelayedProcess

KILL_WAIT_SECONDS = 2.0
"""How long the end of what was killed is waited for: a process in an uninterruptible state stays, and is reported."""


@dataclass(frozen=True, eq=False, slots=True)
class Child:
    """A shell that we or a relay started, apart from our own group of processes."""

    process: Process | RelayedProcess
    mark: str

    @property
    def is_running(self) -> bool:
        return self.process.returncode is None


class Trees(Protocol):
    """Of one environment. Marks begin with what it was made with, and name one command each."""

    adopts_orphans: bool
    """Whether children of a command that ended become ours, so that somebody must take their exit status."""

    async def initialize(self) -> None: ...

    def argv(self, command: str, argv: Sequence[str]) -> Sequence[str]:
        """What is started for `command`, or, when it is given, for `argv`.

        Raises:
            ProcessStartError: the shell of this system cannot run that text.
        """
        ...

    async def start(self, launch: Launch, *, stdin: int, stdout: int, stderr: int) -> Process:
        """
        Raises:
            OSError, ValueError: it cannot be started.
        """
        ...

    async def end(self, child: Child) -> list[int]:
        """Ends all that stems from it; the pids that stayed nevertheless. To be called in a shielded scope."""
        ...

    async def end_all(self, children: Iterable[Child]) -> None:
        """Ends what stems from any command so far, also from those that are forgotten."""
        ...

    async def left_behind(self, child: Child) -> list[int]:
        """What of a command that ended still runs."""
        ...

    def forget(self, child: Child) -> None:
        """Its command has ended, and nobody waits for it any more."""
        ...
