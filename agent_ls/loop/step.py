"""Pure: choose the next action of the turn loop from the progress of the turn. No action is performed here.

The rules, which docs/requirements.md lists as L5, L6, L8 and L17:

    the last turn is                               the next action is
    a complete answer with calls                   RunTools
    an answer with calls, cut or filtered          AnswerCalls: each call gets a result, none is run
    an answer without calls                        Finish, or CallModel if it paused or a steer is queued
    the results of calls of an incomplete answer   Finish, or CallModel if a steer is queued
    the results of a terminal tool                 Finish, or CallModel if a steer is queued
    the results of a fatal failure                 Finish
    anything else                                  CallModel

Two limits apply before every CallModel: tool rounds per input and model calls per session.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_ls.llm.messages import ToolCallPart
from agent_ls.llm.requests import FinishReason
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.events.types import EndReason, Error
from agent_ls.loop.turns import AssistantTurn, ToolResultsTurn, Turn
from agent_ls.text import plural, to_display_line


@dataclass(frozen=True, slots=True)
class StepState:
    """The progress of a turn.

    `last` is the last turn in the history; `answer` is the model's last answer to the user's message (None
    before the first answer). `rounds` counts the tool rounds since that message, `model_calls` the model's
    answers in the whole session. `ended_by` is set if a tool of the last round ended the loop: `completed` by a
    terminal tool, `error` by a fatal failure. `steering` is True if a steer is queued for the next model call.
    `subagent_cost_usd` is the cost of the model calls so far, 0 for the main agent.
    """

    last: Turn
    answer: AssistantTurn | None = None
    rounds: int = 0
    model_calls: int = 0
    subagent_cost_usd: float = 0.0
    ended_by: Literal["completed", "error"] | None = None
    steering: bool = False


@dataclass(frozen=True, slots=True)
class CallModel:
    pass


@dataclass(frozen=True, slots=True)
class RunTools:
    calls: tuple[ToolCallPart, ...]


@dataclass(frozen=True, slots=True)
class AnswerCalls:
    """An action that gives each call of an incomplete answer the result `reason`, without running it."""

    calls: tuple[ToolCallPart, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Finish:
    """End the turn.

    `limit` names the limit that was reached, `count` is its value, and `message` describes it for the user.
    For the limit `budget` (tokens, money or time) the event TurnLimit has been emitted already. `error` is
    the event to emit if the reason is "error".
    """

    reason: EndReason
    limit: Literal["", "rounds", "turns", "cost", "budget"] = ""
    count: int = 0
    message: str = ""
    error: Error | None = None


Step: TypeAlias = CallModel | RunTools | AnswerCalls | Finish

# The finish reasons that are not failures. After `pause`, the next model call continues the answer.
_NATURAL = ("stop", "tool_calls", "pause")
_CUT_WORDS = {
    "length": "The model's answer was cut off at the output limit of the model.",
    "content_filter": "The provider's content filter stopped the model's answer.",
    "error": "The provider ended the model's answer with an error.",
    "other": "The model's answer ended for an unknown reason.",
}

_WINDOW_FULL = "The model's answer was cut off because the conversation fills the model's context window."


def next_step(at: StepState, config: SessionConfig) -> Step:
    if at.ended_by and not (at.ended_by == "completed" and at.steering):
        return Finish(at.ended_by)
    if isinstance(at.last, AssistantTurn):
        return _after_answer(at, at.last, config)
    if isinstance(at.last, ToolResultsTurn) and at.answer and not at.steering:
        kind = at.answer.finish_reason.kind
        if kind not in _NATURAL:
            return Finish(_reason(kind))
    return _call_model(at, config)


def cut_message(finish: FinishReason) -> str:
    """Return the message to the user about an answer that was cut or filtered, "" for a complete one."""
    if finish.kind in _NATURAL:
        return ""
    words = _CUT_WORDS[finish.kind]
    if finish.kind == "length" and "context" in finish.raw:
        words = _WINDOW_FULL
    raw = to_display_line(finish.raw) if finish.kind in ("error", "other") else ""
    return f"{words[:-1]} ({raw})." if raw else words


def _after_answer(at: StepState, answer: AssistantTurn, config: SessionConfig) -> Step:
    kind = answer.finish_reason.kind
    if answer.tool_calls:
        if kind in ("stop", "tool_calls"):
            return RunTools(answer.tool_calls)
        return AnswerCalls(
            answer.tool_calls, cut_message(answer.finish_reason) or "The model's answer was paused."
        )
    # Without parts, the same request would be sent again, and the model would pause again.
    if at.steering or (kind == "pause" and answer.message.parts):
        return _call_model(at, config)
    return Finish(_reason(kind))


def _reason(kind: str) -> EndReason:
    if kind in _NATURAL:
        return "completed"
    return "limit" if kind == "length" else "error"


def _whose_limit(config: SessionConfig) -> str:
    if config.is_subagent:
        return "the limit of this subagent. It continues if it gets another message."
    return "the limit of this session. Raise the limit to continue."


def _call_model(at: StepState, config: SessionConfig) -> CallModel | Finish:
    if 0 < config.max_tool_rounds_per_input <= at.rounds:
        return Finish(
            "limit",
            "rounds",
            at.rounds,
            f"Stopped after {plural(at.rounds, 'tool round')}, the limit for one input. Send a message to "
            "continue, or raise the limit.",
        )
    if 0 < config.max_turns <= at.model_calls:
        return Finish(
            "limit",
            "turns",
            at.model_calls,
            f"Stopped after {plural(at.model_calls, 'model call')}, {_whose_limit(config)}",
        )
    if 0 < config.max_subagent_cost_usd <= at.subagent_cost_usd:
        return Finish(
            "limit",
            "cost",
            round(at.subagent_cost_usd * 100),
            f"Stopped at ${at.subagent_cost_usd:.2f}, the limit of the cost of one subagent.",
        )
    return CallModel()
