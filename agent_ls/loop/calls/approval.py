"""The `Approver` interface, which a session asks before a call takes effect, and the pending requests.

`PendingApprovals` emits the events `approval_requested` and `approval_resolved`, and waits for the first
answer. Each front end (server, headless, library) calls its method `answer`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias

import anyio

from agent_ls.environments.effects import AskCause, CommandEffect, Effect, TrustEffect
from agent_ls.loop.answer_limit import BY_TIMEOUT, AnswerLimit
from agent_ls.loop.errors import SessionError
from agent_ls.loop.events.codec import camel_json
from agent_ls.loop.events.types import (
    DECIDED_BY_POLICY,
    DECIDED_BY_PROGRAM,
    ApprovalRequested,
    ApprovalResolved,
    RecordedEvent,
    RuleOffer,
)
from agent_ls.loop.ids import new_id

ApprovalScope: TypeAlias = Literal["once", "turn", "session", "project", "user"]


@dataclass(frozen=True, slots=True)
class ApprovalQuestion:
    """A request to decide about one call; it states the exact effect of the call.

    `allowed` lists what the user approved for this call before a restart, so that the same question is not
    asked twice. If `is_users_own`, `effect` runs a command that the user wrote in place of the model's
    command; the policy checks that command like a new action. `agent_id` is the subagent that makes the call,
    "" for the main agent. `category` is the category of the tool. If `failed_confined`, the command failed
    while it ran with read-only access, and the question is about running it without that restriction.
    `must_ask` is a reason to ask the user in every mode, "" for none.
    """

    call_id: str
    turn_id: str
    tool: str
    summary: str
    effect: Effect
    allowed: tuple[ApprovalRequested, ...] = ()
    is_users_own: bool = False
    agent_id: str = ""
    category: Literal["read", "write", "admin"] | None = None
    failed_confined: bool = False
    must_ask: str = ""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The call may run.

    If `asked`, the user was asked; time has passed, so the effect must be computed again before the call
    runs. If `is_confined`, the call is allowed because it is read-only, and it must run confined or not at
    all. `command` is a replacement written by the user, which the policy has not checked yet; "" keeps the
    original command. `by` takes the same values as ApprovalResolved.decided_by, "" if the user was not asked.
    """

    asked: bool = False
    command: str = ""
    by: str = ""
    is_confined: bool = False

    @property
    def is_for_effect(self) -> bool:
        """Whether the user allowed the effect that was asked about. Otherwise the policy decides about the call."""
        return not self.command and self.by != DECIDED_BY_POLICY


@dataclass(frozen=True, slots=True)
class Denied:
    """The call may not run. `reason` is sent to the model; `by` takes the same values as
    ApprovalResolved.decided_by.
    """

    reason: str
    by: str = "policy"


Decision: TypeAlias = Allowed | Denied


class Approver(Protocol):
    """Interface that decides whether a call may take effect."""

    async def decide(self, question: ApprovalQuestion) -> Decision:
        """Decide about an effect. This method may wait for the user indefinitely. Raises only cancellation."""
        ...

    async def allow_unasked(self, question: ApprovalQuestion) -> Allowed | None:
        """Return Allowed if the effect is read-only and `decide` would allow the call without asking the user;
        otherwise None. Must not raise.
        """
        ...

    async def resume(self, request: ApprovalRequested, question: ApprovalQuestion | None) -> Decision:
        """Wait for the answer to a request that an earlier process emitted.

        `question` is the call as it would run now, None if it cannot be prepared. If the policy refuses it now, for
        example in another mode, the request is denied without an answer.
        """
        ...


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """A user's decision on a pending request.

    `rule_id` must be the id of a rule that the request offered; "" stores no rule. `decided_by` names
    the client; "" of a program is "program". `command` replaces the command of the request, "" keeps it; it
    cannot be combined with a rule.
    """

    decision: Literal["allow", "deny"]
    scope: ApprovalScope = "once"
    rule_id: str = ""
    reason: str = ""
    decided_by: str = ""
    client_key: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class PolicyJudgement:
    """The policy's decision on an effect, made before the user is asked."""

    kind: Literal["allow", "ask", "refuse"]
    reason: str
    rules: tuple[RuleOffer, ...] = ()
    cause: AskCause = "mode"


class UnknownApprovalError(SessionError):
    """This session has no request with this id."""

    hint = "the request may already be answered: the conversation lists the open requests"


class BadReplacementError(SessionError):
    """The answer has a replacement command, but the request is not about a command, or the answer also denies
    or stores a rule. The request stays open.
    """

    kind = "invalid_params"
    hint = "allow the command as it is, allow your replacement once, or deny the command"


@dataclass(slots=True)
class _Request:
    """A request and its state. `resolved` is None for a pending request. `is_judged` is set when the policy of this
    process has judged the call, or the request is resolved.
    """

    event: ApprovalRequested
    turn_id: str
    is_answered: anyio.Event = field(default_factory=anyio.Event)
    is_judged: anyio.Event = field(default_factory=anyio.Event)
    resolved: ApprovalResolved | None = None
    is_restored: bool = False

    @property
    def is_kept(self) -> bool:
        """Whether the request stays pending when the process ends: it is of a call of the main agent, or a turn waits
        for it before its first model call.
        """
        is_of_turn = self.event.call_id or (self.turn_id and asks_for_trust(self.event))
        return bool(is_of_turn and not self.event.agent_id)


class PendingApprovals:
    """The pending approval requests of a session. `emit` records and publishes an event of the session.

    `is_stopped` is called when waiting is cancelled. True means that the user stopped the turn: the request
    is denied. False means that the process ends: the request stays open and is restored on resume. Resolved
    requests stay in memory, so that a client that answers too late receives the first decision. A request
    without an answer within `limit` is denied by `timeout`.
    """

    def __init__(
        self,
        emit: Callable[[RecordedEvent], object],
        is_stopped: Callable[[], bool] = lambda: True,
        limit: AnswerLimit | None = None,
    ) -> None:
        self.limit = limit or AnswerLimit()
        self._emit = emit
        self._is_stopped = is_stopped
        self._requests: dict[str, _Request] = {}

    async def ask(self, question: ApprovalQuestion, judgement: PolicyJudgement) -> Decision:
        """Request approval, and wait for one client's answer.

        If the turn is stopped, the request is denied by `interrupt`. If a turn without a call asked the same before a
        restart, that request is used once more.
        """
        request = self._find_restored(question)
        if request is None:
            event = _requested(question, judgement)
            request = self._requests[event.request_id] = _Request(event, question.turn_id)
            self._emit(event)
        request.is_restored = False
        request.is_judged.set()
        return await self.wait(request.event.request_id)

    def restore(self, event: ApprovalRequested, turn_id: str) -> None:
        """Add a request made before a restart. The caller must call `wait` next, or `ask` if no call made it."""
        self._requests[event.request_id] = _Request(event, turn_id, is_restored=True)

    def mark_judged(self, request_id: str) -> None:
        """Let those who wait in `is_to_answer` for a restored request go on."""
        self._find_request(request_id).is_judged.set()

    async def is_to_answer(self, request_id: str) -> bool:
        """Wait until the policy has judged a request made before a restart, and return whether it is still pending.

        Who answers requests without being asked by an event calls this before it shows or answers one.

        Raises:
            UnknownApprovalError.
        """
        request = self._find_request(request_id)
        await request.is_judged.wait()
        return request.resolved is None

    def _find_restored(self, question: ApprovalQuestion) -> _Request | None:
        wanted = ("", question.turn_id, question.effect.digest)
        restored = (it for it in self._requests.values() if it.is_restored and not question.call_id)
        return next(
            (it for it in restored if (it.event.call_id, it.turn_id, it.event.digest) == wanted), None
        )

    async def wait(self, request_id: str) -> Decision:
        """Wait until a pending request is resolved.

        Raises:
            UnknownApprovalError.
        """
        request = self._find_request(request_id)
        try:
            await self.limit.wait(request.is_answered, partial(self._give_up, request))
        finally:
            if request.resolved is None and (not request.is_kept or self._is_stopped()):
                self._resolve(
                    request, ApprovalAnswer("deny", reason="The turn was stopped.", decided_by="interrupt")
                )
        resolved = request.resolved
        if resolved is None or resolved.decision != "allow":
            given, by = (resolved.reason, resolved.decided_by) if resolved else ("", "interrupt")
            return Denied(given or _said_no(by), by)
        return Allowed(asked=True, command=resolved.command, by=resolved.decided_by)

    def _give_up(self, request: _Request, limit_s: float) -> None:
        words = f"Nobody answered the approval request within {limit_s:g} s, so the action was denied and not run."
        self._resolve(request, ApprovalAnswer("deny", reason=words, decided_by=BY_TIMEOUT))

    def answer(self, request_id: str, answer: ApprovalAnswer) -> ApprovalResolved:
        """Resolve a pending request. The first answer wins: every later caller gets the first decision as the
        result.

        Raises:
            UnknownApprovalError, BadReplacementError.
        """
        request = self._find_request(request_id)
        if request.resolved:
            return request.resolved
        if answer.command and (reason := _why_not_replaced(request.event, answer)):
            raise BadReplacementError(reason)
        return self._resolve(request, answer)

    def pending(self) -> tuple[ApprovalRequested, ...]:
        """The requests without an answer, oldest first."""
        return tuple(request.event for request in self._requests.values() if not request.resolved)

    def denial_of_trust(self) -> str:
        """Return the reason with which the workspace was last not trusted, "" for none."""
        resolved = [it.resolved for it in self._requests.values() if asks_for_trust(it.event)]
        last = resolved[-1] if resolved else None
        is_denial = last and last.decision != "allow" and last.decided_by != "interrupt"
        return last.reason if last and is_denial else ""

    def turn_of(self, request_id: str) -> str:
        """Return the id of the turn to which a request belongs. It may already be resolved.

        Raises:
            UnknownApprovalError.
        """
        return self._find_request(request_id).turn_id

    def _find_request(self, request_id: str) -> _Request:
        if request := self._requests.get(request_id):
            return request
        raise UnknownApprovalError(
            f"No approval {request_id} is pending in this session. The request may have been answered or cancelled."
        )

    def _resolve(self, request: _Request, answer: ApprovalAnswer) -> ApprovalResolved:
        request.resolved = ApprovalResolved(
            request_id=request.event.request_id,
            decision="allow" if answer.decision == "allow" else "deny",  # whatever a program passes
            scope=answer.scope,
            decided_by=answer.decided_by,
            reason=answer.reason,
            rule_id=answer.rule_id,
            client_key=answer.client_key,
            command="" if answer.command == request.event.effect.get("command") else answer.command,
        )
        self._emit(request.resolved)
        request.is_answered.set()
        request.is_judged.set()
        return request.resolved


def asks_for_trust(request: ApprovalRequested) -> bool:
    """Return whether the request asks if the user trusts a folder, which a turn may ask before it calls a model."""
    return request.effect.get("type") == TrustEffect.__name__


def _said_no(by: str) -> str:
    return "The program said no." if by == DECIDED_BY_PROGRAM else "The user said no."


def _why_not_replaced(request: ApprovalRequested, answer: ApprovalAnswer) -> str:
    if request.effect["type"] != CommandEffect.__name__:
        return "only a command can be replaced: this request is about something else"
    if request.effect.get("inputOf"):
        return (
            "input for a process can be denied but not replaced: deny the input and write in the reason what "
            "to type instead"
        )
    if answer.decision != "allow":
        return "a denied command cannot have a replacement"
    if answer.rule_id:
        return (
            "no rule is stored for a replaced command, because a rule applies to the command of the request"
        )
    return "a command cannot be blank" if not answer.command.strip() else ""


def _requested(question: ApprovalQuestion, judgement: PolicyJudgement) -> ApprovalRequested:
    return ApprovalRequested(
        request_id=new_id("a"),
        call_id=question.call_id,
        tool=question.tool,
        summary=question.summary,
        reason=judgement.reason,
        effect=effect_json(question.effect),
        digest=question.effect.digest,
        rules=judgement.rules,
        agent_id=question.agent_id,
        cause=judgement.cause,
    )


SELDOM = (
    "inputOf", "outsideSandbox", "server", "title", "about", "change", "annotated", "hosts", "readsRule",
)  # fmt: skip
"""Fields of an effect that are omitted in JSON when they are empty."""


def effect_json(effect: Effect) -> dict[str, Any]:
    """Return the effect as plain JSON with camelCase names; `type` is the name of its class."""
    fields = {"type": type(effect).__name__, **camel_json(effect)}
    for seldom in SELDOM:
        if not fields.get(seldom):
            fields.pop(seldom, None)
    return fields
