"""What a live session keeps in its log beside its events, and what it reads of it."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.to_thread

from agent_ls.environments.base import Attribution, FileState, FileWrite, sha256
from agent_ls.llm.messages import JsonValue
from agent_ls.store.errors import OwnershipLostError
from agent_ls.store.journal import Intent, ProposedFile, Review, Written, fingerprint
from agent_ls.store.layout import log_path
from agent_ls.store.log import Header
from agent_ls.store.sessions import OpenSession
from agent_ls.text import looks_binary

PREIMAGE_MAX_BYTES = 1024 * 1024
"""A larger file, and one that is no text, is not looked at for hunks after a kill."""
KEPT_MAX_BYTES = 16 * 1024 * 1024
"""What a file held before a change is kept for a roll back up to here (X10)."""

log = logging.getLogger(__name__)


class SessionFiles:
    """`title` may be set; everything else is what the log says."""

    def __init__(self, opened: OpenSession, header: Header) -> None:
        self.opened = opened
        self.header = header
        self.path: Path = log_path(opened.folder)
        self._announced: dict[str, list[tuple[FileState, Written]]] = {}

    @property
    def updated(self) -> str:
        """When the log was last written, ISO 8601."""
        try:
            changed = datetime.fromtimestamp(self.path.stat().st_mtime, UTC)
        except OSError:  # somebody deleted it under us; the session goes on
            return self.header.created
        return changed.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def remember(self, settings: Mapping[str, JsonValue]) -> None:
        """Settings that a resume finds again."""
        self.opened.recorder.config(settings)

    def demand_ours(self) -> None:
        """ADAPTER Journal."""
        if not self.opened.is_ours:
            raise OwnershipLostError

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

    async def changed(self, states: Sequence[FileState], attribution: Attribution) -> None:
        """ADAPTER Journal: what was written, for a roll back; nothing, if the write failed.

        The record stands before anything is waited for.
        """
        changed = [state for state in states if state.before != state.after]
        announced = self._announced.pop(attribution.call_id, ())
        as_announced = {state.path: written for state, written in announced if state in changed}
        records = [as_announced.get(it.path) or _written(it, attribution) for it in changed]
        if records:
            self.opened.recorder.changes(records)
        # An editor may have made another content of it, by carrying the change over what was typed meanwhile.
        others = [state for state in changed if state.path not in as_announced]
        if others:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self.keep_all, others, limiter=anyio.CapacityLimiter(1))

    def keep_all(self, states: Sequence[FileState]) -> None:
        """Blocks. Of a large file only what it held before: the content after it is wanted for merging alone."""
        for state in states:
            self._keep(state.before, KEPT_MAX_BYTES)
            self._keep(state.after, PREIMAGE_MAX_BYTES)

    def _keep(self, data: bytes | None, max_bytes: int) -> bool:
        if data is None or len(data) > max_bytes:
            return False
        try:
            self.opened.keep(data)
        except (
            OSError
        ) as error:  # a full disk must not stop the write: what is lost is a hunk, or a roll back
            log.warning("what a file held before a change cannot be kept: %s", error)
            return False
        return True

    def _intent(self, change: FileState, attribution: Attribution) -> Intent:
        """Blocks."""
        is_kept = self._keep(change.before, KEPT_MAX_BYTES)
        self._keep(change.after, PREIMAGE_MAX_BYTES)
        written = _written(change, attribution)
        self._announced.setdefault(attribution.call_id, []).append((change, written))
        return Intent(
            path=change.path,
            call_id=attribution.call_id,
            turn_id=attribution.turn_id,
            before=fingerprint(change.before),
            after=fingerprint(change.after),
            preimage=written.before if is_kept and _may_have_hunks(change.before) else "",
            pid=os.getpid(),
        )


def _may_have_hunks(data: bytes | None) -> bool:
    return data is not None and len(data) <= PREIMAGE_MAX_BYTES and not looks_binary(data)


def _written(state: FileState, who: Attribution) -> Written:
    return Written(
        state.path, who.call_id, who.turn_id, content_name(state.before), content_name(state.after)
    )


def content_name(data: bytes | None) -> str:
    """The name of a content as records have it; "" for no file."""
    return "" if data is None else sha256(data)
