"""Reports about streams in odd forms, on all wires."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import user
from agent_ls.llm.requests import Request
from tests.llm.providers.test_anthropic_stream import sse, start
from tests.llm.providers.test_gemini_stream import STOP, chunk, wire as gemini_wire
from tests.llm.providers.test_openai_stream import CREATED, added, final, sse as openai_sse
from tests.llm.reports.chat import ASK, answer as chat_answer, codec
from tests.llm.reports.test_anthropic import ASK as ASK_ANTHROPIC
from tests.llm.reports.test_broken_streams import (
    ENDS,
    HI,
    USE,
    add,
    begin,
    call_piece,
    last,
    piece,
    said,
    stop,
)
from tests.llm.reports.test_responses import ASK as ASK_RESPONSES
from tests.support.codec_runs import ANTHROPIC, GEMINI, OPENAI, response_of
from tests.support.reports import reported


def events(*data: Any) -> bytes:
    return b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in data)


def bare(arguments: str) -> Any:
    return {"choices": [{"delta": {"tool_calls": [{"function": {"arguments": arguments}}]}}]}


TGI = {"index": 0, "id": "", "type": "function"}
CHAT: list[Any] = [
    reported("earendil-works/pi#6226", [call_piece(0, "a", "read", '{"x": 1}')], ("", [("read", {"x": 1})])),
    reported("screenpipe/screenpipe#3616", [piece(content="hi"), "[DONE]"], ("hi", [])),
    reported("jin38324/OCI_GenAI_access_gateway#22",
        [call_piece(0, "a", "read", ""), bare('{"x":'), bare(" 1}"), ENDS], ("", [("read", {"x": 1})])),
    reported("mlflow/mlflow#23458",
        [{"choices": [{"index": 0, "delta": {"content": "h"}}]}, {"choices": [{"index": 0, "delta": {"content": "i"},
            "finish_reason": "stop"}]}], ("hi", [])),
    reported("huggingface/text-generation-inference#2794",
        [piece(tool_calls={**TGI, "function": {"name": "read", "arguments": '{"'}}),
            piece(tool_calls={**TGI, "function": {"name": None, "arguments": 'x": 1}'}}),
            {"choices": [{"delta": {}, "finish_reason": "stop"}]}], ("", [("read", {"x": 1})])),
    reported("sgl-project/sglang#5661",
        [piece(tool_calls=[{"id": "0", "type": "function", "function": {"name": "read", "arguments": '{"x": 1}'}}]),
            piece(tool_calls=[{"id": "1", "type": "function", "function": {"name": "list", "arguments": '{"y": 2}'}}]),
                ENDS],
        ("", [("read", {"x": 1}), ("list", {"y": 2})])),
    reported("sgl-project/sglang#3912",
        [{"choices": [{"index": 0, "delta": {"role": None, "content": "h", "tool_calls": None}, "finish_reason": "",
            "matched_stop": None}], "usage": None}, piece(content="i"), {"choices": [{"delta": {},
                "finish_reason": "stop"}]}],
        ("hi", [])),
    reported("vercel/modelfusion#185",
        [{"id": "", "object": "", "created": 0, "model": "", "prompt_filter_results": [{"prompt_index": 0}],
            "choices": []},
            piece(content="hi"), {"choices": [{"delta": {}, "finish_reason": "stop"}]}], ("hi", [])),
    reported("Mintplex-Labs/anything-llm#5112",
        [piece(content="hi"), {"choices": [{"delta": {"content": ""}, "finish_reason": "stop"}]},
            {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}], ("hi", [])),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "result"), CHAT)
def test_a_stream_of_chat_completions_is_read(chunks: list[Any], result: Any) -> None:
    data = b"".join(b"data: " + (each.encode() if isinstance(each, str) else json.dumps(each).encode()) + b"\n\n"
        for each in chunks)  # fmt: skip
    assert said(response_of(codec(), data, ASK)) == result


@pytest.mark.report("huggingface/huggingface_hub#2514")  # fmt: skip
def test_a_limit_that_is_stated_in_the_stream_is_kept() -> None:
    words = "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 900 `inputs` tokens and 4091 `max_new_tokens`"
    data = events({"error": f"Input validation error: {words}", "error_type": "validation"})
    speaker, request = codec(), Request("m", (user("hi " * 1200),), max_output_tokens=4091)
    with pytest.raises(e.ContextLengthError) as raised:
        response_of(speaker, data, request)
    assert speaker.adapt_encoding(request, raised.value)
    assert 2_000 < json.loads(speaker.encode(request, stream=True).content)["max_tokens"] < 3_197


CALL: Any = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": ""}
OTHER: Any = {"type": "function_call", "id": "fc_2", "call_id": "b", "name": "f", "arguments": ""}


def arguments(item: str, kind: str, text: str, **more: Any) -> Any:
    field = "delta" if kind == "delta" else "arguments"
    return {"type": f"response.function_call_arguments.{kind}", "item_id": item, field: text, **more}


def unindexed(kind: str, **more: Any) -> Any:
    return {"type": f"response.{kind}", **more}


MESSAGE: Any = {"type": "message", "id": "m_1", "role": "assistant", "content": []}
EMPTY: Any = {**MESSAGE, "content": [{"type": "text", "text": ""}]}
RESPONSES: list[Any] = [
    reported("sgl-project/sglang#12644",
        [added(1, MESSAGE), {"type": "response.output_text.delta", "output_index": 1, "delta": "hi"}, final()], ("hi",
            [])),
    reported("sgl-project/sglang#12652",
        [added(1, CALL), arguments("fc_1", "delta", '{"x": 1}', output_index=1),
            arguments("fc_1", "done", '{"x": 1}', output_index=1), final(output=[EMPTY])], ("", [("f", {"x": 1})])),
    reported("tontinton/maki#514",
        [unindexed("output_item.added", item=CALL), arguments("fc_1", "delta", '{"x": '), arguments("fc_1", "delta",
            "1}"),
            unindexed("output_item.done", item={**CALL, "arguments": '{"x": 1}'}),
            unindexed("output_item.added", item=OTHER), arguments("fc_2", "delta", '{"y": 2}'),
            unindexed("output_item.done", item={**OTHER, "arguments": '{"y": 2}'}), final()],
        ("", [("f", {"x": 1}), ("f", {"y": 2})])),
    reported("lemonade-sdk/lemonade#3607",
        [unindexed("output_item.added", item={"type": "reasoning", "id": "rs_1", "summary": []}),
            unindexed("reasoning_text.delta", item_id="rs_1", delta="Hm."),
            unindexed("output_item.done", item={"type": "reasoning", "id": "rs_1", "summary": [],
                "content": [{"type": "reasoning_text", "text": "Hm."}]}),
            unindexed("output_item.added", item=MESSAGE), unindexed("output_text.delta", item_id="m_1", delta="hi"),
            unindexed("output_item.done", item={**MESSAGE, "content": [{"type": "output_text", "text": "hi"}]}),
                final()],
        ("hi", [])),
    reported("Sophomoresty/gemini-web2api#57",
        [unindexed("output_text.done", text="hi"), final(output=[{**MESSAGE, "content": [
            {"type": "output_text", "text": "hi"}]}])], ("hi", [])),
]  # fmt: skip


@pytest.mark.parametrize(("stream", "result"), RESPONSES)
def test_a_stream_of_responses_is_read(stream: list[Any], result: Any) -> None:
    assert said(response_of(OPENAI, openai_sse(CREATED, *stream), ASK_RESPONSES)) == result


@pytest.mark.report("openai/openai-dotnet#881")  # fmt: skip
def test_a_nested_error_event_is_a_rate_limit() -> None:
    inner = {
        "type": "too_many_requests",
        "code": "too_many_requests",
        "message": "Too Many Requests",
        "param": None,
    }
    with pytest.raises(e.RateLimitError, match="Too Many Requests"):
        response_of(
            OPENAI,
            openai_sse(CREATED, {"type": "error", "sequence_number": 2, "error": inner}),
            ASK_RESPONSES,
        )


VERTEX = {
    "type": "vertex_event",
    "usage": {"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": None},
}
NO_INDEX = [
    {"type": "content_block_delta", "index": None, "delta": {"type": "text_delta", "text": "hi"}},
    {"type": "message_delta", "delta": {"stop_reason": None}, "usage": {"output_tokens": 7}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": None},
    {"type": "message_stop"},
]
TOOL = [begin(0, **USE, input={}), add(0, "input_json_delta", partial_json='{"a": 1}'), stop(0)]
ANTHROPIC_STREAMS: list[Any] = [
    reported("vercel/ai#11309", [VERTEX, *HI, *last("end_turn")], ("hi", []), "stop"),
    reported("BerriAI/litellm#34718", [*TOOL, *last("end_turn")], ("", [("f", {"a": 1})]), "tool_calls"),
    reported("Oaklight/llm-rosetta#52", NO_INDEX, ("hi", []), "stop"),
]  # fmt: skip


@pytest.mark.parametrize(("stream", "result", "reason"), ANTHROPIC_STREAMS)
def test_a_stream_of_messages_is_read(stream: list[Any], result: Any, reason: str) -> None:
    response = response_of(ANTHROPIC, sse(start(), *stream), ASK_ANTHROPIC)
    assert (said(response), response.finish_reason.kind) == (result, reason)


@pytest.mark.report("karthink/gptel#1331")  # fmt: skip
def test_the_input_that_was_counted_first_stays() -> None:
    end = [
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 76}},
        last("x")[1],
    ]
    usage = response_of(
        ANTHROPIC, sse(start(input_tokens=9325, output_tokens=2), *HI, *end), ASK_ANTHROPIC
    ).usage
    assert (usage.input_tokens, usage.output_tokens) == (9325, 76)


@pytest.mark.report("mlflow/mlflow#25897")  # fmt: skip
def test_an_error_without_the_name_of_its_event_is_one() -> None:
    data = sse(start(), *HI) + events(
        {"error": {"message": "the model was removed", "type": "AIGatewayException"}}
    )
    with pytest.raises(e.ProviderError, match="the model was removed"):
        response_of(ANTHROPIC, data, ASK_ANTHROPIC)


ASK_GEMINI = Request("m", (user("hi"),))


@pytest.mark.report("Wei-Shaw/sub2api#7098")  # fmt: skip
@pytest.mark.report("pydantic/pydantic-ai#631")  # fmt: skip
@pytest.mark.parametrize("content", [{"parts": [{"text": "", "thoughtSignature": "c2ln"}]}, {}])
def test_a_malformed_call_is_no_empty_answer(content: Any) -> None:
    candidate = {"content": content, "finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}
    response = response_of(GEMINI, gemini_wire({"candidates": [candidate]}), ASK_GEMINI)
    assert (response.text, response.finish_reason.kind) == ("", "error")


@pytest.mark.report("BerriAI/litellm#4459")  # fmt: skip
def test_a_nonce_in_a_chunk_is_ignored() -> None:
    response = response_of(
        GEMINI, gemini_wire({"nonce": "a7", **chunk({"text": "hi"})}, {"nonce": "b", **STOP}), ASK_GEMINI
    )
    assert response.text == "hi"


@pytest.mark.report("sigoden/aichat#651")  # fmt: skip
def test_an_event_that_repeats_the_name_of_its_field_is_read() -> None:
    first = b'data: {"choices":[],"created":0,"id":"","prompt_filter_results":[]}\n\n'
    rest = events(piece(content="hi"), {"choices": [{"delta": {}, "finish_reason": "stop"}]})
    assert response_of(codec(), first + rest.replace(b"\n\n", b"\n\n\n"), ASK).text == "hi"
    assert (
        chat_answer(piece(content="hi"), {"choices": [{"delta": {}, "finish_reason": "stop"}]}).text == "hi"
    )


@pytest.mark.report("NousResearch/hermes-agent#22364")
@pytest.mark.parametrize(
    "own", [{"text": "Hm."}, {"message": "step 1", "status": "running"}, {"detail": "x"}]
)
def test_an_event_with_a_name_of_its_own_is_none_of_the_answer(own: Any) -> None:
    event = f"event: hermes.reasoning.delta\ndata: {json.dumps(own)}\n\n".encode()
    last = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    data = events(piece(role="assistant")) + event + events(piece(content="hi"), last) + event
    response = response_of(codec(), data, ASK)
    assert (said(response), response.finish_reason.kind) == (("hi", []), "stop")


@pytest.mark.parametrize("name", ["hermes.error", "response.failed", "message", "", "ping"])
def test_a_failure_in_an_event_with_a_name_stays_one(name: str) -> None:
    data = f'event: {name}\ndata: {{"message": "no room", "status": 429}}\n\n'.encode()
    with pytest.raises(e.ProviderError, match="no room"):
        response_of(codec(), events(piece(content="hi")) + data, ASK)
