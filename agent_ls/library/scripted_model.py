"""A provider for the tests of a program: it plays a script instead of calling a model."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from agent_ls.argument_types import typed
from agent_ls.llm.accumulate import Accumulator
from agent_ls.llm.errors import LlmError
from agent_ls.llm.messages import TextPart, ToolCallPart
from agent_ls.llm.requests import FinishReason, Request, Response, Usage
from agent_ls.llm.stream import (
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

Part: TypeAlias = str | tuple[str, Mapping[str, Any]]
"""A text, or a tool call: the name of the tool and its arguments."""

Answer: TypeAlias = Part | Sequence[Part] | Exception
"""The answer to one request: a part, several parts, or an error that the model call raises."""


USAGE = Usage(input_tokens=10, output_tokens=5)


class ScriptedModel:
    """Answers the first request with the first answer, and so on. `requests` are the requests so far.

    Pass it as `adapters={"test": ScriptedModel(...)}` with `provider="test"`. A request after the last answer fails
    with an `LlmError` that says so.
    """

    name = "scripted"

    @typed
    def __init__(self, *answers: Answer, usage: Usage = USAGE) -> None:
        self.requests: list[Request] = []
        self._answers = answers
        self._usage = usage

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        number = len(self.requests)
        self.requests.append(request)
        if number >= len(self._answers):
            raise LlmError(
                f"the script has {len(self._answers)} answers, and this is request {number + 1}",
                hint="Pass more answers to ScriptedModel.",
            )
        answer = self._answers[number]
        if isinstance(answer, Exception):
            raise answer
        yield StreamStart(f"scripted-{number}", request.model)
        has_calls = False
        for place, part in enumerate([answer] if isinstance(answer, str | tuple) else answer):
            has_calls |= isinstance(part, tuple)
            for event in _events(place, part, f"call_{number}_{place}"):
                yield event
        yield StreamFinish(FinishReason("tool_calls" if has_calls else "stop"), self._usage, {})

    async def complete(self, request: Request) -> Response:
        whole = Accumulator(self.name)
        async for event in self.stream(request):
            whole.feed(event)
        return whole.response()

    async def close(self) -> None:
        return None


def _events(place: int, part: Part, call_id: str) -> Iterator[StreamEvent]:
    if isinstance(part, str):
        yield TextStart(place)
        yield TextDelta(place, part)
        yield TextEnd(place, TextPart(part))
        return
    name, arguments = part
    call = ToolCallPart(call_id, name, json.dumps(arguments))
    yield ToolCallStart(place, call.id, call.name)
    yield ToolCallDelta(place, call.arguments)
    yield ToolCallEnd(place, call)
