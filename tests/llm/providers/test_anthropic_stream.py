from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.errors import (
    InvalidRequestError,
    LlmError,
    OverloadedError,
    RateLimitError,
    ServerError,
    StreamError,
)
from agent_ls.llm.messages import (
    Citation,
    OpaquePart,
    Origin,
    ReasoningPart,
    SearchPart,
    Source,
    TextPart,
    ToolCallPart,
)
from agent_ls.llm.requests import FinishReason, Usage
from agent_ls.llm.stream import (
    OpaqueItem,
    ProviderEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamFinish,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from tests.support.codec_runs import ANTHROPIC, events_of, response_of


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(
        f"event: {e['type']}\ndata: {json.dumps(e, ensure_ascii=False)}  \n\n".encode() for e in events
    )


def start(**usage: Any) -> dict[str, Any]:
    return {
        "type": "message_start",
        "message": {"id": "msg_1", "model": "claude-x", "content": [], "usage": usage},
    }


def block(
    index: int, content: dict[str, Any], *deltas: dict[str, Any], open: bool = False
) -> list[dict[str, Any]]:
    events = [{"type": "content_block_start", "index": index, "content_block": content}]
    events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return events if open else [*events, {"type": "content_block_stop", "index": index}]


def text_block(index: int, *pieces: str, open: bool = False) -> list[dict[str, Any]]:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(index, {"type": "text", "text": ""}, *deltas, open=open)


def call_block(index: int, *pieces: str, open: bool = False) -> list[dict[str, Any]]:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    content = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}, "caller": {"type": "direct"}}
    return block(index, content, *deltas, open=open)


def end(reason: str = "end_turn", **usage: Any) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]


ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded", "details": None}}
THINKING = {"type": "thinking", "thinking": "let me", "signature": "sig=="}

WHOLE = sse(
    start(input_tokens=10, cache_read_input_tokens=100, cache_creation_input_tokens=5, output_tokens=1),
    {"type": "ping"},
    *block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "let "},
        {"type": "thinking_delta", "thinking": "me"},
        {"type": "signature_delta", "signature": "sig=="},
    ),
    *block(1, {"type": "redacted_thinking", "data": "opaque"}),
    *text_block(2, "Grüße ", "👋\u2028"),
    *call_block(3, "", '{"path": ', '"ä"}'),
    {"type": "something_new", "x": 1},
    *end("tool_use", output_tokens=20, input_tokens=12, output_tokens_details={"thinking_tokens": 7}),
)


def test_stream_with_every_kind_of_content_is_decoded_to_the_expected_events() -> None:
    own = Origin("anthropic", "m", THINKING)
    redacted = Origin("anthropic", "m", {"type": "redacted_thinking", "data": "opaque"})
    assert events_of(ANTHROPIC, [WHOLE]) == [
        StreamStart("msg_1", "claude-x"),
        ReasoningStart(0),
        ReasoningDelta(0, "let "),
        ReasoningDelta(0, "me"),
        ReasoningEnd(0, ReasoningPart("let me", own)),
        ReasoningStart(1),
        ReasoningEnd(1, ReasoningPart("", redacted)),
        TextStart(2),
        TextDelta(2, "Grüße "),
        TextDelta(2, "👋\u2028"),
        TextEnd(2, TextPart("Grüße 👋\u2028")),
        ToolCallStart(3, "toolu_1", "f"),
        ToolCallDelta(3, '{"path": '),
        ToolCallDelta(3, '"ä"}'),
        ToolCallEnd(3, ToolCallPart("toolu_1", "f", '{"path": "ä"}')),
        ProviderEvent({"type": "something_new", "x": 1}),
        StreamFinish(FinishReason("tool_calls", "tool_use"), Usage(117, 20, 7, 100, 5), {}),
    ]


@pytest.mark.req("L17")
@pytest.mark.parametrize("pieces", [(), ("",), ("", "  ")])
def test_tool_call_without_arguments_gets_an_empty_object_as_arguments(pieces: tuple[str, ...]) -> None:
    response = response_of(ANTHROPIC, sse(start(), *call_block(0, *pieces), *end("tool_use")))
    assert response.tool_calls == (ToolCallPart("toolu_1", "f", "{}"),)


@pytest.mark.req("L17")
def test_tool_call_cut_by_max_tokens_is_dropped_with_a_warning() -> None:
    data = sse(start(), *text_block(0, "ok"), *call_block(1, '{"path": "a', open=True), *end("max_tokens"))
    response = response_of(ANTHROPIC, data)
    assert response.message.parts == (TextPart("ok"),)
    assert response.finish_reason == FinishReason("length", "max_tokens")
    assert response.warnings == ("the model did not finish its call of f, so the call was dropped",)
    assert [(call.name, call.arguments) for call in response.cut_calls] == [("f", '{"path": "a')]
    assert not any(isinstance(event, ToolCallEnd) for event in events_of(ANTHROPIC, [data]))


def test_tool_call_that_ended_before_max_tokens_is_kept() -> None:
    data = sse(start(), *call_block(0, '{"a": 1}'), *text_block(1, "cut", open=True), *end("max_tokens"))
    response = response_of(ANTHROPIC, data)
    assert response.message.parts == (ToolCallPart("toolu_1", "f", '{"a": 1}'), TextPart("cut"))
    assert response.finish_reason.kind == "length"


def test_cut_thinking_without_signature_keeps_its_text_but_is_not_sent_back() -> None:
    delta = {"type": "thinking_delta", "thinking": "half"}
    content = {"type": "thinking", "thinking": "", "signature": ""}
    response = response_of(ANTHROPIC, sse(start(), *block(0, content, delta, open=True), *end("max_tokens")))
    assert response.message.parts == (ReasoningPart("half"),)


@pytest.mark.req("U4")
def test_thinking_with_omitted_text_keeps_its_signature() -> None:
    content = {"type": "thinking", "thinking": "", "signature": ""}
    data = sse(start(), *block(0, content, {"type": "signature_delta", "signature": "s"}), *end())
    origin = Origin("anthropic", "m", {"type": "thinking", "thinking": "", "signature": "s"})
    assert response_of(ANTHROPIC, data).message.parts == (ReasoningPart("", origin),)


def test_web_searches_of_the_provider_are_decoded_as_search_parts_with_raw_blocks() -> None:
    use: dict[str, Any] = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    result: dict[str, Any] = {
        "type": "web_search_tool_result",
        "tool_use_id": "s1",
        "content": [{"encrypted_content": "x", "url": "u", "title": "t"}],
    }
    query = {"type": "input_json_delta", "partial_json": '{"query": "q"}'}
    events = events_of(
        ANTHROPIC, [sse(start(), *block(0, use, query), *block(1, result), *end("pause_turn"))]
    )
    assert events[1:3] == [
        OpaqueItem(0, SearchPart(("q",), (), Origin("anthropic", "m", {**use, "input": {"query": "q"}}))),
        OpaqueItem(1, SearchPart((), (Source("u", "t"),), Origin("anthropic", "m", result))),
    ]
    finish = events[-1]
    assert isinstance(finish, StreamFinish)
    assert finish.finish_reason == FinishReason("pause", "pause_turn")


def test_blocks_of_other_server_tools_are_decoded_as_unchanged_opaque_parts() -> None:
    use: dict[str, Any] = {"type": "server_tool_use", "id": "s1", "name": "bash_code_execution", "input": {}}
    code = {"type": "input_json_delta", "partial_json": '{"command": "ls"}'}
    (part,) = response_of(ANTHROPIC, sse(start(), *block(0, use, code), *end())).message.parts
    assert part == OpaquePart(Origin("anthropic", "m", {**use, "input": {"command": "ls"}}))


def test_citations_are_reported_and_kept_for_replay() -> None:
    citation = {"type": "char_location", "cited_text": "a", "document_title": "Notes"}
    deltas = ({"type": "citations_delta", "citation": citation}, {"type": "text_delta", "text": "a"})
    data = sse(start(), *block(0, {"type": "text", "text": "", "citations": []}, *deltas), *end())
    raw: dict[str, Any] = {"type": "text", "text": "a", "citations": [citation]}
    cited = (Citation(Source("", "Notes"), 0, 1, "a"),)
    assert response_of(ANTHROPIC, data).message.parts == (
        TextPart("a", Origin("anthropic", "m", raw), cited),
    )


def test_surrogate_pair_cut_between_deltas_is_one_character() -> None:
    data = sse(start(), *text_block(0, "@@", "##"), *end())
    data = data.replace(b"@@", b"a\\ud83d").replace(b"##", b"\\ude00b")
    events = events_of(ANTHROPIC, [data])
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["a", "😀b"]
    assert events[4] == TextEnd(0, TextPart("a😀b"))


STOPS = [
    ("end_turn", "stop"),
    ("stop_sequence", "stop"),
    ("max_tokens", "length"),
    ("model_context_window_exceeded", "length"),
    ("refusal", "content_filter"),
    ("pause_turn", "pause"),
    ("brand_new", "other"),
]


@pytest.mark.parametrize(("raw", "kind"), STOPS)
def test_stop_reasons_are_mapped_to_finish_reasons(raw: str, kind: str) -> None:
    reason = response_of(ANTHROPIC, sse(start(), *text_block(0, "x"), *end(raw))).finish_reason
    assert (reason.kind, reason.raw) == (kind, raw)


def test_refusal_explanation_is_a_warning_of_the_response() -> None:
    delta = {"stop_reason": "refusal", "stop_details": {"type": "refusal", "explanation": "It is dangerous."}}
    data = sse(start(), {"type": "message_delta", "delta": delta, "usage": {}}, {"type": "message_stop"})
    assert response_of(ANTHROPIC, data).warnings == ("It is dangerous.",)


USAGES: dict[str, tuple[dict[str, Any], dict[str, Any], Usage]] = {
    "delta replaces key by key": (
        {"input_tokens": 43, "output_tokens": 1},
        {"input_tokens": 61, "output_tokens": 2},
        Usage(61, 2),
    ),
    "null does not replace": ({"input_tokens": 3}, {"input_tokens": None, "output_tokens": 5}, Usage(3, 5)),
    "cache is added to input": (
        {"input_tokens": 1, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 100},
        {"output_tokens": 5},
        Usage(111, 5, None, 100, 10),
    ),
    "compaction: the real costs are in the rounds": (
        {},
        {
            "input_tokens": 181,
            "output_tokens": 8,
            "iterations": [
                {
                    "type": "compaction",
                    "input_tokens": 100,
                    "output_tokens": 83,
                    "cache_read_input_tokens": 50,
                },
                {"type": "message", "input_tokens": 181, "output_tokens": 8, "cache_read_input_tokens": 0},
            ],
        },
        Usage(331, 91, None, 50, None),
    ),
    "nothing reported": ({}, {}, Usage(0, 0)),
}


@pytest.mark.req("E6")
@pytest.mark.parametrize(("first", "last", "expected"), USAGES.values(), ids=USAGES)
def test_usage_is_merged_from_message_start_and_message_delta(
    first: dict[str, Any], last: dict[str, Any], expected: Usage
) -> None:
    assert response_of(ANTHROPIC, sse(start(**first), *end(**last))).usage == expected


@pytest.mark.req("L17")
def test_response_with_nothing_in_it_is_valid() -> None:
    assert response_of(ANTHROPIC, sse(start(), *end())).message.parts == ()


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("overloaded_error", "Overloaded", OverloadedError),
        ("api_error", "Internal server error", ServerError),
        ("rate_limit_error", "slow down", RateLimitError),
        ("invalid_request_error", "bad", InvalidRequestError),
    ],
)
def test_an_error_event_in_a_stream_raises_the_matching_error_class(
    kind: str, message: str, expected: type[LlmError]
) -> None:
    error = {"type": "error", "error": {"type": kind, "message": message, "details": None}, "request_id": "r"}
    with pytest.raises(expected, match=message) as raised:
        events_of(ANTHROPIC, [sse(start(), *text_block(0, "a", open=True), error)])
    assert type(raised.value) is expected
    assert raised.value.provider == "anthropic"


def test_data_after_the_terminal_event_is_ignored() -> None:
    data = sse(start(), *end())
    assert events_of(ANTHROPIC, [data + sse(ERROR) + b"data: [DONE]\n\n"]) == events_of(ANTHROPIC, [data])


def test_frame_that_is_not_json_is_an_error() -> None:
    with pytest.raises(StreamError, match="not an answer"):
        events_of(ANTHROPIC, [b"data: {broken\n\n"])
