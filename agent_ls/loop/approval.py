"""SEAM Approver: the session never asks a user anything, it asks an Approver. And the desk where questions wait.

`ApprovalDesk` turns a question into the events `approval_requested` and `approval_resolved`, and a future that
the first answer resolves. Every face (server, headless) answers through it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import anyio
from pydantic.alias_generators import to_camel

from agent_ls.environments.effects import CommandEffect, Effect
from agent_ls.loop.events import ApprovalRequested, ApprovalResolved, RecordedEvent, RuleOffer
from agent_ls.loop.ids import new_id

if TYPE_CHECKING:
    from agent_ls.loop.seams import Clock

ApprovalScope: TypeAlias = Literal["once", "turn", "session", "project", "user"]


@dataclass(frozen=True, slots=True)
class ApprovalQuestion:
    """What is to be decided: one call's exact effect.

    `allowed` is what a person has said yes to of this call before the process that asked ended: the same question is
    not asked twice. `is_users_own`: a person has just written this command in place of the model's. It is a new action
    all the same. `agent_id` names the subagent whose call it is, "" for the main agent. `category` is that of the tool.
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


@dataclass(frozen=True, slots=True)
class Allowed:
    """`asked`: a person was asked, so time has passed and the effect must be computed again before it runs.

    `command` "" is the one that was asked about; else the person's own, which nobody has judged yet. `by` as in
    ApprovalResolved.decided_by, "" when nobody was asked.
    """

    asked: bool = False
    command: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Denied:
    """`reason` is told to the model; `by` as in ApprovalResolved.decided_by."""

    reason: str
    by: str = "policy"


Decision: TypeAlias = Allowed | Denied


class Approver(Protocol):
    async def decide(self, question: ApprovalQuestion) -> Decision:
        """May wait for a person for as long as it takes; cancellation is the interrupt. Must not raise else."""
        ...

    async def is_free(self, question: ApprovalQuestion) -> bool:
        """Whether `decide` would allow it at once, asking nobody. Nothing is granted by it. Must not raise."""
        ...

    async def resume(self, request: ApprovalRequested) -> Decision:
        """As `decide`, of a request that was asked before the process ended. Nothing is looked at again for it."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's decision on a pending request.

    `rule_id` must be one that the request offered; "" stores nothing. `decided_by` names the client. `command` stands
    in place of the command that was asked about, "" for nothing; it comes without a rule.
    """

    decision: Literal["allow", "deny"]
    scope: ApprovalScope = "once"
    rule_id: str = ""
    reason: str = ""
    decided_by: str = ""
    client_key: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What policy says of an effect before anyone is asked."""

    kind: Literal["allow", "ask", "refuse"]
    reason: str
    rules: tuple[RuleOffer, ...] = ()


class UnknownApprovalError(Exception):
    """No request of this id is known here, or the answer names a rule that the request did not offer."""


class BadReplacementError(Exception):
    """A command of one's own that does not go with the request or the answer. Nothing is settled."""

    kind = "invalid_params"
    hint = "allow the command as it is, send one of your own with allow and without ruleId, or deny it"


@dataclass(slots=True)
class _Request:
    event: ApprovalRequested
    turn_id: str
    is_answered: anyio.Event
    resolved: ApprovalResolved | None = None


class ApprovalDesk:
    """Where questions wait for a person. `emit` records and publishes an event of the session.

    `is_stopped` is asked when the waiting is cancelled: the user stopped the turn, so that nobody is to be asked any
    more; else the process ends, and the question stands for the next one (R4). Requests are kept when they are
    settled, so that a late answer is told the decision that stands. What nobody answered within `limit_ms` is denied by
    `timeout`; 0: a person may take as long as he likes.
    """

    def __init__(
        self,
        emit: Callable[[RecordedEvent], object],
        is_stopped: Callable[[], bool] = lambda: True,
        clock: Clock | None = None,
        limit_ms: int = 0,
    ) -> None:
        self._clock = clock
        self.limit_ms = limit_ms
        """Holds for what is asked from then on."""
        self._emit = emit
        self._is_stopped = is_stopped
        self._requests: dict[str, _Request] = {}

    async def ask(self, question: ApprovalQuestion, verdict: Verdict) -> Decision:
        """Waits for the first answer. When the turn is stopped the request is settled as denied by `interrupt`."""
        event = _requested(question, verdict)
        self.restore(event, question.turn_id)
        self._emit(event)
        return await self.wait(event.request_id)

    def restore(self, event: ApprovalRequested, turn_id: str) -> None:
        """A request that waits, though this process has not asked it: `wait` is to follow."""
        self._requests[event.request_id] = _Request(event, turn_id, anyio.Event())

    async def wait(self, request_id: str) -> Decision:
        """As `ask`, of a request that is here already.

        Raises:
            UnknownApprovalError.
        """
        request = self._known(request_id)
        try:
            await self._answered(request)
        finally:
            # A subagent ends here in any case, and so does what is no call's: nobody could take it up again.
            is_lost = request.event.agent_id or not request.event.call_id
            if request.resolved is None and (is_lost or self._is_stopped()):
                self._settle(request, Answer("deny", reason="The turn was stopped.", decided_by="interrupt"))
        resolved = request.resolved
        if resolved is None or resolved.decision == "deny":
            reason = resolved.reason if resolved else ""
            return Denied(reason or "The user said no.", resolved.decided_by if resolved else "interrupt")
        return Allowed(asked=True, command=resolved.command, by=resolved.decided_by)

    async def _answered(self, request: _Request) -> None:
        if not self._clock or not self.limit_ms:
            await request.is_answered.wait()
            return
        async with anyio.create_task_group() as group:
            group.start_soon(self._give_up, request, self._clock, self.limit_ms)
            await request.is_answered.wait()
            group.cancel_scope.cancel()

    async def _give_up(self, request: _Request, clock: Clock, limit_ms: int) -> None:
        await clock.sleep(limit_ms / 1000)
        words = f"Nobody answered within {limit_ms / 1000:g} s, which is a no. It was not run."
        if not request.resolved:
            self._settle(request, Answer("deny", reason=words, decided_by="timeout"))

    def answer(self, request_id: str, answer: Answer) -> ApprovalResolved:
        """Settles a pending request. The first answer wins: a later one gets the decision that stands.

        Raises:
            UnknownApprovalError.
        """
        request = self._known(request_id)
        if request.resolved:
            return request.resolved
        if answer.rule_id and answer.rule_id not in {rule.id for rule in request.event.rules}:
            raise UnknownApprovalError(f"Rule {answer.rule_id} was not offered by request {request_id}.")
        if answer.command and (reason := _why_not_replaced(request.event, answer)):
            raise BadReplacementError(reason)
        return self._settle(request, answer)

    def pending(self) -> tuple[ApprovalRequested, ...]:
        """What waits for an answer, oldest first."""
        return tuple(request.event for request in self._requests.values() if not request.resolved)

    def turn_of(self, request_id: str) -> str:
        """The id of the turn that a request belongs to, settled or not.

        Raises:
            UnknownApprovalError.
        """
        return self._known(request_id).turn_id

    def _known(self, request_id: str) -> _Request:
        if request := self._requests.get(request_id):
            return request
        raise UnknownApprovalError(f"No approval {request_id} is known in this session. It may have ended.")

    def _settle(self, request: _Request, answer: Answer) -> ApprovalResolved:
        request.resolved = ApprovalResolved(
            request_id=request.event.request_id,
            decision=answer.decision,
            scope=answer.scope,
            decided_by=answer.decided_by,
            reason=answer.reason,
            rule_id=answer.rule_id,
            client_key=answer.client_key,
            command="" if answer.command == request.event.effect.get("command") else answer.command,
        )
        self._emit(request.resolved)
        request.is_answered.set()
        return request.resolved


def _why_not_replaced(request: ApprovalRequested, answer: Answer) -> str:
    if request.effect["type"] != CommandEffect.__name__:
        return "only a command can be replaced: this request is about something else"
    if request.effect.get("inputOf"):
        return "what is typed into a process can be denied, not replaced: say in the denial what to type"
    if answer.decision == "deny":
        return "a command that is denied is not replaced"
    if answer.rule_id:
        return "no rule is kept for a command that was replaced: the rule names the one that was asked about"
    return "a command cannot be blank" if not answer.command.strip() else ""


def _requested(question: ApprovalQuestion, verdict: Verdict) -> ApprovalRequested:
    return ApprovalRequested(
        request_id=new_id("a"),
        call_id=question.call_id,
        tool=question.tool,
        summary=question.summary,
        reason=verdict.reason,
        effect=effect_json(question.effect),
        digest=question.effect.digest,
        rules=verdict.rules,
        agent_id=question.agent_id,
    )


def effect_json(effect: Effect) -> dict[str, Any]:
    """The effect as plain JSON with camelCase names; `type` is the name of its class."""
    told = {"type": type(effect).__name__, **_camel(asdict(effect))}
    for seldom in ("inputOf", "outsideSandbox"):
        if not told.get(seldom):
            told.pop(seldom, None)
    return told


def _camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {to_camel(key): _camel(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_camel(item) for item in value]
    return value
