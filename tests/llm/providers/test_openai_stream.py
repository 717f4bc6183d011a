from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.errors import LlmError, QuotaExceededError, RateLimitError, ServerError, StreamError
from agent_ls.llm.messages import (
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
from tests.support.codec_runs import HEAD, OPENAI, ask, events_of, response_of

Event = dict[str, Any]


def sse(*events: Event) -> bytes:
    return b"".join(
        f"event: {e['type']}\ndata: {json.dumps(e, ensure_ascii=False)}\n\n".encode() for e in events
    )


CREATED: Event = {
    "type": "response.created",
    "response": {"id": "resp_1", "model": "gpt-x", "status": "in_progress"},
}


def added(index: int, item: Event) -> Event:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index: int, item: Event) -> Event:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def delta(kind: str, index: int, piece: str, **more: int) -> Event:
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": piece, **more}


def final(status: str = "completed", **more: Any) -> Event:
    response = {"id": "resp_1", "model": "gpt-x", "status": status, "output": [], **more}
    return {"type": f"response.{status}", "response": response}


REASONING: Event = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Second."}],
    "encrypted_content": "blob-done",
}
MESSAGE: Event = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "phase": "commentary",
    "content": [{"type": "output_text", "text": "Grüße 👋", "annotations": []}],
}
CALL: Event = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_1",
    "name": "f",
    "arguments": '{"path":"ä"}',
}
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 5},
    "output_tokens": 40,
    "output_tokens_details": {"reasoning_tokens": 30},
    "total_tokens": 140,
}
FINAL = final(usage=USAGE, output=[{**REASONING, "encrypted_content": "blob-final"}, MESSAGE, CALL])

WHOLE = sse(
    CREATED,
    {"type": "response.in_progress", "response": {}},
    added(0, {**REASONING, "summary": [], "encrypted_content": "blob-added"}),
    delta("reasoning_summary_text", 0, "Fir", summary_index=0),
    delta("reasoning_summary_text", 0, "st.", summary_index=0),
    delta("reasoning_summary_text", 0, "Second.", summary_index=1),
    done(0, REASONING),
    added(1, {**MESSAGE, "status": "in_progress", "content": []}),
    delta("output_text", 1, "Grüße ", content_index=0),
    delta("output_text", 1, "👋", content_index=0),
    done(1, MESSAGE),
    added(2, {**CALL, "status": "in_progress", "arguments": ""}),
    delta("function_call_arguments", 2, '{"path":'),
    delta("function_call_arguments", 2, '"ä"}'),
    done(2, CALL),
    {"type": "response.something_new", "x": 1},
    FINAL,
)

OWN = {name: Origin("openai", "m", raw) for name, raw in (("rs", REASONING), ("msg", MESSAGE), ("fc", CALL))}


def test_stream_with_every_kind_of_content_is_decoded_to_the_expected_events() -> None:
    assert events_of(OPENAI, [WHOLE]) == [
        StreamStart("resp_1", "gpt-x"),
        ReasoningStart(0),
        ReasoningDelta(0, "Fir"),
        ReasoningDelta(0, "st."),
        ReasoningDelta(0, "\n\nSecond."),
        ReasoningEnd(0, ReasoningPart("First.\n\nSecond.", OWN["rs"])),
        TextStart(1),
        TextDelta(1, "Grüße "),
        TextDelta(1, "👋"),
        TextEnd(1, TextPart("Grüße 👋", OWN["msg"])),
        ToolCallStart(2, "call_1", "f"),
        ToolCallDelta(2, '{"path":'),
        ToolCallDelta(2, '"ä"}'),
        ToolCallEnd(2, ToolCallPart("call_1", "f", '{"path":"ä"}', OWN["fc"])),
        ProviderEvent({"type": "response.something_new", "x": 1}),
        StreamFinish(FinishReason("tool_calls", "completed"), Usage(100, 40, 30, 60, 5), FINAL["response"]),
    ]


@pytest.mark.req("U4")
def test_encrypted_reasoning_is_read_from_the_output_item_done_event() -> None:
    part = response_of(OPENAI, WHOLE).message.parts[0]
    assert isinstance(part, ReasoningPart)
    assert part.origin is not None
    assert part.origin.raw["encrypted_content"] == "blob-done"


def test_items_whose_ids_change_in_every_event_are_joined_by_index() -> None:
    data = WHOLE
    for number, name in enumerate((b'"rs_1"', b'"msg_1"', b'"fc_1"')):
        pieces = data.split(name)
        data = (
            b"".join(piece + b'"id_%d_%d"' % (number, i) for i, piece in enumerate(pieces[:-1])) + pieces[-1]
        )
    assert [type(e) for e in events_of(OPENAI, [data])] == [type(e) for e in events_of(OPENAI, [WHOLE])]


def spans(events: list[StreamEvent]) -> list[tuple[str, int]]:
    return [(type(e).__name__, e.index) for e in events if hasattr(e, "index")]


def test_overlapping_items_are_reported_one_after_the_other() -> None:
    first, second = ({**CALL, "call_id": f"call_{i}", "arguments": "{}"} for i in range(2))
    data = sse(
        CREATED,
        added(0, {**first, "arguments": ""}),
        added(1, {**second, "arguments": ""}),
        delta("function_call_arguments", 1, "{}"),
        delta("function_call_arguments", 0, "{}"),
        done(1, second),
        added(2, {**MESSAGE, "content": []}),
        done(0, first),
        delta("output_text", 2, "Grüße 👋"),
        done(2, MESSAGE),
        final(),
    )
    call = ["ToolCallStart", "ToolCallDelta", "ToolCallEnd"]
    text = ["TextStart", "TextDelta", "TextEnd"]
    expected = [*((name, 0) for name in call), *((name, 1) for name in call), *((name, 2) for name in text)]
    assert spans(events_of(OPENAI, [data])) == expected


def test_reasoning_that_ends_after_the_text_has_begun_does_not_hold_the_text_back() -> None:
    raw = {
        "type": "reasoning",
        "id": "rs",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "hm"}],
    }
    data = sse(
        CREATED,
        added(0, {"type": "reasoning", "summary": []}),
        delta("reasoning_text", 0, "hm", content_index=0),
        added(1, {**MESSAGE, "content": []}),
        delta("output_text", 1, "Grüße 👋"),
        done(1, MESSAGE),
        done(0, raw),
        final(),
        {"type": "[DONE]"},
    ).replace(b'{"type": "[DONE]"}', b"[DONE]")
    names = ["ReasoningStart", "ReasoningDelta", "ReasoningEnd", "TextStart", "TextDelta", "TextEnd"]
    assert spans(events_of(OPENAI, [data])) == [*((n, 0) for n in names[:3]), *((n, 1) for n in names[3:])]
    assert response_of(OPENAI, data).message.parts[0] == ReasoningPart("hm")


def test_a_tool_call_without_argument_deltas_gets_its_arguments_from_the_done_event() -> None:
    data = sse(CREATED, added(0, {**CALL, "arguments": ""}), done(0, CALL), final())
    assert events_of(OPENAI, [data])[2:4] == [
        ToolCallDelta(0, '{"path":"ä"}'),
        ToolCallEnd(0, ToolCallPart("call_1", "f", '{"path":"ä"}', OWN["fc"])),
    ]


@pytest.mark.req("L17")
@pytest.mark.parametrize("is_told", [True, False])
def test_tool_call_cut_by_the_output_limit_is_dropped_with_a_warning(is_told: bool) -> None:
    cut_call = {**CALL, "status": "incomplete", "arguments": '{"pa'}
    told = [done(1, cut_call)] if is_told else []
    data = sse(
        CREATED,
        done(0, {**CALL, "call_id": "call_0"}),
        added(1, {**CALL, "arguments": ""}),
        delta("function_call_arguments", 1, '{"pa'),
        *told,
        final("incomplete", incomplete_details={"reason": "max_output_tokens"}),
    )
    response = response_of(OPENAI, data)
    assert [call.id for call in response.tool_calls] == ["call_0"]
    assert response.finish_reason == FinishReason("length", "max_output_tokens")
    assert response.warnings == ("the model did not finish its call of f, so the call was dropped",)
    assert [(call.name, call.arguments) for call in response.cut_calls] == [("f", '{"pa')]


def test_incomplete_tool_call_in_an_unstreamed_response_is_dropped_with_a_warning() -> None:
    body = final("incomplete", output=[{**CALL, "status": "incomplete", "arguments": '{"pa'}])["response"]
    response = OPENAI.decode(ask(), HEAD, json.dumps(body).encode())
    assert response.tool_calls == ()
    assert response.warnings == ("the model did not finish its call of f, so the call was dropped",)
    assert [(call.name, call.arguments) for call in response.cut_calls] == [("f", '{"pa')]


def test_text_cut_by_the_output_limit_is_kept_but_not_as_an_item_to_replay() -> None:
    cut_message = {**MESSAGE, "status": "incomplete"}
    data = sse(CREATED, done(0, cut_message), final("incomplete"))
    assert response_of(OPENAI, data).message.parts == (TextPart("Grüße 👋"),)
    unfinished = sse(
        CREATED, added(0, {**MESSAGE, "content": []}), delta("output_text", 0, "Grü"), final("incomplete")
    )
    assert response_of(OPENAI, unfinished).message.parts == (TextPart("Grü"),)


def test_a_stream_with_only_the_final_response_is_read() -> None:
    data = sse(final("incomplete", output=[MESSAGE], incomplete_details={"reason": "content_filter"}))
    response = response_of(OPENAI, data)
    assert response.text == "Grüße 👋"
    assert response.finish_reason == FinishReason("content_filter", "content_filter")


def test_refusal_is_decoded_as_text_with_finish_reason_content_filter() -> None:
    raw = {**MESSAGE, "content": [{"type": "refusal", "refusal": "No."}]}
    data = sse(
        CREATED, added(0, {**MESSAGE, "content": []}), delta("refusal", 0, "No."), done(0, raw), final()
    )
    response = response_of(OPENAI, data)
    assert response.text == "No."
    assert response.finish_reason == FinishReason("content_filter", "refusal")


@pytest.mark.parametrize(
    ("action", "queries", "sources"),
    [
        ({"type": "search"}, (), ()),
        ({"type": "search", "query": "q"}, ("q",), ()),
        ({"type": "search", "query": "q", "queries": ["q", "r"]}, ("q", "r"), ()),
        (
            {"type": "search", "query": "q", "sources": [{"url": "u"}, {"name": "n"}]},
            ("q",),
            (Source("u"), Source("", "n")),
        ),
        ({"type": "open_page", "url": "u"}, (), (Source("u"),)),
    ],
)
def test_web_searches_of_the_provider_are_decoded_as_search_parts(
    action: Event, queries: tuple[str, ...], sources: tuple[Source, ...]
) -> None:
    raw: Event = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action}
    events = events_of(OPENAI, [sse(CREATED, added(0, {"type": "web_search_call"}), done(0, raw), final())])
    assert events[1] == OpaqueItem(0, SearchPart(queries, sources, Origin("openai", "m", raw)))


def test_items_of_other_server_tools_are_decoded_as_opaque_parts() -> None:
    raw: Event = {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1"}
    events = events_of(
        OPENAI, [sse(CREATED, added(0, {"type": "code_interpreter_call"}), done(0, raw), final())]
    )
    assert events[1] == OpaqueItem(0, OpaquePart(Origin("openai", "m", raw)))


def test_custom_tool_call_text_becomes_one_argument_named_input() -> None:
    raw = {"type": "custom_tool_call", "id": "ct", "call_id": "call_1", "name": "sql", "input": 'say "ä"'}
    part = response_of(
        OPENAI, sse(CREATED, added(0, {**raw, "input": ""}), done(0, raw), final())
    ).tool_calls[0]
    assert json.loads(part.arguments) == {"input": 'say "ä"'}


def test_usage_without_token_details_is_accepted() -> None:
    data = sse(CREATED, final(usage={"input_tokens": 3, "output_tokens": 2}))
    assert response_of(OPENAI, data).usage == Usage(3, 2)


QUOTA = {
    "code": "insufficient_quota",
    "message": "You exceeded your current quota",
    "type": "insufficient_quota",
}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"type": "error", "error": QUOTA}, QuotaExceededError),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow", "param": None}, RateLimitError),
        (final("failed", error={"code": "server_error", "message": "oops"}), ServerError),
        (final("failed", error=QUOTA), QuotaExceededError),
    ],
)
def test_an_error_event_in_a_stream_raises_the_matching_error_class(
    event: Event, expected: type[LlmError]
) -> None:
    with pytest.raises(expected) as raised:
        events_of(OPENAI, [sse(CREATED, event)])
    assert type(raised.value) is expected
    assert raised.value.provider == "openai"


def test_done_marker_without_a_final_response_does_not_complete_a_stream() -> None:
    with pytest.raises(StreamError):
        events_of(OPENAI, [sse(CREATED) + b"data: [DONE]\n\n"])
