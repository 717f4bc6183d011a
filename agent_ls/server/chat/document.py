"""One chat document and its session: sends the user's messages and shows the answers.

The document is only a view; the session has all the content. Closing, moving or changing the document does not affect
the session.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from agent_ls.environments.errors import EnvError, StaleFileError
from agent_ls.features.mcp.listing import run_command
from agent_ls.loop.events.subscription import Subscription
from agent_ls.loop.events.types import ApprovalRequested, QuestionAsked
from agent_ls.loop.ids import new_id
from agent_ls.server import protocol as wire
from agent_ls.server.chat.chat_text import ChatText, append_line, get_mentions, heading, read_below, read_chat
from agent_ls.server.chat.follower import ChatEventHandler
from agent_ls.server.chat.last_turn import last_turn
from agent_ls.server.chat.running_sessions import MOST, is_running_command, list_running
from agent_ls.server.chat.servers import (
    NOT_STARTED,
    has_prompt,
    mentioned_resources,
    quote_answer,
    servers_command,
)
from agent_ls.server.chat.services import ChatServices
from agent_ls.server.chat.transcript import ChatTranscript, read_answer_text
from agent_ls.server.chat.words import match_choices, may_answer
from agent_ls.server.chat.writer import ATTRIBUTION, TRIES, ChatWriter
from agent_ls.server.features.mentions import as_parts
from agent_ls.server.features.server_prompts import with_server_prompts
from agent_ls.server.lsp import to_lsp
from agent_ls.server.lsp.from_lsp import true_name
from agent_ls.server.transport.errors import NothingPendingError
from agent_ls.services.errors import AppError, OwnerSilentError, SessionOwnedError
from agent_ls.sessions.new_session import SessionSpec
from agent_ls.sessions.ownership.session_ownership import AccessChange, Acquired, OwnerChanged, Released
from agent_ls.sessions.plan import ModeAfterPlan, accept_plan, plan_of
from agent_ls.store.locks import Owner
from agent_ls.system import display_path, relative_to_folder
from agent_ls.text import split_lines, strip_controls

if TYPE_CHECKING:
    from agent_ls.features.worktrees.worktree import Start
    from agent_ls.sessions.live import LiveSession
    from agent_ls.sessions.ownership.follower import SessionFollower

LEAVE, FORCE = "Leave It There", "Take It by Force"


def describe_owner(owner: Owner | None) -> str:
    return f"another editor ({owner})" if owner else "another editor, which was closed,"


class ChatDocument:
    """A chat document that is open in the editor."""

    def __init__(self, path: str, services: ChatServices) -> None:
        self.path = path
        self._services = services
        self._live: LiveSession | None = None
        self._writer: ChatWriter | None = None
        self._follower: SessionFollower | None = None
        self._subscription: Subscription | None = None
        self._remaining_events: Subscription | None = None
        self._scope = anyio.CancelScope()
        self._sending = anyio.Lock()
        self._sent = ("", 0)
        self._is_closed = self._has_warned_of_folder = False

    @property
    def name(self) -> str:
        """The path of the chat's file, relative to the workspace folder. No two open chats have the same name."""
        return display_path(self.path, self.folder)

    @property
    def live(self) -> LiveSession | None:
        """The session, while it is open in this process."""
        return self._live

    @property
    def read_only(self) -> str:
        """Name of the owner while another process owns the session, else ""."""
        return describe_owner(self._follower.owner) if self._follower else ""

    @property
    def pending(self) -> Mapping[str, ApprovalRequested]:
        """Pending approvals by request id."""
        requests = self._live.approver.pending() if self._live else ()
        return {request.request_id: request for request in requests}

    @property
    def is_running(self) -> bool:
        """Whether a turn has begun and not ended. A turn that waits for an approval, or for the answer to a
        question that it asked by a tool call, has not ended.
        """
        return self._live is not None and self._live.session.is_busy

    @property
    def pending_question(self) -> QuestionAsked | None:
        """The pending question of the agent, which the next message answers."""
        questions = self._live.session.questions.pending() if self._live else ()
        return questions[0] if questions else None

    @property
    def holds_back(self) -> bool:
        """Whether part of the answer is not written until the user runs a command, because the editor takes
        edits only after a command.
        """
        return self._writer is not None and self._writer.is_held

    @property
    def has_plan(self) -> bool:
        """Whether the last answer is a plan that the user can accept."""
        return self._live is not None and bool(plan_of(self._live))

    @property
    def has_worktree(self) -> bool:
        """Whether the session works in a git worktree of its own."""
        return self._live is not None and self._live.worktree is not None

    # -- actions of the user

    async def bring_changes(self) -> str:
        """Apply the changes of the worktree to the user's folder. Returns "" if all were applied, a sentence
        for each file that was not changed, or a sentence that says why nothing was done.
        """
        if self._live is None:
            return "This chat has no session yet."
        files = await self._live.bring_changes()
        left = [it for it in files if it.state == "left"]
        if not files:
            return "All changes of the worktree are already in this folder."
        return "; ".join(f"{display_path(it.path, self.folder)} {it.reason}" for it in left)

    def show(self) -> None:
        if self._writer:
            self._writer.retry()

    async def connect(self) -> None:
        """Connect an opened document to its session.

        If the session's turn was interrupted while it waited for the user, the turn waits again, and its
        answer continues in this document.
        """
        document = self._services.context.host.open_document(self.path)
        chat = read_chat(document.text) if document else None
        if not chat or self._live:
            return
        async with self._sending:
            session_id = chat.session_id or await self._unsaved_session(chat)
            if not session_id:
                return
            is_owned = await self._services.context.manager.owners.is_owned(session_id)
            if is_owned and await self._follow_if_owned_elsewhere(session_id):
                return
            # The last message in the document may have been sent already, but its answer not saved in the
            # document.
            if chat.is_answer_last or chat.message:
                await self._follow(await self._open_stored(session_id), catch_up=True)

    async def _unsaved_session(self, chat: ChatText) -> str:
        """Return the session id of a chat that was closed before its first answer was saved; "" if there is
        none. The document does not contain the id, because the id is written with the heading of the answer.
        """
        live = self._services.closed_chats.last_of(self.path)
        if live is None or not chat.message:
            return ""
        try:
            events = await anyio.to_thread.run_sync(live.events_since, 0)
        except OSError:
            return ""
        turn = last_turn(events, ChatTranscript())
        return live.session.id if turn and turn.message.startswith(chat.message) else ""

    async def send(self, saved: ChatText | None = None, worktree: Start | None = None) -> str:
        """Submit the text below the last heading. Returns "", or a sentence that says why nothing was sent.

        `worktree`: a session that is created for the message works in a git worktree of its own. `saved`: the
        chat as the user saved it, None if the user ran the command to send. After a save, "" is returned if
        there is nothing to send, because users do not always save in order to send.
        """
        async with self._sending:
            document = self._services.context.host.open_document(self.path)
            chat = (
                read_chat(document.text) if document else saved
            )  # the document may be closed right after the save
            if chat is None:
                return "Open the chat document first."
            if saved and not self.has_news(chat):
                return ""
            if self._follower:
                return self._read_only_text(self._follower)
            if self.holds_back:  # the last message in the document is already answered
                return "The chat does not display the last answer yet: run the code action 'Show the answer'."
            if not self.has_news(chat):
                return self._explain_nothing_sent(chat)
            if (words := await self._local_answer(chat)) is not None:
                return await self._append_answer(words)
            live = self._live
            if live is None or live.session.is_closing or self._begins_another(chat):
                found = await self._open_stored(chat.session_id)
                if self._follower:
                    return ""  # the user already got a message about the owner
                live = found or await self._create_session(worktree)
                if self._is_closed and (again := self._services.chat_documents.get(self.path)) is not None:
                    return await again.submit_handed_over(live, chat)
                if self._is_closed:
                    self._services.closed_chats.add(self.path, live)
                await self._follow(live)
            await self._submit(live, chat)
            return ""

    async def _local_answer(self, chat: ChatText) -> str | None:
        """Return the result of the command `/mcp` or `/running`; None if the message is neither.

        The server carries out these two commands itself, without the agent.
        """
        if is_running_command(chat.message):
            found, _ = await self._services.context.manager.list_sessions(None, None, MOST, running=True)
            return list_running(found, chat.session_id)
        if (arguments := servers_command(chat.message)) is None:
            return None
        live = self._live if self._live and not self._live.session.is_closing else None
        return strip_controls(await run_command(live.servers, arguments) if live else NOT_STARTED)

    async def _append_answer(self, words: str) -> str:
        """Write agent-ls's own answer below the user's message; if that fails, show the answer as a message.

        Returns "", which `send` returns if there is no problem to report.
        """
        for _ in range(TRIES):
            document = self._services.context.host.open_document(self.path)
            if document is None:
                break
            try:
                edits = append_line(document.text, quote_answer(words))
                await self._services.context.host.apply_edit(document, edits, ATTRIBUTION)
                return ""
            except StaleFileError:
                continue
            except EnvError:
                break  # an editor that takes edits only after a command
        self._services.show_information(f"agent-ls: {words}")
        return ""

    def _begins_another(self, chat: ChatText) -> bool:
        """Return whether the next message starts another session.

        This is the case if the document names another session than the current one, or none because the user
        emptied or replaced its text. The result is False while a turn runs, and before the heading that names
        the session is written.
        """
        is_ours = self._live is not None and self._live.session.id == chat.session_id
        may_be_named_yet = self._is_behind and not (self._writer and self._writer.has_written)
        return not is_ours and not self.is_running and not may_be_named_yet

    async def submit_handed_over(self, live: LiveSession, chat: ChatText) -> str:
        """Submit a message that a previous ChatDocument object for this document has begun to send.

        The document was closed and opened again before that ChatDocument had sent the message.
        """
        async with self._sending:
            if self._live is not live:
                await self._follow(live)
            await self._submit(live, chat)
            return ""

    def _explain_nothing_sent(self, chat: ChatText) -> str:
        if self.is_running:
            return "The agent is still working; the code action 'Stop the agent' ends its turn."
        if chat.message:
            return "The answer is being written into the chat."
        return "There is nothing to send: write your message below the last heading."

    def has_news(self, chat: ChatText) -> bool:
        """Return whether the document ends with an unsent message of the user."""
        is_reported = self._sent == (chat.message, chat.message_line) and (self.is_running or self._is_behind)
        return bool(chat.message) and not is_reported and not self.holds_back

    @property
    def _is_behind(self) -> bool:
        """Whether events of the session are not written into the document yet."""
        waits = self._subscription is not None and self._subscription.waiting_size > 0
        return waits or (self._writer is not None and self._writer.is_behind)

    async def accept_plan(self, mode: ModeAfterPlan) -> str:
        """Accept the plan, and let the agent carry it out in `mode`. Sends the last answer as it is in the
        document now, and the text typed below it. Returns "", or a sentence that says why the plan cannot be
        accepted.
        """
        async with self._sending:
            document, live = self._services.context.host.open_document(self.path), self._live
            if document is None or live is None or not self.has_plan:
                return "There is no plan to accept: in mode plan, ask for a plan and wait for the answer."
            if self._is_behind:
                return "The plan is not in the chat yet: wait, or run the code action 'Show the answer'."
            chat = read_chat(document.text)
            plan = read_answer_text(read_below(document.text, heading(chat.session_id, chat.count)) or "")
            await accept_plan(live, f"{plan}\n\n{chat.message}", mode, new_id("k"))
            self._sent = (chat.message, chat.message_line)
            if self._writer:
                self._writer.set_message(chat.message)
                self._writer.begin_new_answer()
            return ""

    def answer(self, question_id: str, words: str) -> None:
        """Answer the pending question.

        Raises:
            NothingPendingError: the question is not pending here.
        """
        asked = self.pending_question
        if self._live is None or asked is None or asked.question_id != question_id:
            raise NothingPendingError(
                f"this question is no longer pending ({question_id})", "open the list of code actions again"
            )
        self._answer_question(self._live, asked, words)

    async def _submit(self, live: LiveSession, chat: ChatText) -> None:
        """Start a turn, answer the pending question, or steer the running turn."""
        self._sent = (chat.message, chat.message_line)
        if self._writer:
            self._writer.set_message(chat.message)
        if (asked := self.pending_question) and may_answer(asked, chat.message):
            self._answer_question(live, asked, chat.message)
            return
        context = self._services.context
        try:
            parts = await with_server_prompts(context, live, await self._parse_message(chat.message, live))
            parts = [
                *await context.expand_parts(parts, live),
                *as_parts(await live.mentions.read_typed(chat.message)),
            ]
        except AppError:
            self._sent = ("", 0)  # saving the same message again sends it
            raise
        await live.warn_of_missing_files(chat.message)
        text, images = self._services.context.convert_input(parts)
        steers = self.is_running
        live.session.submit(
            text, images=images, client_key=new_id("k"), when_busy="steer" if steers else "queue"
        )
        if self._writer:
            self._writer.begin_new_answer()

    def _answer_question(self, live: LiveSession, asked: QuestionAsked, words: str) -> None:
        said = match_choices(words, asked.choices, multiple=asked.multiple)
        by = self._services.context.client_id
        live.session.questions.answer(asked.question_id, said, declined=False, by=by, client_key=new_id("k"))

    async def take_over(self) -> str:
        """Take the session over from another process. If the owner does not answer, asks the user before a
        forced take-over. Returns "", or a sentence that says why there is no session to take over.
        """
        follower, manager = self._follower, self._services.context.manager
        if follower is None:
            return "This session is not open in another editor."
        try:
            await manager.take_over(follower.id, force=False)
        except OwnerSilentError as silent:
            question = (
                f"agent-ls: {silent}. Take the session over by force? Work that the other "
                "editor does until then is lost."
            )
            if await self._services.prompts.choose(question, (LEAVE, FORCE)) != FORCE:
                return ""
            await manager.take_over(follower.id, force=True)
        return ""

    def access_changed(self, change: AccessChange) -> None:
        """Handle a change of the session's owner (see SessionOwnership.watch)."""
        match change:
            case Acquired(live) if self._follower and self._follower.id == live.id:
                self._services.start(partial(self._took_over, live))
            case Released(session) if self._live and self._live.session.id == session.id:
                self._live, self._follower = None, session
                self._remaining_events = session.subscribe()
                if self._subscription:
                    self._subscription.end()
                self._follow_owner(session)
            case OwnerChanged(session) if session is self._follower:
                self._services.hunks_changed(self.path)  # updates the diagnostic, which names the owner
            case _:
                pass

    async def ask_about(self, path: str, first: int, end: int, begin: str) -> str:
        """Append a message that begins with `begin` and mentions the lines [first, end) of `path`, and send
        it. Returns "", or why it was not sent.
        """
        document = self._services.context.host.open_document(self.path)
        if document and read_chat(document.text).message:
            return "The chat has text that you have not sent: send or remove this text first."
        return await self.mention(path, first, end, f"{begin.strip()} ") or await self.send()

    async def mention(self, path: str, first: int, end: int, begin: str = "") -> str:
        """Append `begin` and a mention of the lines [first, end), `@path:first-last`, to the document. The
        user can continue the message after the mention. Returns "", or why nothing was written.
        """
        host = self._services.context.host
        document = host.open_document(self.path)
        if document is None or read_chat(document.text).is_answer_last:
            return "The agent is still writing in the chat; wait until it is done."
        name = display_path(path, self.folder)
        words = f"{begin}@{name}:{first + 1}-{max(end, first + 1)} "
        await host.apply_edit(document, append_line(document.text, words), ATTRIBUTION)
        return ""

    def stop(self) -> None:
        if self._live:
            self._live.session.interrupt()

    def close(self) -> None:
        """Handle the closing of the document. The session stays open: its turn continues and its questions stay
        pending.
        """
        # Running work must stop too: the document may be opened again, and then gets another ChatDocument.
        self._is_closed = True
        self._scope.cancel()
        if self._live:
            self._services.closed_chats.add(self.path, self._live)
        self._live = self._follower = None

    # -- the session

    async def _follow_if_owned_elsewhere(self, session_id: str) -> bool:
        """Follow the session if another process owns it, and return whether one does.

        While another process owns the session, nothing is written into the document, because the owner's
        editor may have the same document open.
        """
        session = await self._services.context.manager.owners.open_follower(session_id)
        if session is None:
            return False
        if true_name(session.summary().workspace_folder) != true_name(self.folder):
            session.subscribe().close()
            return True
        if self._is_closed:
            session.subscribe().close()
            self._follower = session
            return True
        self._scope.cancel()
        self._scope = scope = anyio.CancelScope()
        self._follower, subscription = session, session.subscribe()

        async def listen() -> None:
            with scope, subscription:
                async for _ in subscription:
                    pass

        self._services.start(listen)
        self._follow_owner(session)
        return True

    async def _took_over(self, live: LiveSession) -> None:
        async with self._sending:
            await self._follow(live, catch_up=True)
        self._services.hunks_changed(self.path)

    def _follow_owner(self, session: SessionFollower) -> None:
        self._services.show_warning(f"agent-ls: {self._read_only_text(session)}")
        self._services.hunks_changed(self.path)
        self._services.refresh_lenses()

    def _read_only_text(self, session: SessionFollower) -> str:
        return (
            f"This chat is read-only, because {describe_owner(session.owner)} has its session open. The code action "
            '"Take over" (command agentLs.takeOver) moves the session to this editor.'
        )

    @property
    def folder(self) -> str:
        """Workspace folder of this chat's sessions."""
        folders = [f for f in self._services.context.folders() if relative_to_folder(self.path, f)]
        return max(folders, key=len, default="") or os.path.dirname(self.path)

    async def _create_session(self, worktree: Start | None) -> LiveSession:
        await self._services.context.wait_for_settings()
        return await self._services.context.manager.new_session(
            SessionSpec(workspace_folder=self.folder, worktree=worktree)
        )

    async def _open_stored(self, session_id: str) -> LiveSession | None:
        """Open the session that the document names. Return None if it does not exist, belongs to another
        folder, or is owned by another process.
        """
        if not session_id:
            return None
        try:
            while not (live := await self._maybe_open(session_id)):
                if await self._follow_if_owned_elsewhere(session_id):
                    return None
        except Exception as error:  # last resort: the id in a document may be anything
            self._services.show_warning(f"agent-ls: {error}. The chat continues in a new session.")
            return None
        if true_name(live.summary().workspace_folder) == true_name(self.folder):
            return live
        if not self._has_warned_of_folder:
            self._has_warned_of_folder = True
            folder = live.summary().workspace_folder
            self._services.show_warning(
                f"agent-ls: this chat's session works in {folder}. The chat continues in a new session here."
            )
        return None

    async def _maybe_open(self, session_id: str) -> LiveSession | None:
        """Open a session; return None if another process owns it."""
        try:
            return await self._services.context.manager.open_session(session_id)
        except SessionOwnedError:
            return None

    async def _parse_message(self, message: str, live: LiveSession) -> list[wire.InputPart]:
        parts: list[wire.InputPart] = []
        if message.startswith("/"):
            name, *rest = message[1:].split(maxsplit=1) or [""]
            known = await self._services.context.has_command(name, live) or has_prompt(live, name)
            parts.append(
                wire.CommandInput(name=name, arguments="".join(rest))
                if known
                else wire.TextInput(text=message)
            )
        else:
            parts.append(wire.TextInput(text=message))
        resources = mentioned_resources(live, message)
        parts += resources.values()
        folder = live.summary().workspace_folder
        for mention in get_mentions(message):
            path = os.path.normpath(os.path.join(folder, mention.path))  # noqa: ASYNC240  # no disk is read
            if mention.path == "problems":
                # Plugin-free editors do not report the diagnostics of other servers, so the files may
                # have problems although the count is 0.
                if self._services.context.host.diagnostics.counts[0]:
                    parts.append(wire.DiagnosticsInput())
            elif mention.lines and (document := self._services.context.host.open_document(path)):
                first, end = mention.lines
                text = "".join(split_lines(document.text)[first:end])
                uri = to_lsp.uri(path)
                parts.append(wire.SelectionInput(uri=uri, start_line=first, end_line=end, text=text))
        return parts

    async def _follow(self, live: LiveSession | None, *, catch_up: bool = False) -> None:
        if live is None or self._is_closed:
            return
        self._scope.cancel()
        self._scope = anyio.CancelScope()
        if self._live and self._live is not live:
            self._services.closed_chats.add(self.path, self._live)
        self._live, self._follower, self._remaining_events = live, None, None
        writer = ChatWriter(
            self._services.context.host, self.path, live.session.id, self._services.show_warning
        )
        self._writer = writer
        subscription = self._subscription = live.session.subscribe()
        scope = self._scope
        handler = ChatEventHandler(self._services, live, writer)
        if catch_up:
            await handler.catch_up()
            if handler.is_unanswered and (document := self._services.context.host.open_document(self.path)):
                chat = read_chat(document.text)
                self._sent = (chat.message, chat.message_line)

        async def follow() -> None:
            with scope, subscription:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(writer.run)
                    await handler.run(subscription)
                    if self._remaining_events and not self._live:
                        await handler.finish(self._remaining_events)
                    await writer.wait_until_finished()
                    tasks.cancel_scope.cancel()
            if self._live is live:
                self._live = None

        self._services.start(follow)
        for path in self._services.context.manager.review.open_hunks(session_id=live.session.id):
            self._services.hunks_changed(path)
        for request in live.approver.pending():
            self._services.prompts.ask(request, live.approver, writer.wait_until_written)
        self._services.refresh_lenses()
