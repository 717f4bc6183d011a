"""Ask for approvals by `window/showMessageRequest`: one at a time, the safe choice first.

Only a response equal to a choice's title approves or denies. Every other response (null, `{}`, an unknown
title, an error, none) neither approves nor denies: the request stays pending, and code actions and commands can
answer it too. If the request is decided by other means, the prompt is withdrawn.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio
from lsprotocol import types as lsp

from agent_ls.background import TaskStarter
from agent_ls.loop.calls.approval import ApprovalAnswer, UnknownApprovalError, asks_for_trust
from agent_ls.loop.events.types import ApprovalRequested, ApprovalResolved
from agent_ls.server.chat.words import ALLOW, DENY, DISTRUST, PROMPT_CHARS, TRUST, question
from agent_ls.server.transport.jsonrpc import AgentProtocol

log = logging.getLogger(__name__)

PROMPT_LIMIT_S = 600.0
"""An editor may lose a prompt and never answer. After this time the next prompt is shown."""
SHOWN_LIMIT_S = 3.0
"""Longest wait until the document shows the request. The prompt opens afterwards, because some editors take
no edits while it is open.
"""


class Answerable(Protocol):
    """Interface that takes the user's answer to a pending approval request."""

    def answer(self, request_id: str, answer: ApprovalAnswer) -> ApprovalResolved: ...


def choices(request: ApprovalRequested) -> dict[str, ApprovalAnswer]:
    """Return the answers by title, the safe answer first. No two titles are equal."""
    if asks_for_trust(request):
        return {DISTRUST: ApprovalAnswer("deny"), TRUST: ApprovalAnswer("allow")}
    found = {DENY: ApprovalAnswer("deny"), ALLOW: ApprovalAnswer("allow")}
    for rule in request.rules:
        found.setdefault(rule.label, ApprovalAnswer("allow", scope=rule.scope, rule_id=rule.id))
    return found


@dataclass(eq=False, slots=True)
class _Prompt:
    request: ApprovalRequested
    approvals: Answerable
    wait_until_written: Callable[[], Awaitable[None]]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class ApprovalPrompts:
    """Shows the approval prompts of one client. `decided_by` is the client's id in the log."""

    def __init__(
        self,
        protocol: AgentProtocol,
        decided_by: str,
        start: TaskStarter,
    ) -> None:
        self._protocol = protocol
        self._decided_by = decided_by
        self._start = start
        self._waiting: list[_Prompt] = []
        self._asked: set[str] = set()
        self._is_showing = False

    def ask(
        self,
        request: ApprovalRequested,
        approvals: Answerable,
        wait_until_written: Callable[[], Awaitable[None]],
    ) -> None:
        """Queue a prompt. The prompt is shown when `wait_until_written` returns (the request is then written in
        the chat document), or after SHOWN_LIMIT_S.
        """
        if len(question(request)) > PROMPT_CHARS:
            return  # too long for a prompt; the document shows the whole action
        if request.request_id in self._asked:
            return  # already asked: two documents show the session, or one was opened again
        self._asked.add(request.request_id)
        self._waiting.append(_Prompt(request, approvals, wait_until_written))
        if not self._is_showing:
            self._is_showing = True
            self._start(self._show_all)

    async def choose(self, message: str, titles: Sequence[str]) -> str:
        """Ask a question that is not about an approval. Return the chosen title, "" for any other answer."""
        params = lsp.ShowMessageRequestParams(
            type=lsp.MessageType.Warning,
            message=message,
            actions=[lsp.MessageActionItem(title=title) for title in titles],
        )
        with anyio.move_on_after(PROMPT_LIMIT_S):
            return await self._title(params)
        return ""

    def withdraw(self, request_id: str) -> None:
        """Withdraw the prompt: the request was decided, or its turn was stopped."""
        self._asked.discard(request_id)
        for prompt in [prompt for prompt in self._waiting if prompt.request.request_id == request_id]:
            self._waiting.remove(prompt)
            prompt.scope.cancel()

    async def _show_all(self) -> None:
        try:
            while self._waiting:
                prompt = self._waiting[0]
                with prompt.scope:
                    with anyio.move_on_after(SHOWN_LIMIT_S):
                        await prompt.wait_until_written()
                    await self._show(prompt)
                if prompt in self._waiting:
                    self._waiting.remove(prompt)
        finally:
            self._is_showing = False

    async def _show(self, prompt: _Prompt) -> None:
        offered = choices(prompt.request)
        params = lsp.ShowMessageRequestParams(
            type=lsp.MessageType.Warning,
            message=question(prompt.request),
            actions=[lsp.MessageActionItem(title=title) for title in offered],
        )
        with anyio.move_on_after(PROMPT_LIMIT_S):
            answer = offered.get(await self._title(params))
            if answer is None:
                return
            given = ApprovalAnswer(
                answer.decision, scope=answer.scope, rule_id=answer.rule_id, decided_by=self._decided_by
            )
            try:
                prompt.approvals.answer(prompt.request.request_id, given)
            except UnknownApprovalError:
                log.info("the approval request of the prompt is no longer pending")

    async def _title(self, params: lsp.ShowMessageRequestParams) -> str:
        """Show a prompt and return the title that the user chose; "" for any other answer."""
        try:
            answer: Any = await self._protocol.send_request_async(lsp.WINDOW_SHOW_MESSAGE_REQUEST, params)
        except Exception as error:  # the client answered with an error or an invalid value
            log.info("a prompt was not answered: %s", error)
            return ""
        title = getattr(answer, "title", None)
        return title if isinstance(title, str) else ""
