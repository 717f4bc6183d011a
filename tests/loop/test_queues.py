"""Steering and follow-ups: when the model gets them, in which order, and how a stop affects them (L6)."""

from __future__ import annotations

import anyio
import pytest

from agent_ls.llm.messages import ImagePart
from agent_ls.loop.errors import SessionBusyError, SessionClosedError
from agent_ls.loop.events.types import (
    ProcessingEnd,
    QueueChanged,
    Reverted,
    SteeringInjected,
    SteeringQueued,
    SteeringRemoved,
    UserInput,
)
from agent_ls.loop.restored import MAX_SUBMIT_RESULTS
from agent_ls.loop.turns import SteeringTurn, UserTurn
from agent_ls.tools.base import ToolContext, ToolOutput
from tests.support.fake_provider import Fail, FakeProvider, Gate, text, tool_call
from tests.support.sessions import AnyArguments, RunningSession, running_session, tool


def _said(b: RunningSession) -> list[str]:
    """Return the user's messages in the history, in order."""
    return [turn.content for turn in b.recorder.turns if isinstance(turn, UserTurn | SteeringTurn)]


@pytest.mark.spec("loop 9.6.1")
@pytest.mark.req("L6")
async def test_a_steer_during_a_tool_round_reaches_the_next_model_call() -> None:
    running = anyio.Event()
    go_on = anyio.Event()

    async def wait(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        running.set()
        await go_on.wait()
        return ToolOutput("ok")

    provider = FakeProvider([tool_call("look")])
    async with running_session(provider, tool("look", wait)) as b:
        b.session.submit("go")
        await running.wait()
        steer_id = b.session.steer("no, the other one")
        assert b.recorder.of(SteeringQueued) == [SteeringQueued(steer_id, "no, the other one")]
        go_on.set()
        await b.idle()
    assert len(provider.requests) == 2
    assert provider.requests[1].messages[-1].text == "no, the other one"
    assert b.recorder.of(SteeringInjected) == [SteeringInjected(steer_id, "no, the other one")]


@pytest.mark.spec("loop 9.6.3")
@pytest.mark.req("L6")
async def test_a_steer_during_the_last_text_starts_another_round() -> None:
    gate = Gate()
    provider = FakeProvider([[text("All "), gate, text("done.")], text("Right away.")])
    async with running_session(provider) as b:
        b.session.submit("go")
        await gate.reached.wait()
        b.session.steer("and the docs")
        b.session.steer("and the tests")
        gate.open()
        await b.idle()
    assert [turn.type for turn in b.recorder.turns] == [
        "user",
        "assistant",
        "steering",
        "steering",
        "assistant",
    ]
    assert _said(b) == ["go", "and the docs", "and the tests"]
    assert b.kinds.count("processing_end") == 1


@pytest.mark.req("L6")
async def test_a_steer_while_idle_waits_for_the_next_submit_and_precedes_its_first_call() -> None:
    provider = FakeProvider()
    async with running_session(provider) as b:
        b.session.steer("be brief")
        assert b.session.state == "IDLE"
        assert provider.requests == []
        await b.say("go")
    assert _said(b) == ["go", "be brief"]
    assert len(provider.requests) == 1


@pytest.mark.req("L6")
async def test_unsteer_removes_a_queued_steer_and_refuses_an_injected_one() -> None:
    async with running_session(FakeProvider()) as b:
        first, second = b.session.steer("one"), b.session.steer("two")
        assert b.session.unsteer(first) is True
        assert b.session.unsteer(first) is False
        await b.say("go")
        assert b.session.unsteer(second) is False
    assert _said(b) == ["go", "two"]
    assert b.recorder.of(SteeringRemoved) == [SteeringRemoved(first)]


@pytest.mark.spec("loop 9.6.2")
@pytest.mark.req("L5", "L6")
async def test_follow_ups_run_in_order_before_one_processing_end() -> None:
    gate = Gate()
    provider = FakeProvider([[gate, text("one")], text("two"), text("three")])
    async with running_session(provider) as b:
        first = b.session.submit("1")
        second, third = b.session.follow_up("2"), b.session.submit("3").queued_id
        gate.open()
        await b.idle()
        await b.say("4")
    assert b.recorder.of(UserInput)[:3] == [
        UserInput("1"),
        UserInput("2", "", second),
        UserInput("3", "", third),
    ]
    assert [len(event.items) for event in b.recorder.of(QueueChanged)] == [1, 2, 1, 0]
    assert b.kinds.count("processing_end") == 2
    turn_ids = [e.turn_id for e in b.recorder.envelopes if isinstance(e.event, UserInput)]
    assert len(set(turn_ids)) == 4
    assert turn_ids[0] == first.turn_id


@pytest.mark.req("L6")
async def test_images_of_inputs_and_steers_reach_the_model() -> None:
    image = ImagePart(b"png", "image/png")
    provider = FakeProvider()
    async with running_session(provider) as b:
        b.session.steer("like this", images=[image])
        b.session.submit("draw", images=[image])
        b.session.follow_up("again", images=[image])
        await b.idle()
    with_image = [message.text for message in provider.requests[-1].messages if image in message.parts]
    assert with_image == ["draw", "like this", "again"]


async def test_a_follow_up_while_idle_starts_at_once() -> None:
    async with running_session(FakeProvider([text("ok")])) as b:
        b.session.follow_up("go")
        await b.idle()
    assert [event.text for event in b.recorder.of(UserInput)] == ["go"]


@pytest.mark.req("H2")
async def test_after_an_interrupt_the_queue_runs_only_after_the_users_next_message() -> None:
    gate = Gate()
    async with running_session(FakeProvider([[gate]])) as b:
        b.session.submit("1")
        b.session.follow_up("queued")
        await gate.reached.wait()
        b.session.interrupt()
        await b.idle()
        assert [item.text for item in b.session.queue] == ["queued"]
        await b.say("2")
    assert _said(b) == ["1", "2", "queued"]


@pytest.mark.req("H2")
async def test_a_message_submitted_during_an_interrupt_runs_before_the_queue() -> None:
    gate = Gate()
    async with running_session(FakeProvider([[gate]])) as b:
        b.session.submit("1")
        b.session.follow_up("queued")
        await gate.reached.wait()
        b.session.interrupt()
        assert b.session.submit("instead", when_busy="steer").queued_id
        assert b.session.submit("and then").queued_id
        await b.idle(2)
    assert _said(b) == ["1", "instead", "and then", "queued"]
    assert [event.reason for event in b.recorder.of(ProcessingEnd)] == ["interrupted", "completed"]


async def test_submit_during_a_turn_steers_queues_or_is_refused_by_the_when_busy_argument() -> None:
    async with running_session(FakeProvider([[Gate()]])) as b:
        assert b.session.submit("1").turn_id
        assert b.session.submit("2", when_busy="steer").steer_id
        assert b.session.submit("3", when_busy="queue").queued_id
        with pytest.raises(SessionBusyError):
            b.session.submit("4", when_busy="refuse")


async def test_a_repeated_client_key_returns_the_first_result_without_a_second_message() -> None:
    async with running_session(FakeProvider([text("a")])) as b:
        first = b.session.submit("go", client_key="k1")
        assert b.session.submit("go", client_key="k1") == first
        assert b.session.steer("s", client_key="k2") == b.session.steer("s", client_key="k2")
        assert b.session.follow_up("f", client_key="k3") == b.session.follow_up("f", client_key="k3")
        await b.idle()
    assert _said(b) == ["go", "s", "f"]


@pytest.mark.req("H2", "R5")
async def test_results_of_old_client_keys_are_forgotten_and_those_of_recent_ones_kept() -> None:
    async with running_session(FakeProvider([])) as b:
        steers = [b.session.steer("s", client_key=f"k{n}") for n in range(MAX_SUBMIT_RESULTS + 1)]
        assert b.session.steer("s", client_key="k1") == steers[1]
        assert b.session.steer("s", client_key="k0") != steers[0], "else the memory for keys has no limit"
        assert b.session.steer("s", client_key=f"k{MAX_SUBMIT_RESULTS}") == steers[-1]


async def test_a_closed_session_refuses_messages() -> None:
    async with running_session(FakeProvider()) as b:
        b.session.abort()
        for refused in (b.session.submit, b.session.steer, b.session.follow_up):
            with pytest.raises(SessionClosedError, match="Open the session again"):
                refused("hello")


async def test_notices_reach_the_model_once_and_before_the_users_message() -> None:
    provider = FakeProvider([tool_call("look")])
    async with running_session(provider, tool("look")) as b:
        b.notices.texts = ["The user undid 2 hunks of a.py."]
        await b.say("go on")
        assert _said(b) == ["The user undid 2 hunks of a.py.", "go on"]
        b.notices.texts = ["And kept one."]
        await b.say("next")
    assert _said(b).count("And kept one.") == 1
    assert {turn.source for turn in b.recorder.turns if isinstance(turn, SteeringTurn)} == {"review"}


@pytest.mark.req("X10", "R4")
async def test_a_session_closed_during_a_roll_back_ends_after_it() -> None:
    async with running_session(FakeProvider([text("Hello.")])) as b:
        await b.say("go")
        with b.session.at_rest():
            b.session.abort()
            await anyio.wait_all_tasks_blocked()
            assert b.session.state == "IDLE"
            b.session.go_back((), None, Reverted("r-1", "t-1", True))
    assert b.kinds[-3:] == ["reverted", "state", "session_end"]


@pytest.mark.req("L6")
async def test_a_message_submitted_after_an_interrupt_runs_even_if_the_interrupted_turn_fails() -> None:
    gate = Gate()
    async with running_session(
        FakeProvider([[gate, Fail(ZeroDivisionError("a fault of ours"))], text("Hello.")])
    ) as b:
        b.session.submit("one")
        await gate.reached.wait()
        gate.open()
        b.session.interrupt()
        assert b.session.submit("two").queued_id
        await b.idle(2)
    assert [event.text for event in b.recorder.of(UserInput)] == ["one", "two"]
