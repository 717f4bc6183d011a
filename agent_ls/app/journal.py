"""SEAM Journal: who is told of writes before they happen, so that a kill loses none of them (app/stored.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agent_ls.environments.base import Attribution, FileState, FileWrite


class Journal(Protocol):
    """What must not raise may raise `store.errors.OwnershipLostError` all the same: then nothing is to be done."""

    def demand_ours(self) -> None:
        """
        Raises:
            OwnershipLostError: another process has the session; what a call was about to do is not done.
        """
        ...

    async def announce(self, changes: Sequence[FileState], attribution: Attribution) -> None:
        """Told before files are written, so that a kill between a write and its event loses no hunk. Must not raise."""
        ...

    async def propose(self, writes: Sequence[FileWrite], attribution: Attribution) -> None:
        """Told before a change is shown that waits for verdicts: it is to wait on after a kill. Must not raise."""
        ...

    async def changed(self, states: Sequence[FileState], attribution: Attribution) -> None:
        """Told what was written (nothing, when it failed), before anything is waited for. Must not raise."""
        ...
