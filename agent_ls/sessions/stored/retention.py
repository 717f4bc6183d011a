"""Delete stored sessions beyond the configured age and size. Each folder is checked once, and again when limits
change.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

import anyio.to_thread

from agent_ls.services.settings.model import SessionSettings
from agent_ls.store.layout import Layout
from agent_ls.store.upkeep import RetentionLimits, prune

log = logging.getLogger(__name__)


class Retention:
    def __init__(self, layout: Layout, kept: SessionSettings) -> None:
        self._layout = layout
        self._limits = RetentionLimits()
        self._done: set[str] = set()
        self.change(kept)

    def change(self, kept: SessionSettings) -> None:
        """Set the limits. New limits apply when the next session is created or opened."""
        limits = RetentionLimits(kept.keep_days, kept.max_mebibytes * 1024 * 1024)
        if limits != self._limits:
            self._limits = limits
            self._done.clear()

    async def look_at(self, folder: str, now: str, spare: Sequence[str]) -> None:
        """Delete sessions of a folder that exceed the limits, except the sessions in `spare`.

        `now` is the current time in ISO 8601. Does nothing without limits, or if the folder was checked with
        the current limits before.
        """
        if folder in self._done or self._limits == RetentionLimits():
            return
        self._done.add(folder)
        work = partial(prune, self._layout, folder, self._limits, now, spare)
        swept = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        for session_id in swept.removed:
            log.info(
                "session %s was deleted, because the stored sessions exceed the limits of the settings",
                session_id,
            )
