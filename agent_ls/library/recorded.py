"""Read from an open session what it has recorded: its changes, its tool calls, and the events in its log."""

from __future__ import annotations

from collections.abc import Sequence

import anyio.to_thread

from agent_ls.library.checks import typed
from agent_ls.library.owner import SessionOwner
from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.tool_records import ToolRecord, tool_records
from agent_ls.loop.events.types import ToolCallEnd
from agent_ls.services.errors import AppError
from agent_ls.sessions.live import LiveSession
from agent_ls.sessions.stored.archive import ExportFormat


class RecordedSession:
    """The part of `AgentSession` that reads what was recorded."""

    def __init__(self, owner: SessionOwner, opened: LiveSession) -> None:
        self._owner = owner
        self._opened = opened
        self._manager = owner.manager

    @property
    def _live(self) -> LiveSession:
        self._owner.check(self._opened.id)
        return self._opened

    @typed
    async def patch(self, turn_id: str = "") -> str:
        """Return the net changes of the session, or of the turn `turn_id`, as a patch for `git apply`; "" for none.

        Changes that were undone or rolled back since are not in it, and what others typed in a file in between is
        context. A file that the session created is in it whole. Lines above the first file name what is not in the
        patch, such as a binary file. In a git repository, paths are relative to its root, otherwise to the folder.

        Raises:
            BadChoiceError: there is no such turn.
            AppError: the log of the session cannot be read.
        """
        return await self._manager.archive.patch(self._live.id, turn_id)

    @typed
    async def export(self, format: ExportFormat = "markdown", *, redact: bool = False) -> str:
        """Return the session as text, without the configured keys.

        "markdown" and "html" are the conversation with the changes, "report" a text for a pull request, "trailers"
        lines for the end of a commit message, "jsonl" the events. `redact` removes other secrets, mail addresses, and
        the names of this user and machine too; "jsonl" cannot be redacted.

        Raises:
            AppError: the log of the session cannot be read, or the format cannot be redacted.
        """
        return await self._manager.archive.export(self._live.id, format, redact)

    async def calls(self) -> tuple[ToolRecord, ...]:
        """Return the records of all tool calls that have ended, in the order in which the calls started.

        Raises:
            AppError: the log of the session cannot be read.
        """
        encoded = await anyio.to_thread.run_sync(read_log, self._live, 0)
        decoded = map(event_codec.decode, encoded)
        return tool_records(envelope for envelope in decoded if envelope)

    @typed
    async def output(self, event: ToolCallEnd) -> str:
        """Return the complete output of a tool call, even if the event contains only the output's head and tail."""
        live = self._live
        if not event.output_ref:
            return event.output
        return await self._manager.archive.whole_output(live.id, event.output_ref)


def read_log(live: LiveSession, since: int, last: int | None = None) -> Sequence[bytes]:
    """Return the encoded events after number `since`. Blocks."""
    try:
        return live.events_since(since, last)
    except OSError as error:
        raise AppError(
            f"the log of the session cannot be read: {error.strerror or error}",
            "its folder, such as state_dir, must not be deleted while the session is open",
        ) from error


def read_turn(live: LiveSession, turn_id: str, last: int) -> Sequence[bytes]:
    """Return the encoded events from the first one of a turn up to number `last`. Blocks."""
    lines = read_log(live, 0, last)
    for place, line in enumerate(lines):
        envelope = event_codec.decode(line)
        if envelope and envelope.turn_id == turn_id:
            return lines[place:]
    return ()
