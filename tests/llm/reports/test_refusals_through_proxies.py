"""Reports about refused requests and errors, on all wires and through many proxies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import (
    Message,
    Role,
    ToolCallPart,
    ToolResultPart,
    assistant,
    system,
    tool_results,
    user,
)
from agent_ls.llm.requests import FreeText, Request, ToolDefinition
from tests.llm.providers.test_refusals import asking, at, check_left_out, second, spoken
from tests.llm.reports.chat import answer as chat_answer, codec, say
from tests.llm.reports.test_error_kinds import exhausted, refused
from tests.support.codec_runs import body_of
from tests.support.reports import reported

FORCED = {"tool_choice": "required"}


def schema(**inner: Any) -> Any:
    return {"tools": (ToolDefinition("t", "", {"type": "object", "properties": {"a": inner}}),)}


FIELD = "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted'}]"
INSIDE = {
    "detail": [
        {"type": "extra_forbidden", "loc": ["body", "temperature"], "msg": "Extra inputs are not permitted"}
    ]
}
WRAPPED = (
    "Error from provider(Groq,m: 400): "
    + json.dumps(say("property 'reasoning' is unsupported"))
    + "\nError: x"
)
GRAMMAR = "Engine protocol predict request returned 400: " + json.dumps(
    say("Failed to initialize samplers: failed to parse grammar", code=400, type="invalid_request_error")
)
MARKS = json.dumps(
    say("messages.2.content.0.thinking.cache_control: Extra inputs are not permitted", type="x")
)
MOONSHOT = (
    "tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'a.$ref': "
)
PARAMETERS = "tools.0.function.parameters.properties.a"
LEFT_OUT: list[Any] = [
    reported("modelscope/ms-agent#489", "compatible", 400, say(FIELD, type="BadRequestError", code=400), {},
        "stream_options"),
    reported("CherryHQ/cherry-studio#1099", "groq", 400,
        say("property 'reasoning_effort' is unsupported, did you mean 'reasoning_format'?"), {}, "reasoning_effort"),
    reported("neavo/LinguaGacha#771", "xai", 400, {"code": "x",
        "error": "Model m does not support parameter reasoningEffort."},
        {}, "reasoning_effort"),
    reported("musistudio/claude-code-router#1204", "openrouter", 400, say(WRAPPED, code="provider_response_error"), {},
        "reasoning"),
    reported("strands-agents/harness-sdk#1241", "compatible", 400,
        say("This model doesn't support the toolConfig.toolChoice.any field. Remove toolConfig.toolChoice.any."),
        FORCED, "tool_choice"),
    reported("BerriAI/litellm#24443", "anthropic", 500,
        say("Incompatible tool choice param submitted - {'type': 'none'}", type="api_error"), {"tool_choice": "none"},
        "tool_choice"),
    reported("1jehuang/jcode#190", "compatible", 400,
        say("Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            code="invalid_request_body"), {}, "max_tokens"),
    reported("mistralai/platform-docs-public#7", "mistral", 422,
        {"object": "error", "message": json.dumps(INSIDE), "type": "internal_error_proxy", "code": "1000"}, {},
        "temperature"),
    reported("lmstudio-ai/lmstudio-bug-tracker#2220", "anthropic", 500, say(GRAMMAR, type="api_error"), {},
        "tools.0.input_schema.oneOf"),
    reported("run-llama/llama_index#18860", "compatible", 422,
        say("Streaming responses are not currently supported", code="OperationParameterInvalid"), {}, "stream"),
    reported("cg-dot/vertexai-cf-workers#21", "anthropic", 400,
        say("messages.0.content.0.cache_control: Extra inputs are not permitted"), {}, "cache_control"),
    reported("lbjlaq/Antigravity-Manager#125", "anthropic", 400, say(MARKS, code=400, status="INVALID_ARGUMENT"), {},
        "cache_control"),
    reported("CommandCodeAI/command-code#594", "moonshot", 400,
        say(f"Invalid request: {MOONSHOT}references must start with #/$defs/>"), schema(**{"$ref": "#/definitions/A"}),
        f"{PARAMETERS}.$ref"),
    reported("tashfeenahmed/freellmapi#97", "compatible", 502,
        say("Provider error (Gemini): Google API error 400: Invalid JSON payload received. Unknown name "
            "\"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field."),
        schema(type="object", additionalProperties=False), f"{PARAMETERS}.additionalProperties"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "more", "path"), LEFT_OUT)
def test_what_is_refused_is_left_out(
    wire: str, status: int, body: Any, more: dict[str, Any], path: str
) -> None:
    check_left_out(wire, status, body, more, path)


def declared(body: Any, key: str = "parameters") -> Any:
    """Return the schema of the parameter `a` in a request of Gemini."""
    return at(body, f"tools.0.functionDeclarations.0.{key}.properties.a")


@pytest.mark.report("anomalyco/opencode#14788")  # fmt: skip
def test_gemini_gets_no_type_beside_alternatives_that_it_refuses() -> None:
    request = asking("gemini", **schema(anyOf=[{"type": "string"}, {"type": "number"}], type="string"))
    assert "type" in declared(body_of(spoken("gemini").encode(request, stream=True)), "parametersJsonSchema")
    words = (
        "Unable to submit request because `t` functionDeclaration `parameters.a` schema specified other fields "
        "alongside any_of. When using anyOf, it must be the only field set."
    )
    refusal = say(words, code=400, status="INVALID_ARGUMENT")
    assert set(declared(second("gemini", refusal, request))) == {"anyOf"}


@pytest.mark.report("noho/dayu-agent#165")  # fmt: skip
def test_a_keyword_that_gemini_does_not_know_is_not_sent() -> None:
    request = asking("gemini", **schema(type="array", items={"type": "string"}, uniqueItems=True))
    sent = declared(body_of(spoken("gemini").encode(request, stream=True)))
    assert sent == {"type": "ARRAY", "items": {"type": "STRING"}}


CALLED = (
    user("hi"),
    Message(Role.ASSISTANT, (ToolCallPart("a", "read", "{}"),)),
    tool_results([ToolResultPart("a", "read", "x")]),
    user("more"),
)
ROLES: list[Any] = [
    reported("open-webui/open-webui#9266", "deepseek",
        "deepseek-reasoner does not support successive user or assistant messages (messages[1] and messages[2] in your "
        "input). You should interleave the user/assistant messages in the message sequence.",
        (system("s"), user("a"), user("b")), ["user"]),
    reported("chatgpt-web-dev/chatgpt-web#564", "compatible",
        'messages: first message must use the "user" role (request id: 1) (request id: 2)',
        (assistant("a"), user("b")), ["user", "assistant", "user"]),
    reported("browser-use/browser-use#710", "compatible",
        "messages.2.content: Conversation blocks and tool result blocks cannot be provided in the same turn.", CALLED,
        ["user", "assistant", "tool", "assistant", "user"]),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "words", "messages", "roles"), ROLES)
def test_roles_are_sent_as_the_server_wants_them(
    wire: str, words: str, messages: Any, roles: list[str]
) -> None:
    request = Request("m", messages)
    assert [message["role"] for message in second(wire, say(words), request)["messages"]] == roles


@pytest.mark.report("MoonshotAI/kimi-cli#178")  # fmt: skip
def test_a_parameter_gets_a_type() -> None:
    words = "invalid request: missing 'type' or 'anyOf' key in parameter type"
    body = second(
        "moonshot", say(words, type="invalid_request_error"), asking("moonshot", **schema(description="d"))
    )
    assert at(body, PARAMETERS)["type"] == "string"


@pytest.mark.report("unslothai/unsloth#5141")  # fmt: skip
def test_a_custom_tool_becomes_a_function() -> None:
    tool = ToolDefinition(
        "patch", "", {"type": "object", "properties": {"input": {"type": "string"}}}, FreeText("input")
    )
    body = second(
        "openai", say("'type' of tool must be 'function'", code=400), asking("openai", tools=(tool,))
    )
    assert at(body, "tools.0.type") == "function"


@pytest.mark.report("apache/apisix#13583")  # fmt: skip
@pytest.mark.parametrize("wire", ["compatible", "anthropic", "openai", "gemini"])
def test_a_request_without_tools_has_no_tool_choice(wire: str) -> None:
    body = body_of(spoken(wire).encode(asking(wire, tools=(), tool_choice="required"), stream=True))
    assert not body.keys() & {"tool_choice", "toolConfig", "parallel_tool_calls"}


@pytest.mark.report("FoundationAgents/OpenManus#227")  # fmt: skip
def test_a_result_without_its_call_is_not_sent_as_one() -> None:
    orphan = (user("hi"), tool_results([ToolResultPart("a", "read", "x")]), user("more"))
    body = body_of(codec("deepseek").encode(Request("m", orphan), stream=True))
    assert "tool" not in [message["role"] for message in body["messages"]]


@pytest.mark.report("google-gemini/gemini-cli#4504")  # fmt: skip
def test_gemini_gets_as_many_results_as_calls() -> None:
    calls = tuple(ToolCallPart(name, "read", "{}") for name in "ab")
    said = (
        user("hi"),
        Message(Role.ASSISTANT, calls),
        tool_results([ToolResultPart("b", "read", "x")]),
        user("more"),
    )
    contents = body_of(spoken("gemini").encode(Request("gemini-2.5-flash", said), stream=True))["contents"]
    assert [sum("functionResponse" in part for part in it["parts"]) for it in contents] == [0, 0, 2, 0]


@pytest.mark.report("karthink/gptel#774")  # fmt: skip
@pytest.mark.report("Kilo-Org/kilocode#10375")  # fmt: skip
@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_is_not_sent_to_servers_that_refuse_it(field: str) -> None:
    response = chat_answer({"choices": [{"delta": {field: "Hm.", "content": "ok"}, "finish_reason": "stop"}]})
    for provider in ("groq", "cerebras"):
        body = body_of(
            codec(provider).encode(Request("m", (user("a"), response.message, user("b"))), stream=True)
        )
        assert body["messages"][1] == {"role": "assistant", "content": "ok"}


PYTHON = "Error code: 400 - {'error': {'code': '1211', 'message': '模型不存在，请检查模型代码。'}}"
PROXIED = (
    "litellm.ServiceUnavailableError: litellm.MidStreamFallbackError: litellm.BadRequestError: Vertex_ai_betaException "
    'BadRequestError - b\'{\\n  "error": {\\n    "code": 400,\\n    "message": "Unable to submit request because `t` '
    'functionDeclaration parameters schema should be of type OBJECT.",\\n    "status": "INVALID_ARGUMENT"\\n  }\\n}'
    "\\n'"
)
ACCOUNT = "The 'm' model is not supported when using Codex with a ChatGPT account."
PLAN = "You exceeded your current quota, please check your plan. For details, see: https://x/error-code#token-limit"
SOON = [
    {"reason": "RATE_LIMIT_EXCEEDED", "metadata": {"quotaResetDelay": "579ms"}},
    {"retryDelay": "0.579276118s"},
]
KINDS: list[Any] = [
    reported("zai-org/GLM-4.5#6", "anthropic", 400, {"detail": PYTHON}, e.NotFoundError),
    reported("bestruirui/octopus#165", "compatible", 400,
        say(f"upstream error: 400: {json.dumps(say('API 调用参数有误，请检查文档。', code='1210'))}"),
        e.InvalidRequestError),
    reported("zed-industries/zed#45704", "anthropic", 400,
        {**say("The prompt parameter was not received normally.", code="1213"), "request_id": ""},
            e.InvalidRequestError),
    reported("repoprompt/repoprompt-ce#295", "anthropic", 529,
        say("[1305][The service may be temporarily overloaded, please try again later][1]", type="overloaded_error"),
        e.OverloadedError),
    reported("icebear0828/codex-proxy#54", "responses", 400, {"detail": ACCOUNT}, e.NotFoundError),
    reported("james-6-23/codex2api#99", "responses", 400,
        say(f"上游返回错误 (status 400): {json.dumps({'detail': ACCOUNT})}", code="upstream_400"),
        e.NotFoundError),
    reported("MoonshotAI/Kimi-K2#5", "moonshot", 403,
        say("Your account x is not active, organization x exceeded current quota, please check your plan and billing",
            type="exceeded_current_quota_error"), e.QuotaExceededError),
    reported("can1357/oh-my-pi#8496", "compatible", 429,
        say(PLAN, type="insufficient_quota", param="insufficient_quota", code="Throttling.AllocationQuota"),
            e.RateLimitError),
    reported("LibreChat-AI/agents#357", "compatible", 429,
        {"status": 429, "error": "INSUFFICIENT QUOTA", "message": "You exceeded your limit of concurrent requests."},
        e.RateLimitError),
    reported("badrisnarayanan/antigravity-claude-proxy#145", "gemini", 429,
        exhausted("You have exhausted your capacity on this model. Your quota will reset after 0s.", details=SOON),
        e.RateLimitError),
    reported("can1357/oh-my-pi#11689", "gemini", 429, exhausted("Resource has been exhausted (e.g. check quota)."),
        e.RateLimitError),
    reported("cloudflare/cloudflare-docs#15116", "compatible", 200,
        {"result": None, "success": False, "errors": [{"code": 7009, "message": "Upstream service unavailable"}],
            "messages": []}, e.ServerError),
    reported("BerriAI/litellm#18442", "compatible", 503, say(PROXIED + ". Received Model Group=m", code=503),
        e.InvalidRequestError),
    reported("ollama/ollama#14492", "ollama", 500, {"error": "failed to parse JSON: unexpected end of JSON input"},
        e.ServerError),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind"), KINDS)
def test_an_error_has_its_class(wire: str, status: int, body: Any, kind: type[e.ProviderError]) -> None:
    error = refused(wire, status, body)
    assert (isinstance(error, kind), error.retryable) == (True, kind.retryable)


@pytest.mark.report("ollama/ollama#17638")  # fmt: skip
@pytest.mark.report("ollama/ollama#12064")  # fmt: skip
@pytest.mark.parametrize("raw", ['{"input":"*** Begin Patch"}]', '{"text":"Count the words."'])
def test_a_call_that_ollama_cannot_read_is_tried_again(raw: str) -> None:
    error = refused("ollama", 500, {"error": f"error parsing tool call: raw='{raw}', err="})
    assert error.retryable
    assert "toolCalls" in error.hint


@pytest.mark.report("prassaaa/copilot-api#2")  # fmt: skip
def test_the_hint_names_the_api_that_has_the_model() -> None:
    words = "model gpt-5.2-codex is not accessible via the /chat/completions endpoint"
    assert (
        "Responses"
        in refused("compatible", 400, say(words, type="error", code="unsupported_api_for_model")).hint
    )


@pytest.mark.report("continuedev/continue#9562")  # fmt: skip
def test_the_words_of_a_nested_error_are_shown() -> None:
    inner = say(
        "Please ensure that the number of function response parts is equal",
        code=400,
        status="INVALID_ARGUMENT",
    )
    error = refused("gemini", 400, say(json.dumps(inner, indent=2) + "\n", code=400, status="Bad Request"))
    assert type(error) is e.InvalidRequestError
    assert str(error).endswith("function response parts is equal")
