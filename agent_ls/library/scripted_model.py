"""A provider for the tests of a program: it plays a script instead of calling a model."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from agent_ls.argument_types import find_misuse
from agent_ls.llm.accumulate import Accumulator
from agent_ls.llm.errors import LlmError
from agent_ls.llm.event_order import check_amounts
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

ScriptedPart: TypeAlias = str | tuple[str, Mapping[str, Any]]
"""A text, or a tool call: the name of the tool and its arguments."""

ScriptedAnswer: TypeAlias = ScriptedPart | Sequence[ScriptedPart] | Exception
"""The answer to one request: a part, several parts, or an error that the model call raises."""


USAGE = Usage(input_tokens=10, output_tokens=5)


class ScriptedModel:
    """Answers the first request with the first answer, and so on. `requests` are the requests so far.

    Pass it as `adapters={"test": ScriptedModel(...)}` with `provider="test"`. A request after the last answer fails
    with an `LlmError` that says so.
    """

    name = "scripted"

    def __init__(self, *answers: ScriptedAnswer, usage: Usage = USAGE) -> None:
        for number, answer in enumerate(answers, 1):
            _check(number, answer)
        if misuse := find_misuse("usage", usage, Usage):
            raise TypeError(": ".join(misuse))
        check_amounts(usage)
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


def _check(number: int, answer: object) -> None:
    """Raise a TypeError here, where the script is, instead of in the turn that plays it."""
    for part in answer if isinstance(answer, Sequence) and not isinstance(answer, str | tuple) else [answer]:
        match part:
            case str() | Exception():
                continue
            case (str(), Mapping() as arguments):
                try:
                    json.dumps(arguments)
                    continue
                except (TypeError, ValueError):
                    pass
        raise TypeError(
            f"answer {number} cannot be played: {part!r:.80}; pass a text, a tool call such as "
            '("shell", {"command": "ls"}), a list of these, or an exception'
        )


def _events(place: int, part: ScriptedPart, call_id: str) -> Iterator[StreamEvent]:
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
