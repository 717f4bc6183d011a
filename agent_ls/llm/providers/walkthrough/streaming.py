"""Stream a scripted answer in small pieces, like a model's answer."""

from __future__ import annotations

import json
from collections.abc import Iterator

from agent_ls.llm.messages import Message, ReasoningPart, TextPart, ToolCallPart
from agent_ls.llm.providers.walkthrough.script import ScriptedAnswer, next_answer
from agent_ls.llm.requests import FinishReason, Request, Usage
from agent_ls.llm.stream import (
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    StreamFinish,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from agent_ls.patterns import regex

MODEL = "walkthrough"
_PIECE = regex(r"\s*\S+\s?")


def stream_answer(request: Request) -> Iterator[StreamEvent]:
    """Yield the events of the next answer; deterministic, so that a session can be replayed."""
    messages = [m for m in request.messages if m.role.value not in ("system", "developer")]
    move = next_answer(messages, frozenset(tool.name for tool in request.tools))
    number = sum(1 for m in messages if m.role.value == "assistant")
    yield StreamStart(f"walkthrough-{number}", MODEL)
    index = 0
    if move.thought:
        yield ReasoningStart(index)
        for piece in _PIECE.findall(move.thought):
            yield ReasoningDelta(index, piece)
        yield ReasoningEnd(index, ReasoningPart(move.thought))
        index += 1
    if move.say:
        yield TextStart(index)
        for piece in _PIECE.findall(move.say):
            yield TextDelta(index, piece)
        yield TextEnd(index, TextPart("".join(_PIECE.findall(move.say))))
        index += 1
    for place, call in enumerate(move.calls):
        call_id = f"walk-{number}-{place}"
        arguments = json.dumps(call.arguments)
        yield ToolCallStart(index, call_id, call.name)
        yield ToolCallDelta(index, arguments)
        yield ToolCallEnd(index, ToolCallPart(call_id, call.name, arguments))
        index += 1
    finish = FinishReason("tool_calls" if move.calls else "stop", "scripted")
    yield StreamFinish(finish, _usage(request.messages, move), {})


def _usage(messages: tuple[Message, ...], move: ScriptedAnswer) -> Usage:
    """Return rough token counts (four characters a token), so that usage displays change during the walkthrough."""
    sent = sum(
        len(getattr(part, "text", "") or getattr(part, "content", "") or "")
        for m in messages
        for part in m.parts
    )
    return Usage(sent // 4, (len(move.thought) + len(move.say)) // 4, len(move.thought) // 4)
