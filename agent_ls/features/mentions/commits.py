"""The last commits of a folder for the completion of `@commit:`, cached while the user types."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio.to_thread

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.features.mentions.git import recent_commits
from agent_ls.loop.seams import Clock
from agent_ls.services.permissions.trust import WorkspaceTrust

FRESH_MS = 3_000


class RecentCommits:
    """Lists commits. `environment` returns the execution environment for a folder."""

    def __init__(
        self, environment: Callable[[str], ExecutionEnvironment], trust: WorkspaceTrust, clock: Clock
    ) -> None:
        self._environment = environment
        self._trust = trust
        self._clock = clock
        self._known: dict[str, tuple[int, Sequence[tuple[str, str]]]] = {}

    async def of(self, folder: str) -> Sequence[tuple[str, str]]:
        """Return abbreviated ids and subjects of commits; empty for an untrusted folder."""
        listed_ms, known = self._known.get(folder, (-FRESH_MS - 1, ()))
        if self._clock.monotonic_ms() - listed_ms <= FRESH_MS:
            return known
        if await anyio.to_thread.run_sync(self._trust.get_trust, folder) != "trusted":
            return ()
        environment = self._environment(folder)
        try:
            found = await recent_commits(environment, folder)
        finally:
            await environment.cleanup()
        self._known[folder] = self._clock.monotonic_ms(), found
        return found
