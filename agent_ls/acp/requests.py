"""Requests to the user through the client: permissions, reviews of changes, and questions in forms.

Each request runs in its own task. It is cancelled when another client answers it, or when its turn ends.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Protocol

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from agent_ls.acp.client import ClientFacts
from agent_ls.acp.diffs import WHOLE_TEXT_CHARS
from agent_ls.acp.errors import RpcError
from agent_ls.acp.forms import ask_reason, question_form, read_answers
from agent_ls.acp.permission_requests import (
    answer_of,
    changed_paths,
    find_selected_option,
    options_for,
    permission_call,
    review_options,
)
from agent_ls.acp.subagents import Sent, SessionMappers
from agent_ls.acp.updates import Update, UpdateMapper
from agent_ls.acp.wire import AcpWire, ClientDisconnectedError
from agent_ls.loop.calls.approval import UnknownApprovalError, asks_for_trust
from agent_ls.loop.events.types import (
    ApprovalRequested,
    Envelope,
    Hunk,
    ProcessingEnd,
    QuestionAsked,
    ToolCallStart,
)
from agent_ls.loop.questions import BadAnswerError, UnknownQuestionError
from agent_ls.services.review.decision_request import Selection
from agent_ls.services.review.service import ReviewService
from agent_ls.sessions.live import LiveSession
from agent_ls.tools.look import UNKNOWN

log = logging.getLogger(__name__)


class Sender(Protocol):
    """Interface that sends updates of one session.

    `is_sending`: updates are sent at once, not held until the next prompt.
    """

    @property
    def mappers(self) -> SessionMappers: ...

    @property
    def is_sending(self) -> bool: ...

    def send_for(self, updates: Iterable[Sent]) -> None: ...


class UserRequests:
    """Sends requests to the user, for one session, and applies the answers.

    `client_id` is recorded with each answer as the client that gave the answer.
    """

    def __init__(
        self,
        live: LiveSession,
        wire: AcpWire,
        client: ClientFacts,
        client_id: str,
        tasks: TaskGroup,
        review: ReviewService,
        sender: Sender,
    ) -> None:
        self._live = live
        self._wire = wire
        self._client = client
        self._client_id = client_id
        self._tasks = tasks
        self._review = review
        self._mappers = sender.mappers
        self._sender = sender
        self._inputs: dict[str, ToolCallStart] = {}
        self._requests: dict[str, str] = {}
        self._asking: dict[str, anyio.CancelScope] = {}

    def store_event_parts(self, envelope: Envelope) -> None:
        """Store the parts of an event that a later permission request repeats."""
        if isinstance(event := envelope.event, ToolCallStart):
            self._inputs[event.call_id] = event
        elif isinstance(event, ApprovalRequested):
            self._requests[event.request_id] = event.call_id
        elif isinstance(event, ProcessingEnd):
            self._inputs.clear()

    def withdraw(self) -> None:
        """Cancel all open requests, because the turn has ended."""
        for scope in tuple(self._asking.values()):
            scope.cancel()

    # --- approvals

    def ask_pending(self) -> None:
        """Ask the user about approvals and proposed changes that are still open.

        They were requested by an earlier process, or during an earlier prompt.
        """
        for request in self._live.approver.pending():
            self.approval(request)
        for call_id in {hunk.call_id for hunk in self._find_proposals()}:
            if self._live.approver.is_reviewed_first(call_id):
                self.proposal(call_id)

    def approval(self, request: ApprovalRequested) -> None:
        if self._sender.is_sending and request.request_id not in self._asking:
            scope = self._asking[request.request_id] = anyio.CancelScope()
            self._tasks.start_soon(self._ask, request, scope)

    async def _ask(self, request: ApprovalRequested, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                await self._ask_client(request)
        except ClientDisconnectedError:
            return  # the request waits for the next client
        except Exception:
            log.exception("an approval could not be requested")
        finally:
            self._asking.pop(request.request_id, None)

    async def _ask_client(self, request: ApprovalRequested) -> None:
        options = options_for(
            request, shows_every_option=self._client.shows_every_option, asks_forms=self._client.asks_forms
        )
        paths = changed_paths(request)
        texts = {path: await anyio.to_thread.run_sync(text_now, path) for path in paths}
        call = self._permission_call(request, texts)
        try:
            result = await self._wire.ask(
                "session/request_permission",
                {
                    "sessionId": self._mappers.of_call(request.call_id).session_id,
                    "toolCall": call,
                    "options": [option.to_json() for option in options],
                },
            )
        except RpcError as error:
            log.warning("the client answered a permission request with an error: %s", error)
            result = None
        option = find_selected_option(result, options)
        reason = ""
        if option and option.asks_reason:
            reason = await ask_reason(self._wire, self._live.id, call["toolCallId"])
        if self._live.session.is_stopped:
            return  # the turn was stopped, so the answer is ignored
        with suppress(UnknownApprovalError):
            self._live.approver.answer(
                request.request_id, answer_of(result, options, self._client_id, reason)
            )

    def _permission_call(self, request: ApprovalRequested, texts: Mapping[str, str | None]) -> dict[str, Any]:
        started = self._inputs.get(request.call_id)
        mapper = self._mappers.of_call(request.call_id)
        if started is None and request.call_id:
            # This client resumed the session and has not seen the call yet: send the call before the
            # question.
            tool = self._live.session.profile.registry.lookup(request.tool)
            look = tool.look.in_event if tool else UNKNOWN.in_event
            started = ToolCallStart(request.call_id, 0, request.tool, "", request.summary, *look)
            self._send(mapper, mapper.announce(started))
        kind, raw = mapper.kind_and_input(started) if started else ("other", None)
        call = permission_call(request, texts, kind, raw)
        if started:
            call["title"] = mapper.title_of(started)
        if asks_for_trust(request):
            call["title"] = f"Trust this folder? {request.effect.get('folder', '')}"
        if request.effect.get("type") == "ServerEffect":
            call["title"] = f"Start the MCP server {request.effect.get('name', '')}?"
        return call

    def close_request(self, request_id: str, decision: str) -> None:
        if scope := self._asking.get(request_id):
            scope.cancel()
        if decision == "allow" and (call_id := self._requests.pop(request_id, "")):
            mapper = self._mappers.of_call(call_id)
            self._send(mapper, mapper.make_status_updates(call_id, "in_progress"))

    def _send(self, mapper: UpdateMapper, updates: Iterable[Update]) -> None:
        self._sender.send_for((mapper.session_id, update) for update in updates)

    # --- changes that the user reviews before they are applied

    def _find_proposals(self, call_id: str = "") -> list[Hunk]:
        found = self._review.open_hunks(session_id=self._live.id).values()
        return [
            it for hunks in found for it in hunks if it.state == "proposed" and call_id in ("", it.call_id)
        ]

    def proposal(self, call_id: str) -> None:
        if self._sender.is_sending and call_id not in self._asking:
            scope = self._asking[call_id] = anyio.CancelScope()
            self._tasks.start_soon(self._ask_review, call_id, scope)

    async def _ask_review(self, call_id: str, scope: anyio.CancelScope) -> None:
        """Ask about all changes of a call at once, because clients can only answer for the whole call."""
        try:
            with scope:
                await checkpoint()  # wait until the events of all files of the call have arrived
                options = review_options()
                call = await self._review_call(call_id)
                result: object = None
                with suppress(RpcError):
                    shown = [option.to_json() for option in options]
                    session_id = self._mappers.of_call(call_id).session_id
                    asked = {"sessionId": session_id, "toolCall": call, "options": shown}
                    result = await self._wire.ask("session/request_permission", asked)
                if self._live.session.is_stopped:
                    return
                answer = answer_of(result, options, self._client_id)
                ids = [hunk.id for hunk in self._find_proposals(call_id)]
                decision: Literal["keep", "undo"] = "keep" if answer.decision == "allow" else "undo"
                await self._review.review(decision, Selection(hunk_ids=ids), comment=answer.reason)
        except ClientDisconnectedError:
            return
        except Exception:
            log.exception("a decision about changes could not be requested")
        finally:
            self._asking.pop(call_id, None)

    async def _review_call(self, call_id: str) -> dict[str, Any]:
        started = self._inputs.get(call_id) or ToolCallStart(
            call_id, 0, "edit_file", "", "changes", "edit", "Editing", "Edited"
        )
        mapper = self._mappers.of_call(call_id)
        self._send(mapper, mapper.announce(started))
        kind, raw = mapper.kind_and_input(started)
        paths = list(dict.fromkeys(hunk.path for hunk in self._find_proposals(call_id)))
        content = [
            {
                "type": "diff", "path": path, "oldText": self._review.current_text(path),
                "newText": self._review.proposed_text(path) or "",
            }
            for path in paths
        ]  # fmt: skip
        return {
            "toolCallId": call_id, "title": mapper.title_of(started), "kind": kind, "status": "pending",
            "rawInput": raw, "content": content, "locations": [{"path": path} for path in paths],
        }  # fmt: skip

    # --- questions

    def question(self, event: QuestionAsked) -> bool:
        """Ask the question in a form. Returns False if no form is sent.

        The user's next prompt is then the answer. No form is sent if the client supports no forms, or if updates
        are held until the next prompt.
        """
        if not (self._client.asks_forms and self._sender.is_sending):
            return False
        scope = self._asking[event.question_id] = anyio.CancelScope()
        self._tasks.start_soon(self._ask_form, event, scope)
        return True

    def close_question(self, question_id: str) -> None:
        """Close the form of a question that the user has answered in this client or in another one."""
        if scope := self._asking.get(question_id):
            scope.cancel()

    async def _ask_form(self, event: QuestionAsked, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                result: object = None
                with suppress(RpcError):
                    result = await self._wire.ask("elicitation/create", question_form(self._live.id, event))
                answers = read_answers(result, event)
                with suppress(UnknownQuestionError, BadAnswerError):
                    self._live.session.questions.answer(
                        event.question_id, answers, declined=not answers, by=self._client_id
                    )
        except ClientDisconnectedError:
            return
        finally:
            self._asking.pop(event.question_id, None)


def text_now(path: str) -> str | None:
    """Return the text of a file on the disk; None if the file is large, unreadable or not UTF-8. Blocks."""
    try:
        place = Path(path)
        if place.stat().st_size > 4 * WHOLE_TEXT_CHARS:
            return None
        return place.read_bytes().decode("utf-8-sig")
    except (OSError, ValueError):
        return None
