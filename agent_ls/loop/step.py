"""ENGINE: what now? Where an input stands goes in, the next step comes out; nothing is performed here.

The rules are 000 sections 2.5 and 2.8 and REQUIREMENTS L5, L6, L8, L17:

    the last turn is                        the step is
    an answer with calls, well ended        RunTools
    an answer with calls, cut or filtered   AnswerCalls: each call gets a result, none is run
    an answer without calls                 Finish, or CallModel when it paused or a steer waits
    the results of cut calls                Finish, or CallModel when a steer waits
    the results of a terminal tool          Finish, or CallModel when a steer waits
    the results of a fatal failure          Finish
    anything else                           CallModel

Every CallModel is subject to the two limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_ls.llm.messages import ToolCallPart
from agent_ls.llm.requests import FinishReason
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.events import EndReason
from agent_ls.loop.turns import AssistantTurn, ToolResultsTurn, Turn


@dataclass(frozen=True, slots=True)
class Position:
    """Where an input stands.

    `last` is the last turn of the history, `answer` the last answer to this input (None before the first).
    `rounds` counts the tool rounds of this input, `model_calls` the answers of the session. `ended_by` is set
    when a tool of the last round ended the loop: `completed` by a terminal tool, `error` by a fatal failure.
    `steering`: a user's message waits to be injected.
    """

    last: Turn
    answer: AssistantTurn | None = None
    rounds: int = 0
    model_calls: int = 0
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
    """The calls of an answer that did not end well: each gets a result with `reason`, none is run (L17)."""

    calls: tuple[ToolCallPart, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The input is done. `limit` names the limit that was reached, with its `count`, and `message` says so.

    `budget`: of tokens, money or time (budget.py), which has been told already.
    """

    reason: EndReason
    limit: Literal["", "rounds", "turns", "budget"] = ""
    count: int = 0
    message: str = ""


Step: TypeAlias = CallModel | RunTools | AnswerCalls | Finish

# A pause is not the end, but nothing is wrong with it either.
_NATURAL = ("stop", "tool_calls", "pause")
_CUT_WORDS = {
    "length": "The model's answer was cut at its output limit.",
    "content_filter": "The provider's content filter stopped the model's answer.",
    "error": "The provider ended the model's answer with an error.",
    "other": "The model's answer did not end by itself.",
}


def next_step(at: Position, config: SessionConfig) -> Step:
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
    """What the user is told of an answer that did not end well, "" for one that did (L17)."""
    if finish.kind in _NATURAL:
        return ""
    words = _CUT_WORDS[finish.kind]
    return f"{words[:-1]} ({finish.raw})." if finish.raw and finish.kind in ("error", "other") else words


def _after_answer(at: Position, answer: AssistantTurn, config: SessionConfig) -> Step:
    kind = answer.finish_reason.kind
    if answer.tool_calls:
        if kind in ("stop", "tool_calls"):
            return RunTools(answer.tool_calls)
        return AnswerCalls(answer.tool_calls, cut_message(answer.finish_reason) or "The answer was paused.")
    # An empty pause would be sent again unchanged, and paused again.
    if at.steering or (kind == "pause" and answer.message.parts):
        return _call_model(at, config)
    return Finish(_reason(kind))


def _reason(kind: str) -> EndReason:
    if kind in _NATURAL:
        return "completed"
    return "limit" if kind == "length" else "error"


def _call_model(at: Position, config: SessionConfig) -> CallModel | Finish:
    if 0 < config.max_tool_rounds_per_input <= at.rounds:
        return Finish(
            "limit",
            "rounds",
            at.rounds,
            f"Stopped after {_times(at.rounds, 'tool round')}, the limit for one input. "
            "Send a message to go on, or raise the limit.",
        )
    if 0 < config.max_turns <= at.model_calls:
        return Finish(
            "limit",
            "turns",
            at.model_calls,
            f"Stopped after {_times(at.model_calls, 'model call')}, the limit of this session. "
            "Raise the limit to go on.",
        )
    return CallModel()


def _times(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
