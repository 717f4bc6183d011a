"""Tells the document, the prompts and the progress what a session's events mean for them."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import anyio

from agent_ls.loop.events import (
    ApprovalRequested,
    ApprovalResolved,
    AssistantTextEnd,
    EndReason,
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
from agent_ls.loop.subscription import Subscription
from agent_ls.server.seams import Live
from agent_ls.server.stock.catching_up import LastTurn, last_turn
from agent_ls.server.stock.means import Means
from agent_ls.server.stock.transcript import ChatTranscript
from agent_ls.server.stock.words import one_line
from agent_ls.server.stock.writer import CLOSE, ChatWriter

log = logging.getLogger(__name__)

_ENDS: Mapping[EndReason, str] = {
    "completed": "done.",
    "refused": "done, but for what was refused.",
    "limit": "stopped at a limit; the chat says which.",
    "error": "ended by an error; the chat says which.",
}
"""In a message, where no progress tells it. Who stopped a turn knows."""


class Following:
    """Tells everybody what a session's events mean for them."""

    def __init__(self, means: Means, live: Live, writer: ChatWriter) -> None:
        self._means = means
        self._live = live
        self._writer = writer
        self._transcript = ChatTranscript()
        self._progress = means.progress() if means.progress else None
        self._last = 0
        self._turn: LastTurn | None = None
        self._told = ""
        self._asks = False
        self._held = ""
        self.is_unanswered = False
        """Caught up, the document ends with what the user said last, and has nothing of the answer to that."""

    async def catch_up(self) -> None:
        """Brings into the document what it does not have of the last turn. The session has to be listened to before."""
        try:
            events = await anyio.to_thread.run_sync(self._live.events_since, 0)
        except OSError as error:
            log.warning("the last turn could not be read: %s", error)
            return
        turn = last_turn(events, self._transcript)
        if turn is None:
            return
        self._turn, self._told, self._last = turn, turn.told, turn.last
        self._transcript.miss(turn.open_parts)
        self.is_unanswered = self._writer.lacks(turn.said, turn.told)
        if not turn.open_parts and self._compare():
            if self._live.session.questions.pending():
                self._close(asks=True)
            elif turn.is_over or not self._live.session.is_busy:
                self._close()

    async def run(self, subscription: Subscription) -> None:
        try:
            async for item in subscription:
                self._take(item.envelope)
        finally:
            if self._progress:
                self._progress.end("")

    async def finish(self, rest: Subscription) -> None:
        """What the log has of the end of it here: another process has the session."""
        with rest:
            async for item in rest:
                if isinstance(item.envelope.event, SessionStart):
                    return  # from here on it is the other's
                self._take(item.envelope)
                if isinstance(item.envelope.event, SessionEnd):
                    return

    def _take(self, envelope: Envelope) -> None:
        if envelope.seq is not None:
            if envelope.seq <= self._last:
                return
            self._last = envelope.seq
        if not envelope.agent_id:
            self._write(envelope)
        self._tell(envelope)

    def _write(self, envelope: Envelope) -> None:
        if isinstance(envelope.event, QuestionAnswered) and self._asks:
            self._writer.write(self._held)
            self._held, self._asks = "", bool(self._live.session.questions.pending())
        text = self._transcript.feed(envelope)
        if self._turn is None:
            self._put(text)
        else:
            self._told += text
        match envelope.event:
            case AssistantTextEnd():  # what was begun is known whole now
                self._compare()
            case QuestionAsked():
                self._compare()
                self._close(asks=True)
            case ProcessingEnd():
                self._compare()
                self._close()
            case _:
                pass

    def _put(self, text: str) -> None:
        """Below a question the user has the word: what comes from calls beside it waits until he has answered."""
        if self._asks:
            self._held += text
        else:
            self._writer.write(text)

    def _close(self, *, asks: bool = False) -> None:
        self._put(CLOSE)
        self._asks = self._asks or asks

    def _compare(self) -> bool:
        """Whether the document has a place for what it lacked."""
        turn, self._turn = self._turn, None
        return turn is not None and self._writer.take_up(turn.said, self._told)

    def _tell(self, envelope: Envelope) -> None:
        means, progress = self._means, self._progress
        match envelope.event:
            case UserInput() if progress:
                means.start(lambda: progress.begin(self._live.session.interrupt))
            case ToolCallStart(summary=summary, name=name) if progress:
                progress.report(one_line(f"{name}: {summary}"))
            case ApprovalRequested() as request:
                if progress:
                    progress.report("waits for you")
                if means.prompts:
                    means.prompts.ask(request, self._live.desk, self._writer.shown)
                means.changed()
            case QuestionAsked(question=question):
                if progress:
                    progress.report("waits for you")
                means.changed()
                self._tell_user(f"asks: {one_line(question)} Answer it in the chat.")
            case ApprovalResolved(request_id=request_id):
                if means.prompts:
                    means.prompts.resolved(request_id)
                means.changed()
            case FileChange(path=path) | HunkStateChanged(path=path):
                means.hunks_changed(path)
            case StateChanged():
                means.changed()
            case ProcessingEnd(reason=reason):
                if progress:
                    progress.end("done" if reason == "completed" else reason)
                elif ended := _ENDS.get(reason):
                    self._tell_user(ended)
            case _:
                pass

    def _tell_user(self, words: str) -> None:
        """Once, in a message: never a window, never the focus."""
        if self._means.context.bench.tells_user:
            self._means.tell(f"agent-ls: {words}")
