"""The environment of a session with a ledger: what a call changes is filed as hunks, wherever it was written."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from agent_ls.app.proposals import links_of
from agent_ls.app.review_desk import ReviewDesk
from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileState, FileWrite
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment


class Journal(Protocol):
    async def announce(self, changes: Sequence[FileState], attribution: Attribution) -> None:
        """Told before files are written, so that a kill between a write and its event loses no hunk. Must not raise."""
        ...

    async def propose(self, writes: Sequence[FileWrite], attribution: Attribution) -> None:
        """Told before a change is shown that waits for verdicts: it is to wait on after a kill. Must not raise."""
        ...

    async def changed(self, states: Sequence[FileState], attribution: Attribution) -> None:
        """Told what was written (nothing, when it failed), before anything is waited for. Must not raise."""
        ...


class ReviewedEnvironment(ForwardingEnvironment):
    """Open documents are told by the editor host as they change; this tells of all other files.

    `is_reviewed_first` says of a call whether its changes are shown before they are made, and wait for verdicts.
    """

    def __init__(
        self,
        inner: ExecutionEnvironment,
        desk: ReviewDesk,
        journal: Journal,
        is_reviewed_first: Callable[[str], bool] = lambda call_id: False,
    ) -> None:
        super().__init__(inner)
        self._desk = desk
        self._journal = journal
        self._is_reviewed_first = is_reviewed_first

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        audience = self._desk.audience(attribution.session_id)
        if audience and self._is_reviewed_first(attribution.call_id):
            named = [replace(write, path=self._absolute(write.path)) for write in writes]
            await self._journal.propose(named, attribution)
            return await self._desk.proposals.review_first(named, attribution, audience)
        meant = [self._meant(write) for write in writes]
        await self._journal.announce(meant, attribution)
        links = links_of([replace(write, path=self._absolute(write.path)) for write in writes])
        states: Sequence[FileState] = ()
        with self._desk.writing([state.path for state in meant], links):
            try:
                states = await self.inner.commit(writes, attribution)
                # No await in between: what is written is told, also when the call is cancelled by now.
                for state in states:
                    self._desk.committed(state, attribution)
            finally:
                await self._journal.changed(states, attribution)
        return states

    async def apply(
        self,
        writes: Sequence[FileWrite],
        attribution: Attribution,
        through: ExecutionEnvironment | None = None,
    ) -> Sequence[FileState]:
        """Commits what a person kept of proposals; the desk, which asks for it, files it itself."""
        meant = [self._meant(write) for write in writes]
        await self._journal.announce(meant, attribution)
        with self._desk.writing([state.path for state in meant]):
            states: Sequence[FileState] = ()
            try:
                states = await (through or self.inner).commit(writes, attribution)
            finally:
                await self._journal.changed(states, attribution)
            return states

    def _meant(self, write: FileWrite) -> FileState:
        return FileState(self._absolute(write.path), write.base, write.content)

    def _absolute(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.working_directory(), path))
