"""Pending approvals (H7): the first answer wins, a stop denies, and a late answer gets the existing decision."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agent_ls.environments.effects import CommandEffect, Effect, PlannedWrite, ReadEffect, WriteEffect
from agent_ls.loop.answer_limit import AnswerLimit
from agent_ls.loop.calls.approval import (
    Allowed,
    ApprovalAnswer,
    ApprovalQuestion,
    Decision,
    Denied,
    PendingApprovals,
    PolicyJudgement,
    UnknownApprovalError,
    effect_json,
)
from agent_ls.loop.events.types import ApprovalRequested, ApprovalResolved, RecordedEvent, RuleOffer
from tests.support.fake_clock import FakeClock

RULE = RuleOffer("r1", "all of make", "session")
QUESTION = ApprovalQuestion("c1", "t1", "shell", "make", CommandEffect("make", "/w"))
JUDGEMENT = PolicyJudgement("ask", "it runs a command", (RULE,))


async def _asked(*answers: ApprovalAnswer) -> tuple[list[Decision], list[RecordedEvent], PendingApprovals]:
    events: list[RecordedEvent] = []
    decisions: list[Decision] = []
    approvals = PendingApprovals(events.append)

    async def ask() -> None:
        decisions.append(await approvals.ask(QUESTION, JUDGEMENT))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        request_id = approvals.pending()[0].request_id
        for answer in answers:
            approvals.answer(request_id, answer)
        if not answers:
            group.cancel_scope.cancel()
    return decisions, events, approvals


@pytest.mark.req("H7")
async def test_an_allow_answer_resolves_the_approval_request_with_the_chosen_rule() -> None:
    decisions, events, approvals = await _asked(
        ApprovalAnswer("allow", "session", "r1", decided_by="client", client_key="k")
    )
    assert decisions == [Allowed(asked=True, by="client")]
    requested, resolved = events
    assert isinstance(requested, ApprovalRequested)
    assert requested == ApprovalRequested(
        request_id=requested.request_id,
        call_id="c1",
        tool="shell",
        summary="make",
        reason="it runs a command",
        effect={
            "type": "CommandEffect",
            "command": "make",
            "workingDir": "/w",
            "envVars": [],
            "background": False,
        },
        digest=QUESTION.effect.digest,
        rules=(RULE,),
    )
    assert resolved == ApprovalResolved(requested.request_id, "allow", "session", "client", "", "r1", "k")
    assert approvals.pending() == ()


@pytest.mark.req("H7")
async def test_the_first_approval_answer_wins_and_a_second_answer_returns_the_existing_decision() -> None:
    decisions, events, approvals = await _asked(
        ApprovalAnswer("deny", reason="not now", decided_by="a"), ApprovalAnswer("allow")
    )
    assert decisions == [Denied("not now", "a")]
    assert len(events) == 2
    assert isinstance(events[0], ApprovalRequested)
    assert approvals.answer(events[0].request_id, ApprovalAnswer("allow")) == events[1]
    assert approvals.turn_of(events[0].request_id) == "t1"


@pytest.mark.req("H7", "X8")
@pytest.mark.parametrize("decision", ["no", "Deny", "ALLOW", "", None, False, True], ids=str)
async def test_only_the_exact_decision_allow_allows(decision: Any) -> None:
    decisions, events, _ = await _asked(ApprovalAnswer(decision, decided_by="a"))
    assert decisions == [Denied("The user said no.", "a")]
    assert isinstance(events[1], ApprovalResolved) and events[1].decision == "deny"


async def test_a_denial_without_a_reason_names_who_denied() -> None:
    decisions, _, _ = await _asked(ApprovalAnswer("deny", decided_by="a"))
    assert decisions == [Denied("The user said no.", "a")]


async def test_an_answer_with_an_unknown_approval_request_is_refused() -> None:
    approvals = PendingApprovals(lambda _: None)
    with pytest.raises(UnknownApprovalError, match="a-1"):
        approvals.answer("a-1", ApprovalAnswer("allow"))
    with pytest.raises(UnknownApprovalError):
        approvals.turn_of("a-1")
    async with anyio.create_task_group() as group:
        group.start_soon(approvals.ask, QUESTION, JUDGEMENT)
        await anyio.wait_all_tasks_blocked()
        request_id = approvals.pending()[0].request_id
        approvals.answer(request_id, ApprovalAnswer("allow"))


@pytest.mark.req("L16")
async def test_cancelling_a_pending_approval_denies_the_request_as_interrupted() -> None:
    decisions, events, approvals = await _asked()
    assert decisions == []
    assert isinstance(events[1], ApprovalResolved)
    assert (events[1].decision, events[1].decided_by) == ("deny", "interrupt")
    assert approvals.pending() == ()


@pytest.mark.req("R4")
async def test_an_approval_request_remains_pending_if_its_wait_is_cancelled_without_an_interrupt() -> None:
    events: list[RecordedEvent] = []
    approvals = PendingApprovals(events.append, lambda: False)
    async with anyio.create_task_group() as group:
        group.start_soon(approvals.ask, QUESTION, JUDGEMENT)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    (requested,) = events
    assert isinstance(requested, ApprovalRequested)
    assert approvals.pending() == (requested,)

    emitted: list[RecordedEvent] = []
    other = PendingApprovals(emitted.append)
    other.restore(requested, "t1")
    assert (other.pending(), other.turn_of(requested.request_id), emitted) == ((requested,), "t1", [])
    other.answer(requested.request_id, ApprovalAnswer("deny", reason="not now", decided_by="a"))
    assert await other.wait(requested.request_id) == Denied("not now", "a")
    assert len(emitted) == 1


@pytest.mark.req("H7")
async def test_an_approval_request_is_denied_after_its_time_limit_and_a_late_allow_is_ignored() -> None:
    events: list[RecordedEvent] = []
    decisions: list[Decision] = []
    clock = FakeClock()
    approvals = PendingApprovals(events.append, limit=AnswerLimit(clock, 90_000))

    async def ask() -> None:
        decisions.append(await approvals.ask(QUESTION, JUDGEMENT))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        clock.advance(89)
        await anyio.wait_all_tasks_blocked()
        assert decisions == []
        clock.advance(2)
    (denied,) = decisions
    assert isinstance(denied, Denied) and denied.by == "timeout"
    assert "within 90 s" in denied.reason
    assert approvals.pending() == () and isinstance(events[0], ApprovalRequested)
    late = approvals.answer(events[0].request_id, ApprovalAnswer("allow"))
    assert (late.decision, late.decided_by) == ("deny", "timeout")


@pytest.mark.req("H7")
async def test_an_approval_request_answered_within_its_time_limit_is_allowed() -> None:
    approvals = PendingApprovals(lambda _: None, limit=AnswerLimit(FakeClock(), 90_000))
    decisions: list[Decision] = []

    async def ask() -> None:
        decisions.append(await approvals.ask(QUESTION, JUDGEMENT))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        approvals.answer(approvals.pending()[0].request_id, ApprovalAnswer("allow"))
    assert decisions == [Allowed(asked=True)]


EFFECTS: list[tuple[Effect, dict[str, object]]] = [
    (ReadEffect(("/a",)), {"type": "ReadEffect", "paths": ["/a"]}),
    (
        WriteEffect((PlannedWrite("/a", "modify", "diff", "k"),)),
        {
            "type": "WriteEffect",
            "files": [{"path": "/a", "action": "modify", "diff": "diff", "changeKey": "k"}],
        },
    ),
]


@pytest.mark.parametrize(("effect", "expected"), EFFECTS, ids=["read", "write"])
def test_effect_json_serialises_read_and_write_effects(effect: Effect, expected: dict[str, object]) -> None:
    assert effect_json(effect) == expected
