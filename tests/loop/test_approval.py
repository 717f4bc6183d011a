"""The desk where questions wait (H7): first answer wins, a stop denies, late answers are told what stands."""

from __future__ import annotations

import anyio
import pytest

from agent_ls.environments.effects import CommandEffect, Effect, PlannedWrite, ReadEffect, WriteEffect
from agent_ls.loop.approval import (
    Allowed,
    Answer,
    ApprovalDesk,
    ApprovalQuestion,
    Decision,
    Denied,
    UnknownApprovalError,
    Verdict,
    effect_json,
)
from agent_ls.loop.events import ApprovalRequested, ApprovalResolved, RecordedEvent, RuleOffer
from tests.support.fake_clock import FakeClock

RULE = RuleOffer("r1", "all of make", "session")
QUESTION = ApprovalQuestion("c1", "t1", "shell", "make", CommandEffect("make", "/w"))
VERDICT = Verdict("ask", "it runs a command", (RULE,))


async def _asked(*answers: Answer) -> tuple[list[Decision], list[RecordedEvent], ApprovalDesk]:
    events: list[RecordedEvent] = []
    decisions: list[Decision] = []
    desk = ApprovalDesk(events.append)

    async def ask() -> None:
        decisions.append(await desk.ask(QUESTION, VERDICT))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        request_id = desk.pending()[0].request_id
        for answer in answers:
            desk.answer(request_id, answer)
        if not answers:
            group.cancel_scope.cancel()
    return decisions, events, desk


@pytest.mark.req("H7")
async def test_an_allowing_answer_resolves_the_request_and_says_that_time_has_passed() -> None:
    decisions, events, desk = await _asked(
        Answer("allow", "session", "r1", decided_by="client", client_key="k")
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
    assert desk.pending() == ()


@pytest.mark.req("H7")
async def test_the_first_answer_wins_and_a_later_one_is_told_what_stands() -> None:
    decisions, events, desk = await _asked(Answer("deny", reason="not now", decided_by="a"), Answer("allow"))
    assert decisions == [Denied("not now", "a")]
    assert len(events) == 2
    assert isinstance(events[0], ApprovalRequested)
    assert desk.answer(events[0].request_id, Answer("allow")) == events[1]
    assert desk.turn_of(events[0].request_id) == "t1"


async def test_a_denial_without_words_says_who_denied() -> None:
    decisions, _, _ = await _asked(Answer("deny", decided_by="a"))
    assert decisions == [Denied("The user said no.", "a")]


async def test_an_unknown_request_and_a_rule_that_was_not_offered_are_refused() -> None:
    desk = ApprovalDesk(lambda _: None)
    with pytest.raises(UnknownApprovalError, match="a-1"):
        desk.answer("a-1", Answer("allow"))
    with pytest.raises(UnknownApprovalError):
        desk.turn_of("a-1")
    async with anyio.create_task_group() as group:
        group.start_soon(desk.ask, QUESTION, VERDICT)
        await anyio.wait_all_tasks_blocked()
        request_id = desk.pending()[0].request_id
        with pytest.raises(UnknownApprovalError, match="not offered"):
            desk.answer(request_id, Answer("allow", rule_id="r2"))
        assert len(desk.pending()) == 1
        desk.answer(request_id, Answer("allow"))


@pytest.mark.req("L16")
async def test_a_cancelled_question_is_settled_as_denied_by_interrupt() -> None:
    decisions, events, desk = await _asked()
    assert decisions == []
    assert isinstance(events[1], ApprovalResolved)
    assert (events[1].decision, events[1].decided_by) == ("deny", "interrupt")
    assert desk.pending() == ()


@pytest.mark.req("R4")
async def test_a_question_stands_when_the_waiting_ends_and_nobody_stopped_the_turn() -> None:
    events: list[RecordedEvent] = []
    desk = ApprovalDesk(events.append, lambda: False)
    async with anyio.create_task_group() as group:
        group.start_soon(desk.ask, QUESTION, VERDICT)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    (requested,) = events
    assert isinstance(requested, ApprovalRequested)
    assert desk.pending() == (requested,)

    told: list[RecordedEvent] = []
    other = ApprovalDesk(told.append)
    other.restore(requested, "t1")
    assert (other.pending(), other.turn_of(requested.request_id), told) == ((requested,), "t1", [])
    other.answer(requested.request_id, Answer("deny", reason="not now", decided_by="a"))
    assert await other.wait(requested.request_id) == Denied("not now", "a")
    assert len(told) == 1


@pytest.mark.req("H7")
async def test_a_question_that_nobody_answers_in_time_is_denied_and_a_late_yes_changes_nothing() -> None:
    events: list[RecordedEvent] = []
    decisions: list[Decision] = []
    clock = FakeClock()
    desk = ApprovalDesk(events.append, clock=clock, limit_ms=90_000)

    async def ask() -> None:
        decisions.append(await desk.ask(QUESTION, VERDICT))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        clock.advance(89)
        await anyio.wait_all_tasks_blocked()
        assert decisions == []
        clock.advance(2)
    (denied,) = decisions
    assert isinstance(denied, Denied) and denied.by == "timeout"
    assert "Nobody answered within 90 s" in denied.reason
    assert desk.pending() == () and isinstance(events[0], ApprovalRequested)
    late = desk.answer(events[0].request_id, Answer("allow"))
    assert (late.decision, late.decided_by) == ("deny", "timeout")


@pytest.mark.req("H7")
async def test_a_question_that_is_answered_in_time_is_answered() -> None:
    desk = ApprovalDesk(lambda _: None, clock=FakeClock(), limit_ms=90_000)
    decisions: list[Decision] = []

    async def ask() -> None:
        decisions.append(await desk.ask(QUESTION, VERDICT))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        desk.answer(desk.pending()[0].request_id, Answer("allow"))
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
def test_an_effect_is_told_as_plain_json(effect: Effect, expected: dict[str, object]) -> None:
    assert effect_json(effect) == expected
