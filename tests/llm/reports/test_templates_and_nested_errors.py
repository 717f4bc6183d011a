"""Reports on gateways, templates, nested errors and items of the Responses API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.requests import Request
from agent_ls.loop.model.recovery import refuses_reasoning
from tests.llm.providers.test_refusals import JSON, asking, at, second
from tests.llm.reports.chat import say
from tests.llm.reports.forms import is_paired as has_pairs
from tests.llm.reports.test_error_kinds import check_exact_error, refused
from tests.llm.reports.test_resent_requests import called, sent, unpaired
from tests.support.codec_runs import OPENAI, body_of
from tests.support.reports import reported


def raw(message: str, code: int = 400, **more: Any) -> Any:
    """Return an error that OpenRouter passes on."""
    quoted = json.dumps(say(message, **more), indent=2)
    return say(
        "Provider returned error", code=code, metadata={"raw": quoted, "provider_name": "A", "is_byok": False}
    )


def workers(code: int, message: str) -> Any:
    return {"result": None, "success": False, "errors": [{"code": code, "message": message}], "messages": []}


FILTER = "Error: Unknown ArrayValue filter: trim. This is usually an issue with the model's prompt template."
NULL = 'Error rendering prompt with jinja template: "Cannot apply filter "string" to type: NullValue".'
UPPER = (
    "\n------------\nWhile executing FilterExpression at line 18, column 34 in source:\n{%- if value['type'] | "
    "upper == 'STRING' -%}↵ ...\nError: Unknown (built-in) filter 'upper' for type Array"
)
PARSER = "Unable to generate parser for this template. Automatic parser generation failed: "
NO_QUERY = (
    f"{PARSER}------------ While executing CallExpression at line 79: Error: Jinja Exception: No user query found in \
messages."
)
KINDS: list[Any] = [
    reported("router-for-me/CLIProxyAPI#3243", "anthropic", 400,
        {"type": "error", "error": {"type": "invalid_request_error", "message": "invalid params, function name or "
            "parameters is empty (2013)"}, "request_id": "r"}, e.InvalidRequestError, "2013"),
    reported("lmstudio-ai/lmstudio-bug-tracker#626", "lmstudio", 200, {"error": FILTER}, e.InvalidRequestError,
        "trim"),
    reported("ggml-org/llama.cpp#21347", "llamacpp", 500, say(UPPER, code=500, type="server_error"),
        e.InvalidRequestError, "upper"),
    reported("aaif-goose/goose#3786", "lmstudio", 200, {"error": {"message": NULL}}, e.InvalidRequestError,
        "NullValue"),
    reported("anomalyco/opencode#32051", "compatible", 401, workers(10000, "Authentication error"),
        e.AuthenticationError, "Authentication error"),
    reported("cloudflare/ai#193", "compatible", 401, say("No auth credentials found", code=401), e.AuthenticationError,
        "credentials"),
    reported("cloudflare/ai#632", "compatible", 402, workers(2021, "Payment error"), e.QuotaExceededError, "Payment"),
    reported("cloudflare/ai#548", "responses", 402,
        workers(2021, "Unified billing requires an authenticated gateway"), e.QuotaExceededError, "gateway"),
    reported("aradlein/hass-agent-llm#17", "compatible", 400,
        [say("Missing Authorization header.", code=400, status="INVALID_ARGUMENT")], e.AuthenticationError, "Missing"),
    reported("cloudflare/ai#430", "responses", 400,
        say("No or an invalid authentication header was provided on the request. Please make sure you pass your API "
            "key in the corresponding HTTP header.", code=401), e.AuthenticationError, "header"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), KINDS)
def test_an_error_has_its_class_and_words(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    check_exact_error(wire, status, body, kind, words)


@pytest.mark.report("diegosouzapw/OmniRoute#4982")
def test_a_template_without_a_question_is_not_tried_again() -> None:
    assert not refused("compatible", 400, say(f"[400]: {NO_QUERY}")).retryable


@pytest.mark.report("OpenRouterTeam/ai-sdk-provider#418")
def test_a_corrupted_signature_is_left_out() -> None:
    assert refuses_reasoning(
        refused("openrouter", 400, raw("Corrupted thought signature.", status="INVALID_ARGUMENT"))
    )


@pytest.mark.report("openai/openai-agents-python#678")
def test_a_block_of_thinking_that_a_proxy_has_lost_is_not_asked_for_again() -> None:
    quoted = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message":
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."}})  # fmt: skip
    assert refuses_reasoning(
        refused("compatible", 400, say(f"litellm.BadRequestError: AnthropicException - {quoted}"))
    )


@pytest.mark.report("CommandCodeAI/command-code#893")
def test_items_have_only_types_that_each_server_of_the_responses_api_has() -> None:
    items = body_of(OPENAI.encode(asking("openai"), stream=True))["input"]
    known = {"message", "reasoning", "function_call", "function_call_output"}
    assert {it.get("type", "message") for it in items} <= known
    error = refused("responses", 400, say("Invalid input", type="invalid_request_error", param="input"))
    assert (type(error), error.retryable) == (e.InvalidRequestError, False)


@pytest.mark.report("router-for-me/CLIProxyAPI#2368")
@pytest.mark.report("james-6-23/codex2api#414")
def test_each_call_has_its_result_by_the_responses_api() -> None:
    assert has_pairs(body_of(OPENAI.encode(unpaired(), stream=True)))


@pytest.mark.report("10/chatgpt-codex-proxy#9")
def test_each_message_of_the_responses_api_has_content() -> None:
    body = body_of(OPENAI.encode(asking("openai"), stream=True))
    assert all(it["content"] for it in body["input"] if it.get("type", "message") == "message")


@pytest.mark.report("CommandCodeAI/command-code#885")
def test_tools_are_functions() -> None:
    assert {tool["type"] for tool in body_of(OPENAI.encode(asking("openai"), stream=True))["tools"]} == {
        "function"
    }


UNKNOWN = json.dumps(say("Unknown parameter: 'thinking'.", code="unknown_parameter", param="thinking",
    type="invalid_request_error"))  # fmt: skip
BUDGET = (
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and output_config'
)
FIELDS: list[Any] = [
    reported("agentgateway/agentgateway#3442", "compatible", 400,
        {"event_id": None, "error": {"type": "invalid_request_error", "message": "The model returned the following "
            f"errors: {UNKNOWN}"}}, "reasoning_effort"),
    reported("theopenco/llmgateway#2778", "anthropic", 400, say(BUDGET), "thinking"),
    reported("reVrost/go-openrouter#21", "openrouter", 400,
        raw("Response input messages must contain the word 'json' in some form to use 'text.format' of type "
            "'json_object'.", type="invalid_request_error", param="input"), "response_format"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "field"), FIELDS)
def test_a_refused_field_is_left_out(wire: str, status: int, body: Any, field: str) -> None:
    request = asking(wire, **(JSON if field == "response_format" else {}))
    again = second(wire, body, request, status)
    assert at(again, field) is None


BACK = "The `reasoning_content` in the thinking mode must be passed back to the API."
RESENT: list[Any] = [
    reported(
        "dirac-run/dirac#5",
        "openrouter",
        called("a"),
        400,
        raw(BACK, type="invalid_request_error"),
    ),
    reported(
        "the-open-agent/openagent#2206",
        "compatible",
        called("a"),
        400,
        say(BACK),
    ),
]


@pytest.mark.parametrize(("provider", "request_", "status", "body"), RESENT)
def test_reasoning_is_passed_back(provider: str, request_: Request, status: int, body: Any) -> None:
    again = sent(provider, request_, status, body)[-1]
    assert all(
        it.get("reasoning_content") or it.get("reasoning")
        for it in again["messages"]
        if it["role"] == "assistant"
    )


@pytest.mark.report("openclaw/openclaw#107430")
def test_a_pattern_that_llama_cpp_cannot_convert_is_left_out() -> None:
    words = f"{PARSER}JSON schema conversion failed:\nPattern must start with '^' and end with '$'"
    assert "pattern" not in json.dumps(second("llamacpp", say(words, code=400), asking("llamacpp"))["tools"])


@pytest.mark.report("BerriAI/litellm#34248")
def test_a_mark_of_the_cache_with_a_time_is_left_out() -> None:
    words = "messages.0.content.0.text.cache_control.ephemeral.ttl: Extra inputs are not permitted"
    error = refused("anthropic", 400, say(words))
    assert (type(error), error.retryable) == (e.InvalidRequestError, False)
