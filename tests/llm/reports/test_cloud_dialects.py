"""Reports on Mistral, Moonshot, Azure, LM Studio, Cerebras, Bedrock, Gemini and spent plans."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import Message, Role, ToolCallPart, ToolResultPart, assistant, tool_results, user
from agent_ls.llm.requests import Request, ToolDefinition
from agent_ls.loop.model.recovery import refuses_reasoning
from tests.llm.providers.test_refusals import JSON, SAID, asking, at, second, spoken
from tests.llm.reports.chat import codec, say
from tests.llm.reports.test_error_kinds import refused
from tests.support.codec_runs import GEMINI, body_of
from tests.support.reports import reported

CRASHED = "The model has crashed without additional information. (Exit code: 18446744072635812000)"
OUT = (
    "You’re out of Codex messages. Your rate limit resets on Jul 12, 2026, 5:04 AM. To continue using Codex, add "
    "credits or upgrade to Pro today."
)
RAW = json.dumps({"object": "error", "message": "Unexpected role 'tool' after role 'user'", "code": "3230"})
KINDS: list[Any] = [
    reported("lmstudio-ai/lmstudio-bug-tracker#1347", "lmstudio", 400, {"error": CRASHED}, e.ServerError),
    reported("mdc-ng/mdc-ng#451", "lmstudio", 400, {"error": "Error: Channel Error"}, e.ServerError),
    reported("github/gh-models#65", "compatible", 400,
        {"error": {"code": "unavailable_model", "message": "Unavailable model: o4-mini", "details": ""}},
        e.NotFoundError),
    reported("waylaidwanderer/node-chatgpt-api#49", "compatible", 404,
        say("That model does not exist", type="invalid_request_error", param=None, code=None), e.NotFoundError),
    reported("waylaidwanderer/node-chatgpt-api#49", "compatible", 429,
        {"status": False, "error": "You are rate-limited Rate-limited or API key is invalid"}, e.RateLimitError),
    reported("continuedev/continue#9800", "compatible", 429,
        {"message": "Tokens per minute limit exceeded - too many tokens processed.", "type": "too_many_tokens_error",
            "param": "quota", "code": "token_quota_exceeded"}, e.RateLimitError),
    reported("anyme123/Any-code#1", "anthropic", 400,
        {"code": 20012, "message": "Model does not exist. Please check it carefully.", "data": None}, e.NotFoundError),
    reported("coze-dev/coze-studio#326", "compatible", 400, {"code": 20015, "message": "Field required", "data": None},
        e.InvalidRequestError),
    reported("Lapis0x0/obsidian-yolo#321", "compatible", 403, "", e.PermissionDeniedError),
    reported("vercel/ai#15386", "compatible", 500,
        {"status_code": 500, "error": {"message": "Encountered a server error, please try again.",
            "type": "server_error", "param": "", "code": "", "id": ""}}, e.ServerError),
    reported("anthropics/claude-code#18190", "anthropic", 429,
        {"type": "error", "error": {"type": "rate_limit_error",
            "message": "This request would exceed your account's rate limit. Please try again later."}},
        e.RateLimitError),
    reported("openai/codex#28089", "responses", 429,
        say("You've hit your usage limit. Upgrade your plan to continue, or try again at 10 de jul. de 2026, 11:52."),
        e.QuotaExceededError),
    reported("openai/codex#31567", "responses", 429, say(OUT), e.QuotaExceededError),
    reported("charmbracelet/crush#683", "openrouter", 400,
        say("Provider returned error", code=400, metadata={"raw": RAW, "provider_name": "Mistral"}),
        e.InvalidRequestError),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind"), KINDS)
def test_an_error_has_its_class(wire: str, status: int, body: Any, kind: type[e.ProviderError]) -> None:
    error = refused(wire, status, body)
    assert (type(error), error.retryable) == (kind, kind.retryable)


CHOICE = {"tool_choice": "required"}
EFFORT = "reasoning_effort"
NO_EFFORT = "azure does not support parameters: ['reasoning_effort'], for model=gpt-5-mini."
LEFT_OUT: list[Any] = [
    reported("can1357/oh-my-pi#1077", "compatible", 400,
        say("tool_choice specified is incompatible with thinking enabled"), CHOICE, "tool_choice"),
    reported("HKUDS/nanobot#3939", "moonshot", 400, say("cannot specify both 'thinking' and 'reasoning_effort'"), {},
        EFFORT),
    reported("MoonshotAI/Kimi-K2#141", "anthropic", 400,
        say("invalid thinking: only type=enabled is allowed for this model", type="invalid_request_error"), {},
        "thinking"),
    reported("BerriAI/litellm#13515", "compatible", 400,
        say(f"litellm.UnsupportedParamsError: {NO_EFFORT}", code="400"), {}, EFFORT),
    reported("logancyang/obsidian-copilot#1712", "compatible", 500, say(NO_EFFORT), {}, EFFORT),
    reported("BerriAI/litellm#16704", "compatible", 400,
        say("Invalid value: 'none'. Supported values are: 'low', 'medium', and 'high'.", param="reasoning_effort",
            type="invalid_request_error", code="invalid_value"), {EFFORT: "none"}, EFFORT),
    reported("microsoft/sample-app-aoai-chatGPT#1414", "compatible", 400,
        say("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
            "instead.", param="max_tokens", code="unsupported_parameter"), {}, "max_tokens"),
    reported("microsoft/semantic-kernel#12887", "compatible", 400,
        say("The provided reasoning effort 'minimal' is not supported."), {EFFORT: "minimal"}, EFFORT),
    reported("BerriAI/litellm#11819", "compatible", 400,
        say("litellm.BadRequestError: AzureException BadRequestError - Unknown parameter: 'reasoning_effort'."), {},
        EFFORT),
    reported("browser-use/browser-use#2990", "compatible", 400,
        say("Unrecognized request argument supplied: reasoning_effort"), {}, EFFORT),
    reported("browser-use/browser-use#2990", "compatible", 400,
        say("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. Learn more "
            "about supported models at the Structured Outputs guide: https://x"), JSON, "response_format"),
    reported("Gitlawb/openclaude#740", "openai", 422,
        {"message": "body.store: property 'body.store' is unsupported", "type": "invalid_request_error",
            "param": "validation_error", "code": "wrong_api_format"}, {}, "store"),
    reported("earendil-works/pi#5352", "anthropic", 400,
        {"error": {"type": "invalid_request_error",
            "message": "JSON Schema not supported: could not understand the instance `{'required': ['criteria']}`."},
            "type": "error"}, {}, "tools.0.input_schema.oneOf"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "more", "path"), LEFT_OUT)
def test_what_is_refused_is_left_out(wire: str, status: int, body: Any, more: Any, path: str) -> None:
    request = asking(wire, **more)
    assert at(body_of(spoken(wire).encode(request, stream=True)), path) is not None
    assert at(second(wire, body, request, status), path) is None


MISSING = "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"
LAST = "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
ORDER: Any = {"object": "error", "message": "Unexpected role 'user' after role 'tool'", "param": None}


@pytest.mark.parametrize(("wire", "body"), [
    reported("mastra-ai/mastra#12592", "moonshot", say(MISSING)),
    reported("JohnnyZ93/oai-compatible-copilot#171", "compatible", say(MISSING, type="invalid_request_error")),
])  # fmt: skip
def test_answers_with_calls_carry_reasoning(wire: str, body: Any) -> None:
    messages = second(wire, body, Request("m", SAID))["messages"]
    assert all(message.get("reasoning_content") for message in messages if message.get("tool_calls"))


@pytest.mark.parametrize(("wire", "body"), [
    reported("langchain-ai/langchain#28846", "mistral", {"object": "error", "message": LAST,
        "type": "invalid_request"}),
    reported("huggingface/smolagents#757", "compatible",
        say(f"litellm.BadRequestError: MistralException - code: 400 - {{'object': 'error', 'message': '{LAST}'}}")),
])  # fmt: skip
def test_the_last_message_is_the_users(wire: str, body: Any) -> None:
    request = Request("m", (user("hi"), assistant("ok")))
    assert second(wire, body, request)["messages"][-1]["role"] == "user"


@pytest.mark.parametrize(("wire", "body"), [
    reported("zed-industries/zed#37021", "openrouter",
        {**ORDER, "type": "invalid_request_message_order", "code": "32500"}),
    reported("datapizza-labs/datapizza-ai#98", "compatible",
        {**ORDER, "type": "invalid_request_message_order", "code": "3230"}),
    reported("browser-use/web-ui#600", "compatible", {**ORDER, "type": "invalid_request_error", "code": None}),
])  # fmt: skip
def test_an_answer_is_between_results_and_a_message(wire: str, body: Any) -> None:
    roles = [message["role"] for message in second(wire, body, Request("m", SAID))["messages"]]
    assert ("tool", "user") not in pairwise(roles)


REASONING: list[Any] = [
    reported("anthropics/claude-code#63810", "anthropic",
        "messages.1.content.9: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
        "modified. These blocks must remain as they were in the original response."),
    reported("openai/openai-agents-python#1611", "responses",
        "Item 'rs_68b' of type 'reasoning' was provided without its required following item."),
    reported("router-for-me/CLIProxyAPI#2112", "responses",
        "Item with id 'rs_resp_06_0' not found. Items are not persisted when `store` is set to false. Try again with "
        "`store` set to true, or remove this item from your input."),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "words"), REASONING)
def test_refused_reasoning_is_recognised(wire: str, words: str) -> None:
    assert refuses_reasoning(refused(wire, 400, say(words, type="invalid_request_error")))


FAILED_CALL = (
    user("hi"),
    Message(Role.ASSISTANT, (ToolCallPart("a", "read", "{}"),)),
    tool_results([ToolResultPart("a", "read", "", is_error=True)]),
)


@pytest.mark.report("aws-samples/sample-multi-agent-orchestration-chat-on-agentcore#15")  # fmt: skip
def test_a_failed_call_has_a_result_with_text() -> None:
    words = "The content field at messages.2.content.0.toolResult cannot be empty when status value is error."
    messages = second("compatible", say(words), Request("m", FAILED_CALL))["messages"]
    assert messages[-1]["content"]


@pytest.mark.report("BerriAI/litellm#24668")  # fmt: skip
def test_a_tool_has_no_empty_description() -> None:
    tool = ToolDefinition("read", "", {"type": "object"})
    (sent,) = body_of(codec().encode(Request("m", (user("hi"),), tools=(tool,)), stream=True))["tools"]
    assert sent["function"].get("description", "x")


@pytest.mark.report("Cerebras/cerebras-cloud-sdk-python#4")  # fmt: skip
def test_a_schema_of_an_answer_has_a_name() -> None:
    assert at(
        body_of(codec().encode(asking("compatible", **JSON), stream=True)), "response_format.json_schema.name"
    )


@pytest.mark.report("lastmile-ai/mcp-agent#281")  # fmt: skip
@pytest.mark.report("agno-agi/agno#2241")  # fmt: skip
def test_gemini_gets_as_many_results_as_calls_and_only_its_roles() -> None:
    calls = Message(Role.ASSISTANT, tuple(ToolCallPart(name, "f", "{}") for name in "abc"))
    given = tool_results([ToolResultPart("c", "f", "x"), ToolResultPart("a", "f", "y")])
    contents = body_of(GEMINI.encode(Request("m", (user("hi"), calls, given, user("more"))), stream=True))[
        "contents"
    ]
    assert {content["role"] for content in contents} == {"user", "model"}
    assert [sum("functionResponse" in part for part in content["parts"]) for content in contents][2] == 3


@pytest.mark.parametrize("wire", [
    reported("duolahypercho/codex-router#161", "ollama"),
    reported("duolahypercho/codex-router#161", "responses"),
])  # fmt: skip
def test_a_call_that_the_server_could_not_read_is_tried_again(wire: str) -> None:
    assert refused(wire, 400, say("invalid tool call arguments", type="invalid_request_error")).retryable


@pytest.mark.report("ollama/ollama#12395")  # fmt: skip
def test_a_mismatch_of_calls_and_results_does_not_turn_tools_off() -> None:
    server, request = codec("ollama"), asking("ollama")
    error = refused(
        "ollama", 400, {"error": "Invalid tool usage: mismatch between tool calls and tool results"}
    )
    server.adapt_encoding(request, error)
    assert type(error) is e.InvalidRequestError
    assert "tools" in body_of(server.encode(request, stream=True))
