"""The next step of a turn, as a table (requirements L5, L8, L17)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_ls.llm.messages import Message, Role, TextPart, ToolCallPart
from agent_ls.llm.requests import FinishKind, FinishReason, Usage
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.step import (
    AnswerCalls,
    CallModel,
    Finish,
    RunTools,
    Step,
    StepState,
    cut_message,
    next_step,
)
from agent_ls.loop.turns import AssistantTurn, SteeringTurn, SystemTurn, ToolResultsTurn, UserTurn

CALLS = (ToolCallPart("a", "look", "{}"), ToolCallPart("b", "look", "{}"))
USER = UserTurn("go", "t")
RESULTS = ToolResultsTurn((), "t")


def _answer(kind: FinishKind, *, calls: bool = False, words: bool = True) -> AssistantTurn:
    parts = ((TextPart("words"),) if words else ()) + (CALLS if calls else ())
    return AssistantTurn(
        Message(Role.ASSISTANT, parts), Usage(), "r", "p", "m", FinishReason(kind, "raw"), "t"
    )


TEXT = _answer("stop")
CALLING = _answer("tool_calls", calls=True)
CUT = _answer("length", calls=True)
NO_LIMITS = SessionConfig()
ROUNDS = SessionConfig(max_tool_rounds_per_input=2)
TURNS = SessionConfig(max_turns=3)

COST = SessionConfig(max_subagent_cost_usd=0.5)

CASES: dict[str, tuple[StepState, SessionConfig, Step]] = {
    "an input": (StepState(USER), NO_LIMITS, CallModel()),
    "below the cost limit": (StepState(USER, subagent_cost_usd=0.49), COST, CallModel()),
    "the cost limit": (
        StepState(USER, subagent_cost_usd=0.5),
        COST,
        Finish("limit", "cost", 50, "Stopped at $0.50, the limit of the cost of one subagent."),
    ),
    "a steer": (StepState(SteeringTurn("s", "t")), NO_LIMITS, CallModel()),
    "a system turn": (StepState(SystemTurn("s", "t")), NO_LIMITS, CallModel()),
    "words": (StepState(TEXT, TEXT), NO_LIMITS, Finish("completed")),
    "nothing at all": (StepState(_answer("stop", words=False)), NO_LIMITS, Finish("completed")),
    "tool_calls without calls": (StepState(_answer("tool_calls")), NO_LIMITS, Finish("completed")),
    "calls": (StepState(CALLING, CALLING), NO_LIMITS, RunTools(CALLS)),
    "calls that end with stop": (StepState(_answer("stop", calls=True)), NO_LIMITS, RunTools(CALLS)),
    "results": (StepState(RESULTS, CALLING, rounds=1), NO_LIMITS, CallModel()),
    "words, and a steer waits": (StepState(TEXT, TEXT, steering=True), NO_LIMITS, CallModel()),
    "a pause": (StepState(_answer("pause")), NO_LIMITS, CallModel()),
    "an empty pause": (StepState(_answer("pause", words=False)), NO_LIMITS, Finish("completed")),
    "a pause with calls": (
        StepState(_answer("pause", calls=True)),
        NO_LIMITS,
        AnswerCalls(CALLS, "The model's answer was paused."),
    ),
    "results of a pause": (StepState(RESULTS, _answer("pause", calls=True)), NO_LIMITS, CallModel()),
    "cut words": (StepState(_answer("length")), NO_LIMITS, Finish("limit")),
    "cut words, and a steer waits": (StepState(_answer("length"), steering=True), NO_LIMITS, CallModel()),
    "cut calls": (StepState(CUT, CUT), NO_LIMITS, AnswerCalls(CALLS, cut_message(CUT.finish_reason))),
    "results of cut calls": (StepState(RESULTS, CUT), NO_LIMITS, Finish("limit")),
    "results of cut calls, and a steer waits": (
        StepState(RESULTS, CUT, steering=True),
        NO_LIMITS,
        CallModel(),
    ),
    "filtered words": (StepState(_answer("content_filter")), NO_LIMITS, Finish("error")),
    "a failed answer": (StepState(_answer("error")), NO_LIMITS, Finish("error")),
    "an unknown end": (StepState(_answer("other")), NO_LIMITS, Finish("error")),
    "a terminal tool": (StepState(RESULTS, CALLING, ended_by="completed"), NO_LIMITS, Finish("completed")),
    "a terminal tool, and a steer waits": (
        StepState(RESULTS, CALLING, ended_by="completed", steering=True),
        NO_LIMITS,
        CallModel(),
    ),
    "a fatal tool": (
        StepState(RESULTS, CALLING, ended_by="error", steering=True),
        NO_LIMITS,
        Finish("error"),
    ),
    "one round below the limit": (StepState(RESULTS, CALLING, rounds=1), ROUNDS, CallModel()),
    "at the round limit": (
        StepState(RESULTS, CALLING, rounds=2),
        ROUNDS,
        Finish(
            "limit",
            "rounds",
            2,
            "Stopped after 2 tool rounds, the limit for one input. Send a message to continue, or raise the limit.",
        ),
    ),
    "words at the round limit": (StepState(TEXT, TEXT, rounds=2), ROUNDS, Finish("completed")),
    "calls at the round limit still run": (StepState(CALLING, CALLING, rounds=2), ROUNDS, RunTools(CALLS)),
    "at the turn limit": (
        StepState(USER, model_calls=3),
        TURNS,
        Finish(
            "limit",
            "turns",
            3,
            "Stopped after 3 model calls, the limit of this session. Raise the limit to continue.",
        ),
    ),
    "a subagent at its turn limit": (
        StepState(USER, model_calls=3),
        replace(TURNS, is_subagent=True),
        Finish(
            "limit",
            "turns",
            3,
            "Stopped after 3 model calls, the limit of this subagent. It continues if it gets another message.",
        ),
    ),
}


@pytest.mark.req("L5", "L8", "L17")
@pytest.mark.parametrize("case", CASES)
def test_next_step_returns_the_expected_step_for_each_turn_state(case: str) -> None:
    position, config, expected = CASES[case]
    assert next_step(position, config) == expected
