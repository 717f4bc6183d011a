"""Reports on Ollama, Copilot, Cloudflare, Bedrock, one-api and SGLang."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import (
    ImagePart,
    Message,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    tool_results,
    user,
)
from agent_ls.llm.requests import Request
from tests.llm.providers.test_refusals import SAID, asking, at, second
from tests.llm.reports.chat import answer as chat_answer, codec, say
from tests.llm.reports.test_broken_streams import piece, said
from tests.llm.reports.test_error_kinds import check_error, refused
from tests.support.codec_runs import ANTHROPIC, body_of
from tests.support.reports import reported

LEFT_OUT: list[Any] = [
    reported("Gitlawb/openclaude#1371", "ollama",
        say('"llama3.1:8b" does not support thinking', type="invalid_request_error", param=None), "reasoning_effort"),
    reported("kenlasko/monize#405", "ollama",
        {"error": "registry.ollama.ai/library/deepseek-r1:latest does not support tools"}, "tools"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "body", "path"), LEFT_OUT)
def test_what_is_refused_is_left_out(wire: str, body: Any, path: str) -> None:
    assert at(second(wire, body, asking(wire)), path) is None


UNREAD = "json: cannot unmarshal array into Go struct field {}.messages.content of type string"
STRINGS: list[Any] = [
    reported("miurla/morphic#189", "ollama", 400, say(UNREAD.format("Message"), type="invalid_request_error")),
    reported("BerriAI/litellm#11273", "compatible", 500,
        say("litellm.APIConnectionError: Ollama_chatException - " + json.dumps({"error": UNREAD.format("ChatRequest")}),
            type=None, code="500")),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body"), STRINGS)
def test_messages_become_strings(wire: str, status: int, body: Any) -> None:
    look = Message(Role.USER, (TextPart("look"), ImagePart(b"x", "image/png")))
    (message,) = second(wire, body, Request("m", (look,)), status)["messages"]
    assert message["content"].startswith("look")


BUSY = "当前分组上游负载已饱和，请稍后再试 (request id: 20250423)"
MODEL = {"code": "model_not_supported", "param": "model", "type": "invalid_request_error"}
KINDS: list[Any] = [
    reported("cloudflare/ai#436", "compatible", 400,
        {"success": False, "result": [], "messages": [],
            "error": [{"code": 2005, "message": "Failed to get response from provider"}]},
        e.ServerError, "Failed to get"),
    reported("anomalyco/opencode#23773", "compatible", 404,
        {"result": None, "success": False, "messages": [], "errors": [{"code": 7003,
            "message": "Could not route to /client/v4/accounts/x/ai/v1/chat/completions"}]},
        e.NotFoundError, "Could not route"),
    reported("RooCodeInc/Roo-Code#5050", "anthropic", 429,
        {"message": "Too many tokens, please wait before trying again."}, e.RateLimitError, "Too many tokens"),
    reported("caozhiyuan/copilot-api#154", "compatible", 400, say("The requested model is not supported.", **MODEL),
        e.NotFoundError, "not supported"),
    reported("ericc-ch/copilot-api#38", "compatible", 400,
        say(json.dumps(say("Model is not supported for this request.", **MODEL)) + "\n", type="error"),
        e.NotFoundError, "not supported for"),
    reported("ericc-ch/copilot-api#151", "anthropic", 400,
        say(json.dumps(say("invalid request body", code="invalid_request_body")) + "\n", type="error"),
        e.InvalidRequestError, "invalid request body"),
    reported("github/copilot-cli#639", "responses", 400, say("The requested model is not supported.", **MODEL),
        e.NotFoundError, "not supported"),
    reported("QuantumNous/new-api#991", "compatible", 429, say(BUSY, type="new_api_error", param="", code=None),
        e.RateLimitError, "负载已饱和"),
    reported("popjane/free_chatgpt_api#7", "compatible", 429,
        say(BUSY, type="requests", param="", code="rate_limit_exceeded"), e.RateLimitError, "负载已饱和"),
    reported("WEIFENG2333/VideoCaptioner#1120", "compatible", 429,
        say(BUSY, type="upstream_error", param="404", code="bad_response_status_code"), e.RateLimitError, "负载已饱和"),
    reported("songquanpeng/one-api#2340", "compatible", 503,
        say("当前分组 default 下对于模型 m 无可用渠道 (request id: 2025)", type="one_api_error"), e.ServerError,
        "无可用渠道"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), KINDS)
def test_an_error_has_its_class_and_words(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    check_error(wire, status, body, kind, words)


@pytest.mark.report("songquanpeng/one-api#598")  # fmt: skip
def test_a_wrong_path_hints_at_the_base_url() -> None:
    words = "Invalid URL (POST /v1/v1/chat/completions) (request id: 2023)"
    error = refused("compatible", 404, say(words, type="invalid_request_error", param="", code=None))
    assert "base URL" in error.hint


@pytest.mark.report("Portkey-AI/gateway#267")  # fmt: skip
def test_a_lost_connection_with_status_200_is_tried_again() -> None:
    error = refused("compatible", 200, {"html-message": "Network connection lost."})
    assert ("Network connection lost" in str(error), error.retryable) == (True, True)


@pytest.mark.report("musistudio/claude-code-router#599")  # fmt: skip
def test_each_call_has_an_id_of_its_own() -> None:
    turn = (
        Message(Role.ASSISTANT, (ToolCallPart("a", "read", "{}"),)),
        tool_results([ToolResultPart("a", "read", "x")]),
    )
    messages = body_of(ANTHROPIC.encode(Request("m", (user("hi"), *turn, *turn)), stream=True))["messages"]
    blocks = [block for message in messages for block in message["content"] if isinstance(block, dict)]
    used = [block["id"] for block in blocks if block["type"] == "tool_use"]
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert len({*used}) == 2
    assert results == used


@pytest.mark.report("tontinton/maki#38")  # fmt: skip
def test_a_call_without_a_name_is_sent_with_one() -> None:
    turn = (
        Message(Role.ASSISTANT, (ToolCallPart("", "", "{}"),)),
        tool_results([ToolResultPart("", "", "x")]),
    )
    messages = body_of(ANTHROPIC.encode(Request("m", (user("hi"), *turn)), stream=True))["messages"]
    blocks = [block for message in messages for block in message["content"] if isinstance(block, dict)]
    calls = [block for block in blocks if block["type"] == "tool_use"]
    assert all(call["id"] and call["name"] for call in calls)


@pytest.mark.report("langgenius/dify#7328")  # fmt: skip
def test_a_conversation_with_calls_has_tools_if_the_server_wants_them() -> None:
    words = (
        "ValidationException: The toolConfig field must be defined when using toolUse and toolResult blocks."
    )
    body = second("compatible", say(words), Request("m", SAID))
    assert body.get("tools") or not any(message.get("tool_calls") for message in body["messages"])


@pytest.mark.report("langchain-ai/langchain-mcp-adapters#61")  # fmt: skip
def test_no_result_is_sent_without_its_call() -> None:
    messages = (user("hi"), tool_results([ToolResultPart("a", "read", "x")]), user("more"))
    sent = body_of(codec().encode(Request("m", messages), stream=True))["messages"]
    calls = {call["id"] for message in sent for call in message.get("tool_calls", ())}
    assert all(message["tool_call_id"] in calls for message in sent if message["role"] == "tool")


def nulls(**delta: Any) -> Any:
    fields = {"role": None, "content": None, "reasoning_content": None, "tool_calls": None, **delta}
    return {
        "choices": [{"index": 0, "delta": fields, "finish_reason": None, "matched_stop": None}],
        "usage": None,
    }


def call(name: Any, arguments: str, call_id: Any = None, kind: Any = None) -> Any:
    return piece(
        tool_calls=[
            {"index": 0, "id": call_id, "type": kind, "function": {"name": name, "arguments": arguments}}
        ]
    )


STOPS = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
CALLS = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
STREAMS: list[Any] = [
    reported("sgl-project/sglang#9657",
        [nulls(role="assistant"), nulls(reasoning_content="2="), nulls(reasoning_content="4"), nulls(content="4"),
            STOPS],
        ("4", []), "2=4"),
    reported("sgl-project/sglang#4700",
        [call("f", "", "c", "function"), call(None, '{"x"'), call(None, ": 1}"), CALLS],
        ("", [("f", {"x": 1})]), ""),
    reported("lmstudio-ai/lmstudio-bug-tracker#1318", [piece(content="Hello", tool_calls=[]), STOPS], ("Hello", []),
        ""),
    reported("ollama/ollama#15288", [piece(content="", reasoning="Canberra."), STOPS], ("", []), "Canberra."),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "result", "reasoning"), STREAMS)
def test_a_stream_of_chat_completions_is_read(chunks: list[Any], result: Any, reasoning: str) -> None:
    response = chat_answer(*chunks)
    assert (said(response), response.message.reasoning) == (result, reasoning)
