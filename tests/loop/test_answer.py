"""Events and assistant message of a stream, also of an invalid or interrupted one (L17, R5)."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from agent_ls.llm.errors import NetworkError
from agent_ls.llm.messages import OpaquePart, Origin, ReasoningPart, TextPart, ToolCallPart
from agent_ls.llm.requests import FinishReason, Request, Usage
from agent_ls.llm.stream import (
    OpaqueItem,
    ProviderEvent,
    ReasoningDelta,
    ReasoningEnd as StreamedReasoningEnd,
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
from agent_ls.loop.emission import EventEmitter
from agent_ls.loop.events.types import AssistantTextEnd, Error, ProcessingEnd, ReasoningEnd, Warning
from agent_ls.loop.ids import SessionId
from agent_ls.loop.model.answer import ModelAnswer
from agent_ls.loop.model.call_ids import CallIds
from tests.support.fake_clock import FakeClock
from tests.support.fake_provider import FakeProvider, text
from tests.support.sessions import MemoryRecorder, running_session

FINISH = StreamFinish(FinishReason("stop"), Usage(), {})
CALL = ToolCallPart("c1", "look", "{}")
OPAQUE = OpaquePart(Origin("p", "m", {"type": "server_tool_use"}))


def _fed(*events: StreamEvent) -> tuple[ModelAnswer, EventEmitter, MemoryRecorder]:
    recorder = MemoryRecorder()
    emitter = EventEmitter(SessionId("s"), recorder, FakeClock())
    answer = ModelAnswer(emitter, CallIds())
    for event in events:
        answer.feed(event)
    return answer, emitter, recorder


def test_response_parts_are_in_stream_order_and_include_opaque_items() -> None:
    signed = ReasoningPart("hm", Origin("p", "m", {"signature": "s"}))
    answer, emitter, _ = _fed(
        StreamStart("r-1", "m"),
        ReasoningStart(0),
        ReasoningDelta(0, "hm"),
        StreamedReasoningEnd(0, signed),
        OpaqueItem(1, OPAQUE),
        ProviderEvent({"type": "ping"}),
        ToolCallStart(2, "c1", "look"),
        ToolCallDelta(2, "{}"),
        ToolCallEnd(2, CALL),
        FINISH,
    )
    assert answer.message.parts == (signed, OPAQUE, CALL)
    assert (answer.response_id, answer.event_ids, answer.finish) == ("r-1", ("c1",), FINISH)
    assert [part.part_id for part in emitter.open_parts()] == ["c1:args"]


@pytest.mark.req("L17")
@pytest.mark.parametrize(
    ("pieces", "kept"), [(('{"pa',), '{"pa'), (("{", "}"), "{"), ((), "{")], ids=["half", "whole", "none"]
)
def test_an_incomplete_tool_call_is_kept_with_arguments_that_cannot_run(
    pieces: tuple[str, ...], kept: str
) -> None:
    deltas = [ToolCallDelta(0, piece) for piece in pieces]
    answer, emitter, _ = _fed(ToolCallStart(0, "c1", "look"), *deltas, FINISH)
    assert answer.message.parts == (ToolCallPart("c1", "look", kept),)
    assert len(answer.event_ids) == 1
    assert emitter.open_parts() == ()


def test_a_tool_call_without_a_name_is_omitted_and_its_arguments_part_is_closed() -> None:
    answer, emitter, _ = _fed(ToolCallStart(0, "c1", ""), ToolCallDelta(0, '{"pa'), FINISH)
    assert (answer.message.parts, answer.event_ids, emitter.open_parts()) == ((), (), ())


@pytest.mark.req("R5")
def test_stream_parts_without_a_start_event_are_also_published() -> None:
    answer, emitter, recorder = _fed(
        TextDelta(0, "a"),
        TextEnd(0, TextPart("a")),
        StreamedReasoningEnd(1, ReasoningPart("b")),
        ToolCallDelta(2, "{}"),
        ToolCallEnd(2, CALL),
    )
    assert len(answer.message.parts) == 3
    assert len(answer.event_ids) == 1
    assert recorder.kinds == [
        "assistant_text_start",
        "assistant_text_end",
        "reasoning_start",
        "reasoning_end",
    ]
    assert [part.kind for part in emitter.open_parts()] == ["tool_call_args_delta"]


@pytest.mark.req("R4", "L16")
@pytest.mark.report("can1357/oh-my-pi#333")
@pytest.mark.parametrize("with_calls", [False, True], ids=["interrupted", "broken"])
def test_an_interrupted_response_keeps_its_texts_and_drops_reasoning(with_calls: bool) -> None:
    answer, emitter, recorder = _fed(
        ReasoningStart(0),
        StreamedReasoningEnd(0, ReasoningPart("hm", Origin("p", "m", {}))),
        TextStart(1),
        TextEnd(1, TextPart("Whole.", Origin("p", "m", {"phase": "commentary"}))),
        ToolCallStart(2, "c1", "look"),
        ToolCallEnd(2, CALL),
        ReasoningStart(3),
        ReasoningDelta(3, "so"),
        TextStart(4),
        TextDelta(4, "Ha"),
        TextStart(5),
    )
    parts = answer.end_interrupted(with_calls=with_calls).parts
    calls = (CALL,) if with_calls else ()
    assert parts == (TextPart("Whole."), *calls, TextPart("Ha"))
    assert [(event.text, event.interrupted) for event in recorder.of(AssistantTextEnd)] == [
        ("Whole.", False),
        ("Ha", True),
    ]
    assert [(event.text, event.interrupted) for event in recorder.of(ReasoningEnd)] == [
        ("hm", False),
        ("so", True),
    ]
    assert emitter.open_parts() == ()


class _LateFailure(FakeProvider):
    """A model whose stream fails after its terminal event, as when the connection is reset at the end."""

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        async for event in super().stream(request):
            yield event
        raise NetworkError("Connection reset.")


async def test_an_error_after_the_final_stream_event_does_not_fail_the_turn() -> None:
    async with running_session(_LateFailure([text("All said.")])) as b:
        await b.say("go")
    assert b.recorder.of(Error) == []
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]


class _Warning(FakeProvider):
    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        yield StreamFinish(FinishReason("length", "max_tokens"), Usage(), {}, ("The call of look was cut.",))


@pytest.mark.req("L17")
async def test_stream_warnings_are_emitted_as_warning_events() -> None:
    async with running_session(_Warning()) as b:
        await b.say("go")
    words = ["The call of look was cut.", "The model's answer was cut off at the output limit of the model."]
    assert b.recorder.of(Warning) == [Warning(message, "length") for message in words]
