"""The environment of a session with a ledger: what a call changes is filed as hunks, wherever it was written."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.app.review_desk import ReviewDesk, text_of
from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileState, FileWrite
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment


class ReviewedEnvironment(ForwardingEnvironment):
    """Open documents are told by the editor host as they change; this tells of all other files."""

    def __init__(self, inner: ExecutionEnvironment, desk: ReviewDesk) -> None:
        super().__init__(inner)
        self._desk = desk

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        states = await self.inner.commit(writes, attribution)
        for state in states:
            if state.before != state.after and not self._desk.knows_call(state.path, attribution.call_id):
                self._desk.agent_edit(state.path, text_of(state.before), text_of(state.after), attribution)
        return states
