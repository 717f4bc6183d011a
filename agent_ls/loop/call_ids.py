"""Ids of calls as events use them: some providers begin again at `call_0` in every turn."""

from __future__ import annotations

from collections.abc import Iterable

from agent_ls.loop.ids import ToolCallId, new_id


class CallIds:
    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used = set(used)

    @property
    def used(self) -> frozenset[str]:
        return frozenset(self._used)

    def unique(self, provider_id: str) -> ToolCallId:
        """The provider's own id where it is new in this session, else one made of it."""
        candidate = provider_id or new_id("c")
        number = 2
        while candidate in self._used:
            candidate = f"{provider_id}~{number}"
            number += 1
        self._used.add(candidate)
        return ToolCallId(candidate)
