"""The environment of a session with a ledger: what a call changes is filed as hunks, wherever it was written."""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from typing import Protocol

from agent_ls.app.review_desk import ReviewDesk
from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileState, FileWrite
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment


class Journal(Protocol):
    async def announce(self, changes: Sequence[FileState], attribution: Attribution) -> None:
        """Told before files are written, so that a kill between a write and its event loses no hunk. Must not raise."""
        ...


class ReviewedEnvironment(ForwardingEnvironment):
    """Open documents are told by the editor host as they change; this tells of all other files."""

    def __init__(self, inner: ExecutionEnvironment, desk: ReviewDesk, journal: Journal) -> None:
        super().__init__(inner)
        self._desk = desk
        self._journal = journal

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        meant = [self._meant(write) for write in writes]
        await self._journal.announce(meant, attribution)
        with self._desk.writing([state.path for state in meant]):
            states = await self.inner.commit(writes, attribution)
            # No await in between: what is written is told, also when the call is cancelled by now.
            for state in states:
                self._desk.committed(state, attribution)
        return states

    def _meant(self, write: FileWrite) -> FileState:
        path = os.path.normpath(os.path.join(self.working_directory(), write.path))
        return FileState(path, write.base, write.content)
