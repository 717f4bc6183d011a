"""The loopback servers refuse the requests that the real services refuse. Other tests depend on that."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.loopback.anthropic import signature
from tests.loopback.openai import OpenAIResponsesWire
from tests.support.loopback import AnthropicServer, OpenAIResponsesServer, Reasoning, Reply, ToolCall


def post(base_url: str, body: Any) -> tuple[int, Any]:
    path = "/responses" if base_url.endswith("/v1") else "/v1/messages"
    headers = {"x-api-key": "k", "authorization": "Bearer k", "anthropic-version": "2023-06-01"}
    request = urllib.request.Request(base_url + path, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=240) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


def anthropic(*messages: Any, **more: Any) -> Any:
    turns = [
        {"role": "user" if i % 2 == 0 else "assistant", "content": content}
        for i, content in enumerate(messages)
    ]
    return {"model": "m", "max_tokens": 100, "messages": turns, **more}


def text(words: str) -> Any:
    return {"type": "text", "text": words}


USE = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
GIVEN = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": signature("hm")}
TOOL = {"name": "f", "input_schema": {"type": "object"}}

ANTHROPIC: dict[str, tuple[Any, str]] = {
    "good": (anthropic("hi", [THOUGHT, USE], [GIVEN, text("go on")], tools=[TOOL]), ""),
    "no max_tokens": ({"model": "m", "messages": [{"role": "user", "content": "hi"}]}, "max_tokens: Field required"),
    "unknown key": (anthropic("hi", auto_cache=False), "auto_cache: Extra inputs"),
    "empty text": (anthropic([text("")]), "must be non-empty"),
    "blank text": (anthropic([text(" ")]), "non-whitespace"),
    "no content": (anthropic([]), "content must be non-empty"),
    "call without result": (anthropic("hi", [USE], "no"), "without `tool_result` blocks immediately after: t1"),
    "call at the end": (anthropic("hi", [USE]), "prefill"),
    "result without call": (anthropic("hi", "yes", [GIVEN]), "unexpected `tool_use_id`"),
    "result after text": (anthropic("hi", [USE], [text("a"), GIVEN]), "must come before other content"),
    "two results": (anthropic("hi", [USE], [GIVEN, GIVEN]), "single result"),
    "input is text": (anthropic("hi", [{**USE, "input": "{}"}], [GIVEN]), "should be an object"),
    "changed thinking": (anthropic("hi", [{**THOUGHT, "thinking": "ha"}, text("a")], "x"), "Invalid `signature`"),
    "thinking last": (anthropic("hi", [THOUGHT], "x"), "cannot be `thinking`"),
    "assistant first": ({**anthropic(), "messages": [{"role": "assistant", "content": "x"}]}, "must use the user role"),
    "system role": ({**anthropic(), "messages": [{"role": "system", "content": "x"}]}, "Unexpected role"),
    "choice is a word": (anthropic("hi", tools=[TOOL], tool_choice="auto"), "should be an object"),
    "bad tool name": (anthropic("hi", tools=[{**TOOL, "name": "a b"}]), "should match pattern"),
    "budget too big": (anthropic("hi", thinking={"type": "enabled", "budget_tokens": 2000}), "must be greater"),
    "five marks": (anthropic([{**text("a"), "cache_control": {}}] * 5), "maximum of 4"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), ANTHROPIC.values(), ids=ANTHROPIC)
def test_loopback_anthropic_server_refuses_invalid_requests_like_the_real_service(
    body: Any, expected: str
) -> None:
    with AnthropicServer(lambda _: "ok", allow_violations=True) as server:
        status, answer = post(server.base_url, body)
        assert (status, bool(server.violations)) == ((400, True) if expected else (200, False))
        assert expected in str(answer.get("error", {}).get("message", ""))


RS, FC = OpenAIResponsesWire().whole(
    Reply([Reasoning("hm"), ToolCall("f", {}, id="c1")]), {"model": "m", "input": "hi"}
)["output"]
OUT = {"type": "function_call_output", "call_id": "c1", "output": "x"}
HI = {"role": "user", "content": "hi"}


def openai(*items: Any, **more: Any) -> Any:
    return {"model": "m", "input": [HI, *items], "store": False, **more}


def tool(**parameters: Any) -> Any:
    return [{"type": "function", "name": "f", "parameters": {"type": "object", **parameters}, "strict": True}]


OPENAI: dict[str, tuple[Any, str]] = {
    "good": (openai(RS, FC, OUT), ""),
    "good without ids": (openai(*({k: v for k, v in i.items() if k != "id"} for i in (RS, FC)), OUT), ""),
    "unknown key": (openai(messages=[]), "Unknown parameter: 'messages'"),
    "no input": ({"model": "m"}, "Missing required parameter: 'input'"),
    "few tokens": (openai(max_output_tokens=8), "below minimum"),
    "call without output": (openai(RS, FC), "No tool output found for function call c1"),
    "output without call": (openai(OUT), "No tool call found"),
    "two outputs": (openai(RS, FC, OUT, OUT), "Duplicate item"),
    "reasoning without follower": (openai(RS), "without its required following item"),
    "reasoning with another follower": (openai(RS, {**FC, "id": "fc_9"}, OUT), "required following item"),
    "follower without reasoning": (openai(FC, OUT), "without its required 'reasoning' item"),
    "no encrypted content": (openai({**RS, "encrypted_content": ""}, FC, OUT), "Items are not persisted"),
    "changed encrypted content": (
        openai({**RS, "encrypted_content": "e30="}, FC, OUT),
        "could not be verified",
    ),
    "no summary": (openai({**RS, "summary": None}, FC, OUT), "'input[0].summary'"),
    "broken arguments": (openai(RS, {**FC, "arguments": "{"}, OUT), "not a JSON object"),
    "nested tool": (openai(tools=[{"type": "function", "function": {"name": "f"}}]), "'tools[0].name'"),
    "open strict schema": (openai(tools=tool(properties={})), "'additionalProperties' must be false"),
    "optional in strict": (
        openai(tools=tool(properties={"a": {}}, additionalProperties=False)),
        "'required'",
    ),
}


@pytest.mark.parametrize(("body", "expected"), OPENAI.values(), ids=OPENAI)
def test_loopback_openai_server_refuses_invalid_requests_like_the_real_service(
    body: Any, expected: str
) -> None:
    with OpenAIResponsesServer(lambda _: "ok", allow_violations=True) as server:
        status, answer = post(server.base_url, body)
        assert (status, bool(server.violations)) == ((400, True) if expected else (200, False))
        assert expected in str((answer.get("error") or {}).get("message", ""))


def test_an_invalid_request_to_a_loopback_server_fails_the_test() -> None:
    with (
        pytest.raises(AssertionError, match="anthropic would have refused"),
        AnthropicServer(["ok"]) as server,
    ):
        post(server.base_url, anthropic([text("")]))


def test_an_exhausted_script_is_answered_with_an_error() -> None:
    with AnthropicServer(["ok"]) as server:
        assert post(server.base_url, anthropic("hi"))[0] == 200
        status, answer = post(server.base_url, anthropic("hi"))
        assert (status, "no more answers" in answer["error"]["message"]) == (500, True)
        assert len(server.requests) == 2
