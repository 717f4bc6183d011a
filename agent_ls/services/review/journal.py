"""Interface Journal: called before each write, so that a crash loses no hunk.

Implemented in sessions/session_log.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agent_ls.environments.base import Attribution, FileState, FileWrite


class Journal(Protocol):
    """Records the writes of one session.

    Methods documented as "must not raise" may still raise OwnershipLostError (store.errors); then
    nothing is written.
    """

    def check_ownership(self) -> None:
        """Check that this process still owns the session.

        Raises:
            OwnershipLostError: another process owns the session; the call must not be carried out.
        """
        ...

    async def announce(self, changes: Sequence[FileState], attribution: Attribution) -> None:
        """Record writes before they happen, so that a crash between write and event loses no hunk.

        Must not raise.
        """
        ...

    async def propose(self, writes: Sequence[FileWrite], attribution: Attribution) -> None:
        """Record a proposal before it is displayed, so that it is pending again after a crash.

        Must not raise.
        """
        ...

    async def record_written(self, states: Sequence[FileState], attribution: Attribution) -> None:
        """Record the completed writes. `states` is empty if the writes failed.

        The record is made before the first await, so that a cancellation cannot prevent it. Must not raise.
        """
        ...
