"""User interface for plugin-free clients: the open chat documents, and handlers of the standard LSP messages
about them.

Commands are answered at once, because some editors block until the answer. Effects and errors of a command
are shown later. A client only gets messages that it announced support for.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property, partial
from typing import Any

from anyio.to_thread import run_sync
from lsprotocol import types as lsp

from agent_ls.background import TaskStarter
from agent_ls.loop.calls.approval import ApprovalAnswer, UnknownApprovalError
from agent_ls.server.chat import code_actions as offers, messages
from agent_ls.server.chat.chat_text import is_chat, read_chat
from agent_ls.server.chat.closed_chats import ClosedChats
from agent_ls.server.chat.completion import completions
from agent_ls.server.chat.diagnostics import ChatDiagnostics
from agent_ls.server.chat.dialogs import ApprovalPrompts
from agent_ls.server.chat.document import ChatDocument
from agent_ls.server.chat.early_save import was_saved_while_starting
from agent_ls.server.chat.lens_refresh import Lenses, LensRefresh
from agent_ls.server.chat.progress import TurnProgress
from agent_ls.server.chat.services import ChatServices
from agent_ls.server.features.blame import AgentFiles, blamed_lines, describe, hover
from agent_ls.server.features.findings import FindingDiagnostics
from agent_ls.server.lsp import to_lsp
from agent_ls.server.lsp.capabilities import COMMAND, FINDING_COMMANDS, STOCK_COMMANDS
from agent_ls.server.lsp.from_lsp import maybe_path
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.parameters import CodeAction, Command, read_params
from agent_ls.server.transport.errors import BadInputError, InvalidParamsError, NothingPendingError
from agent_ls.server.transport.jsonrpc import AgentProtocol
from agent_ls.services.review.decision_request import Selection
from agent_ls.sessions.live import LiveSession
from agent_ls.sessions.ownership.session_ownership import AccessChange
from agent_ls.text import join_sentences, split_lines

log = logging.getLogger(__name__)


class ChatInterface:
    """User interface for plugin-free clients. `start` runs a task.

    The editor host calls the methods `on_opened`, `on_changed`, `on_saved` and `on_closed`.
    """

    def __init__(self, context: Context, protocol: AgentProtocol, start: TaskStarter) -> None:
        client = context.client
        self._context = context
        self._protocol = protocol
        self._start = start
        self._chat_documents: dict[str, ChatDocument] = {}
        self._seen: set[str] = set()
        self._tokens: dict[str, Callable[[], None]] = {}
        self._lenses = LensRefresh(start, self._send_lens_refresh, self._current_lenses)
        self._diagnostics = ChatDiagnostics(
            context,
            protocol,
            start,
            self._read_only,
            self._lenses.refresh_if_changed,
            lambda path: self._findings.diagnostics(path),
        )
        self._findings = FindingDiagnostics(
            context, context.manager.review.findings, self._diagnostics.handle_change, start
        )
        prompts = ApprovalPrompts(protocol, context.client_id, start)
        self._services = ChatServices(
            context=context,
            start=start,
            show_warning=self._protocol.show,
            show_information=self._show_information,
            hunks_changed=self._diagnostics.handle_change,
            refresh_lenses=self._lenses.refresh_if_changed,
            prompts=prompts,
            progress=partial(TurnProgress, protocol, self._tokens) if client.work_done_progress else None,
            chat_documents=self._chat_documents,
            closed_chats=ClosedChats(self._diagnostics, prompts, start, self._has_open_document),
        )
        context.manager.owners.watch(self._access_changed)
        self.answers: Mapping[str, Callable[[Any], Awaitable[Any]]] = {
            lsp.TEXT_DOCUMENT_CODE_ACTION: self._code_actions,
            lsp.TEXT_DOCUMENT_CODE_LENS: self._code_lenses,
            lsp.TEXT_DOCUMENT_COMPLETION: self._completion,
            lsp.TEXT_DOCUMENT_HOVER: self._hover,
            lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL: self._progress_cancelled,
            COMMAND: self._command,
        }
        self._commands: Mapping[str, Callable[[Any], Awaitable[None]]] = {
            "agentLs.send": self._send,
            "agentLs.show": self._show,
            "agentLs.stop": self._stop,
            "agentLs.answer": self._answer_question,
            "agentLs.approve": self._approve,
            "agentLs.deny": self._deny,
            "agentLs.keep": partial(self._review, "keep"),
            "agentLs.undo": partial(self._review, "undo"),
            "agentLs.ask": self._ask,
            "agentLs.takeOver": self._take_over,
            "agentLs.acceptPlan": self._accept_plan,
            "agentLs.bringChanges": self._bring_changes,
            "agentLs.blame": self._blame,
            **{name: partial(self._act_on_finding, name) for name in FINDING_COMMANDS},
        }
        assert self._commands.keys() == {*STOCK_COMMANDS, *FINDING_COMMANDS}

    @cached_property
    def _agent_files(self) -> AgentFiles:
        return AgentFiles(self._context)

    # -- documents (interface Watcher of editor/host.py)

    def on_opened(self, path: str) -> None:
        self._agent_files.forget(path)
        self.text_changed(path)
        if is_chat(path) and path not in self._chat_documents:
            chat_document = self._chat_documents[path] = ChatDocument(path, self._services)
            is_first = path not in self._seen
            self._seen.add(path)
            self._start(partial(self._connect, chat_document, is_first=is_first))

    async def _connect(self, chat_document: ChatDocument, *, is_first: bool) -> None:
        """Connect an opened chat, and send it if the user saved it while the server started: editors do not report
        that save.

        A chat that is opened again is not sent, because the editor reported each save of it, and a save sends the chat.
        """
        await chat_document.connect()
        if not is_first:
            return
        document = self._context.host.open_document(chat_document.path)
        if document is None:
            return
        is_early = await run_sync(was_saved_while_starting, chat_document.path, document.text)
        if is_early:
            self.on_saved(chat_document.path)

    def on_changed(self, path: str) -> None:
        self._diagnostics.handle_typing(path)
        self.text_changed(path)

    def on_saved(self, path: str) -> None:
        self._agent_files.forget(path)
        chat_document = self._chat_documents.get(path)
        document = self._context.host.open_document(path)
        if chat_document and document and chat_document.has_news(chat := read_chat(document.text)):
            self._start_command(partial(chat_document.send, chat))

    def on_closed(self, path: str) -> None:
        self.text_changed(path)
        self._lenses.forget(path)
        self._agent_files.forget(path)
        if chat_document := self._chat_documents.pop(path, None):
            chat_document.close()

    def text_changed(self, path: str) -> None:
        """Handle a possible change of a file, in the editor or on disk."""
        self._findings.text_changed(path)

    def _has_open_document(self, live: LiveSession) -> bool:
        return any(chat_document.live is live for chat_document in self._chat_documents.values())

    def _read_only(self, path: str) -> str:
        chat_document = self._chat_documents.get(path)
        return chat_document.read_only if chat_document else ""

    def _access_changed(self, change: AccessChange) -> None:
        for chat_document in self._chat_documents.values():
            chat_document.access_changed(change)

    # -- messages to the client

    def _show_information(self, text: str) -> None:
        self._protocol.show(text, lsp.MessageType.Info)

    def _start_command(self, work: Callable[[], Awaitable[str]]) -> None:
        """Run `work` in a task. Problems and errors of `work` are shown as messages."""

        async def run_and_report() -> None:
            try:
                problem = await work()
            except Exception as error:  # last resort: the command was already answered
                hint = getattr(error, "hint", "")
                problem = join_sentences(str(error), hint)
                log.info("a command failed: %s", error, exc_info=error)
            if problem:
                self._protocol.show(f"agent-ls: {problem}")

        self._start(run_and_report)

    def _send_lens_refresh(self) -> None:
        if self._context.client.code_lens_refresh:
            self._protocol.send_request(lsp.WORKSPACE_CODE_LENS_REFRESH)

    # -- requests of the client

    async def _code_actions(self, raw: Any) -> list[dict[str, Any]]:
        params = read_params(CodeAction, lsp.TEXT_DOCUMENT_CODE_ACTION, raw)
        uri = params.text_document.uri
        path, (start, end) = maybe_path(uri) or "", params.range.in_order()
        first, last = start.line, end.line
        found = self._chat_offers(path, uri) + self._worktree_offers(path, uri)
        hunks = self._diagnostics.hunks(path)
        for hunk in hunks:
            if offers.is_in_lines(hunk, first, last):
                found += offers.hunk_offers(hunk)
        found += [
            offers.Offer(offers.QUICKFIX, action.title, action.command, (dict(action.argument),))
            for action in self._findings.actions(path, first, last)
        ]
        own = self._chat_documents.get(path)
        asking = {
            id_: chat_document
            for chat_document in ([own] if own else self._chat_documents.values())
            for id_ in chat_document.pending
        }
        for id_, chat_document in asking.items():
            name = "" if own or len(self._chat_documents) == 1 else chat_document.name
            found += offers.approval_offers(
                chat_document.pending[id_], chat_document.live.session.id if chat_document.live else "", name
            )
        found += offers.file_offers(uri, len(hunks))
        if path and await self._agent_files.has(path):
            found.append(offers.blame_offer(uri, first))
        chats = {to_lsp.uri(it): chat_document.name for it, chat_document in self._chat_documents.items()}
        if start != end and path and not is_chat(path):
            lines = {"uri": uri, "first": first, "end": last + (end.character > 0)}
            found += offers.ask_offers(lines, chats)
            found += offers.problem_offers(lines, "", chats)
        for problem in params.context.diagnostics:
            if path and not is_chat(path) and problem.source != "agent-ls":
                at, until = problem.range.in_order()
                lines = {"uri": uri, "first": at.line, "end": until.line + 1}
                found += offers.problem_offers(lines, problem.message, chats)
        literal = self._context.client.code_action_literals
        return [
            offer.as_action() if literal else offer.as_command()
            for offer in offers.filter_offers(found, params.context.only)
        ]

    async def _hover(self, raw: Any) -> dict[str, object] | None:
        params = read_params(messages.Hover, lsp.TEXT_DOCUMENT_HOVER, raw)
        path = maybe_path(params.text_document.uri) or ""
        return None if not path or is_chat(path) else await hover(self._context, path, params.position.line)

    async def _blame(self, given: Any) -> None:
        lines = read_params(messages.BlamedPlace, "agentLs.blame", given)
        found = await blamed_lines(self._context, maybe_path(lines.uri) or "")
        if lines.line < len(found):
            self._show_information(describe(found[lines.line]))

    async def _code_lenses(self, raw: Any) -> Lenses:
        return self._lenses.answer(
            read_params(messages.CodeLens, lsp.TEXT_DOCUMENT_CODE_LENS, raw).text_document.uri
        )

    def _current_lenses(self, uri: str) -> Lenses:
        path = maybe_path(uri) or ""
        document = self._context.host.open_document(path)
        if document and (chat_document := self._chat_documents.get(path)):
            line = max(read_chat(document.text).message_line - 1, 0)
            last = max(len(split_lines(document.text)) - 1, 0)
            asked = [
                offers.make_lens(last, offer)
                for request in chat_document.pending.values()
                for offer in offers.approval_offers(
                    request, chat_document.live.session.id if chat_document.live else ""
                )
            ]
            return [offers.make_lens(line, offer) for offer in self._chat_offers(path, uri)] + asked
        return [
            offers.make_lens(hunk.start, offer)
            for hunk in self._diagnostics.hunks(path)
            for offer in offers.hunk_offers(hunk)
        ]

    def _chat_offers(self, path: str, uri: str) -> list[offers.Offer]:
        chat_document, document = self._chat_documents.get(path), self._context.host.open_document(path)
        if not chat_document or not document:
            return []
        if chat_document.read_only:
            return offers.read_only_offers(uri, chat_document.read_only)
        can_send = chat_document.has_news(read_chat(document.text))
        found = offers.chat_offers(
            uri, can_send=can_send, is_running=chat_document.is_running, holds_back=chat_document.holds_back
        )
        if chat_document.has_plan:
            found += offers.plan_offers(uri)
        return (
            [*offers.answer_offers(uri, chat_document.pending_question), *found]
            if chat_document.pending_question
            else found
        )

    def _worktree_offers(self, path: str, uri: str) -> list[offers.Offer]:
        chat_document, document = self._chat_documents.get(path), self._context.host.open_document(path)
        if not chat_document or not document or chat_document.read_only:
            return []
        if chat_document.has_worktree:
            return [offers.worktree_offer(uri)]
        chat = read_chat(document.text)
        is_first = not chat.session_id and chat_document.live is None and chat_document.has_news(chat)
        return [offers.new_worktree_offer(uri)] if is_first else []

    async def _completion(self, raw: Any) -> dict[str, Any]:
        params = read_params(messages.CompletionParams, lsp.TEXT_DOCUMENT_COMPLETION, raw)
        path = maybe_path(params.text_document.uri) or ""
        chat_document = self._chat_documents.get(path)
        if not chat_document:
            return {"isIncomplete": False, "items": []}
        at = params.position
        session_id = chat_document.live.session.id if chat_document.live else None
        return await completions(self._context, path, chat_document.folder, session_id, at.line, at.character)

    async def _progress_cancelled(self, raw: Any) -> None:
        token = read_params(messages.ProgressCancel, lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL, raw).token
        if cancelled := self._tokens.get(str(token)):
            cancelled()

    # -- commands

    async def _command(self, raw: Any) -> None:
        params = read_params(Command, lsp.WORKSPACE_EXECUTE_COMMAND, raw)
        command = self._commands.get(params.command)
        if command is None:
            known = ", ".join(self._commands)
            raise BadInputError(f"there is no command {params.command!r}", f"the commands are: {known}")
        await command((params.arguments or ({},))[0])
        for chat_document in self._chat_documents.values():
            chat_document.show()

    async def _send(self, raw: Any) -> None:
        worktree = read_params(messages.SendCommand, "agentLs.send", raw).worktree
        self._start_command(partial(self._find_chat_document(raw, "agentLs.send").send, worktree=worktree))

    async def _bring_changes(self, raw: Any) -> None:
        self._start_command(self._find_chat_document(raw, "agentLs.bringChanges").bring_changes)

    async def _show(self, raw: Any) -> None:
        """Do nothing: `_command` writes held-back parts of answers after every command, including this one."""

    async def _stop(self, raw: Any) -> None:
        self._find_chat_document(raw, "agentLs.stop").stop()

    async def _act_on_finding(self, command: str, raw: Any) -> None:
        async def work() -> str:
            await self._findings.run(command, raw)
            return ""

        self._start_command(work)

    async def _take_over(self, raw: Any) -> None:
        self._start_command(self._find_chat_document(raw, "agentLs.takeOver").take_over)

    async def _accept_plan(self, raw: Any) -> None:
        given = read_params(messages.PlanAcceptance, "agentLs.acceptPlan", raw)
        self._start_command(
            partial(
                self._find_chat_document({"uri": given.uri}, "agentLs.acceptPlan").accept_plan, given.mode
            )
        )

    async def _answer_question(self, raw: Any) -> None:
        given = read_params(messages.QuestionAnswer, "agentLs.answer", raw)
        self._find_chat_document({"uri": given.uri}, "agentLs.answer").answer(given.question_id, given.answer)

    async def _approve(self, raw: Any) -> None:
        given = read_params(messages.Approval, "agentLs.approve", raw)
        answer = ApprovalAnswer("allow", scope=given.scope, rule_id=given.rule_id)
        self._answer(self._find_session(given.request_id), given.request_id, answer)

    async def _deny(self, raw: Any) -> None:
        given = read_params(messages.Denial, "agentLs.deny", raw)
        waiting = list(
            {
                request_id: None
                for chat_document in self._chat_documents.values()
                for request_id in chat_document.pending
            }
        )
        for request_id in [given.request_id] if given.request_id else waiting:
            self._answer(
                self._find_session(request_id), request_id, ApprovalAnswer("deny", reason=given.reason)
            )

    def _answer(self, live: LiveSession, request_id: str, answer: ApprovalAnswer) -> None:
        given = ApprovalAnswer(
            answer.decision,
            scope=answer.scope,
            rule_id=answer.rule_id,
            reason=answer.reason,
            decided_by=self._context.client_id,
        )
        try:
            live.approver.answer(request_id, given)
        except UnknownApprovalError as error:
            raise NothingPendingError(str(error), "open the list of code actions again") from None

    def _find_session(self, request_id: str) -> LiveSession:
        for chat_document in self._chat_documents.values():
            if chat_document.live and request_id in chat_document.pending:
                return chat_document.live
        raise NothingPendingError(
            f"this approval is no longer pending ({request_id})", "open the list of code actions again"
        )

    async def _review(self, decision: Any, raw: Any) -> None:
        given = read_params(messages.HunkCommand, f"agentLs.{decision}", raw)
        if (given.hunk_ids is None) == (given.uri is None):
            raise InvalidParamsError(f"agentLs.{decision}", "give hunkIds, or the uri of a file")
        path = maybe_path(given.uri) if given.uri else None

        async def work() -> str:
            _, refused = await self._context.manager.review.review(
                decision,
                Selection(hunk_ids=given.hunk_ids, path=path),
                comment=given.comment,
                confirm=given.confirm,
            )
            return "; ".join(dict.fromkeys(reason for _, reason in refused))

        self._start_command(work)

    async def _ask(self, raw: Any) -> None:
        given = read_params(messages.MentionCommand, "agentLs.ask", raw)
        chat_document = self._find_chat_document({"uri": given.chat}, "agentLs.ask")
        path = maybe_path(given.uri)
        if path is None:
            raise InvalidParamsError("agentLs.ask", f"uri: {given.uri} is not the URI of a file")
        if given.command:
            self._start_command(
                partial(
                    chat_document.ask_about, path, given.first, given.end, f"/{given.command} {given.about}"
                )
            )
        else:
            self._start_command(partial(chat_document.mention, path, given.first, given.end))

    def _find_chat_document(self, raw: Any, command: str) -> ChatDocument:
        given = read_params(messages.ChatCommand, command, raw)
        chat_documents = self._chat_documents
        if given.uri is not None:
            chat_documents = {
                path: chat_document
                for path, chat_document in chat_documents.items()
                if path == maybe_path(given.uri or "")
            }
        if len(chat_documents) == 1:
            return next(iter(chat_documents.values()))
        problem = (
            "several chats are open: give the uri of one of them"
            if chat_documents
            else "no chat document is open"
        )
        raise NothingPendingError(problem, "open a file whose name ends with .agent.md")
