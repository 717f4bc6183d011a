"""Errors of gateways and services, in the forms and words that their sources and documentation have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from tests.llm.reports.chat import say
from tests.llm.reports.test_error_kinds import refused
from tests.support.reports import reported


def lite(message: str, kind: str = "None", code: int = 400, **more: Any) -> Any:
    return say(message, type=kind, param="None", code=str(code), **more)


def new_api(message: str, code: str = "", kind: str = "new_api_error") -> Any:
    return say(f"{message} (request id: 20261130)", type=kind, param="", code=code)


def cloudflare(code: int, message: str) -> Any:
    return {"errors": [{"code": code, "message": message}], "success": False, "result": {}, "messages": []}


def minimax(code: int, message: str) -> Any:
    return {"base_resp": {"status_code": code, "status_msg": message}}


def novita(code: int, reason: str, message: str) -> Any:
    return {"code": code, "reason": reason, "message": message, "metadata": {}}


def xai(code: str, error: str) -> Any:
    return {"code": code, "error": error}


GATEWAYS: list[Any] = [
    reported("BerriAI/litellm@form", "compatible", 401,
        lite("Authentication Error, Invalid proxy server token passed. Received API Key = sk-...1234, Key Hash (Token) "
            "=0a1. Unable to find token in cache or `LiteLLM_VerificationTokenTable`", "token_not_found_in_db", 401),
        e.AuthenticationError),
    reported("BerriAI/litellm@form", "compatible", 401,
        lite("key not allowed to access model. This key can only access models=['a']. Tried to access b",
            "key_model_access_denied", 401), e.PermissionDeniedError),
    reported("BerriAI/litellm@form", "compatible", 401,
        lite("team not allowed to access model. This team can only access models=['a']. Tried to access b",
            "team_model_access_denied", 401), e.PermissionDeniedError),
    reported("BerriAI/litellm@form", "compatible", 401,
        lite("Authentication Error - Expired Key. Key Expiry time 2026-01-01 and current time 2026-02-01",
        "expired_key",
            401), e.AuthenticationError),
    reported("BerriAI/litellm@form", "compatible", 400,
        lite("/chat/completions: Invalid model name passed in model=a. Call `/v1/models` to view available models "
            "for your "
            "key.", "invalid_request_error"), e.NotFoundError),
    reported("BerriAI/litellm@form", "compatible", 429,
        lite("Budget has been exceeded! Current cost: 10.1, Max budget: 10.0", "budget_exceeded", 429),
        e.QuotaExceededError),
    reported("BerriAI/litellm@form", "compatible", 429,
        lite("No deployments available for selected model, Try again in 5 seconds. Passed model=a. "
            "pre-call-checks=False, "
            "cooldown_list=['1']", code=429), e.RateLimitError),
    reported("BerriAI/litellm@form", "compatible", 429,
        lite("LiteLLM Rate Limit Handler for rate limit type = key. Crossed TPM / RPM / Max Parallel Request Limit. "
            "current rpm: 10, rpm limit: 10, current tpm: 12000, tpm limit: 10000", code=429), e.RateLimitError),
    reported("BerriAI/litellm@form", "compatible", 429,
        lite("Rate limit exceeded for api_key: 0a1. Limit type: tokens. Current limit: 1000, Remaining: 0. Limit "
            "resets at: "
            "2026-11-30 18:00:00 UTC", code=429), e.RateLimitError),
    reported("BerriAI/litellm@form", "compatible", 500,
        lite("litellm.InternalServerError: AnthropicException - Overloaded. Handle with `litellm.InternalServerError`.",
            code=500), e.OverloadedError),
    reported("BerriAI/litellm@form", "compatible", 500,
        lite("litellm.APIConnectionError: OllamaException - Cannot connect to host localhost:11434", code=500),
        e.ServerError),
    reported("BerriAI/litellm@form", "compatible", 400,
        lite("litellm.ContentPolicyViolationError: litellm.BadRequestError: AzureException - It was filtered"),
        e.ContentFilterError),
    reported("BerriAI/litellm@form", "compatible", 400,
        lite("{'error': 'Violated guardrail policy', 'bedrock_guardrail_response': 'Sorry'}"), e.ContentFilterError),
    reported("BerriAI/litellm@form", "compatible", 400,
        lite("Request size is too large. Request size is 10.0 MB. Max size is 5 MB", "bad_request_error"),
        e.RequestTooLargeError),
    reported("BerriAI/litellm@form", "compatible", 429,
        lite("Max budget limit reached.", code=429), e.QuotaExceededError),
    reported("BerriAI/litellm@form", "compatible", 404,
        lite("litellm.NotFoundError: VertexAIException - {\"error\": {\"code\": 404, \"message\": \"Publisher Model "
            "`projects/p/a` was not found or your project does not have access to it.\", \"status\": \"NOT_FOUND\"}}",
            code=404), e.NotFoundError),
    reported("QuantumNous/new-api@source", "compatible", 403,
        new_api("token quota is not enough, token remain quota: $0.100000, need quota: $0.200000",
            "pre_consume_token_quota_failed"), e.QuotaExceededError),
    reported("QuantumNous/new-api@source", "compatible", 403,
        new_api("entitlement is not active", "entitlement_inactive"), e.PermissionDeniedError),
    reported("QuantumNous/new-api@source", "compatible", 429,
        new_api("entitlement limit", "entitlement_daily_limit_exceeded"), e.QuotaExceededError),
    reported("QuantumNous/new-api@source", "compatible", 429,
        new_api("too many running requests", "token_concurrency_limit_reached"), e.RateLimitError),
    reported("QuantumNous/new-api@source", "compatible", 429,
        new_api("您已达到请求数限制：1分钟内最多请求10次"), e.RateLimitError),
    reported("QuantumNous/new-api@source", "compatible", 429,
        new_api("您已达到总请求数限制：1分钟内最多请求100次，包括失败次数，请检查您的请求是否正确"), e.RateLimitError),
    reported("QuantumNous/new-api@source", "compatible", 429,
        new_api("当前分组上游负载已饱和，请稍后再试", kind="upstream_error"), e.RateLimitError),
    reported("QuantumNous/new-api@source", "compatible", 500,
        new_api("bad response status code 502", "bad_response_status_code", "upstream_error"), e.ServerError),
    reported("QuantumNous/new-api@source", "compatible", 400,
        new_api("sensitive words detected: a", "sensitive_words_detected"), e.ContentFilterError),
    reported("QuantumNous/new-api@source", "compatible", 400,
        new_api("request blocked by Gemini API: SAFETY", "prompt_blocked", "openai_error"), e.ContentFilterError),
    reported("QuantumNous/new-api@source", "compatible", 400,
        new_api("Failed check: SAFETY_CHECK_TYPE_CSAM", "violation_fee.grok.csam"), e.ContentFilterError),
    reported("QuantumNous/new-api@source", "compatible", 400,
        new_api("模型 a 倍率或价格未配置，请联系管理员设置或开始自用模式；Model a ratio or price not set, please "
            "set or start "
            "self-use mode", "model_price_error"), e.NotFoundError),
    reported("QuantumNous/new-api@source", "compatible", 500,
        new_api("模型 a 倍率或价格未配置，请联系管理员设置或开始自用模式；Model a ratio or price not set, please "
            "set or start "
            "self-use mode", "model_price_error"), e.NotFoundError),
    reported("QuantumNous/new-api@source", "compatible", 404,
        say("Invalid URL (POST /v1/v1/chat/completions)", type="invalid_request_error", param="", code=""),
        e.NotFoundError),
    reported("songquanpeng/one-api@source", "compatible", 403,
        say("该令牌无权使用模型：a (request id: 1)", type="one_api_error"), e.PermissionDeniedError),
    reported("songquanpeng/one-api@source", "compatible", 403,
        say("该令牌只能在指定网段使用：10.0.0.0/8，当前 ip：1.2.3.4 (request id: 1)", type="one_api_error"),
        e.PermissionDeniedError),
    reported("songquanpeng/one-api@source", "compatible", 403,
        say("用户已被封禁 (request id: 1)", type="one_api_error"), e.PermissionDeniedError),
    reported("songquanpeng/one-api@source", "compatible", 500,
        say("Post \"https://a/v1\": dial tcp: lookup a: no such host", type="one_api_error", code="do_request_failed"),
        e.ServerError),
    reported("songquanpeng/one-api@source", "compatible", 400,
        say("max_tokens is invalid", type="one_api_error", code="invalid_text_request"), e.InvalidRequestError),
    reported("router-for-me/CLIProxyAPI@source", "compatible", 429,
        say("All credentials for model a are cooling down via provider claude", code="model_cooldown", model="a",
            provider="claude", reset_time="12s", reset_seconds=12), e.RateLimitError),
    reported("router-for-me/CLIProxyAPI@source", "compatible", 503,
        say("auth_unavailable: no auth available", type="server_error", code="internal_server_error"), e.ServerError),
    reported("router-for-me/CLIProxyAPI@source", "compatible", 408,
        say("stream error: stream disconnected before completion: stream closed before response.completed",
            type="invalid_request_error"), e.ServerError),
    reported("router-for-me/CLIProxyAPI@source", "responses", 413,
        say("upstream websocket message too big", type="invalid_request_error", code="message_too_big"),
        e.RequestTooLargeError),
    reported("router-for-me/CLIProxyAPI@source", "anthropic", 502,
        {"type": "error", "error": {"type": "api_error",
            "message": "claude executor: upstream stream response ended before message completion"}}, e.ServerError),
    reported("router-for-me/CLIProxyAPI@source", "anthropic", 429,
        {"error": "auth in short cooldown, 30s remaining"}, e.RateLimitError),
    reported("ericc-ch/copilot-api@source", "compatible", 400,
        say(json.dumps(say("prompt token count of 130000 exceeds the limit of 128000",
            code="model_max_prompt_tokens_exceeded")), type="error"), e.ContextLengthError),
    reported("ericc-ch/copilot-api@source", "compatible", 403,
        say(json.dumps({"message": "Request rejected"}), type="error"), e.PermissionDeniedError),
    reported("ericc-ch/copilot-api@source", "anthropic", 429,
        say(json.dumps({"message": "Rate limit exceeded"}), type="error"), e.RateLimitError),
    reported("Portkey-AI/gateway@source", "compatible", 446,
        {**say("The guardrail checks defined in the config failed. You can find more information in the `hook_results` "
            "object.", type="hooks_failed", param=None, code=None), "provider": "a"}, e.ContentFilterError),
    reported("Portkey-AI/gateway@source", "compatible", 400,
        {"status": "failure", "message": "Either x-portkey-config or x-portkey-provider header is required"},
        e.InvalidRequestError),
    reported("Portkey-AI/gateway@source", "compatible", 400,
        {**say("anthropic error: prompt is too long: 210000 tokens > 200000 maximum", type="invalid_request_error"),
            "provider": "anthropic"}, e.ContextLengthError),
    reported("Portkey-AI/gateway@source", "compatible", 412,
        {"status": "failure", "data": {"errorCode": "AB03",
            "message": "Portkey Error: Usage limits exceeded. Monthly budget of this virtual key is exhausted."}},
        e.QuotaExceededError),
    reported("Portkey-AI/gateway@source", "compatible", 500,
        {"status": "failure", "message": "Something went wrong"}, e.ServerError),
    reported("Helicone/ai-gateway@source", "compatible", 400,
        say("Invalid model name: a", type="invalid_request_error", param=None, code=None), e.NotFoundError),
    reported("Helicone/ai-gateway@source", "compatible", 401,
        say("Provider key not found", type="invalid_request_error", code="provider_key_not_found"),
        e.AuthenticationError),
    reported("Kong/kong@source", "compatible", 400,
        say("cannot use own model - must be: gpt-4"), e.NotFoundError),
    reported("Kong/kong@source", "compatible", 400,
        say("prompt pattern is blocked"), e.ContentFilterError),
    reported("Kong/kong@source", "compatible", 429,
        say("AI token rate limit exceeded for provider(s): openai"), e.RateLimitError),
    reported("Kong/kong@source", "compatible", 401,
        {"message": "No API key found in request", "request_id": "1"}, e.AuthenticationError),
    reported("Kong/kong@source", "compatible", 503,
        {"message": "failure to get a peer from the ring-balancer", "request_id": "1"}, e.ServerError),
    reported("higress-group/higress@source", "compatible", 403,
        "Request denied by ai quota check, No quota left", e.QuotaExceededError),
    reported("higress-group/higress@source", "compatible", 403,
        "Request denied by Key Auth check. Unauthorized consumer.", e.PermissionDeniedError),
    reported("higress-group/higress@source", "compatible", 429,
        "Too many requests", e.RateLimitError),
    reported("envoyproxy/ai-gateway@source", "compatible", 404,
        "No matching route found. It is likely because the model specified in your request is not configured in the "
        "Gateway.",
        e.NotFoundError),
    reported("envoyproxy/ai-gateway@source", "compatible", 429,
        {"type": "error", "error": {"type": "ThrottlingException", "code": "429",
            "message": "Too many tokens, please wait before trying again."}}, e.RateLimitError),
    reported("envoyproxy/ai-gateway@source", "compatible", 400,
        {"type": "error", "error": {"type": "ValidationException", "code": "400",
            "message": "The model returned the following errors: Input is too long for requested model."}},
        e.ContextLengthError),
    reported("envoyproxy/envoy@form", "compatible", 429, "local_rate_limited", e.RateLimitError),
    reported("envoyproxy/envoy@form", "compatible", 504, "upstream request timeout",
        e.ServerError),
    reported("aws-samples/bedrock-access-gateway@source", "compatible", 500,
        {"detail": "An error occurred (ValidationException) when calling the ConverseStream operation: Input is too "
            "long "
            "for requested model."}, e.ContextLengthError),
    reported("aws-samples/bedrock-access-gateway@source", "compatible", 400,
        {"detail": "Unsupported model a, please use models API to get a list of supported models"}, e.NotFoundError),
    reported("aws-samples/bedrock-access-gateway@source", "compatible", 500,
        {"detail": "An error occurred (ValidationException) when calling the Converse operation: Malformed input "
            "request: "
            "#: required key [messages] not found, please reformat your input and try again."}, e.InvalidRequestError),
    reported("musistudio/claude-code-router@source", "anthropic", 429,
        say("API key daily requests limit exceeded.", type="rate_limit_error"), e.QuotaExceededError),
    reported("musistudio/claude-code-router@source", "anthropic", 403,
        say('Model "a" is not allowed for this profile.', type="permission_error"), e.PermissionDeniedError),
    reported("musistudio/llms@form", "anthropic", 404,
        say("Error from provider(openrouter,a: 404): {\"error\":{\"message\":\"No endpoints found that support tool "
            "use\","
            "\"code\":404}}", type="api_error", code="provider_response_error"), e.NotFoundError),
    reported("1rgs/claude-code-proxy@source", "anthropic", 429,
        {"detail": "litellm.RateLimitError: RateLimitError: OpenAIException - Rate limit reached for gpt-4o"},
        e.RateLimitError),
]  # fmt: skip
SERVICES: list[Any] = [
    reported("cloudflare/cloudflare-docs@form", "compatible", 413,
        cloudflare(5021, "AiError: AiError: The estimated number of input and maximum output tokens (40000) "
            "exceeded this "
            "model context window limit (32000). (0a-1)"), e.ContextLengthError),
    reported("cloudflare/cloudflare-docs@form", "compatible", 429,
        cloudflare(4006, "AiError: you have used up your daily free allocation of 10,000 neurons, please upgrade to "
            "Cloudflare's Workers Paid plan if you would like to continue usage."), e.QuotaExceededError),
    reported("cloudflare/cloudflare-docs@form", "compatible", 429,
        cloudflare(3040, "AiError: Capacity temporarily exceeded, please try again."), e.RateLimitError),
    reported("cloudflare/cloudflare-docs@form", "compatible", 400,
        cloudflare(5007, "No such model @cf/meta/a or task"), e.NotFoundError),
    reported("cloudflare/cloudflare-docs@form", "compatible", 401,
        cloudflare(10000, "Authentication error"), e.AuthenticationError),
    reported("cloudflare/cloudflare-docs@form", "compatible", 400,
        {"success": False, "result": [], "messages": [], "error": [{"code": 2001,
            "message": "Please configure AI Gateway in the Cloudflare dashboard"}]}, e.InvalidRequestError),
    reported("cloudflare/cloudflare-docs@form", "compatible", 424,
        {"success": False, "result": [], "messages": [], "error": [{"code": 2016,
            "message": "Prompt blocked due to security configurations"}]}, e.ContentFilterError),
    reported("cloudflare/cloudflare-docs@form", "compatible", 402,
        {"success": False, "error": [{"code": 2021, "message": "Invalid User Credits"}]}, e.QuotaExceededError),
    reported("vercel/ai@form", "compatible", 402,
        say("Insufficient funds. Please add credits to your account to continue using AI services.",
            type="insufficient_funds"), e.QuotaExceededError),
    reported("vercel/ai@form", "compatible", 403,
        say("AI Gateway requires a valid credit card on file to service requests.",
        type="customer_verification_required"),
        e.PermissionDeniedError),
    reported("vercel/ai@form", "compatible", 424,
        say("Provider anthropic failed with no response", type="failed_dependency"), e.ServerError),
    reported("services/Azure@form", "compatible", 401,
        {"statusCode": 401, "message": "Unauthorized. Access token is missing, invalid, audience is incorrect "
            "(https://cognitiveservices.azure.com), or have expired."}, e.AuthenticationError),
    reported("services/Azure@form", "compatible", 404,
        say("The API deployment for this resource does not exist. If you created the deployment within the last 5 "
            "minutes, "
            "please wait a moment and try again.", code="DeploymentNotFound"), e.NotFoundError),
    reported("services/MoonshotAI@form", "compatible", 429,
        say("Your account org-a<ak-b> request reached max organization concurrency: 3, please try again after 1 "
            "seconds",
            type="rate_limit_reached_error"), e.RateLimitError),
    reported("services/MoonshotAI@form", "compatible", 429,
        say("Your account org-a is not active, current state: not_activated, please check your plan and billing "
            "details",
            type="exceeded_current_quota_error"), e.QuotaExceededError),
    reported("services/MoonshotAI@form", "compatible", 429,
        say("The engine is currently overloaded, please try again later", type="engine_overloaded_error"),
        e.OverloadedError),
    reported("groq/groq-python@form", "groq", 498,
        say("Flex tier capacity exceeded", type="invalid_request_error", code="capacity_exceeded"), e.OverloadedError),
    reported("services/Cerebras@form", "compatible", 400,
        {"message": "Please reduce the length of the messages or completion. Current length is 140000 while limit "
            "is 131072",
            "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"},
        e.ContextLengthError),
    reported("services/Cerebras@form", "compatible", 429,
        {"message": "We're experiencing high traffic right now! Please try again soon.",
            "type": "too_many_requests_error", "param": "queue", "code": "queue_exceeded"}, e.RateLimitError),
    reported("services/Cerebras@form", "compatible", 429,
        {"message": "Tokens per day limit exceeded - too many tokens processed.", "type": "too_many_tokens_error",
            "param": "quota", "code": "token_quota_exceeded"}, e.QuotaExceededError),
    reported("services/togethercomputer@form", "together", 402,
        say("Credit limit exceeded, please navigate to https://api.together.xyz/settings/billing to upgrade your plan.",
            type="credit_limit", param=None, code=None), e.QuotaExceededError),
    reported("services/fw-ai@form", "compatible", 412,
        say("Account a is suspended, possibly due to reaching the monthly spending limit or failure to pay past "
            "invoices.",
            object="error", type="invalid_request_error", code="PRECONDITION_FAILED"), e.QuotaExceededError),
    reported("services/fw-ai@form", "compatible", 400,
        say("The prompt is too long: 140000, model maximum context length: 131071", object="error",
            type="invalid_request_error"), e.ContextLengthError),
    reported("services/fw-ai@form", "compatible", 404,
        say("Model not found, inaccessible, and/or not deployed", object="error", code="NOT_FOUND"), e.NotFoundError),
    reported("services/novitalabs@form", "compatible", 403,
        novita(403, "NOT_ENOUGH_BALANCE", "not enough balance"), e.QuotaExceededError),
    reported("services/novitalabs@form", "compatible", 403,
        novita(403, "FAILED_TO_AUTH", "fail to validate api key"), e.AuthenticationError),
    reported("services/novitalabs@form", "compatible", 429,
        novita(429, "TOKEN_LIMIT_EXCEEDED", "exceed max tokens per minute limit"), e.RateLimitError),
    reported("services/xai-org@form", "xai", 400,
        xai("Client specified an invalid argument", "This model's maximum prompt length is 131072 but the request "
            "contains "
            "140000 tokens."), e.ContextLengthError),
    reported("services/xai-org@form", "xai", 403,
        xai("The caller does not have permission to execute the specified operation",
            "Your newly created team doesn't have any credits yet. You can purchase credits on https://console.x.ai."),
        e.QuotaExceededError),
    reported("services/xai-org@form", "xai", 429,
        xai("Some resource has been exhausted", "Your team a has either used all available credits or reached its "
            "monthly "
            "spending limit."), e.QuotaExceededError),
    reported("services/xai-org@form", "xai", 400,
        xai("Client specified an invalid argument", "Incorrect API key provided: xa***B1. You can obtain an API key "
            "from "
            "https://console.x.ai."), e.AuthenticationError),
    reported("services/ppl-ai@form", "compatible", 400,
        say("Invalid model 'a'. Permitted models can be found in the documentation.", type="invalid_model", code=400),
        e.NotFoundError),
    reported("services/ppl-ai@form", "compatible", 401,
        say("You exceeded your current quota, please check your plan and billing details", type="insufficient_quota",
            code=401), e.QuotaExceededError),
    reported("mistralai/client-python@form", "mistral", 400,
        {"object": "error", "message": "Prompt contains 140000 tokens and 0 draft tokens, too large for model with "
            "131072 "
            "maximum context length", "type": "invalid_request_prompt", "param": None, "code": "3051"},
        e.ContextLengthError),
    reported("mistralai/client-python@form", "mistral", 429,
        {"object": "error", "message": "Service tier capacity exceeded for this model.", "type":
            "service_tier_capacity_exceeded", "param": None, "code": "3505"}, e.RateLimitError),
    reported("mistralai/client-python@form", "mistral", 400,
        {"object": "error", "message": "Not the same number of function calls and responses",
            "type": "invalid_request_message_order", "param": None, "code": "3230"}, e.InvalidRequestError),
    reported("services/dashscope@form", "compatible", 400,
        say("Access denied, please make sure your account is in good standing.", code="Arrearage", type="Arrearage",
            param=None), e.QuotaExceededError),
    reported("services/volcengine@form", "compatible", 429,
        say("Your account [1] has reached the set inference limit for the [a] model, and the model service has been "
            "paused.",
            code="SetLimitExceeded", param="", type="TooManyRequests"), e.QuotaExceededError),
    reported("services/volcengine@form", "compatible", 404,
        say("Your account 1 has not activated the model a. Please activate the model service in the Ark Console.",
            code="ModelNotOpen", param="", type="NotFound"), e.PermissionDeniedError),
    reported("services/volcengine@form", "compatible", 400,
        say("Total tokens of image and text exceed max message tokens. Request id: 02", code="InvalidParameter",
        param="",
            type="BadRequest"), e.ContextLengthError),
    reported("services/MiniMax-AI@form", "compatible", 200,
        minimax(1004, "login fail: Please carry the API secret key in the 'Authorization' field of the request header"),
        e.AuthenticationError),
    reported("services/MiniMax-AI@form", "compatible", 200, minimax(1039, "rate limit exceeded(TPM)"),
        e.RateLimitError),
    reported("services/MiniMax-AI@form", "compatible", 200, minimax(1026, "input new_sensitive"),
        e.ContentFilterError),
    reported("services/MiniMax-AI@form", "compatible", 200,
        minimax(2061, "your current token plan not support model, MiniMax-M2"), e.PermissionDeniedError),
    reported("services/MiniMax-AI@form", "compatible", 200,
        minimax(2013, "invalid params, context window exceeds limit"), e.ContextLengthError),
    reported("services/MiniMax-AI@form", "compatible", 200, minimax(2056, "usage limit exceeded"),
        e.QuotaExceededError),
    reported("services/MiniMax-AI@form", "compatible", 200, minimax(1033, "system error, please try later"),
        e.ServerError),
    reported("googleapis/googleapis@form", "gemini", 403,
        say("Vertex AI API has not been used in project 1 before or it is disabled.", code=403,
            status="PERMISSION_DENIED", details=[{"reason": "SERVICE_DISABLED"}]), e.PermissionDeniedError),
    reported("googleapis/python-genai@form", "gemini", 400,
        say("User location is not supported for the API use.", code=400, status="FAILED_PRECONDITION"),
        e.PermissionDeniedError),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind"), [*GATEWAYS, *SERVICES])
def test_an_error_of_a_gateway_has_its_class(
    wire: str, status: int, body: Any, kind: type[e.ProviderError]
) -> None:
    error = refused(wire, status, body)
    is_kind = isinstance(error, kind) if kind is e.ServerError else type(error) is kind
    assert (is_kind, error.retryable) == (True, kind.retryable), f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(
    ("body", "wait_s"),
    [
        (lite("No deployments available for selected model, Try again in 5 seconds. Passed model=a."), 5.0),
        (say("All credentials for model a are cooling down", code="model_cooldown", reset_seconds=12), 12.0),
        (say("request reached max organization concurrency: 3, please try again after 1 seconds"), 1.0),
        (say("auth in short cooldown, 30s remaining"), 30.0),
    ],
)
def test_the_delay_of_a_gateway_is_read(body: Any, wait_s: float) -> None:
    assert refused("compatible", 429, body).retry_after_s == wait_s
