"""A scripted model that records its requests."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import anyio
from anyio.lowlevel import checkpoint

from agent_ls.llm.messages import (
    Message,
    Origin,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agent_ls.llm.requests import FinishKind, FinishReason, Request, Response, Usage
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


class Gate:
    """A point in the stream at which the provider waits until the test opens it. `reached` is set when it waits."""

    def __init__(self) -> None:
        self.reached = anyio.Event()
        self.opened = anyio.Event()

    def open(self) -> None:
        self.opened.set()

    async def wait(self) -> None:
        self.reached.set()
        await self.opened.wait()


@dataclass(frozen=True)
class Say:
    """A text. Its `pieces` are streamed one by one; at a gate the stream waits."""

    pieces: tuple[str | Gate, ...]


@dataclass(frozen=True)
class Think:
    pieces: tuple[str, ...]


@dataclass(frozen=True)
class CallTool:
    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Fail:
    error: Exception


@dataclass(frozen=True)
class End:
    """The finish reason and usage of an answer. The default reason is "stop", or "tool_calls" if there are calls."""

    kind: FinishKind
    usage: Usage = field(default_factory=lambda: Usage(10, 5))


@dataclass(frozen=True)
class BreakOff:
    """The stream ends without its terminal event."""


Piece: TypeAlias = Say | Think | CallTool | Fail | End | BreakOff | Gate


def text(*pieces: str | Gate) -> Say:
    return Say(pieces)


def reasoning(*pieces: str) -> Think:
    return Think(pieces)


def tool_call(name: str, arguments: str = "{}", id: str = "call_0") -> CallTool:
    return CallTool(id, name, arguments)


def error(error: Exception) -> Fail:
    return Fail(error)


def end(kind: FinishKind, usage: Usage | None = None) -> End:
    return End(kind, usage or Usage(10, 5))


class FakeProvider:
    """A model that answers from `script`, which has a piece or a list of pieces for each request.

    Requests after the end of the script get the answer "done".
    """

    name = "fake"

    def __init__(self, script: Iterable[Piece | Sequence[Piece]] = ()) -> None:
        self._answers = iter([entry if isinstance(entry, Sequence) else [entry] for entry in script])
        self.requests: list[Request] = []
        self.open_streams = 0

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        self.requests.append(request)
        number = len(self.requests)
        self.open_streams += 1
        try:
            await checkpoint()
            yield StreamStart(f"r{number}", request.model)
            ending = End("stop")
            has_calls = False
            for index, piece in enumerate(next(self._answers, [text("done")])):
                match piece:
                    case Gate():
                        await piece.wait()
                    case Fail(failure):
                        raise failure
                    case End():
                        ending = piece
                    case BreakOff():
                        return
                    case Say() | Think() | CallTool():
                        has_calls = has_calls or isinstance(piece, CallTool)
                        for event in stream_events(index, piece):
                            if isinstance(event, Gate):
                                await event.wait()
                                continue
                            await checkpoint()
                            yield event
            kind = "tool_calls" if has_calls and ending.kind == "stop" else ending.kind
            await checkpoint()
            yield StreamFinish(FinishReason(kind, kind), ending.usage, {})
        finally:
            self.open_streams -= 1

    async def complete(self, request: Request) -> Response:
        parts = []
        finish = StreamFinish(FinishReason("stop"), Usage(), {})
        stream = self.stream(request)
        async for event in stream:
            if isinstance(event, TextEnd | ReasoningEnd | ToolCallEnd):
                parts.append(event.part)
            elif isinstance(event, StreamFinish):
                finish = event
        message = Message(Role.ASSISTANT, tuple(parts))
        return Response("r", self.name, request.model, message, finish.finish_reason, finish.usage)

    async def close(self) -> None:
        return None


def stream_events(index: int, piece: Say | Think | CallTool) -> Iterator[StreamEvent | Gate]:
    match piece:
        case Say(pieces):
            yield TextStart(index)
            yield from (each if isinstance(each, Gate) else TextDelta(index, each) for each in pieces)
            yield TextEnd(index, TextPart("".join(each for each in pieces if isinstance(each, str))))
        case Think(pieces):
            yield ReasoningStart(index)
            yield from (ReasoningDelta(index, piece) for piece in pieces)
            origin = Origin("fake", "model", {"signature": "s"})
            yield ReasoningEnd(index, ReasoningPart("".join(pieces), origin))
        case CallTool(id_, name, arguments):
            yield ToolCallStart(index, id_, name)
            yield ToolCallDelta(index, arguments)
            yield ToolCallEnd(index, ToolCallPart(id_, name, arguments))


def problem_of(messages: Sequence[Message]) -> str:
    """Return why a provider would refuse these messages; "" if it would accept them."""
    waiting: list[str] = []
    for number, message in enumerate(messages):
        results = [part.tool_call_id for part in message.parts if isinstance(part, ToolResultPart)]
        if results != waiting:
            return f"message {number}: results {results} for the calls {waiting}"
        waiting = [call.id for call in message.tool_calls]
        if not message.parts:
            return f"message {number} is empty"
    return f"no results for {waiting}" if waiting else ""
