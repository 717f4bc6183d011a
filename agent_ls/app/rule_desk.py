"""All rules that hold, for those who list them and take them back: those of live sessions and those on the disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio.to_thread

from agent_ls.app.errors import AppError, UnknownSessionError
from agent_ls.app.grants import HeldRule, held
from agent_ls.app.live_session import LiveSession
from agent_ls.store.rules import RuleStore


class RuleDesk:
    def __init__(self, store: RuleStore, live: Callable[[str], LiveSession | None]) -> None:
        self._store = store
        self._live = live

    async def rules(self, session_id: str | None, workspace: str | None) -> Sequence[HeldRule]:
        """Of the session first, then those on the disk that hold in `workspace` (None: all, or the session's).

        Raises:
            UnknownSessionError: it is not open here.
        """
        own: Sequence[HeldRule] = ()
        if session_id is not None:
            live = self._known(session_id)
            own, workspace = live.desk.grants.rules(), workspace or live.summary().workspace_folder
        stored = await anyio.to_thread.run_sync(self._store.rules, workspace)
        return [*own, *map(held, stored)]

    async def remove(self, rule_id: str, session_id: str | None, workspace: str | None) -> int:
        """How many were taken back; from the session when one is named, else from the disk.

        Raises:
            UnknownSessionError. AppError: the disk failed.
        """
        if session_id is not None:
            return int(self._known(session_id).desk.grants.remove(rule_id))
        try:
            removed = await anyio.to_thread.run_sync(self._store.remove, rule_id, workspace)
        except OSError as error:
            raise AppError(f"the rules cannot be written: {error.strerror or error}") from error
        return len(removed)

    def _known(self, session_id: str) -> LiveSession:
        if live := self._live(session_id):
            return live
        raise UnknownSessionError(session_id)
