"""Limits, changes of settings, loop and context warnings, and answers that end early."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_ls.llm.requests import FinishKind, FinishReason, Usage
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.events.types import EndReason, Error, LoopDetection, ProcessingEnd, TurnLimit, Warning
from agent_ls.loop.step import cut_message
from agent_ls.loop.turns import SteeringTurn, ToolResultsTurn
from tests.support.fake_provider import FakeProvider, Gate, end, problem_of, text, tool_call
from tests.support.sessions import profile, running_session, tool


@pytest.mark.spec("loop 9.1.4", "safety S5.7")
@pytest.mark.req("L8", "L2")
async def test_the_round_limit_stops_an_input_with_an_event_and_a_message() -> None:
    provider = FakeProvider([tool_call("look")] * 5)
    async with running_session(
        provider, tool("look"), config=SessionConfig(max_tool_rounds_per_input=2)
    ) as b:
        await b.say("go")
        await b.say("go on")
    limits = b.recorder.of(TurnLimit)
    assert [(event.limit, event.count) for event in limits] == [("rounds", 2)] * 2
    assert "2 tool rounds" in limits[0].message
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("limit")] * 2
    assert len(provider.requests) == 4


@pytest.mark.spec("loop 9.1.5")
@pytest.mark.req("L8", "L2")
async def test_the_turn_limit_counts_model_calls_of_the_whole_session_and_pauses_the_queue() -> None:
    provider = FakeProvider([text("one"), tool_call("look")])
    async with running_session(provider, tool("look"), config=SessionConfig(max_turns=2)) as b:
        await b.say("1")
        b.session.submit("2")
        b.session.follow_up("3")
        await b.idle(2)
        assert [(event.limit, event.count) for event in b.recorder.of(TurnLimit)] == [("turns", 2)]
        assert [item.text for item in b.session.queue] == ["3"]
        b.session.configure(config=SessionConfig())
        await b.say("4")
    assert len(provider.requests) == 4


@pytest.mark.spec("loop 9.7.1", "loop 9.7.2")
@pytest.mark.req("L2", "L7")
async def test_a_changed_effort_applies_from_the_next_call_and_a_profile_from_the_next_input() -> None:
    gate = Gate()
    provider = FakeProvider([[gate, tool_call("look")], text("ok")])
    async with running_session(provider, tool("look")) as b:
        assert b.session.configure(config=SessionConfig(reasoning_effort="low")) == "now"
        b.session.submit("go")
        await gate.reached.wait()
        assert b.session.configure(config=SessionConfig(reasoning_effort="high")) == "nextCall"
        assert b.session.configure(profile=profile(model="model-2")) == "nextTurn"
        gate.open()
        await b.idle()
        await b.say("again")
    asked = [(request.model, request.reasoning_effort) for request in provider.requests]
    assert asked == [("model-1", "low"), ("model-1", "high"), ("model-2", "high")]


async def test_effort_is_left_out_for_a_model_without_reasoning() -> None:
    provider = FakeProvider()
    config = SessionConfig(reasoning_effort="high")
    async with running_session(provider, config=config, supports_reasoning=False) as b:
        await b.say("go")
    assert provider.requests[0].reasoning_effort is None


@pytest.mark.req("O6")
async def test_prompt_and_tools_are_built_again_only_after_a_change() -> None:
    provider = FakeProvider()
    async with running_session(provider, tool("look")) as b:
        await b.say("1")
        await b.say("2")
        b.session.configure(config=SessionConfig(reasoning_effort="low"))
        await b.say("3")
        b.session.configure(config=SessionConfig(user_instructions="Speak French."))
        await b.say("4")
        b.session.profile.registry.register(tool("extra"))
        await b.say("5")
    assert b.recorder.prompts == ["You are a test.", "You are a test.\n\nSpeak French."]
    assert [len(request.tools) for request in provider.requests] == [1, 1, 1, 1, 2]


@pytest.mark.spec("loop 9.1.7")
@pytest.mark.req("L9")
async def test_a_loop_of_calls_is_reported_to_the_model_and_the_user_once_per_window() -> None:
    provider = FakeProvider([tool_call("look", '{"value": "x"}')] * 12)
    config = SessionConfig(loop_detection_window=4)
    async with running_session(provider, tool("look"), config=config) as b:
        await b.say("go")
    words = "Loop detected: the last 4 tool calls follow a repeating pattern. Try a different approach."
    assert b.recorder.of(LoopDetection) == [LoopDetection(words)] * 3
    steering = [turn for turn in b.recorder.turns if isinstance(turn, SteeringTurn)]
    assert {(turn.source, turn.content) for turn in steering} == {("loop_detection", words)}
    assert provider.requests[4].messages[-1].text == words


@pytest.mark.req("L9")
async def test_loop_detection_can_be_switched_off() -> None:
    provider = FakeProvider([tool_call("look")] * 6)
    config = SessionConfig(loop_detection_window=4, enable_loop_detection=False)
    async with running_session(provider, tool("look"), config=config) as b:
        await b.say("go")
    assert b.recorder.of(LoopDetection) == []


@pytest.mark.req("L12")
async def test_a_context_over_80_percent_causes_one_warning() -> None:
    provider = FakeProvider([[text("ok"), end("stop", Usage(0, 5))]] * 3)
    async with running_session(provider, context_window_tokens=1000) as b:
        await b.say("x" * 2000)
        assert b.recorder.of(Warning) == []
        await b.say("x" * 1400)
        await b.say("x")
    assert b.recorder.of(Warning) == [Warning("Context usage at ~85% of context window", "context")]


ENDS: list[tuple[FinishKind, EndReason, str]] = [
    ("length", "limit", "The model's answer was cut off at the output limit of the model."),
    ("content_filter", "error", "The provider's content filter stopped the model's answer."),
    ("error", "error", "The provider ended the model's answer with an error (error)."),
    ("other", "error", "The model's answer ended for an unknown reason (other)."),
]


@pytest.mark.req("L17")
@pytest.mark.parametrize(("kind", "reason", "words"), ENDS, ids=[kind for kind, _, _ in ENDS])
async def test_tool_calls_of_a_truncated_response_get_error_results_without_running(
    kind: FinishKind, reason: EndReason, words: str
) -> None:
    provider = FakeProvider([[text("I"), tool_call("look"), end(kind)]])
    async with running_session(provider, tool("look")) as b:
        await b.say("go")
        results = b.recorder.turns[-1]
        await b.say("again")
    assert isinstance(results, ToolResultsTurn)
    assert results.results[0].content == f"Not run. {words}"
    assert results.results[0].is_error
    warnings = [warning.message for warning in b.recorder.of(Warning)]
    warnings += [error.message for error in b.recorder.of(Error)]
    assert warnings == [words]
    assert bool(b.recorder.of(Error)) is (reason == "error")
    assert b.recorder.of(ProcessingEnd)[0] == ProcessingEnd(reason)
    assert problem_of(provider.requests[-1].messages) == ""


@pytest.mark.req("L17")
async def test_a_truncated_response_without_tool_calls_ends_the_turn_with_reason_limit() -> None:
    async with running_session(FakeProvider([[text("I was about to"), end("length")]])) as b:
        await b.say("go")
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("limit")]
    assert [event.code for event in b.recorder.of(Warning)] == ["length"]


@pytest.mark.req("L17")
async def test_a_pause_finish_reason_repeats_the_model_call_with_the_response_appended() -> None:
    provider = FakeProvider([[text("Searching"), end("pause")], text("Found.")])
    async with running_session(provider) as b:
        await b.say("go")
    first, second = provider.requests
    assert second.messages[:-1] == first.messages
    assert second.messages[-1].text == "Searching"
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]


@pytest.mark.req("L2")
async def test_a_limit_raised_during_a_turn_applies_from_the_next_round() -> None:
    gate = Gate()
    provider = FakeProvider([tool_call("look"), [gate, tool_call("look")], tool_call("look")])
    config = SessionConfig(max_tool_rounds_per_input=5)
    async with running_session(provider, tool("look"), config=config) as b:
        b.session.submit("go")
        await gate.reached.wait()
        b.session.configure(config=replace(config, max_tool_rounds_per_input=2))
        gate.open()
        await b.idle()
    assert [event.count for event in b.recorder.of(TurnLimit)] == [2]


@pytest.mark.report("turnstonelabs/turnstone#1162")
@pytest.mark.parametrize("raw", ["model_context_window_exceeded", "context_window_exceeded"])
def test_an_answer_that_fills_the_context_is_not_told_as_one_at_the_output_limit(raw: str) -> None:
    assert "context" in cut_message(FinishReason("length", raw))
    assert "context" not in cut_message(FinishReason("length", "max_tokens"))
