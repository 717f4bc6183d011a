"""A session without faults: its states and the order of its events (L1, L3, L5, E1, E8)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agent_ls.llm.messages import Role
from agent_ls.llm.requests import Usage
from agent_ls.loop.events.types import (
    AssistantTextEnd,
    ProcessingEnd,
    ReasoningEnd,
    SessionEnd,
    SessionStart,
    ToolCallEnd,
    ToolCallStart,
    UsageReport,
    UserInput,
)
from agent_ls.loop.turns import AssistantTurn, ToolResultsTurn
from tests.support.fake_provider import FakeProvider, Piece, end, problem_of, reasoning, text, tool_call
from tests.support.sessions import running_session, tool


@pytest.mark.spec("loop 9.1.2", "loop 9.10.4", "conversation 4.9", "safety S5.2", "safety S6.1")
@pytest.mark.req("L3", "L5", "E1", "E8")
async def test_a_session_with_a_tool_round_emits_all_events_in_order() -> None:
    provider = FakeProvider(
        [[reasoning("hm"), text("I ", "look."), tool_call("look", '{"value": "x"}')], text("Fine.")]
    )
    async with running_session(provider, tool("look")) as b:
        await b.say("go")
    assert b.kinds == [
        "session_start",
        "state",
        "user_input",
        "reasoning_start",
        "reasoning_end",
        "assistant_text_start",
        "assistant_text_end",
        "usage",
        "tool_call_start",
        "tool_call_end",
        "assistant_text_start",
        "assistant_text_end",
        "usage",
        "state",
        "processing_end",
        "state",
        "session_end",
    ]
    assert [envelope.seq for envelope in b.recorder.envelopes] == list(range(1, 18))
    assert b.recorder.of(UserInput) == [UserInput("go")]
    assert [event.text for event in b.recorder.of(AssistantTextEnd)] == ["I look.", "Fine."]
    assert [event.text for event in b.recorder.of(ReasoningEnd)] == ["hm"]
    start, ended = b.recorder.of(ToolCallStart)[0], b.recorder.of(ToolCallEnd)[0]
    assert (start.index, start.name, start.summary) == (0, "look", "look x")
    assert (ended.output, ended.summary, ended.is_error, ended.error_kind) == ("did x", "did x", False, "")
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]
    assert b.recorder.of(SessionEnd) == [SessionEnd("CLOSED", "completed")]
    assert [turn.type for turn in b.recorder.turns] == ["user", "assistant", "tool_results", "assistant"]


@pytest.mark.spec("loop 9.1.8", "safety S5.6")
@pytest.mark.req("L5", "L6")
async def test_each_model_request_extends_the_previous_request_with_the_same_message_objects() -> None:
    provider = FakeProvider([tool_call("look"), tool_call("look", id="call_1")])
    async with running_session(provider, tool("look")) as b:
        await b.say("go")
        await b.say("again")
    for earlier, later in zip(provider.requests, provider.requests[1:], strict=False):
        assert all(a is b for a, b in zip(earlier.messages, later.messages, strict=False))
        assert len(later.messages) > len(earlier.messages)
    assert [request.messages[0].role for request in provider.requests] == [Role.SYSTEM] * 4
    assert not [problem_of(request.messages) for request in provider.requests if problem_of(request.messages)]


@pytest.mark.req("L3")
async def test_the_session_is_idle_at_processing_end_so_that_submit_is_possible_at_once() -> None:
    async with running_session(FakeProvider([text("a"), text("b")])) as b:
        states: list[str] = []
        b.recorder.on_event = lambda envelope: (
            states.append(b.session.state) if envelope.kind == "processing_end" else None
        )
        await b.say("one")
        await b.say("two")
    assert states == ["IDLE", "IDLE"]


async def test_the_user_input_event_of_an_immediate_submit_follows_session_start() -> None:
    async with running_session(FakeProvider([text("hello")])) as b:
        answer = b.session.submit("hi")
        assert answer.turn_id
        assert b.session.state == "PROCESSING"
        assert b.kinds == ["session_start", "state", "user_input"]
        await b.idle()
    assert {e.turn_id for e in b.recorder.envelopes if e.kind.startswith("assistant")} == {answer.turn_id}


@pytest.mark.req("E8")
async def test_the_text_end_event_contains_the_preceding_reasoning() -> None:
    answers: list[list[Piece]] = [
        [reasoning("First, ", "look."), text("I look."), tool_call("look")],
        [reasoning("Then tell."), text("Done.")],
        [text("No thought.")],
    ]
    async with running_session(FakeProvider(answers), tool("look")) as b:
        await b.say("one")
        await b.say("two")
    found = [(end.text, end.reasoning) for end in b.recorder.of(AssistantTextEnd)]
    assert found == [("I look.", "First, look."), ("Done.", "Then tell."), ("No thought.", "")]


@pytest.mark.spec("loop 9.1.1")
@pytest.mark.req("E8")
async def test_session_start_names_model_and_folder() -> None:
    async with running_session(FakeProvider()) as b:
        await b.say("hi")
    assert b.recorder.of(SessionStart) == [SessionStart("fake", "model-1", "/project")]


@pytest.mark.req("L17")
@pytest.mark.parametrize("answer", [[], [text("")], [tool_call("look")], [reasoning("only thoughts")]])
async def test_an_answer_without_text_is_a_valid_turn(answer: list[Piece]) -> None:
    provider = FakeProvider([answer])
    async with running_session(provider, tool("look")) as b:
        await b.say("one")
        await b.say("two")
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")] * 2
    assert not problem_of(provider.requests[-1].messages)


@pytest.mark.req("E6")
async def test_usage_is_reported_after_each_response_and_summed() -> None:
    calls = [Usage(100, 10, reasoning_tokens=4), Usage(200, 20, cache_read_tokens=90)]
    provider = FakeProvider([[tool_call("look"), end("stop", calls[0])], [text("ok"), end("stop", calls[1])]])
    async with running_session(provider, tool("look")) as b:
        await b.say("go")
        assert b.session.usage == Usage(300, 30, 4, 90)
    reports = b.recorder.of(UsageReport)
    assert [report.call for report in reports] == calls
    assert reports[-1].total == Usage(300, 30, 4, 90)
    assert reports[-1].context_window_tokens == 100_000


@pytest.mark.req("L4")
async def test_turns_are_recorded_with_the_providers_metadata() -> None:
    async with running_session(
        FakeProvider([[reasoning("hm"), tool_call("look", "{}", "c9")], text("ok")]), tool("look")
    ) as b:
        await b.say("go")
    answer, results = b.recorder.turns[1], b.recorder.turns[2]
    assert isinstance(answer, AssistantTurn)
    assert isinstance(results, ToolResultsTurn)
    assert (answer.response_id, answer.provider, answer.model) == ("r1", "fake", "model-1")
    assert answer.reasoning == "hm"
    assert answer.usage == Usage(10, 5)
    assert answer.timestamp == "2026-01-02T03:04:05.000Z"
    assert [result.tool_call_id for result in results.results] == ["c9"]


async def test_turns_are_recorded_before_the_events_caused_by_them() -> None:
    async with running_session(FakeProvider([tool_call("look")]), tool("look")) as b:
        await b.say("go")
    order = b.recorder.order
    assert order.index("turn:user") < order.index("user_input")
    assert order.index("turn:assistant") < order.index("usage") < order.index("tool_call_start")
    assert order.index("tool_call_end") < order.index("turn:tool_results")


async def test_a_profile_without_streaming_gives_the_same_events() -> None:
    script: list[Piece | Sequence[Piece]] = [[text("I look."), tool_call("look")], text("Fine.")]
    kinds = []
    for streaming in (True, False):
        async with running_session(FakeProvider(script), tool("look"), supports_streaming=streaming) as b:
            await b.say("go")
        kinds.append(b.kinds)
    assert kinds[0] == kinds[1]
