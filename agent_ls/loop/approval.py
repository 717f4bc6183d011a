"""SEAM Approver: the session never asks a user anything, it asks an Approver. And the desk where questions wait.

`ApprovalDesk` turns a question into the events `approval_requested` and `approval_resolved`, and a future that
the first answer resolves. Every face (server, headless) answers through it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from agent_ls.environments.effects import Effect
from agent_ls.loop.events import RuleOffer

ApprovalScope: TypeAlias = Literal["once", "turn", "session"]


@dataclass(frozen=True, slots=True)
class ApprovalQuestion:
    """What is to be decided: one call's exact effect. `reason` says why it is asked."""

    call_id: str
    turn_id: str
    tool: str
    summary: str
    effect: Effect


@dataclass(frozen=True, slots=True)
class Allowed:
    """`asked`: a person was asked, so time has passed and the effect must be computed again before it runs."""

    asked: bool = False


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


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's decision on a pending request.

    `rule_id` must be one that the request offered; "" stores nothing. `decided_by` names the client.
    """

    decision: Literal["allow", "deny"]
    scope: ApprovalScope = "once"
    rule_id: str = ""
    reason: str = ""
    decided_by: str = ""
    client_key: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What policy says of an effect before anyone is asked."""

    kind: Literal["allow", "ask", "refuse"]
    reason: str
    rules: tuple[RuleOffer, ...] = ()
