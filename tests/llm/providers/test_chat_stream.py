from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.messages import (
    Citation,
    ReasoningPart,
    SearchPart,
    Source,
    TextPart,
    user,
)
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.openai_chat import ChatCodec
from agent_ls.llm.requests import Request, ToolDefinition, Usage
from agent_ls.llm.stream import StreamFinish, TextDelta, ToolCallDelta, ToolCallEnd, ToolCallStart
from tests.support.codec_runs import CHAT, HEAD, ask, events_of, response_of

TOOLS = (ToolDefinition("f", "", {"type": "object"}), ToolDefinition("g", "", {"type": "object"}))
ASK = Request("m", (user("hi"),), tools=TOOLS)


def chunk(delta: Any = None, finish: str | None = None, **more: Any) -> Any:
    return {"id": "r1", "model": "m1", "choices": [{"delta": delta or {}, "finish_reason": finish}], **more}


def call(index: int | None = 0, call_id: str | None = None, name: str = "", arguments: Any = "") -> Any:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    told = {"index": index, "id": call_id, "function": function}
    return {"tool_calls": [{key: value for key, value in told.items() if value is not None}]}


def wire(*chunks: Any, done: bool = True) -> bytes:
    frames = [f"data: {json.dumps(item)}\n\n" for item in chunks]
    return "".join([*frames, *(["data: [DONE]\n\n"] if done else [])]).encode()


CALLS: dict[str, tuple[Sequence[Any], list[tuple[str, str, str]]]] = {
    "whole in one piece": ([call(0, "c1", "f", '{"a": 1}')], [("c1", "f", '{"a": 1}')]),
    "in pieces": (
        [call(0, "c1", "f"), call(0, None, "", '{"a"'), call(0, None, "", ": 1}")],
        [("c1", "f", '{"a": 1}')],
    ),
    "two by index": (
        [call(0, "c1", "f", "{}"), call(1, "c2", "g"), call(1, None, "", "{}")],
        [("c1", "f", "{}"), ("c2", "g", "{}")],
    ),
    "first index 1": ([call(1, "c1", "f"), call(1, None, "", "{}")], [("c1", "f", "{}")]),
    "no index": (
        [call(None, "c1", "f"), call(None, None, "", "{}"), call(None, "c2", "g", "{}")],
        [("c1", "f", "{}"), ("c2", "g", "{}")],
    ),
    "all are number 0": (
        [call(0, "c1", "f", "{}"), call(0, "c2", "g", "{}")],
        [("c1", "f", "{}"), ("c2", "g", "{}")],
    ),
    "empty ids later": ([call(0, "c1", "f"), call(0, "", "", "{}")], [("c1", "f", "{}")]),
    "name repeated": ([call(0, "c1", "f", "{"), call(0, "c1", "f", "}")], [("c1", "f", "{}")]),
    "no id at all": ([call(0, "", "f", "{}")], [("call_r1_0", "f", "{}")]),
    "no arguments": ([call(0, "c1", "f")], [("c1", "f", "{}")]),
    "arguments as object": ([call(0, "c1", "f", {"a": 1})], [("c1", "f", '{"a":1}')]),
    "interleaved": (
        [
            call(0, "c1", "f", '{"a"'),
            call(1, "c2", "g", '{"b"'),
            call(0, None, "", ":1}"),
            call(1, None, "", ":2}"),
        ],
        [("c1", "f", '{"a":1}'), ("c2", "g", '{"b":2}')],
    ),
    "invalid stays": ([call(0, "c1", "f", "{oops")], [("c1", "f", "{oops")]),
    "older form": (
        [{"function_call": {"name": "f", "arguments": ""}}, {"function_call": {"arguments": "{}"}}],
        [("call_r1_0", "f", "{}")],
    ),
}


@pytest.mark.req("U3", "P5")
@pytest.mark.parametrize("finish", ["tool_calls", "stop", None])
@pytest.mark.parametrize(("deltas", "expected"), CALLS.values(), ids=CALLS)
def test_tool_calls_in_every_stream_format_are_decoded(
    deltas: Sequence[Any], expected: list[tuple[str, str, str]], finish: str | None
) -> None:
    data = wire(*map(chunk, deltas), chunk({}, finish))
    response = response_of(CHAT, data, ASK)
    assert [(c.id, c.name, c.arguments) for c in response.tool_calls] == expected
    assert response.finish_reason.kind == "tool_calls"
    events = events_of(CHAT, [data], ASK)
    for start in (event for event in events if isinstance(event, ToolCallStart)):
        pieces = [x.json for x in events if isinstance(x, ToolCallDelta) and x.index == start.index]
        (end,) = [x.part for x in events if isinstance(x, ToolCallEnd) and x.index == start.index]
        assert "".join(pieces) in (end.arguments, "")


@pytest.mark.req("L11")
def test_a_tool_call_ends_as_soon_as_its_arguments_are_complete() -> None:
    whole = [
        call(0, "c1", "f"),
        call(0, None, "", '{"a": "}'),
        call(0, None, "", '\\"}{'),
        call(0, None, "", '"}'),
    ]
    events = events_of_unfinished(wire(*map(chunk, whole), done=False))
    assert [event.part.arguments for event in events if isinstance(event, ToolCallEnd)] == ['{"a": "}\\"}{"}']


def events_of_unfinished(data: bytes) -> list[Any]:
    from agent_ls.llm.sse import SseDecoder

    frames, decoder = SseDecoder(), CHAT.stream_decoder(ASK, HEAD)
    return [event for frame in frames.feed(data) for event in decoder.feed(frame)]


def test_tool_call_cut_by_the_output_limit_is_dropped_with_a_warning() -> None:
    response = response_of(CHAT, wire(chunk(call(0, "c1", "f", '{"a": ')), chunk({}, "length")), ASK)
    assert (response.tool_calls, response.finish_reason.kind) == ((), "length")
    assert response.warnings == ("the model did not finish its call of f, so the call was dropped",)
    assert [(call.name, call.arguments) for call in response.cut_calls] == [("f", '{"a": ')]


TERMINALS = {
    "done": (wire(chunk({"content": "hi"}, "stop")), "stop"),
    "no done": (wire(chunk({"content": "hi"}, "stop"), done=False), "stop"),
    "no finish, but done": (wire(chunk({"content": "hi"})), "stop"),
    "twice": (wire(chunk({"content": "hi"}, "stop"), chunk({}, "stop")), "stop"),
    "length": (wire(chunk({"content": "hi"}, "length")), "length"),
    "filter": (wire(chunk({"content": "hi"}, "content_filter")), "content_filter"),
    "unknown": (wire(chunk({"content": "hi"}, "brand_new")), "other"),
    "tool_calls without calls": (wire(chunk({"content": "hi"}, "tool_calls")), "stop"),
    "refusal": (wire(chunk({"refusal": "hi"}, "stop")), "content_filter"),
}


@pytest.mark.parametrize(("data", "kind"), TERMINALS.values(), ids=TERMINALS)
def test_every_kind_of_stream_end_is_mapped_to_a_finish_reason(data: bytes, kind: str) -> None:
    response = response_of(CHAT, data)
    assert (response.text, response.finish_reason.kind) == ("hi", kind)


USAGES = {
    "own chunk": [chunk({}, "stop"), {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}],
    "with the last choice": [chunk({}, "stop", usage={"prompt_tokens": 3, "completion_tokens": 2})],
    "running total": [
        chunk({}, None, usage={"prompt_tokens": 3, "completion_tokens": 1}),
        chunk({}, "stop", usage={"prompt_tokens": 3, "completion_tokens": 2}),
    ],
    "null at the end": [
        chunk({}, "stop", usage={"prompt_tokens": 3, "completion_tokens": 2}),
        {"choices": [], "usage": None},
    ],
    "under x_groq": [chunk({}, "stop", x_groq={"usage": {"prompt_tokens": 3, "completion_tokens": 2}})],
}


@pytest.mark.req("E6")
@pytest.mark.parametrize("chunks", USAGES.values(), ids=USAGES)
def test_usage_is_read_from_every_position(chunks: Sequence[Any]) -> None:
    assert response_of(CHAT, wire(*chunks)).usage == Usage(3, 2)


def test_usage_contains_reasoning_tokens_cache_tokens_and_cost() -> None:
    counted = {"prompt_tokens": 9, "completion_tokens": 5, "prompt_cache_hit_tokens": 4, "cost": 0.25}
    made = {
        "completion_tokens_details": {"reasoning_tokens": 2},
        "prompt_tokens_details": {"cache_write_tokens": 1},
    }
    found = response_of(CHAT, wire(chunk({}, "stop", usage={**counted, **made}))).usage
    assert found == Usage(9, 5, 2, 4, 1, 0.25)


@pytest.mark.req("U4")
def test_reasoning_in_every_response_field_is_kept_for_replay() -> None:
    details = [
        {"type": "reasoning.text", "text": "a", "index": 0},
        {"type": "reasoning.text", "text": "b", "index": 0, "signature": "s"},
        {"type": "reasoning.encrypted", "data": "xyz", "index": 1},
    ]
    data = wire(
        *(chunk({"reasoning": d.get("text", ""), "reasoning_details": [d]}) for d in details),
        chunk({}, "stop"),
    )
    (part,) = response_of(CHAT, data).message.parts
    assert isinstance(part, ReasoningPart)
    assert part.text == "ab"
    assert part.origin is not None
    assert part.origin.raw == {
        "reasoning_details": [
            {"type": "reasoning.text", "text": "ab", "index": 0, "signature": "s"},
            {"type": "reasoning.encrypted", "data": "xyz", "index": 1},
        ]
    }
    plain = response_of(CHAT, wire(chunk({"reasoning_content": "hm"}), chunk({"content": "x"}, "stop")))
    assert plain.reasoning == "hm"
    assert isinstance(plain.message.parts[0], ReasoningPart)
    assert plain.message.parts[0].origin is not None
    assert plain.message.parts[0].origin.raw == {"reasoning_content": "hm"}


def test_message_content_as_a_list_of_typed_parts_is_decoded() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    response = response_of(
        CHAT,
        wire(chunk({"content": [thinking]}), chunk({"content": [{"type": "text", "text": "hi"}]}, "stop")),
    )
    assert (response.reasoning, response.text) == ("hm", "hi")


def test_web_search_annotations_are_decoded_as_citations_or_a_search_part() -> None:
    cited = {"type": "url_citation", "url_citation": {"url": "https://a.example", "title": "A"}}
    response = response_of(CHAT, wire(chunk({"content": "see", "annotations": [cited]}), chunk({}, "stop")))
    (part,) = response.message.parts
    assert isinstance(part, TextPart)
    assert part.origin is not None
    assert part.origin.raw == {"annotations": [cited]}
    assert part.citations == (Citation(Source("https://a.example", "A"), 0, 3),)
    (alone,) = response_of(CHAT, wire(chunk({"annotations": [cited]}), chunk({}, "stop"))).message.parts
    assert isinstance(alone, SearchPart)
    assert alone.sources == (Source("https://a.example", "A"),)


def test_surrogate_pair_cut_between_deltas_is_joined() -> None:
    events = events_of(
        CHAT, [wire(chunk({"content": "\ud83d"}), chunk({"content": "\udc4b"}), chunk({}, "stop"))]
    )
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "👋"


@pytest.mark.req("P5")
def test_tool_call_printed_as_text_is_decoded_as_a_tool_call() -> None:
    text = 'I look.\n<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
    response = response_of(CHAT, wire(*(chunk({"content": c}) for c in text), chunk({}, "stop")), ASK)
    assert response.text == "I look.\n"
    assert [(c.id, c.name, c.arguments) for c in response.tool_calls] == [("call_r1_0", "f", '{"a": 1}')]
    assert response.finish_reason.kind == "tool_calls"
    without_tools = response_of(CHAT, wire(chunk({"content": text}, "stop")))
    assert (without_tools.text, without_tools.tool_calls) == (text, ())


ERRORS: dict[str, tuple[int | None, Any, type[e.LlmError]]] = {
    "openrouter": (
        429,
        {"error": {"code": 429, "message": "x", "metadata": {"raw": "slow down"}}},
        e.RateLimitError,
    ),
    "xai key": (
        400,
        {"code": "invalid", "error": "Incorrect API key provided: xai-***"},
        e.AuthenticationError,
    ),
    "mistral": (422, {"detail": [{"msg": "Input should be a valid string"}]}, e.InvalidRequestError),
    "mistral key": (401, {"detail": "Unauthorized"}, e.AuthenticationError),
    "vllm": (
        404,
        {"object": "error", "message": "The model `x` does not exist.", "code": 404},
        e.NotFoundError,
    ),
    "vllm context": (
        400,
        {"message": "This model's maximum context length is 4096 tokens."},
        e.ContextLengthError,
    ),
    "ollama": (404, {"error": {"message": 'model "x" not found, try pulling it first'}}, e.NotFoundError),
    "ollama context": (
        400,
        {"error": "prompt too long; exceeded max context length by 5"},
        e.ContextLengthError,
    ),
    "deepseek money": (402, {"error": {"message": "Insufficient Balance"}}, e.QuotaExceededError),
    "page": (502, None, e.ServerError),
    "litellm key": (
        400,
        {"error": {"message": "No connected db.", "type": "no_db_connection", "code": "400"}},
        e.AuthenticationError,
    ),
    "litellm key, in words": (
        400,
        {"error": {"message": "Authentication Error, No connected db.", "type": "None", "code": 400}},
        e.AuthenticationError,
    ),
    "litellm model": (
        400,
        {"error": {"message": "/chat/completions: Invalid model name passed in model=x.", "code": "400"}},
        e.NotFoundError,
    ),
    "transformers": (400, {"detail": "Server is pinned to 'a/b', asked for 'x'"}, e.NotFoundError),
    "unknown": (400, {"error": {"message": "Odd thing.", "code": "400"}}, e.InvalidRequestError),
}


@pytest.mark.req("U8")
@pytest.mark.parametrize(("status", "body", "kind"), ERRORS.values(), ids=ERRORS)
def test_error_bodies_of_different_servers_are_mapped_to_error_classes(
    status: int, body: Any, kind: type[e.LlmError]
) -> None:
    data = b"<html>" if body is None else json.dumps(body).encode()
    error = CHAT.decode_error(ask(), ReplyHead(status), data)
    assert type(error) is kind
    assert error.hint


def test_http_400_of_unknown_cause_has_a_hint_about_the_model_and_the_key() -> None:
    error = CHAT.decode_error(ask(), ReplyHead(400), b'{"error": {"message": "Odd thing."}}')
    assert "Odd thing." in str(error)
    assert "model" in error.hint and "key" in error.hint and "not" not in error.hint.split()


TOO_LONG = {
    "code": 400,
    "type": "exceed_context_size_error",
    "message": "the request exceeds the available context size, try increasing it",
    "n_prompt_tokens": 9120,
    "n_ctx": 4096,
}


@pytest.mark.req("P5", "R1")
def test_context_error_of_a_local_server_contains_the_sizes_and_the_ctx_size_option() -> None:
    codec = ChatCodec("llamacpp", capabilities_lookup("llamacpp"))
    error = codec.decode_error(ASK, ReplyHead(400), json.dumps({"error": TOO_LONG}).encode())
    assert type(error) is e.ContextLengthError
    assert "(9,120 tokens for a context of 4,096)" in str(error)
    assert "--ctx-size" in error.hint and "new session" in error.hint


def test_context_error_does_not_repeat_sizes_that_the_server_message_contains() -> None:
    body = {**TOO_LONG, "message": "request (9120 tokens) exceeds the available context size (4096 tokens)"}
    error = CHAT.decode_error(ASK, ReplyHead(400), json.dumps({"error": body}).encode())
    assert type(error) is e.ContextLengthError and "9,120" not in str(error)


def test_error_in_the_stream_is_raised_also_after_a_finish_reason() -> None:
    for data in (
        wire(chunk({"content": "x"}, "length"), {**chunk(), "error": {"code": 500, "message": "bad"}}),
        b'data: {"choices": []}\n\nevent: error\ndata: {"error": {"message": "bad"}}\n\n',
        b'error: {"error": {"message": "bad"}}\n\n',
    ):
        with pytest.raises(e.ProviderError, match="bad"):
            events_of(CHAT, [data])


@pytest.mark.req("P5")
def test_after_a_server_refuses_tools_its_model_gets_the_text_protocol() -> None:
    codec = ChatCodec("ollama", capabilities_lookup("ollama"))
    body = {"error": {"message": "registry.ollama.ai/library/gemma:2b does not support tools"}}
    error = codec.decode_error(ASK, ReplyHead(400), json.dumps(body).encode())
    assert "tools" in json.loads(codec.encode(ASK, stream=True).content)
    assert codec.adapt_encoding(ASK, error)
    assert "tools" not in json.loads(codec.encode(ASK, stream=True).content)
    assert not codec.adapt_encoding(ASK, error)
    finish = events_of(codec, [wire(chunk({"content": "<tool_call>"}, "stop"))], ASK)[-1]
    assert isinstance(finish, StreamFinish)
    assert finish.warnings
