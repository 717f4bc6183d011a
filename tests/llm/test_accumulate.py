from __future__ import annotations

import pytest

from agent_ls.llm.accumulate import Accumulator
from agent_ls.llm.errors import StreamError
from agent_ls.llm.messages import OpaquePart, Origin, ReasoningPart, TextPart, ToolCallPart
from agent_ls.llm.requests import FinishReason, RateLimit, Usage
from agent_ls.llm.stream import (
    OpaqueItem,
    ProviderEvent,
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

OPAQUE = OpaquePart(Origin("p", "m", {"x": 1}))
CALL = ToolCallPart("c", "f", "{}")
KEPT = TextPart("whole", Origin("p", "m", {"y": 2}))
FINISH = StreamFinish(FinishReason("stop", "end"), Usage(1, 2), {"raw": True}, ("w",), RateLimit(3))

EVENTS: list[StreamEvent] = [
    StreamStart("r1", "m-dated"),
    ReasoningStart(0),
    ReasoningDelta(0, "th"),
    ReasoningDelta(0, "ink"),
    ReasoningEnd(0, ReasoningPart("think")),
    TextStart(1),
    TextDelta(1, "wh"),
    TextDelta(1, "ole"),
    TextEnd(1, KEPT),
    ToolCallStart(2, "c", "f"),
    ToolCallDelta(2, "{}"),
    ToolCallEnd(2, CALL),
    OpaqueItem(3, OPAQUE),
    ProviderEvent({"z": 1}),
    FINISH,
]


def fed(events: list[StreamEvent], provider: str = "p", model: str = "m") -> Accumulator:
    folded = Accumulator(provider, model)
    for event in events:
        folded.feed(event)
    return folded


@pytest.mark.req("U3")
def test_a_complete_stream_accumulates_to_the_response() -> None:
    response = fed(EVENTS).response()
    assert response.message.parts == (ReasoningPart("think"), KEPT, CALL, OPAQUE)
    assert (response.id, response.provider, response.model) == ("r1", "p", "m-dated")
    assert (response.finish_reason, response.usage, response.raw) == (
        FINISH.finish_reason,
        Usage(1, 2),
        {"raw": True},
    )
    assert (response.warnings, response.rate_limit) == (("w",), RateLimit(3))


def test_the_model_of_the_request_is_used_if_the_stream_names_none() -> None:
    assert fed([StreamStart("r", ""), FINISH]).response().model == "m"


@pytest.mark.req("R4")
def test_a_broken_stream_keeps_received_text_and_drops_an_unfinished_tool_call() -> None:
    for count in range(len(EVENTS)):
        folded = fed(EVENTS[:count])
        with pytest.raises(StreamError):
            folded.response()
    assert fed(EVENTS[:3]).message.parts == (ReasoningPart("th"),)
    assert fed(EVENTS[:6]).message.parts == (ReasoningPart("think"),)
    assert fed(EVENTS[:7]).message.parts == (ReasoningPart("think"), TextPart("wh"))
    assert fed(EVENTS[:11]).message.parts == (ReasoningPart("think"), KEPT)


@pytest.mark.req("L17")
def test_an_empty_stream_is_a_valid_response() -> None:
    assert fed([FINISH]).response().message.parts == ()
