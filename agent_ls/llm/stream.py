"""The events of a streamed answer. llm/accumulate.py combines them into a Response.

Every part has an `index`, which is unique in the response and increases in the order in which parts start. A part
has one start event, deltas, and one end event; parts never nest. The end event has the complete part (with its
`origin`), so a consumer may ignore deltas. Only a truncated tool call (the output limit was reached inside the
arguments) has a start event and no end event: it is not part of the answer, and StreamFinish.warnings reports it.
The agent loop keeps it as a call that was not run. The last event of a
successful stream is `StreamFinish`. If the provider's terminal event is missing, the codec raises StreamError.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from agent_ls.llm.messages import JsonObject, OpaquePart, ReasoningPart, SearchPart, TextPart, ToolCallPart
from agent_ls.llm.requests import FinishReason, RateLimit, Response, Usage


@dataclass(frozen=True, slots=True)
class StreamStart:
    response_id: str
    model: str


@dataclass(frozen=True, slots=True)
class TextStart:
    index: int


@dataclass(frozen=True, slots=True)
class TextDelta:
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class TextEnd:
    index: int
    part: TextPart


@dataclass(frozen=True, slots=True)
class ReasoningStart:
    index: int


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningEnd:
    index: int
    part: ReasoningPart


@dataclass(frozen=True, slots=True)
class ToolCallStart:
    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of the JSON text of a call's arguments."""

    index: int
    json: str


@dataclass(frozen=True, slots=True)
class ToolCallEnd:
    """The end of a tool call. Only tools with `starts_early` may run before StreamFinish."""

    index: int
    part: ToolCallPart


@dataclass(frozen=True, slots=True)
class OpaqueItem:
    """A complete item that only its provider understands (server tool use, a search). Store it to send it back."""

    index: int
    part: OpaquePart | SearchPart


@dataclass(frozen=True, slots=True)
class ProviderEvent:
    """A provider's event that corresponds to no other event class. The agent loop ignores it."""

    raw: JsonObject


@dataclass(frozen=True, slots=True)
class StreamFinish:
    """The terminal event, with the fields of Response that do not belong to a part."""

    finish_reason: FinishReason
    usage: Usage
    raw: JsonObject
    warnings: tuple[str, ...] = ()
    rate_limit: RateLimit | None = None


StreamEvent: TypeAlias = (
    StreamStart
    | TextStart
    | TextDelta
    | TextEnd
    | ReasoningStart
    | ReasoningDelta
    | ReasoningEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
    | OpaqueItem
    | ProviderEvent
    | StreamFinish
)


def replay_as_stream(response: Response) -> Iterator[StreamEvent]:
    """Yield a complete response as stream events, at most one delta for each part."""
    yield StreamStart(response.id, response.model)
    for index, part in enumerate(response.message.parts):
        match part:
            case TextPart(text):
                yield TextStart(index)
                yield from (TextDelta(index, text),) if text else ()
                yield TextEnd(index, part)
            case ReasoningPart(text):
                yield ReasoningStart(index)
                yield from (ReasoningDelta(index, text),) if text else ()
                yield ReasoningEnd(index, part)
            case ToolCallPart(call_id, name, arguments):
                yield ToolCallStart(index, call_id, name)
                yield ToolCallDelta(index, arguments)
                yield ToolCallEnd(index, part)
            case OpaquePart() | SearchPart():
                yield OpaqueItem(index, part)
            case _:
                pass  # other parts do not occur in an answer
    for index, call in enumerate(response.cut_calls, len(response.message.parts)):
        yield ToolCallStart(index, call.id, call.name)
        yield from (ToolCallDelta(index, call.arguments),) if call.arguments else ()
    yield StreamFinish(
        response.finish_reason, response.usage, response.raw, response.warnings, response.rate_limit
    )
