"""Streams of model servers and proxies that broke other clients, each in its smallest form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.errors import StreamError
from agent_ls.llm.messages import Message, Role, ToolCallPart, ToolResultPart, tool_results, user
from agent_ls.llm.requests import Request, Response
from tests.llm.providers.test_anthropic_stream import sse
from tests.llm.providers.test_openai_stream import CREATED, done, final
from tests.llm.reports.chat import answer as chat_answer, refusal
from tests.llm.reports.test_anthropic import ASK as ASK_ANTHROPIC, answer as anthropic_answer
from tests.llm.reports.test_gemini import answer as gemini_answer
from tests.llm.reports.test_responses import answer as responses_answer
from tests.support.codec_runs import ANTHROPIC, GEMINI, body_of, response_of
from tests.support.reports import reported


def said(response: Response) -> tuple[str, list[tuple[str, Any]]]:
    return response.text, [(part.name, json.loads(part.arguments)) for part in response.tool_calls]


def piece(**delta: Any) -> Any:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def call_piece(index: Any, call_id: Any, name: Any, arguments: Any) -> Any:
    function = {"name": name, "arguments": arguments}
    return piece(tool_calls=[{"index": index, "id": call_id, "type": "function", "function": function}])


ENDS = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
CHAT: list[Any] = [
    reported(
        "InternLM/lmdeploy#3412",
        [
            call_piece(0, "a", "read", ""),
            call_piece(0, "", None, '{"x": 1}'),
            call_piece(0, "b", "list", ""),
            call_piece(0, "", None, '{"y": 1}'),
        ],
        [("read", {"x": 1}), ("list", {"y": 1})],
    ),
    reported(
        "vllm-project/vllm#34887",
        [
            piece(role="assistant", content="", reasoning_content=None),
            call_piece(0, "O4", "read", '{"'),
            call_piece(0, None, None, 'a": 1}'),
        ],
        [("read", {"a": 1})],
    ),
    reported("vllm-project/vllm#9693", [call_piece(0, "c", "read", None)], [("read", {})]),
    reported(
        "jjang-ai/vmlx#219",
        [piece(content=None, tool_call_generating=True), piece(), call_piece(0, "c", "read", "{}")],
        [("read", {})],
    ),
    reported(
        "waybarrios/vllm-mlx#107",
        [
            piece(
                content="<tool_call>\n<function=read>\n<parameter=path>\na.txt\n</parameter>\n</function>\n</tool_call>",
                tool_calls=None,
            )
        ],
        [("read", {"path": "a.txt"})],
    ),
    pytest.param(
        [call_piece("0", 7, "read", {"a": 1})], [("read", {"a": 1})], id="numbers and texts changed"
    ),
]


@pytest.mark.parametrize(("chunks", "calls"), CHAT)
def test_calls_of_chat_servers_are_read(chunks: list[Any], calls: list[Any]) -> None:
    assert said(chat_answer(*chunks, ENDS)) == ("", calls)


def begin(index: int, **block: Any) -> Any:
    return {"type": "content_block_start", "index": index, "content_block": block}


def add(index: int, kind: str, **more: Any) -> Any:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}


def stop(index: int) -> Any:
    return {"type": "content_block_stop", "index": index}


def last(reason: str) -> list[Any]:
    return [{"type": "message_delta", "delta": {"stop_reason": reason}}, {"type": "message_stop"}]


USE = {"type": "tool_use", "id": "t1", "name": "f"}
HI = [begin(0, type="text", text=""), add(0, "text_delta", text="hi"), stop(0)]
MESSAGES: list[Any] = [
    reported("BerriAI/litellm#33224",
        [begin(0, type="text", text=""), add(0, "thinking_delta", thinking="hm"), *HI[1:], *last("end_turn")],
        ("hi", [])),
    reported("inflaborg/ccrelay#119", [begin(0, **USE, input={"a": 1}), stop(0), *last("tool_use")],
        ("", [("f", {"a": 1})])),
    reported("ggml-org/llama.cpp#22960",
        [begin(0, **USE), add(0, "input_json_delta", partial_json='{"a": 1}'), stop(0), *last("tool_use")],
        ("", [("f", {"a": 1})])),
    reported("farion1231/cc-switch#6841",
        [*HI, begin(1, **USE, input={}), add(1, "input_json_delta", partial_json='{"a": 1}')],
        ("hi", [("f", {"a": 1})])),
    reported("bigduu/Bamboo-agent#368", [add(7, "input_json_delta", partial_json="{}"), *HI, *last("end_turn")],
        ("hi", [])),
    reported(
        "headroomlabs-ai/headroom#3543",
        [
            begin(0, type="thinking", thinking="", signature="s"),
            add(0, "thinking_delta", thinking="x"),
            add(0, "signature_delta", signature="s"),
            stop(0),
            begin(1, type="text", text=""),
            add(1, "text_delta", text="hi"),
            stop(1),
            *last("end_turn"),
        ],
        ("hi", []),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("events", "expected"), MESSAGES)
def test_streams_of_proxies_of_anthropic_are_read(events: list[Any], expected: Any) -> None:
    assert said(anthropic_answer(*events)) == expected


@pytest.mark.report("SaladDay/cc-switch-cli#320")
def test_a_first_event_without_content_is_read() -> None:
    begun = {"type": "message_start", "message": {"id": "m", "role": "assistant", "model": "x"}}
    assert said(response_of(ANTHROPIC, sse(begun, *HI, *last("end_turn")), ASK_ANTHROPIC)) == ("hi", [])


ITEM = {"id": "m", "type": "message", "role": "assistant"}
FUNCTION = {"id": "fc", "type": "function_call", "call_id": "c", "name": "f"}
RESPONSES: list[Any] = [
    reported(
        "makecindy/cindy#4509",
        [
            {
                "type": "response.output_item.added",
                "item": {**ITEM, "content": [{"type": "output_text"}]},
                "output_index": 0,
            },
            {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "delta": "HELLO"},
            done(0, {**ITEM, "content": [{"type": "output_text"}]}),
            {"type": "response.completed", "response": {"id": "r", "status": "completed"}, "output": []},
        ],
        ("HELLO", []),
    ),
    reported(
        "QuantumNous/new-api#7087",
        [
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": {"id": "rs", "type": "reasoning"},
            },
            {"type": "response.output_item.added", "output_index": 1, "item": ITEM},
            {"type": "response.output_text.delta", "output_index": 1, "item_id": "m", "delta": "hi"},
            final(),
        ],
        ("hi", []),
    ),
    reported(
        "maximhq/bifrost#6395",
        [
            {
                "type": "response.output_text.delta",
                "output_index": 0,
                "delta": "hi",
                "item": None,
                "part": None,
            },
            {**final(), "item": None},
        ],
        ("hi", []),
    ),
    reported(
        "open-webui/open-webui#28310",
        [
            done(0, {**ITEM, "content": [{"type": "output_text", "text": "whole", "annotations": None}]}),
            final(),
        ],
        ("whole", []),
    ),
    reported(
        "yunionio/cloudpods#25157",
        [
            {
                "type": "response.completed",
                "response": {
                    "status": "completed",
                    "output": [{**FUNCTION, "arguments": '{"a": 1}'}],
                    "usage": None,
                },
            }
        ],
        ("", [("f", {"a": 1})]),
    ),
    pytest.param(
        [done(0, {**FUNCTION, "arguments": {"a": 1}}), final()], ("", [("f", {"a": 1})]), id="object"
    ),
]


@pytest.mark.parametrize(("events", "expected"), RESPONSES)
def test_streams_of_proxies_of_responses_are_read(events: list[Any], expected: Any) -> None:
    assert said(responses_answer(CREATED, *events)) == expected


def parts(*found: Any, **more: Any) -> Any:
    return {"candidates": [{"content": {"role": "model", "parts": [*found]}, **more}]}


def function(**call: Any) -> Any:
    return {"functionCall": call}


BARE = function(name="f", args={})
GEMINIS: list[Any] = [
    reported(
        "smallmain/vscode-unify-chat-provider#48",
        [parts(BARE), parts(function(args={"path": "/x"})), parts(finishReason="STOP")],
        ("", [("f", {"path": "/x"})]),
    ),
    reported("looplj/axonhub#2259", [parts({"text": "hi"}, finishReason="STOP")], ("hi", [])),
    pytest.param([parts(BARE, BARE, finishReason="STOP")], ("", [("f", {}), ("f", {})]), id="two bare calls"),
    pytest.param(
        [parts(BARE, function(args={"a": 1}), BARE), parts(function(args={"a": 2}), finishReason="STOP")],
        ("", [("f", {"a": 1}), ("f", {"a": 2})]),
        id="two calls in pieces",
    ),
    pytest.param(
        [parts(function(name="f")), parts({"text": "hi"}), parts(finishReason="STOP")],
        ("hi", [("f", {})]),
        id="a bare call before a text",
    ),
    pytest.param([parts(function(name="f", args=None), finishReason="STOP")], ("", [("f", {})]), id="null"),
]


@pytest.mark.parametrize(("chunks", "expected"), GEMINIS)
def test_calls_of_gemini_are_read(chunks: list[Any], expected: Any) -> None:
    assert said(gemini_answer(*chunks)) == expected


@pytest.mark.report("NousResearch/hermes-agent#43478")
def test_a_call_does_not_hide_the_limit() -> None:
    call = function(name="f", args={"a": 1})
    assert gemini_answer(parts(call), parts(finishReason="MAX_TOKENS")).finish_reason.kind == "length"


CALLS = [ToolCallPart(f"c{number}", "f", "{}") for number in range(3)]


@pytest.mark.report("cloudwego/eino-ext#571")
@pytest.mark.report("microsoft/vscode#299295")
@pytest.mark.report("shareAI-lab/learn-claude-code#55")
@pytest.mark.report("anthropics/claude-code#12526")
@pytest.mark.parametrize("has_results", [True, False])
def test_each_call_has_one_result_in_the_next_message(has_results: bool) -> None:
    results = [tool_results([ToolResultPart(it.id, "f", "x")]) for it in CALLS] if has_results else []
    messages = (user("a"), Message(Role.ASSISTANT, tuple(CALLS)), *results, user("note"))
    contents = body_of(GEMINI.encode(Request("gemini-4-argon", messages), stream=True))["contents"]
    assert [[*part] for part in contents[2]["parts"]] == [["functionResponse"]] * 3
    sent = body_of(ANTHROPIC.encode(Request("m", messages), stream=True))["messages"]
    assert [block["type"] for block in sent[2]["content"]] == [*["tool_result"] * 3, "text"]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([*HI], id="only text"),
        pytest.param([begin(0, **USE, input={})], id="no arguments yet"),
        pytest.param([begin(0, **USE), add(0, "input_json_delta", partial_json="{}")], id="empty arguments"),
        pytest.param(
            [begin(0, **USE), add(0, "input_json_delta", partial_json='{"a": ')], id="a part of them"
        ),
        pytest.param(
            [
                begin(0, **USE),
                add(0, "input_json_delta", partial_json='{"a": 1}'),
                begin(1, type="text", text=""),
            ],
            id="another open block",
        ),
    ],
)
def test_a_stream_that_ends_elsewhere_is_cut(events: list[Any]) -> None:
    with pytest.raises(StreamError):
        anthropic_answer(*events)


@pytest.mark.report("ggml-org/llama.cpp#27107")
@pytest.mark.report("flagdizero/jenny-android-ai-agent#2")
@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("Unable to generate parser for this template: System message must be at the beginning", "template"),
        ("Failed to initialize samplers: failed to parse grammar", ""),
    ],
)
def test_a_refusal_of_a_local_server_is_shown_with_its_reason(message: str, hint: str) -> None:
    error = refusal(400, {"error": {"code": 400, "message": message, "type": "invalid_request_error"}})
    assert message in str(error) and hint in error.hint
