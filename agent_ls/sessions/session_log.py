"""Records that a live session keeps in its log in addition to events: settings, announced writes and file contents."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.to_thread

from agent_ls.environments.base import Attribution, FileState, FileWrite, sha256
from agent_ls.llm.messages import JsonValue
from agent_ls.store.elsewhere import WritesElsewhere
from agent_ls.store.errors import OwnershipLostError
from agent_ls.store.journal import Intent, ProposalRecord, ProposedFile, RecordedWrite, fingerprint
from agent_ls.store.layout import Layout, log_path, root_of
from agent_ls.store.log import Header
from agent_ls.store.sessions import OpenSession
from agent_ls.text import looks_binary

PREIMAGE_MAX_BYTES = 1024 * 1024
"""Maximum size of a text file whose hunks survive a crash. Hunks of larger and binary files are lost."""
END_GRACE_S = 2.0
KEPT_MAX_BYTES = 64 * 1024 * 1024
"""Maximum size of an old file content that is stored for a roll back."""

COMMAND_MARK = "commandMark"
"""Key of the log setting that identifies the commands of the process that had the session open last."""

PLACE = "place"
"""Key of the log setting that names the other machine or container on which the session works."""

log = logging.getLogger(__name__)


async def end_left_commands(opened: OpenSession) -> None:
    """End commands that a killed owner of the session left running.

    An owner that is still alive ends its own commands, even after a forced take-over.
    """
    if opened.stored is None or opened.put_out or os.name != "posix":
        return
    from agent_ls.environments.local.trees import process_tree  # only needed for a resume

    mark = opened.stored.state.config.get(COMMAND_MARK)
    if isinstance(mark, str):
        with anyio.CancelScope(shield=True):
            await process_tree.end_marked(mark, END_GRACE_S)


class SessionFiles:
    """The session's log and stored file contents. Implements the interface Journal (services/review/journal.py)."""

    def __init__(self, opened: OpenSession, header: Header) -> None:
        self.opened = opened
        self.header = header
        self.path: Path = log_path(opened.folder)
        layout = Layout(root_of(opened.folder))
        self._elsewhere = WritesElsewhere(layout, header.session_id, header.workspace_folder)
        self._announced: dict[str, list[tuple[FileState, RecordedWrite]]] = {}

    @property
    def updated_at(self) -> str:
        """Time of the last write to the log, in ISO 8601."""
        try:
            changed = datetime.fromtimestamp(self.path.stat().st_mtime, UTC)
        except OSError:  # the log was deleted while the session is open; the session continues
            return self.header.created
        return changed.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    @property
    def title(self) -> str:
        """The session's title at the time when it was opened. Later changes are not included."""
        return self.opened.stored.title if self.opened.stored else self.header.title

    def remember(self, settings: Mapping[str, JsonValue]) -> None:
        """Record settings for a later resume to read."""
        self.opened.recorder.config(settings)

    def check_ownership(self) -> None:
        """Implement Journal.check_ownership: raise OwnershipLostError if another process has taken the session."""
        if not self.opened.is_ours:
            raise OwnershipLostError

    async def announce(self, changes: Sequence[FileState], attribution: Attribution) -> None:
        """Implement Journal.announce: record a write before it happens."""
        changed = [change for change in changes if change.before != change.after]
        if changed:
            intents = await anyio.to_thread.run_sync(
                lambda: [self._intent(change, attribution) for change in changed],
                # a separate limiter, so that hanging reads that use up the shared threads do not delay this
                limiter=anyio.CapacityLimiter(1),
            )
            self.opened.recorder.intents(intents)

    async def propose(self, writes: Sequence[FileWrite], attribution: Attribution) -> None:
        """Implement Journal.propose: record the writes that a call proposes before they are displayed."""

        def store_files() -> tuple[ProposedFile, ...]:
            return tuple(
                ProposedFile(it.path, self._blob(it.base), self._blob(it.content), it.mode_from)
                for it in writes
            )

        try:
            files = await anyio.to_thread.run_sync(store_files)
        except OSError as error:  # a full disk must not stop the call: only a crash loses the proposal
            log.warning("the proposed changes of a tool call cannot be stored for a restart: %s", error)
            return
        self.opened.recorder.review(ProposalRecord(attribution.call_id, attribution.turn_id, files))

    def _blob(self, data: bytes | None) -> str | None:
        return None if data is None else self.opened.write_blob(data)

    async def record_written(self, states: Sequence[FileState], attribution: Attribution) -> None:
        """Implement Journal.record_written: record the written contents for a roll back; nothing if the write failed.

        The record is written before the first await.
        """
        changed = [state for state in states if state.before != state.after]
        announced = self._announced.pop(attribution.call_id, ())
        as_announced = {state.path: written for state, written in announced if state in changed}
        records = [
            replace(known, mode=it.mode)
            if (known := as_announced.get(it.path))
            else _make_written(it, attribution)
            for it in changed
        ]
        if records:
            self.opened.recorder.changes(records)
        # The editor may have written content that was not announced, because it merged the change with text that
        # the user typed.
        others = [state for state in changed if state.path not in as_announced]
        if others:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self.keep_all, others, limiter=anyio.CapacityLimiter(1))

    def keep_all(self, states: Sequence[FileState]) -> None:
        """Store the old content of each file, and the new content unless the file is large. Blocks.

        A roll back needs the new content only to merge.
        """
        for state in states:
            self._elsewhere.note(state.path)
            self._keep(state.before, KEPT_MAX_BYTES)
            self._keep(state.after, PREIMAGE_MAX_BYTES)

    def keep_texts(self, texts: Sequence[str]) -> None:
        """Store texts with open hunks, so that a resume finds these hunks in files that were edited since. Blocks."""
        for text in texts:
            self._keep(text.encode("utf-8", "surrogatepass"), PREIMAGE_MAX_BYTES)

    def _keep(self, data: bytes | None, max_bytes: int) -> bool:
        if data is None or len(data) > max_bytes:
            return False
        try:
            self.opened.write_blob(data)
        except OSError as error:  # a full disk must not stop the write: only a hunk or a roll back is lost
            log.warning("the content of a file before a change cannot be stored: %s", error)
            return False
        return True

    def _intent(self, change: FileState, attribution: Attribution) -> Intent:
        """Return the record that announces a change, and store the contents before and after it. Blocks."""
        self._elsewhere.note(change.path)
        is_kept = self._keep(change.before, KEPT_MAX_BYTES)
        self._keep(change.after, PREIMAGE_MAX_BYTES)
        written = _make_written(change, attribution)
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


def _make_written(state: FileState, who: Attribution) -> RecordedWrite:
    return RecordedWrite(
        state.path,
        who.call_id,
        who.turn_id,
        content_name(state.before),
        content_name(state.after),
        state.mode,
    )


def content_name(data: bytes | None) -> str:
    """Return the hash by which log records refer to a file's content; "" for a file that does not exist."""
    return "" if data is None else sha256(data)
