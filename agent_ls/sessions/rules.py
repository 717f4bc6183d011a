"""List and remove permission rules: those of live sessions and those on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio.to_thread

from agent_ls.services.errors import UnknownSessionError
from agent_ls.services.permissions.session_rules import HeldRule, hold_rule
from agent_ls.services.settings.state_folder import not_stored
from agent_ls.sessions.live import LiveSession
from agent_ls.store.rules import RuleStore


class RuleManager:
    def __init__(self, store: RuleStore, live: Callable[[str], LiveSession | None]) -> None:
        self._store = store
        self._live = live

    async def rules(self, session_id: str | None, workspace: str | None) -> Sequence[HeldRule]:
        """Return the session's rules, then the stored rules that apply in `workspace`.

        `session_id` None: only stored rules. If `workspace` is None, the session's folder is used; without a
        session, all folders.

        Raises:
            UnknownSessionError: the session is not open here.
        """
        own: Sequence[HeldRule] = ()
        if session_id is not None:
            live = self._find_live(session_id)
            own, workspace = live.approver.grants.rules(), workspace or live.summary().workspace_folder
        stored = await anyio.to_thread.run_sync(self._store.rules, workspace)
        return [*own, *map(hold_rule, stored)]

    async def remove(self, rule_id: str, session_id: str | None, workspace: str | None) -> int:
        """Remove a rule from the session, or from disk if `session_id` is None. Return the number removed.

        With `workspace`, stored rules of other projects are not removed.

        Raises:
            UnknownSessionError. AppError: the disk failed.
        """
        if session_id is not None:
            return int(self._find_live(session_id).approver.grants.remove(rule_id))
        try:
            removed = await anyio.to_thread.run_sync(self._store.remove, rule_id, workspace)
        except OSError as error:
            raise not_stored("the change of your rules", error) from error
        return len(removed)

    def _find_live(self, session_id: str) -> LiveSession:
        if live := self._live(session_id):
            return live
        raise UnknownSessionError(session_id)
