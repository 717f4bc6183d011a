"""The loopback servers refuse the requests that the real services refuse. Other tests depend on that."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.loopback.anthropic import signature
from tests.loopback.gemini import GeminiWire
from tests.loopback.openai import OpenAIResponsesWire
from tests.loopback.script import Reply
from tests.support.loopback import (
    Answer,
    AnthropicServer,
    GeminiServer,
    OpenAIResponsesServer,
    Reasoning,
    Text,
    ToolCall,
)

pytestmark = pytest.mark.req("P8")


def post(url: str, body: Any) -> tuple[int, str, Any]:
    """Return status, error message ("" for success) and body of the answer."""
    headers = dict.fromkeys(("x-api-key", "authorization", "x-goog-api-key"), "k")
    request = urllib.request.Request(
        url, json.dumps(body).encode(), headers | {"anthropic-version": "2023-06-01"}
    )
    try:
        with urllib.request.urlopen(request, timeout=240) as answer:
            return answer.status, "", json.load(answer)
    except urllib.error.HTTPError as refused:
        with refused:
            told = json.load(refused)
            return refused.code, told["error"]["message"], told


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
}  # fmt: skip  # fmt: skip
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


def user(*parts: Any) -> Any:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> Any:
    return {"role": "model", "parts": list(parts)}


def gemini(*contents: Any, **more: Any) -> Any:
    return {"contents": [user({"text": "hi"}), *contents], **more}


def declared(parameters: Any = None, *, name: str = "f", count: int = 1) -> Any:
    function = {"name": name, **({} if parameters is None else {"parameters": parameters})}
    return {"tools": [{"functionDeclarations": [function] * count}]}


def schema(**properties: Any) -> Any:
    return {"type": "object", "properties": properties}


CALL = GeminiWire().whole(Reply([ToolCall("f", {"a": 1}, id="c1")]), gemini() | {"model": "m"})["candidates"][
    0
]["content"]["parts"][0]
UNSIGNED = {"functionCall": CALL["functionCall"]}
ANSWER = {"functionResponse": {"name": "f", "id": "c1", "response": {"output": "x"}}}
OTHER = {"functionResponse": {"name": "g", "id": "c1", "response": {"output": "x"}}}
GEMINI: dict[str, tuple[Any, str]] = {
    "good": (gemini(model(CALL), user(ANSWER), **declared(schema(a={"type": "integer"}))), ""),
    "good with parallel calls": (gemini(model(CALL, UNSIGNED), user(ANSWER, ANSWER)), ""),
    "unknown key": (gemini(messages=[]), 'Unknown name "messages"'),
    "nothing said": ({"contents": []}, "contents is not specified"),
    "no parts": (gemini(user()), "have a role and parts"),
    "assistant as role": (gemini({"role": "assistant", "parts": [{"text": "a"}]}), "have a role and parts"),
    "model first": ({"contents": [model({"text": "a"})]}, "begins with a user turn"),
    "call without answer": (gemini(model(CALL), user({"text": "go on"})), "equal to the number of"),
    "call after the model's own words": (
        gemini(model({"text": "a"}), model(CALL), user(ANSWER)),
        "immediately after a user turn",
    ),
    "call at the end": (gemini(model(CALL)), "responses are missing"),
    "answer without call": (gemini(user(ANSWER)), "equal to the number of"),
    "two answers": (gemini(model(CALL), user(ANSWER, ANSWER)), "equal to the number of"),
    "answer of another": (gemini(model(CALL), user(OTHER)), "equal to the number of"),
    "answer is text": (
        gemini(model(CALL), user({"functionResponse": {"name": "f", "id": "c1", "response": "x"}})),
        "must be an object",
    ),
    "no signature": (gemini(model(UNSIGNED), user(ANSWER)), "missing a thought_signature"),
    "signature of another": (
        gemini(model({**CALL, "thoughtSignature": "b3RoZXI="}), user(ANSWER)),
        "Corrupted thought signature",
    ),
    "schema beyond the subset": (gemini(**declared({**schema(a={}), "$defs": {}})), 'Unknown name "$defs"'),
    "constant in a property": (gemini(**declared(schema(a={"const": 1}))), 'Unknown name "const"'),
    "object of nothing": (gemini(**declared(schema())), "non-empty for OBJECT"),
    "array of anything": (gemini(**declared(schema(a={"type": "array"}))), "items: missing field"),
    "numbers to choose": (gemini(**declared(schema(a={"type": "integer", "enum": [1]}))), "only allowed for STRING"),
    "unknown one required": (gemini(**declared({**schema(a={}), "required": ["b"]})), "not defined: b"),
    "name with a blank": (gemini(**declared(name="a b")), "Invalid function name"),
    "declared twice": (gemini(**declared(count=2)), "Duplicate function declaration"),
}  # fmt: skip  # fmt: skip
SERVERS: dict[str, tuple[Any, str, dict[str, tuple[Any, str]]]] = {
    "anthropic": (AnthropicServer, "/v1/messages", ANTHROPIC),
    "openai": (OpenAIResponsesServer, "/responses", OPENAI),
    "gemini": (GeminiServer, "/v1beta/models/m:generateContent", GEMINI),
}


@pytest.mark.parametrize(
    ("provider", "name"), [(provider, name) for provider, row in SERVERS.items() for name in row[2]]
)
def test_a_loopback_server_refuses_invalid_requests_like_the_real_service(provider: str, name: str) -> None:
    kind, path, bodies = SERVERS[provider]
    body, expected = bodies[name]
    with kind(lambda _: "ok", allow_violations=True) as server:
        status, words, _ = post(server.base_url + path, body)
        assert (status, bool(server.violations)) == ((400, True) if expected else (200, False))
        assert expected in words


def test_an_invalid_request_to_a_loopback_server_fails_the_test() -> None:
    with (
        pytest.raises(AssertionError, match="anthropic would have refused"),
        AnthropicServer(["ok"]) as server,
    ):
        post(f"{server.base_url}/v1/messages", anthropic([text("")]))


def test_an_exhausted_script_is_answered_with_an_error() -> None:
    with AnthropicServer(["ok"]) as server:
        url = f"{server.base_url}/v1/messages"
        assert post(url, anthropic("hi"))[0] == 200
        status, words, _ = post(url, anthropic("hi"))
        assert (status, "no more answers" in words) == (500, True)
        assert len(server.requests) == 2


THINKS: Any = {"model": "m", "max_tokens": 2000, "thinking": {"type": "adaptive"}}
NAMED_TWICE = [{"name": "f", "input_schema": {"type": "object"}}] * 2


@pytest.mark.parametrize("keeps_thinking", [True, False])
def test_anthropic_server_when_thinking_before_a_call_is_not_sent_back_then_refuses(
    keeps_thinking: bool,
) -> None:
    script: list[Answer] = [[Reasoning("Hm."), Text("I look."), ToolCall("f", id="t1")], "Done."]
    with AnthropicServer(script, allow_violations=True) as server:
        url, asked = f"{server.base_url}/v1/messages", {"role": "user", "content": "hi"}
        said = post(url, {**THINKS, "messages": [asked]})[2]["content"]
        kept = [block for block in said if keeps_thinking or block["type"] != "thinking"]
        given = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
        history = [asked, {"role": "assistant", "content": kept}, {"role": "user", "content": [given]}]
        status, words, _ = post(url, {**THINKS, "messages": history})
    assert (status, words) == ((200, "") if keeps_thinking else (400, words))
    assert keeps_thinking or "Expected `thinking`" in words


def test_anthropic_server_refuses_duplicate_tool_names_and_a_forced_unknown_tool() -> None:
    body = {**THINKS, "thinking": {}, "messages": [{"role": "user", "content": "hi"}], "tools": NAMED_TWICE}
    forced = {"tools": NAMED_TWICE[:1], "tool_choice": {"type": "tool", "name": "g"}}
    with AnthropicServer(lambda _: "ok", allow_violations=True) as server:
        url = f"{server.base_url}/v1/messages"
        assert "must be unique" in post(url, body)[1]
        assert "in provided tools" in post(url, body | forced)[1]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param({}, "", id="good"),
        pytest.param({"call_id": "c" * 65}, "call_id", id="long id"),
        pytest.param({"id": "msg_1"}, "begins with 'fc'", id="id of another kind"),
        pytest.param({"name": "a b"}, "does not match pattern", id="name"),
    ],
)
def test_openai_server_when_a_call_is_invalid_then_refuses(changed: Any, expected: str) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"} | changed
    given = {"type": "function_call_output", "call_id": call["call_id"], "output": "x"}
    body = {"model": "m", "store": False, "input": [{"role": "user", "content": "hi"}, call, given]}
    with OpenAIResponsesServer(lambda _: "ok", allow_violations=True) as server:
        status, words, _ = post(f"{server.base_url}/responses", body)
        assert status == (400 if expected else 200)
        assert expected in words
        twice = [{"type": "function", "name": "f", "parameters": {"type": "object"}}] * 2
        assert "Duplicate function name" in post(f"{server.base_url}/responses", {**body, "tools": twice})[1]
