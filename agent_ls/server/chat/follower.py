"""Pass a session's events on to the chat document, the prompts and the progress."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio

from agent_ls.display.words import END_WORDS
from agent_ls.loop.events.subscription import Subscription
from agent_ls.loop.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    AssistantTextEnd,
    Envelope,
    FileChange,
    HunkStateChanged,
    ProcessingEnd,
    QuestionAnswered,
    QuestionAsked,
    SessionEnd,
    SessionStart,
    StateChanged,
    ToolCallStart,
    UserInput,
)
from agent_ls.server.chat.last_turn import LastTurn, last_turn
from agent_ls.server.chat.services import ChatServices
from agent_ls.server.chat.transcript import ChatTranscript
from agent_ls.server.chat.words import one_line
from agent_ls.server.chat.writer import CLOSE, ChatWriter

if TYPE_CHECKING:
    from agent_ls.sessions.live import LiveSession

log = logging.getLogger(__name__)


class ChatEventHandler:
    """Passes the events of one session to the writer of its chat document, to prompts and to progress."""

    def __init__(self, services: ChatServices, live: LiveSession, writer: ChatWriter) -> None:
        self._services = services
        self._live = live
        self._writer = writer
        self._transcript = ChatTranscript()
        self._progress = services.progress() if services.progress else None
        self._last = 0
        self._turn: LastTurn | None = None
        self._answer = ""
        self._asks = False
        self._held = ""
        self.is_unanswered = False
        """After `catch_up`: the document ends with the user's last message and has no part of its answer."""

    async def catch_up(self) -> None:
        """Write the part of the last turn that the document does not have. Subscribe to the session before
        this call, so that no event is lost.
        """
        try:
            events = await anyio.to_thread.run_sync(self._live.events_since, 0)
        except OSError as error:
            log.warning("the last turn could not be read: %s", error)
            return
        turn = last_turn(events, self._transcript)
        if turn is None:
            return
        self._turn, self._answer, self._last = turn, turn.answer, turn.last
        self._transcript.set_missed_starts(turn.open_parts)
        self.is_unanswered = self._writer.lacks_answer(turn.message, turn.answer)
        if not turn.open_parts and self._write_missing_part():
            if self._live.session.questions.pending():
                self._end_answer(asks=True)
            elif turn.is_over or not self._live.session.is_busy:
                self._end_answer()

    async def run(self, subscription: Subscription) -> None:
        try:
            async for item in subscription:
                self._handle_event(item.envelope)
        finally:
            if self._progress:
                self._progress.end("")

    async def finish(self, rest: Subscription) -> None:
        """Handle the last events that this process logged before another process acquired the session. `rest`
        delivers these events, followed by the events of the new owner.
        """
        with rest:
            async for item in rest:
                if isinstance(item.envelope.event, SessionStart):
                    return  # events after this one are the new owner's
                self._handle_event(item.envelope)
                if isinstance(item.envelope.event, SessionEnd):
                    return

    def _handle_event(self, envelope: Envelope) -> None:
        if envelope.seq is not None:
            if envelope.seq <= self._last:
                return
            self._last = envelope.seq
        if not envelope.agent_id:
            self._write_event(envelope)
        self._notify_user(envelope)

    def _write_event(self, envelope: Envelope) -> None:
        if isinstance(envelope.event, QuestionAnswered) and self._asks:
            self._writer.write(self._held)
            self._held, self._asks = "", bool(self._live.session.questions.pending())
        text = self._transcript.feed(envelope)
        if self._turn is not None:
            self._answer += text
        elif envelope.turn_id or self._asks:
            self._write_or_hold(text)
        else:
            self._writer.write_notice(text)
        match envelope.event:
            case AssistantTextEnd():  # now the whole text is known
                self._write_missing_part()
            case QuestionAsked():
                self._write_missing_part()
                self._end_answer(asks=True)
            case ProcessingEnd():
                self._write_missing_part()
                self._end_answer()
            case _:
                pass

    def _write_or_hold(self, text: str) -> None:
        """Write the text now; while a question is pending, store the text until the user has answered.

        Parallel tool calls may produce text while the agent waits for the answer.
        """
        if self._asks:
            self._held += text
        else:
            self._writer.write(text)

    def _end_answer(self, *, asks: bool = False) -> None:
        self._write_or_hold(CLOSE)
        self._asks = self._asks or asks

    def _write_missing_part(self) -> bool:
        """Write the part of the last turn that the document does not have (see ChatWriter.continue_answer).

        Returns False if nothing could be written, because the document ends with other text.
        """
        turn, self._turn = self._turn, None
        return turn is not None and self._writer.continue_answer(turn.message, self._answer)

    def _notify_user(self, envelope: Envelope) -> None:
        services, progress = self._services, self._progress
        match envelope.event:
            case UserInput() if progress:
                services.start(lambda: progress.begin(self._live.session.interrupt))
            case ToolCallStart(summary=summary, name=name) if progress:
                progress.report(one_line(f"{name}: {summary}"))
            case ApprovalRequested() as request:
                if progress:
                    progress.report("waits for you")
                services.prompts.ask(request, self._live.approver, self._writer.wait_until_written)
                services.refresh_lenses()
            case QuestionAsked(question=question):
                if progress:
                    progress.report("waits for you")
                services.refresh_lenses()
                self._show_message(f"asks: {one_line(question)} Answer it in the chat.")
            case ApprovalResolved(request_id=request_id):
                services.prompts.withdraw(request_id)
                services.refresh_lenses()
            case FileChange(path=path) | HunkStateChanged(path=path):
                services.hunks_changed(path)
            case StateChanged():
                services.refresh_lenses()
            case ProcessingEnd(reason=reason):
                if progress:
                    progress.end("done" if reason == "completed" else reason)
                elif reason not in ("interrupted", "aborted"):  # the user knows
                    self._show_message(f"{END_WORDS[reason]}.")
            case _:
                pass

    def _show_message(self, words: str) -> None:
        """Show one message, without opening a window or taking the focus."""
        if self._services.context.manager.notifies_user:
            self._services.show_information(f"agent-ls: {words}")
