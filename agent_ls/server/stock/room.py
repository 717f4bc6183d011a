"""One chat document and its session: what is sent, and what comes back into the document.

The document is a view: the session has everything. It can be closed, moved or changed without harm to the session.
"""

from __future__ import annotations

import os.path
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import anyio

from agent_ls.app.errors import OwnerSilentError, SessionBusyError
from agent_ls.app.owners import AccessChange, Came, OwnerChanged, Went
from agent_ls.loop.events import (
    ApprovalRequested,
    ApprovalResolved,
    EndReason,
    Envelope,
    FileChange,
    HunkStateChanged,
    ProcessingEnd,
    QuestionAsked,
    SessionEnd,
    SessionStart,
    StateChanged,
    ToolCallStart,
    UserInput,
)
from agent_ls.loop.ids import new_id
from agent_ls.loop.subscription import Subscription
from agent_ls.server import protocol as wire, to_lsp
from agent_ls.server.context import Context
from agent_ls.server.seams import Live
from agent_ls.server.stock.chat_text import appended, mentions, read_chat
from agent_ls.server.stock.progress import TurnProgress
from agent_ls.server.stock.prompts import ApprovalPrompts
from agent_ls.server.stock.transcript import ChatTranscript
from agent_ls.server.stock.words import one_line
from agent_ls.server.stock.writer import ATTRIBUTION, ChatWriter
from agent_ls.store.locks import Owner
from agent_ls.text import split_lines

if TYPE_CHECKING:
    from agent_ls.app.reading_along import ReadAlong

LEAVE, FORCE = "Leave It There", "Take It by Force"

Start: TypeAlias = Callable[[Callable[[], Awaitable[None]]], None]

_ENDS: Mapping[EndReason, str] = {
    "completed": "done.",
    "refused": "done, but for what was refused.",
    "limit": "stopped at a limit; the chat says which.",
    "error": "ended by an error; the chat says which.",
}
"""In a message, where no progress tells it. Who stopped a turn knows."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a room uses of the face. `say` shows a problem, `tell` what is no problem; `hunks_changed` is told of files;

    `changed` of the rest. `prompts` and `progress` are None for clients that did not announce them. `ask` shows a
    question with answers, the safe one first, and gives the title that was chosen; "" for none.
    """

    context: Context
    start: Start
    say: Callable[[str], None]
    tell: Callable[[str], None]
    hunks_changed: Callable[[str], None]
    changed: Callable[[], None]
    prompts: ApprovalPrompts | None
    progress: Callable[[], TurnProgress] | None
    ask: Callable[[str, Sequence[str]], Awaitable[str]]


def told_owner(owner: Owner | None) -> str:
    return f"another editor ({owner})" if owner else "another editor, which has ended,"


class ChatRoom:
    def __init__(self, path: str, means: Means) -> None:
        self.path = path
        self._means = means
        self._live: Live | None = None
        self._writer: ChatWriter | None = None
        self._read: ReadAlong | None = None
        self._subscription: Subscription | None = None
        self._rest: Subscription | None = None
        self._scope = anyio.CancelScope()
        self._sending = anyio.Lock()

    @property
    def live(self) -> Live | None:
        """The session, while it is open here."""
        return self._live

    @property
    def read_only(self) -> str:
        """Who has the session, in words, while it is another process's; "" while it is not."""
        return told_owner(self._read.owner) if self._read else ""

    @property
    def pending(self) -> Mapping[str, ApprovalRequested]:
        """Approvals that wait, by id."""
        requests = self._live.desk.pending() if self._live else ()
        return {request.request_id: request for request in requests}

    @property
    def is_running(self) -> bool:
        return self._live is not None and self._live.session.state in ("PROCESSING", "AWAITING_INPUT")

    @property
    def holds_back(self) -> bool:
        """Something of the answer waits for a command of the user's, with which his editor takes it."""
        return self._writer is not None and self._writer.is_held

    # -- what the user does

    def show(self) -> None:
        if self._writer:
            self._writer.retry()

    async def opened(self) -> None:
        """A turn that was cut while it waited for a person goes on waiting (R4), and its answer goes on here."""
        document = self._means.context.host.open_document(self.path)
        chat = read_chat(document.text) if document else None
        if not chat or not chat.session_id or self._live:
            return
        async with self._sending:
            if await self._means.context.bench.owners.is_owned(chat.session_id):
                await self._read_along(chat.session_id)
            elif chat.is_answer_last:
                await self._follow(await self._stored(chat.session_id), take_up=True)

    async def send(self) -> str:
        """Submits what stands below the last heading; a sentence when there is nothing to send."""
        async with self._sending:
            document = self._means.context.host.open_document(self.path)
            if document is None:
                return "Open the chat document first."
            chat = read_chat(document.text)
            if self._read:
                return self._words(self._read)
            if self.is_running:
                return "The agent is still at work; agentLs.stop ends its turn."
            if self.holds_back:  # what stands there last is the message that was answered
                return "The last answer is not in the chat yet: agentLs.show brings it there."
            if not chat.message:
                return "There is nothing to send: write below the last heading."
            if self._live is None or self._live.session.is_closing:
                found = await self._stored(chat.session_id)
                if self._read:
                    return ""  # it has been said
                await self._follow(found or await self._new())
            live = self._live
            if live is None:
                return "The session could not be opened."
            text, images = self._means.context.told(self._input(chat.message, live))
            live.session.submit(text, images=images, client_key=new_id("k"))
            return ""

    async def take_over(self) -> str:
        """The session of another process becomes ours; one that does not answer only if the user says so."""
        read, bench = self._read, self._means.context.bench
        if read is None:
            return "This session is not open in another editor."
        try:
            await bench.take_over(read.id, force=False)
        except OwnerSilentError as silent:
            question = f"agent-ls: {silent}. Take it by force? What it does meanwhile is lost."
            if await self._means.ask(question, (LEAVE, FORCE)) != FORCE:
                return ""
            await bench.take_over(read.id, force=True)
        return ""

    def access_changed(self, change: AccessChange) -> None:
        """As Owners.watch tells it."""
        match change:
            case Came(live) if self._read and self._read.id == live.id:
                self._means.start(partial(self._took_over, live))
            case Went(session) if self._live and self._live.session.id == session.id:
                self._live, self._read = None, session
                self._rest = session.subscribe()
                if self._subscription:
                    self._subscription.end()
                self._changed_hands(session)
            case OwnerChanged(session) if session is self._read:
                self._means.hunks_changed(self.path)  # the mark names the owner
            case _:
                pass

    async def mention(self, path: str, first: int, end: int) -> str:
        """Puts `@path:first-last` at the end of the document, for the user to go on writing."""
        host = self._means.context.host
        document = host.open_document(self.path)
        if document is None or read_chat(document.text).is_answer_last:
            return "The agent still has the word in the chat; wait for its end."
        name = path.removeprefix(self._folder().rstrip("/") + "/")
        words = f"@{name}:{first + 1}-{max(end, first + 1)} "
        await host.apply_edit(document, appended(document.text, words), ATTRIBUTION)
        return ""

    def stop(self) -> None:
        if self._live:
            self._live.session.interrupt()

    def close(self) -> None:
        """The document is closed. The session stays open: its turn goes on, and what it asks still waits."""
        self._scope.cancel()
        self._live = self._read = None

    # -- the session

    async def _read_along(self, session_id: str) -> None:
        """It is another process's: nothing is written here, for its editor may show the same document."""
        session = await self._means.context.bench.owners.read_along(session_id)
        if session.summary().workspace_folder != self._folder():
            session.subscribe().close()
            return
        self._scope.cancel()
        self._scope = scope = anyio.CancelScope()
        self._read, subscription = session, session.subscribe()

        async def listen() -> None:
            with scope, subscription:
                async for _ in subscription:
                    pass

        self._means.start(listen)
        self._changed_hands(session)

    async def _took_over(self, live: Live) -> None:
        document = self._means.context.host.open_document(self.path)
        chat = read_chat(document.text) if document else None
        async with self._sending:
            await self._follow(live, take_up=chat is not None and chat.is_answer_last)
        self._means.hunks_changed(self.path)

    def _changed_hands(self, session: ReadAlong) -> None:
        self._means.say(f"agent-ls: {self._words(session)}")
        self._means.hunks_changed(self.path)
        self._means.changed()

    def _words(self, session: ReadAlong) -> str:
        return (
            f"This chat is read only: {told_owner(session.owner)} has its session. The code action "
            '"Take over" (command agentLs.takeOver) makes it this editor\'s.'
        )

    def _folder(self) -> str:
        folders = [f for f in self._means.context.folders() if self.path.startswith(f.rstrip("/") + "/")]
        return max(folders, key=len, default="") or os.path.dirname(self.path)

    async def _new(self) -> Live:
        await self._means.context.settled()
        return await self._means.context.bench.new_session(
            workspace_folder=self._folder(),
            provider=None,
            model=None,
            effort=None,
            mode=None,
            review=None,
            title=None,
        )

    async def _stored(self, session_id: str) -> Live | None:
        """The session that the document names; None for one that is not there, or belongs to another folder."""
        if not session_id:
            return None
        try:
            live = await self._means.context.bench.open_session(session_id)
        except SessionBusyError:
            await self._read_along(session_id)
            return None
        except Exception as error:  # the edge: a name in a file may be anything
            self._means.say(f"agent-ls: {error}. The chat goes on in a new session.")
            return None
        return live if live.summary().workspace_folder == self._folder() else None

    def _input(self, message: str, live: Live) -> list[wire.InputPart]:
        parts: list[wire.InputPart] = []
        if message.startswith("/"):
            name, _, rest = message[1:].partition(" ")
            known = self._means.context.command(name)
            parts.append(
                wire.CommandInput(name=name, arguments=rest) if known else wire.TextInput(text=message)
            )
        else:
            parts.append(wire.TextInput(text=message))
        folder = live.summary().workspace_folder
        for mention in mentions(message):
            path = os.path.normpath(os.path.join(folder, mention.path))
            if mention.path == "problems":
                parts.append(wire.DiagnosticsInput())
            elif mention.lines and (document := self._means.context.host.open_document(path)):
                first, end = mention.lines
                text = "".join(split_lines(document.text)[first:end])
                uri = to_lsp.uri(path)
                parts.append(wire.SelectionInput(uri=uri, start_line=first, end_line=end, text=text))
        return parts

    async def _follow(self, live: Live | None, *, take_up: bool = False) -> None:
        if live is None:
            return
        self._scope.cancel()
        self._scope = anyio.CancelScope()
        self._live, self._read, self._rest = live, None, None
        writer = ChatWriter(self._means.context.host, self.path, live.session.id, self._means.say)
        self._writer = writer
        if take_up:
            writer.take_up()
        subscription = self._subscription = live.session.subscribe()
        scope = self._scope

        async def follow() -> None:
            with scope, subscription:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(writer.run)
                    following = _Following(self._means, live, writer)
                    await following.run(subscription)
                    if self._rest and not self._live:
                        await following.finish(self._rest)
                    await writer.finished()
                    tasks.cancel_scope.cancel()
            if self._live is live:
                self._live = None

        self._means.start(follow)
        for path in self._means.context.bench.review.open_hunks(session_id=live.session.id):
            self._means.hunks_changed(path)
        for request in live.desk.pending():
            if self._means.prompts:
                self._means.prompts.ask(request, live.desk)
        self._means.changed()


class _Following:
    """Tells everybody what a session's events mean for them."""

    def __init__(self, means: Means, live: Live, writer: ChatWriter) -> None:
        self._means = means
        self._live = live
        self._writer = writer
        self._transcript = ChatTranscript()
        self._progress = means.progress() if means.progress else None
        self._last = 0

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
            self._writer.write(self._transcript.feed(envelope))
        self._tell(envelope)

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
                    means.prompts.ask(request, self._live.desk)
                means.changed()
            case QuestionAsked(question=question):
                if progress:
                    progress.report("waits for you")
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
                self._writer.close_answer()
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
