"""Hand-written streams in the formats of the real services, for each feature and each known pitfall of a wire.

Pitfalls that concern errors and requests instead of streams are in errors.json and requests.json.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from agent_ls.llm import errors
from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.messages import (
    Message,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    assistant,
    system,
    tool_results,
    user,
)
from agent_ls.llm.providers.anthropic import AnthropicCodec
from agent_ls.llm.providers.base import Codec, ReplyHead
from agent_ls.llm.providers.gemini import GeminiCodec
from agent_ls.llm.providers.openai_chat import ChatCodec
from agent_ls.llm.providers.openai_responses import OpenAIResponsesCodec
from agent_ls.llm.requests import Request, ToolDefinition
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
from tests.llm.wire_facts import decoded_stream
from tests.support.codec_runs import HEAD, ask, body_of, cuttings
from tests.support.wire_golden import FOLDER, WIRES, Golden, answer, back, failure, golden

STREAMS = [pytest.param(row, id=f"{row.wire}/{row.name}") for row in golden()]
BODIES = [pytest.param(row, id=f"{row.wire}/{row.name}") for row in golden() if row.body is not None]


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


@pytest.mark.sweep
@pytest.mark.req("U2", "U3", "U4", "E6", "L17")
@pytest.mark.parametrize("row", STREAMS)
def test_a_stream_in_any_chunks_decodes_to_the_expected_answer(row: Golden) -> None:
    codec, expected = row.codec, row.expected
    whole = decoded_stream(codec, row.request, [row.stream])
    for chunks in cuttings(row.stream, f"{row.wire}/{row.name}"):
        found = decoded_stream(codec, row.request, chunks)
        assert found.events == whole.events
        if found.error:
            assert failure(found.error) == expected["error"]
        else:
            assert answer(found.whole) == expected["answer"]
            assert back(codec, row.request, found.message) == expected["back"]


@pytest.mark.req("U3")
@pytest.mark.parametrize("row", STREAMS)
def test_parts_of_a_stream_are_opened_once_and_ended_once_and_never_nest(row: Golden) -> None:
    open_at, seen = None, -1
    events = decoded_stream(row.codec, row.request, [row.stream]).events
    assert isinstance(events[0], StreamStart)
    assert not any(isinstance(event, StreamStart | StreamFinish) for event in events[1:-1])
    for event in events[1:]:
        match event:
            case TextStart(index) | ReasoningStart(index) | ToolCallStart(index):
                assert open_at is None or is_cut_call(events, open_at)
                assert index > seen
                open_at = seen = index
            case TextDelta(index) | ReasoningDelta(index) | ToolCallDelta(index):
                assert index == open_at
            case TextEnd(index) | ReasoningEnd(index) | ToolCallEnd(index):
                assert index == open_at
                open_at = None
            case OpaqueItem(index):
                assert open_at is None
                assert index > seen
                seen = index
            case StreamFinish() | ProviderEvent():
                pass
            case _:
                raise AssertionError(event)


def is_cut_call(events: Sequence[StreamEvent], index: int) -> bool:
    return not any(isinstance(event, ToolCallEnd) and event.index == index for event in events)


@pytest.mark.req("U3", "U5")
@pytest.mark.parametrize("row", BODIES)
def test_an_unstreamed_answer_equals_the_streamed_one(row: Golden) -> None:
    whole = row.codec.decode(row.request, HEAD, row.body or b"")
    streamed = decoded_stream(row.codec, row.request, [row.stream]).whole
    assert answer(whole) == row.expected["answer"]
    assert back(row.codec, row.request, whole.message) == row.expected["back"]
    for name in ("id", "model", "provider", "finish_reason", "usage", "warnings", "rate_limit"):
        assert getattr(whole, name) == getattr(streamed, name)


@pytest.mark.parametrize("wire", WIRES)
def test_stream_of_every_wire_with_any_frame_missing_at_the_end_is_an_error(wire: str) -> None:
    row = next(row for row in golden() if (row.wire, row.name) == (wire, "text"))
    frames = row.stream.replace(b"\r\n", b"\n").split(b"\n\n")
    for count in range(1, len(frames)):
        cut = b"\n\n".join(frames[:count]) + b"\n\n"
        found = decoded_stream(row.codec, row.request, [cut])
        if found.error is None:  # the missing frame is optional: [DONE], token counts, the last blank line
            assert {**answer(found.whole), "usage": {}} == {**row.expected["answer"], "usage": {}}
        else:
            assert type(found.error) is errors.StreamError


ERRORS = read("errors.json")


@pytest.mark.req("U8")
@pytest.mark.parametrize("row", ERRORS, ids=lambda row: f"{row['wire']}-{row['shows']}")
def test_an_error_answer_of_a_wire_has_its_error_class(row: dict[str, Any]) -> None:
    provider = row.get("provider")
    codec = ChatCodec(provider, capabilities_lookup(provider)) if provider else WIRES[row["wire"]]
    body = row["body"] if isinstance(row["body"], str) else json.dumps(row["body"])
    error = codec.decode_error(ask(), ReplyHead(row["status"], row.get("headers", {})), body.encode())
    assert failure(error) == row["error"]
    assert error.hint


REQUESTS = read("requests.json")
MODELS: dict[str, Codec] = {
    "anthropic": AnthropicCodec(capabilities_lookup("anthropic")),
    "openai": OpenAIResponsesCodec(capabilities_lookup("openai")),
    "gemini": GeminiCodec(capabilities_lookup("gemini")),
    "openrouter": ChatCodec("openrouter", capabilities_lookup("openrouter")),
}


def conversation(model: str) -> Request:
    """Return the request that all wires encode, so that their bodies differ only by format."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": False,
    }
    calls = (ToolCallPart("call_1", "read_file", '{"path": "a"}'), ToolCallPart("call_2", "list_dir", "{}"))
    results = (ToolResultPart("call_1", "read_file", "x"), ToolResultPart("call_2", "list_dir", "no", True))
    said = Message(Role.ASSISTANT, (ReasoningPart("Of another model."), TextPart("I look."), *calls))
    return Request(
        model,
        (
            system("Be brief."),
            user("What is in a?"),
            said,
            tool_results(results),
            assistant("x."),
            user("And b?"),
        ),
        tools=(
            ToolDefinition("read_file", "Reads a file.", schema),
            ToolDefinition("list_dir", "Lists a folder.", {"type": "object", "properties": {}}),
        ),
        reasoning_effort="low",
        cache_key="session-1",
    )


@pytest.mark.req("U2", "U6", "U7", "U14", "L7")
@pytest.mark.parametrize("row", REQUESTS, ids=lambda row: row["model"])
def test_one_conversation_is_encoded_in_the_format_of_each_wire(row: dict[str, Any]) -> None:
    sent = MODELS[row["provider"]].encode(conversation(row["model"]), stream=True)
    assert (sent.path, dict(sent.headers)) == (row["path"], row["headers"])
    assert body_of(sent) == row["body"]


def test_every_known_pitfall_has_an_example() -> None:
    shown = [*(row.expected for row in golden()), *ERRORS, *REQUESTS]
    assert {trap for row in shown for trap in row.get("traps", ())} == {*range(1, 13)}
