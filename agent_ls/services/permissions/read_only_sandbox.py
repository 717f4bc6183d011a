"""Confinement of read-only commands: determine at the first use which mechanism this machine supports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from agent_ls.environments.sandbox import Sandbox


class ReadOnlySandbox:
    """Finds a sandbox for read-only commands, and remembers the result.

    If the test of a sandbox took too long, the next call searches again. `state` is the folder in which the
    sandbox program's filter files may be stored. `use` is the preferred program.
    """

    def __init__(self, state: Path, use: str = "auto") -> None:
        self._use = use
        self._filters = str(state / "confinement")
        self._lock = anyio.Lock()
        self._is_known = False
        self._sandbox: Sandbox | None = None
        self.why = ""
        """Why a sandbox is not used, as a part of a sentence; "" if the first one works."""

    async def find(self) -> Sandbox | None:
        """Return the sandbox for read-only commands; None if there is none, and `why` is then the reason. Never
        raises.
        """
        async with self._lock:
            if not self._is_known:
                from agent_ls.environments.local.sandbox_probe import (
                    TOO_SLOW,
                    find_sandbox,
                )  # imported when the first command runs
                from agent_ls.environments.sandbox import SandboxLimits

                self._sandbox, self.why = await find_sandbox(
                    SandboxLimits((), is_read_only=True), self._filters, self._use
                )
                self._is_known = self._sandbox is not None or TOO_SLOW not in self.why
        return self._sandbox

    @property
    def sandbox(self) -> Sandbox | None:
        return self._sandbox
