"""Unique ids of calls for events. Some providers restart their ids at `call_0` in every turn."""

from __future__ import annotations

from collections.abc import Iterable

from agent_ls.loop.ids import ToolCallId, new_id


class CallIds:
    """Assigns unique ids to calls. `used` has the ids that occur in earlier events of the session."""

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used = set(used)
        self._numbers: dict[str, int] = {}  # the next number to try for a repeated id

    @property
    def used_ids(self) -> frozenset[str]:
        return frozenset(self._used)

    def unique(self, provider_id: str) -> ToolCallId:
        """Return the provider's id if it is new in this session, otherwise an id derived from it."""
        candidate = provider_id or new_id("c")
        while candidate in self._used:
            number = self._numbers[provider_id] = self._numbers.get(provider_id, 1) + 1
            candidate = f"{provider_id}~{number}"
        self._used.add(candidate)
        return ToolCallId(candidate)
