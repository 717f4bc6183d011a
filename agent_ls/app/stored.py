"""What a live session keeps in its log beside its events, and what it reads of it."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.to_thread

from agent_ls.environments.base import Attribution, FileState, FileWrite
from agent_ls.store.journal import Intent, ProposedFile, Review, fingerprint
from agent_ls.store.layout import log_path
from agent_ls.store.log import Header
from agent_ls.store.sessions import OpenSession
from agent_ls.text import looks_binary

PREIMAGE_MAX_BYTES = 1024 * 1024
"""Of a larger file, and of one that is no text, only the hashes are kept."""

log = logging.getLogger(__name__)


class SessionFiles:
    """`title` may be set; everything else is what the log says."""

    def __init__(self, opened: OpenSession, header: Header) -> None:
        self.opened = opened
        self.header = header
        self.path: Path = log_path(opened.folder)

    @property
    def updated(self) -> str:
        """When the log was last written, ISO 8601."""
        try:
            changed = datetime.fromtimestamp(self.path.stat().st_mtime, UTC)
        except OSError:  # somebody deleted it under us; the session goes on
            return self.header.created
        return changed.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def remember(self, settings: Mapping[str, str | None]) -> None:
        """Settings that a resume finds again."""
        self.opened.recorder.config(settings)

    async def announce(self, changes: Sequence[FileState], attribution: Attribution) -> None:
        """ADAPTER Journal (reviewed_environment.py): the log knows of a write before it happens."""
        changed = [change for change in changes if change.before != change.after]
        if changed:
            intents = await anyio.to_thread.run_sync(
                lambda: [self._intent(change, attribution) for change in changed],
                limiter=anyio.CapacityLimiter(1),  # as a commit: reads that hang must not make it wait
            )
            self.opened.recorder.intents(intents)

    async def propose(self, writes: Sequence[FileWrite], attribution: Attribution) -> None:
        """ADAPTER Journal: the log knows what a call proposes before it is shown."""

        def kept() -> tuple[ProposedFile, ...]:
            return tuple(
                ProposedFile(it.path, self._blob(it.base), self._blob(it.content), it.mode_from)
                for it in writes
            )

        try:
            files = await anyio.to_thread.run_sync(kept)
        except (
            OSError
        ) as error:  # a full disk must not stop the call: what is lost is its waiting after a kill
            log.warning("what a call proposes cannot be kept: %s", error)
            return
        self.opened.recorder.review(Review(attribution.call_id, attribution.turn_id, files))

    def _blob(self, data: bytes | None) -> str | None:
        return None if data is None else self.opened.keep(data)

    def _intent(self, change: FileState, attribution: Attribution) -> Intent:
        """Blocks."""
        return Intent(
            path=change.path,
            call_id=attribution.call_id,
            turn_id=attribution.turn_id,
            before=fingerprint(change.before),
            after=fingerprint(change.after),
            preimage=self._preimage(change.before),
            pid=os.getpid(),
        )

    def _preimage(self, data: bytes | None) -> str:
        if data is None or len(data) > PREIMAGE_MAX_BYTES or looks_binary(data):
            return ""
        try:
            return self.opened.keep(data)
        except OSError as error:  # a full disk must not stop the write: what is lost is a hunk after a kill
            log.warning("what a file held before a change cannot be kept: %s", error)
            return ""
