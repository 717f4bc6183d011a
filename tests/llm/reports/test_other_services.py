"""Errors of further services and gateways, and of other wires of known ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from tests.llm.reports.chat import say
from tests.llm.reports.test_error_kinds import refused
from tests.support.reports import reported

LONG = json.dumps(
    {
        "type": "error",
        **say("prompt is too long: 210000 tokens > 200000 maximum", type="invalid_request_error"),
    }
)
ERRORS: list[Any] = [
    reported("anthropics/anthropic-sdk-python@form", "anthropic", 400,
        say("max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for a",
            type="invalid_request_error"), e.InvalidRequestError),
    reported("anthropics/anthropic-sdk-python@form", "anthropic", 429,
        say("Number of concurrent connections has exceeded your rate limit. Please try again later or contact sales.",
            type="rate_limit_error"), e.RateLimitError),
    reported("anthropics/anthropic-sdk-python@form", "anthropic", 400,
        say("You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
            type="invalid_request_error"), e.QuotaExceededError),
    reported("anthropics/anthropic-sdk-python@form", "anthropic", 403,
        say("OAuth authentication is currently not allowed for this organization.", type="permission_error"),
        e.PermissionDeniedError),
    reported("anthropics/anthropic-sdk-python@form", "anthropic", 401,
        say("OAuth token has expired. Please obtain a new token or refresh your existing token.",
            type="authentication_error"), e.AuthenticationError),
    reported("openai/openai-python@form", "responses", 429,
        say("You've exceeded the rate limit, please slow down and try again after 2.5 seconds.", type="requests",
            code="rate_limit_exceeded"), e.RateLimitError),
    reported("openai/openai-python@form", "responses", 403,
        say("Project `proj_a` does not have access to model `a`", type="invalid_request_error", code="model_not_found"),
        e.NotFoundError),
    reported("openai/openai-python@form", "responses", 403,
        say("Country, region, or territory not supported", type="request_forbidden",
            code="unsupported_country_region_territory"), e.PermissionDeniedError),
    reported("openai/openai-python@form", "responses", 400,
        say("Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again "
            "with a "
            "different prompt", type="invalid_request_error", code="invalid_prompt"), e.ContentFilterError),
    reported("openai/openai-python@form", "responses", 500,
        say("The server had an error processing your request. Sorry about that! (request ID req_1)",
        type="server_error"),
        e.ServerError),
    reported("openai/codex@form", "responses", 429,
        say("The usage limit has been reached", type="usage_limit_reached", plan_type="plus", resets_in_seconds=18000),
        e.QuotaExceededError),
    reported("openai/codex@form", "responses", 404,
        {"detail": "The model is not available on your plan"}, e.PermissionDeniedError),
    reported("openai/codex@form", "responses", 503,
        say("Our servers are currently overloaded. Please try again later.", type="service_unavailable_error",
            code="server_is_overloaded"), e.OverloadedError),
    reported("googleapis/python-genai@form", "gemini", 429,
        say("You exceeded your current quota. Quota exceeded for metric: generate_requests_per_minute, limit: 15. "
            "Please "
            "retry in 12.5s.", code=429, status="RESOURCE_EXHAUSTED", details=[{"@type": "type.googleapis.com/"
            "google.rpc.RetryInfo", "retryDelay": "12s"}]), e.RateLimitError),
    reported("googleapis/python-genai@form", "gemini", 400,
        say("API key not valid. Please pass a valid API key.", code=400, status="INVALID_ARGUMENT",
            details=[{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]),
        e.AuthenticationError),
    reported("googleapis/python-genai@form", "gemini", 403,
        say("Your project has been denied access. Please contact support.", code=403, status="PERMISSION_DENIED"),
        e.PermissionDeniedError),
    reported("googleapis/python-genai@form", "gemini", 404,
        say("models/a is not found for API version v1beta, or is not supported for generateContent.", code=404,
            status="NOT_FOUND"), e.NotFoundError),
    reported("googleapis/python-genai@form", "gemini", 500,
        say("An internal error has occurred. Please retry or report in https://developers.generativeai.google",
            code=500, status="INTERNAL"), e.ServerError),
    reported("googleapis/python-genai@form", "gemini", 400,
        say("Unable to submit request because the input token count is 1100000 but model only supports up to 1048576.",
            code=400, status="INVALID_ARGUMENT"), e.ContextLengthError),
    reported("services/Requesty@form", "compatible", 403,
        say("Insufficient balance, please top up at https://app.requesty.ai", type="insufficient_balance"),
        e.QuotaExceededError),
    reported("services/nebius@form", "compatible", 404,
        {"detail": "The model `a` does not exist.", "code": "model_not_found"}, e.NotFoundError),
    reported("services/hyperbolic-labs@form", "compatible", 402,
        {"object": "error", "message": "Your account has insufficient funds. Please deposit.", "code": 402},
        e.QuotaExceededError),
    reported("services/lambda-labs@form", "compatible", 403,
        say("API key is inactive or your account is past due", type="account_error", code="global/account-inactive"),
        e.QuotaExceededError),
    reported("services/scaleway@form", "compatible", 400,
        {"error": "context_length_exceeded", "status": 400, "message": "Your request exceeds the maximum context "
            "length"},
        e.ContextLengthError),
    reported("services/ovh@form", "compatible", 429,
        {"class": "Client::TooManyRequests", "message": "Rate limit exceeded"}, e.RateLimitError),
    reported("services/inferencenet@form", "compatible", 503,
        say("No GPU workers are available for this model at the moment", type="no_capacity"), e.ServerError),
    reported("services/upstage@form", "compatible", 401,
        say("API key suspended because of insufficient credit. You can register your payment method.",
            code="api_key_is_not_allowed"), e.QuotaExceededError),
    reported("services/reka-ai@form", "compatible", 400,
        {"detail": "Your conversation is too long: 140000 tokens. The limit is 131072 tokens."}, e.ContextLengthError),
    reported("services/01-ai@form", "compatible", 400,
        say("Request token over limit. max: 16384", code="request_token_over_limit"), e.ContextLengthError),
    reported("services/baichuan-inc@form", "compatible", 400,
        say("The prompt exceeds the maximum number of tokens", code="invalid_prompt_length"), e.ContextLengthError),
    reported("services/InternLM@form", "compatible", 200,
        {"code": -20009, "msg": "模型不存在"}, e.NotFoundError),
    reported("services/InternLM@form", "compatible", 200,
        {"code": -20053, "msg": "请求过于频繁，请稍后再试"}, e.ServerError),
    reported("services/modelscope@form", "compatible", 429,
        {"errors": {"message": "You have exceeded today's quota for model a, please try again tomorrow"},
        "request_id": "1"},
        e.QuotaExceededError),
    reported("services/modelscope@form", "compatible", 401,
        {"errors": {"message": "Please bind your Alibaba Cloud account before use."}, "request_id": "1"},
        e.AuthenticationError),
    reported("services/modelscope@form", "compatible", 400,
        {"errors": {"message": "Invalid model id: a"}, "request_id": "1"}, e.NotFoundError),
    reported("services/gitee-ai@form", "compatible", 403,
        say("资源包余量不足", type="insufficient_quota", code="402"), e.QuotaExceededError),
    reported("infiniflow/ragflow@form", "compatible", 200,
        {"code": 102, "message": "The last content of this conversation is not from user."}, e.ProviderError),
    reported("open-webui/open-webui@form", "compatible", 404,
        {"detail": "Model not found"}, e.NotFoundError),
    reported("open-webui/open-webui@form", "compatible", 500,
        {"detail": "Open WebUI: Server Connection Error"}, e.ServerError),
    reported("open-webui/open-webui@form", "compatible", 401,
        {"detail": "Your session has expired or the token is invalid. Please sign in again."}, e.AuthenticationError),
    reported("BerriAI/litellm@form", "anthropic", 400,
        {"error": {"message": f"{LONG}. Received Model Group=a\nAvailable Model Group Fallbacks=None",
            "type": "None", "param": "None", "code": "400"}}, e.ContextLengthError),
    reported("BerriAI/litellm@form", "responses", 429,
        say("Deployment over user-defined ratelimit.. Received Model Group=a", type="throttling_error", code="429"),
        e.RateLimitError),
    reported("BerriAI/litellm@form", "compatible", 400,
        say("Guardrail raised an exception, Guardrail: presidio, Message: Blocked entity detected: CREDIT_CARD",
            type="None", code="400"), e.ContentFilterError),
    reported("envoyproxy/ai-gateway@source", "anthropic", 429,
        {"type": "error", "error": {"type": "rate_limit_error", "message": "rate limited by gateway"}},
        e.RateLimitError),
    reported("services/kgateway-dev@form", "compatible", 403, "Rejected due to inappropriate content",
        e.ContentFilterError),
    reported("traefik/traefik@form", "compatible", 403,
        say("request blocked by content guard", type="content_guard"), e.ContentFilterError),
    reported("nginx/nginx@form", "compatible", 413,
        "<html><head><title>413 Request Entity Too Large</title></head><body></body></html>", e.RequestTooLargeError),
    reported("nginx/nginx@form", "compatible", 429,
        "<html><head><title>429 Too Many Requests</title></head><body></body></html>", e.RateLimitError),
    reported("haproxy/haproxy@form", "compatible", 503,
        "<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n</body></html>",
        e.OverloadedError),
    reported("caddyserver/caddy@form", "compatible", 502, "", e.ServerError),
    reported("aws/aws-sdk-js-v3@form", "anthropic", 429,
        {"message": "Too many tokens per day, please wait before trying again."}, e.QuotaExceededError),
    reported("aws/aws-sdk-js-v3@form", "anthropic", 424,
        {"message": "The model returned an unexpected error", "originalStatusCode": 500}, e.ServerError),
    reported("aws/aws-sdk-js-v3@form", "anthropic", 429,
        {"message": "Model is not ready for inference. Wait and try your request again."}, e.RateLimitError),
    reported("services/github@form", "compatible", 429,
        say("Rate limit of 150 per 86400s exceeded for UserByModelByDay. Please wait 3600 seconds before retrying.",
            code="RateLimitReached"), e.RateLimitError),
    reported("services/github@form", "compatible", 400,
        say("Unknown model: a", code="unknown_model"), e.NotFoundError),
    reported("services/poe-platform@form", "compatible", 402,
        say("You've used up your points! Visit https://poe.com/api_key to get more.", type="insufficient_credits",
        code=402),
        e.QuotaExceededError),
    reported("services/venice-ai@form", "compatible", 402,
        {"error": "Insufficient USD or Diem balance to complete request"}, e.QuotaExceededError),
    reported("services/venice-ai@form", "compatible", 400,
        {"error": "Invalid request parameters", "details": {"_errors": [],
        "max_tokens": {"_errors": ["Must be <= 8192"]}}}, e.InvalidRequestError),
    reported("deepseek-ai/DeepSeek-V3@form", "anthropic", 402,
        {"error": {"message": "Insufficient Balance", "type": "unknown_error", "param": None,
        "code": "invalid_request_error"}},
        e.QuotaExceededError),
    reported("services/MoonshotAI@form", "anthropic", 400,
        {"error": {"type": "invalid_request_error", "message": "Invalid request: Your request exceeded model token "
            "limit: "
            "262144 (requested: 300000)"}, "type": "error"}, e.ContextLengthError),
    reported("services/zai-org@form", "anthropic", 429,
        {"type": "error", "error": {"type": "rate_limit_error", "code": "1113", "message": "余额不足或无可用资源包"
            ",请充值。"}},
        e.QuotaExceededError),
    reported("services/MiniMax-AI@form", "anthropic", 529,
        {"type": "error", "error": {"type": "overloaded_error", "message": "High traffic detected (2064)"}},
        e.OverloadedError),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind"), ERRORS)
def test_an_error_has_its_class_on_its_wire(
    wire: str, status: int, body: Any, kind: type[e.ProviderError]
) -> None:
    error = refused(wire, status, body)
    is_kind = isinstance(error, kind) if kind in (e.ServerError, e.ProviderError) else type(error) is kind
    assert is_kind, f"{type(error).__name__}: {error}"
    assert error.retryable is kind.retryable or kind is e.ProviderError


def test_each_message_is_shown() -> None:
    for row in ERRORS:
        wire, status, body, _ = row.values
        if not isinstance(body, dict):
            continue
        words = str(refused(wire, status, body))
        assert ": " in words, json.dumps(body)
