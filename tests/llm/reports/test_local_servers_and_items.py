"""Reports on OpenRouter, TGI, Volcengine, local servers, and refused items of the Responses API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.providers.model_lists import listed_models
from agent_ls.llm.providers.refused_tools import name_refused_tools
from agent_ls.loop.model.recovery import refuses_reasoning
from tests.llm.reports.chat import TOOLS, say
from tests.llm.reports.test_error_kinds import check_exact_error, refused
from tests.support.reports import reported

ALLOWED = say("No allowed providers are available for the selected model.", code=404, metadata={"available_providers":
    ["z-ai"], "requested_providers": ["anthropic"]})  # fmt: skip
POLICY = "No endpoints found matching your data policy. Enable prompt training here: https://openrouter.ai/settings/privacy"
GUARD = "No endpoints available matching your guardrail restrictions and data policy. Configure: the settings"
TOKEN = "Unexpected token 173781 while expecting start token 200006"
KINDS: list[Any] = [
    reported("agent0ai/agent-zero#1255", "compatible", 404,
        say("litellm.NotFoundError: NotFoundError: OpenrouterException - " + json.dumps(ALLOWED), code="404"),
        e.NotFoundError, "No allowed providers"),
    reported("farion1231/cc-switch#995", "anthropic", 404, ALLOWED, e.NotFoundError, "No allowed providers"),
    reported("ShamanicArts/Flow.Launcher.Plugin.AI-Assistant#2", "openrouter", 404, say(POLICY, code=404),
        e.PermissionDeniedError, "data policy"),
    reported("NousResearch/hermes-agent#14943", "openrouter", 404, say(GUARD, code=404), e.PermissionDeniedError,
        "guardrail"),
    reported("cline/cline#5449", "openrouter", 200,
        say(f"Upstream error from AtlasCloud: {TOKEN}", code=502, metadata={"provider_name": "AtlasCloud", "raw":
            {"object": "error", "message": TOKEN, "type": "BadRequestError", "param": None, "code": 400}}),
        e.ServerError, "Unexpected token"),
    reported("bytedance/trae-agent#177", "openrouter", 403, say("Request not allowed", type="forbidden"),
        e.PermissionDeniedError, "not allowed"),
    reported("mnfst/llm-gateway#1192", "compatible", 400,
        say("No API key found for provider: openrouter. Re-connect the provider with an API key."),
        e.AuthenticationError, "No API key"),
    reported("huggingface/huggingface_hub#2558", "compatible", 200,
        {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 6 `inputs` "
            "tokens and 4091 `max_new_tokens`", "error_type": "validation"}, e.ContextLengthError, "4091"),
    reported("huggingface/huggingface_hub#1651", "compatible", 200,
        {"error": "Request failed during generation: Server error: CUDA out of memory", "error_type": "generation"},
        e.ServerError, "out of memory"),
    reported("huggingface/huggingface_hub#2410", "compatible", 422,
        {"error": "Template error: template not found", "error_type": "template_error"}, e.InvalidRequestError,
        "template"),
    reported("foundation-model-stack/fms-guardrails-orchestrator#146", "compatible", 200,
        {"code": 500, "details": "unexpected error occured while processing request"}, e.ServerError, "unexpected"),
    reported("evalstate/fast-agent#332", "compatible", 200,
        say("Input validation error: cannot compile regex from schema: Invalid reference path: $defs",
            http_status_code=422), e.InvalidRequestError, "$defs"),
    reported("volcengine/MineContext#328", "compatible", 429,
        say("Your account [2100] has reached the set inference limit for the [m] model, and the model service has been "
            'paused. To continue using this model, adjust or close the "Safe Experience Mode".', type="TooManyRequests",
            code="SetLimitExceeded", param=""), e.QuotaExceededError, "inference limit"),
    reported("nicepkg/aide#80", "compatible", 404,
        say("The request targeted an endpoint that does not exist or is invalid. Request id: 0217", type="NotFound",
            code="InvalidEndpoint.NotFound", param=""), e.NotFoundError, "does not exist"),
    reported("cloudwego/eino#107", "compatible", 404,
        {"code": "InvalidEndpointOrModel.NotFound", "message": "The model or endpoint doubao does not exist or you do "
            "not have access to it. Request id: 0217", "param": "", "type": "NotFound"}, e.NotFoundError, "doubao"),
    reported("volcengine/volcengine-python-sdk#13", "compatible", 400,
        say("One or more parameters specified in the request are not valid. Request id: 0217", code="InvalidParameter",
            param="", type="BadRequest"), e.InvalidRequestError, "One or more"),
    reported("ddalcu/mlx-serve#66", "anthropic", 400,
        {"type": "error", "error": {"type": "invalid_request_error", "message": "Prompt exceeds maximum context "
            "length"}}, e.ContextLengthError, "exceeds"),
    reported("mudler/LocalAI#2692", "compatible", 500,
        say("could not load model: rpc error: code = Unavailable desc = error reading from server: EOF", code=500,
            type=""), e.ServerError, "could not load"),
    reported("Josh-XT/AGiXT#76", "compatible", 500, {"error": "prompt is too long (2249 tokens, max 1996)"},
        e.ContextLengthError, "2249"),
    reported("snailyp/gemini-balance#347", "gemini", 200,
        say("The model is overloaded. Please try again later.", code=503, status="UNAVAILABLE"), e.OverloadedError,
        "overloaded"),
    reported("openai/codex#2259", "responses", 400, {"detail": "Instructions are not valid"}, e.InvalidRequestError,
        "Instructions"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), KINDS)
def test_an_error_has_its_class_and_words(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    check_exact_error(wire, status, body, kind, words)


@pytest.mark.report("can1357/oh-my-pi#4201")
def test_a_shut_down_model_is_not_listed() -> None:
    rows = [
        {"id": "old", "status": "Shutdown"},
        {"id": "off", "active": False},
        {"id": "new", "status": "Retiring"},
    ]
    assert [model.id for model in listed_models(json.dumps({"data": rows}).encode())] == ["new"]


ITEMS: list[Any] = [
    reported("openai/codex#6945",
        say("Invalid value: 'other'. Supported values are: 'search', 'open_page', and 'find_in_page'.",
            type="invalid_request_error", param="input[33].action.type", code="invalid_value")),
    reported("NousResearch/hermes-agent#51512", {"detail": "Unsupported content type"}),
    reported("openai/codex#1227",
        say("Item 'rs_68425' of type 'reasoning' was provided without its required following item.",
            type="invalid_request_error", param="input", code=None)),
]  # fmt: skip


@pytest.mark.parametrize("body", ITEMS)
def test_refused_items_of_earlier_answers_are_left_out(body: Any) -> None:
    assert refuses_reasoning(refused("responses", 400, body))


NAMED: list[Any] = [
    reported("anthropics/claude-code#79418",
        "tools.1.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'", "list"),
    reported("PCIRCLE-AI/claude-code-buddy#32",
        "tools.2.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
        "get_time"),
    reported("CircleCI-Public/mcp-server-circleci#110",
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", "read"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "name"), NAMED)
def test_the_tool_of_a_place_is_named(words: str, name: str) -> None:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": words}}
    error = refused("anthropic", 400, body)
    assert isinstance(error, e.InvalidRequestError)
    name_refused_tools(error, TOOLS)
    assert name in error.hint


@pytest.mark.report("openakita/openakita#77")
def test_the_other_api_is_named() -> None:
    words = "Unsupported legacy protocol: /v1/chat/completions is not supported. Please use /v1/responses."
    error = refused("compatible", 400, say(words, type="invalid_request_error"))
    assert (type(error), "Responses" in error.hint) == (e.InvalidRequestError, True)


RELATIVES: list[Any] = [
    (
        "openrouter",
        404,
        say("No providers match your privacy settings for this model."),
        e.PermissionDeniedError,
    ),
    (
        "compatible",
        404,
        say("No deployment matches your account's region restriction"),
        e.PermissionDeniedError,
    ),
    ("openrouter", 404, say("No endpoints found matching your request"), e.NotFoundError),
    ("compatible", 200, say("Bad request: the grammar of tool 3 does not compile"), e.InvalidRequestError),
    ("compatible", 200, say("no free worker", http_status_code=503), e.OverloadedError),
    ("compatible", 200, {"details": "invalid argument: stop has too many items"}, e.InvalidRequestError),
    ("compatible", 429, say("The set limit of this key was reached."), e.QuotaExceededError),
    ("compatible", 429, say("You have exceeded the set spend limit"), e.QuotaExceededError),
    ("compatible", 429, say("You have reached the set limit of 5 requests per minute"), e.RateLimitError),
]


@pytest.mark.parametrize(("wire", "status", "body", "kind"), RELATIVES)
def test_errors_of_the_same_kinds_have_their_class(
    wire: str, status: int, body: Any, kind: type[e.ProviderError]
) -> None:
    error = refused(wire, status, body)
    assert (type(error), error.retryable) == (kind, kind.retryable)


@pytest.mark.parametrize("param", ["input[3].content[1].image_url", "tools[0].type", "text.format.schema"])
def test_a_refused_part_of_another_kind_is_no_item_of_an_earlier_answer(param: str) -> None:
    body = say("Invalid value: 'x'.", type="invalid_request_error", param=param, code="invalid_value")
    assert not refuses_reasoning(refused("responses", 400, body))
