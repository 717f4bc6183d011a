"""Reports on clouds, gateways and local servers: errors, requests that follow, and answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import assistant, user
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.refused_tools import name_refused_tools
from agent_ls.llm.requests import Request, ToolDefinition
from tests.llm.providers.test_openai_stream import CREATED, added, done
from tests.llm.providers.test_refusals import FORCED, asking, at, second, spoken
from tests.llm.reports.chat import ASK, TOOLS, codec, say
from tests.llm.reports.test_error_kinds import check_exact_error, refused
from tests.llm.reports.test_resent_requests import called, sent
from tests.llm.reports.test_responses import answer as responses_answer
from tests.support.codec_runs import body_of
from tests.support.reports import reported

CAPACITY = {
    "error": {"code": 429, "message": "No capacity available for model gemini-3-flash-preview on the server", "status":
        "RESOURCE_EXHAUSTED", "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason":
            "MODEL_CAPACITY_EXHAUSTED", "domain": "cloudcode-pa.googleapis.com", "metadata": {"model": "a"}}]}
}  # fmt: skip
FREE_TIER = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this "
    "error, head "
    "to: the docs. * Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, "
    "limit: 5, model: gemini-2.5-flash Please retry in 14.100401724s."
)
NO_TOKEN = (
    "Authentication Error, Invalid proxy server token passed. Received API Key = sk-...usdf, Key Hash (Token) =16a4. "
    "Unable "
    "to find token in cache or `LiteLLM_VerificationTokenTable`"
)
KEPT = (
    "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context "
    "length of "
    "only 32768 tokens, which is not enough. Try to load the model with a larger context length, or provide a "
    "shorter input."
)
COOLDOWN = (
    "No deployments available for selected model, Try again in 60 seconds. Passed model=gpt-3.5-turbo. "
    "pre-call-checks=False, allowed_model_region=n/a, cooldown_list=[('f21', {'Exception Received': "
    "'litellm.APIConnectionError', 'Status Code': '500'})]"
)
VARIANTS = (
    "All variants failed with errors: o4-mini: All model providers failed to infer with errors: openai: Error from "
    "openai "
    'server: {\n  "error": {\n    "message": "Unsupported parameter: \'parallel_tool_calls\' is not supported with '
    "this "
    'model.",\n    "type": "invalid_request_error",\n    "param": "parallel_tool_calls",\n    "code": '
    '"unsupported_parameter"\n  }\n}'
)
LONG = (
    "Invalid 'tools[1].function.description': string too long. Expected a string with maximum length 1024, but got a "
    "string "
    "with length 1890 instead."
)

KINDS: list[Any] = [
    reported("higress-group/higress#3141", "compatible", 403,
        "Request denied by ai quota check. No Key Authentication information found.", e.AuthenticationError, "No Key"),
    reported("decolua/9router#1106", "gemini", 429, CAPACITY, e.RateLimitError, "No capacity"),
    reported("crynta/terax-ai#369", "gemini", 429, say(FREE_TIER, code=429, status="RESOURCE_EXHAUSTED"),
        e.RateLimitError, "free_tier_requests"),
    reported("666ghj/BettaFish#498", "compatible", 403,
        say("Your account balance is insufficient. Please recharge your account to continue using the API. (tid: 2025)",
            type="Aihubmix_api_error", param="", code="insufficient_user_quota"), e.QuotaExceededError, "balance"),
    reported("hsliuping/TradingAgents-CN#170", "compatible", 400,
        say("Access denied, please make sure your account is in good standing.", code="Arrearage", param=None,
            type="Arrearage"), e.QuotaExceededError, "good standing"),
    reported("Alishahryar1/free-claude-code#146", "openrouter", 401, say("Missing Authentication header", code=401),
        e.AuthenticationError, "Missing"),
    reported("Gitlawb/openclaude#1042", "compatible", 401, "IDE token expired: unauthorized: token expired\n",
        e.AuthenticationError, "token expired"),
    reported("continuedev/continue#10768", "compatible", 401,
        say(NO_TOKEN, type="token_not_found_in_db", param="key", code="401"), e.AuthenticationError, "Unable to find"),
    reported("microsoft/autogen#981", "compatible", 400,
        {"object": "error", "message": "This model's maximum context length is 2048 tokens. However, you requested "
            "2585 "
            "tokens (1561 in the messages, 1024 in the completion). Please reduce the length of the messages or "
            "completion.", "code": 40303}, e.ContextLengthError, "2585"),
    reported("llmmllab/llmmllab-api#56", "compatible", 400,
        say("request (53192 tokens) exceeds context size (50176 tokens)"), e.ContextLengthError, "53192"),
    reported("lmstudio-ai/lmstudio-bug-tracker#546", "lmstudio", 200, {"error": KEPT}, e.ContextLengthError, "111490"),
    reported("UKGovernmentBEIS/inspect_ai#2267", "xai", 403,
        {"code": "The caller does not have permission to execute the specified operation", "error": "Content violates "
            "usage guidelines. Team: t, API key ID: k, Model: grok-4-0709, Failed check: SAFETY_CHECK_TYPE_BIO"},
        e.ContentFilterError, "SAFETY_CHECK"),
    reported("zendev-sh/goai#110", "lmstudio", 200, {"error": {"message": "Compute error."},
        "message": "Compute error."},
        e.ServerError, "Compute error"),
    reported("anthropics/anthropic-sdk-typescript#711", "compatible", 200,
        say("Internal server error", code="api_error", param=None, type="invalid_request_error"), e.ServerError,
        "Internal"),
    reported("whoz-oss/coday#6", "compatible", 400, say(LONG), e.InvalidRequestError, "1890"),
    reported("voideditor/void#426", "compatible", 429, "", e.RateLimitError, "429"),
    reported("neondatabase/website#5567", "compatible", 403, say("model requires a verified account"),
        e.PermissionDeniedError, "verified"),
    reported("BerriAI/litellm#4619", "compatible", 429, say(COOLDOWN, type="None", param="None", code="429"),
        e.RateLimitError, "No deployments"),
    reported("ggml-org/llama.cpp#14566", "llamacpp", 200,
        {"error": {"code": 400, "message": "the request exceeds the available context size. try increasing the context "
            "size or enable context shift", "type": "invalid_request_error"}}, e.ContextLengthError, "exceeds"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), KINDS)
def test_an_error_has_its_class_and_words(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    check_exact_error(wire, status, body, kind, words)


@pytest.mark.parametrize(("words", "delay_s"), [(FREE_TIER, 14.100401724), (COOLDOWN, 60)])
def test_the_delay_of_the_words_is_read(words: str, delay_s: float) -> None:
    assert refused("compatible", 429, say(words)).retry_after_s == pytest.approx(delay_s)


FIELDS: list[Any] = [
    reported("tensorzero/tensorzero#2805", "openai", 502, {"error": VARIANTS}, {}, "parallel_tool_calls"),
    reported("agno-agi/agno#4508", "openai", 400,
        {"message": "parallel_tool_calls=False is not supported by this model.", "type": "invalid_request_error",
            "param":
            "parallel_tool_calls", "code": "wrong_api_format"}, {}, "parallel_tool_calls"),
    reported("cloudwego/eino#994", "compatible", 400,
        say("<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to "
            "required or "
            "object in thinking mode", type="invalid_request_error", param=None, code="invalid_parameter_error"),
                FORCED,
        "tool_choice"),
    reported("can1357/oh-my-pi#827", "openrouter", 400,
        say("Error from provider: Provider returned error", metadata={"raw": json.dumps(say(
            "tool_choice 'specified' is incompatible with thinking enabled", type="invalid_request_error"))}), FORCED,
        "tool_choice"),
    reported("freelensapp/freelens-ai-extension#120", "compatible", 400,
        say('litellm.BadRequestError: DeepseekException - {"error":{"message":"Thinking mode does not support this '
            'tool_choice","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}. Received Model '
            "Group=deepseek-v4-pro\nAvailable Model Group Fallbacks=None"), FORCED, "tool_choice"),
    reported("vercel/ai#1578", "groq", 400,
        say("property 'stream_options' is unsupported, did you mean 'stream'?", type="invalid_request_error"), {},
        "stream_options"),
    reported("TencentCloudBase/CloudBase-AI-Toolkit#626", "compatible", 400, say("invalid parameter value"), {},
        "reasoning_effort"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "more", "field"), FIELDS)
def test_a_refused_field_is_left_out(wire: str, status: int, body: Any, more: Any, field: str) -> None:
    request = asking(wire, **more)
    assert at(body_of(spoken(wire).encode(request, stream=True)), field) is not None
    again = second(wire, body, request, status)
    assert at(again, field) is None and again["tools"] and again["stream"]


ENDS: list[Any] = [
    reported("NEKOparapa/AiNiee#641", "Expected last role User or Tool (or Assistant with prefix True) for serving "
        "but got "
        "assistant", "invalid_request_error", None),
    reported("QuantumNous/new-api#2858", "Expected last role User or Tool (or Assistant with prefix True) for "
        "serving but "
        "got assistant", "invalid_request_message_order", "3230"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "type_", "code"), ENDS)
def test_a_message_of_the_user_ends_a_conversation_for_mistral(words: str, type_: str, code: Any) -> None:
    talk = Request("m", (user("hi"), assistant("Hello.")))
    body = {"object": "error", "message": words, "type": type_, "param": None, "code": code}
    assert sent("mistral", talk, 400, body)[-1]["messages"][-1]["role"] == "user"


@pytest.mark.report("tailcallhq/forgecode#1142")
def test_the_ids_that_google_refuses_through_a_broker_are_made_valid() -> None:
    inner = {"type": "error", "error": {"type": "invalid_request_error", "message": "messages.5.content.0.tool_use.id: "
        "String should match pattern '^[a-zA-Z0-9_-]+$'"}}  # fmt: skip
    body = {
        "message": "Provider returned error",
        "metadata": {"raw": json.dumps(inner), "provider_name": "Google"},
    }
    again = sent("openrouter", called("functions.read:0"), 400, body)[-1]
    assert all(ch.isalnum() or ch in "_-" for ch in again["messages"][1]["tool_calls"][0]["id"])


@pytest.mark.report("whoz-oss/coday#6")
def test_the_tool_whose_description_is_too_long_is_named() -> None:
    error = refused("compatible", 400, say(LONG))
    assert isinstance(error, e.InvalidRequestError)
    name_refused_tools(error, TOOLS)
    assert "list" in error.hint


@pytest.mark.report("Joakimpalm-Zen/xyntetik-runner#4")
def test_a_server_with_few_keywords_of_schemas_gets_plain_ones() -> None:
    words = (
        "unsupported tool schema: additionalProperties is only supported as false alongside declared properties, or "
        "as an "
        "open schema without them"
    )
    schema: Any = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "additionalProperties": {"type": "string"},
    }
    again = second("anthropic", say(words), asking("anthropic", tools=(ToolDefinition("t", "", schema),)))
    assert "additionalProperties" not in json.dumps(again["tools"])


@pytest.mark.report("agent0ai/agent-zero#1724")
def test_each_tool_of_the_responses_api_has_properties() -> None:
    tools = (ToolDefinition("t", "", {"type": "object", "additionalProperties": True}),)
    body = body_of(spoken("openai").encode(asking("openai", tools=tools), stream=True))
    assert body["tools"][0]["parameters"]["properties"] == {}


@pytest.mark.report("neondatabase/website#5213")
def test_the_other_api_is_named_where_a_gateway_has_the_model_elsewhere() -> None:
    error = refused(
        "anthropic", 400, say('model "gpt-5" is not available on the anthropic_messages endpoint')
    )
    assert "compatible (Chat Completions)" in error.hint


@pytest.mark.report("openai/codex#12461")
def test_a_filtered_answer_of_the_responses_api_ends_as_filtered() -> None:
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "incomplete", "content": [
        {"type": "output_text", "text": "Hail", "annotations": []}]}  # fmt: skip
    final = {"type": "response.incomplete", "response": {"id": "r", "status": "incomplete", "output": [item],
        "incomplete_details": {"reason": "content_filter"}}}  # fmt: skip
    response = responses_answer(CREATED, added(0, {**item, "content": []}), done(0, item), final)
    assert (response.text, response.finish_reason.kind) == ("Hail", "content_filter")


@pytest.mark.report("BerriAI/litellm#8953")
def test_a_filtered_answer_without_content_ends_as_filtered() -> None:
    message = {
        "content": None,
        "refusal": None,
        "role": "assistant",
        "audio": None,
        "function_call": None,
        "tool_calls": None,
    }
    body = {
        "id": "r",
        "choices": [{"finish_reason": "content_filter", "index": 0, "logprobs": None, "message": message}],
    }
    response = codec().decode(ASK, ReplyHead(200), json.dumps(body).encode())
    assert (response.text, response.finish_reason.kind) == ("", "content_filter")
