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
        e.AuthenticationError, what="chat-servers, passed: LiteLLM does not know a key"),
    reported("BerriAI/litellm@form", "compatible", 401,
        lite("key not allowed to access model. This key can only access models=['a']. Tried to access b",
            "key_model_access_denied", 401), e.PermissionDeniedError,
        what="chat-servers, passed: a key of LiteLLM has other models"),
    reported("BerriAI/litellm@form", "compatible", 401,
        lite("team not allowed to access model. This team can only access models=['a']. Tried to access b",
            "team_model_access_denied", 401), e.PermissionDeniedError,
        what="chat-servers, passed: a team of LiteLLM has other models"),
    reported("BerriAI/litellm@form", "compatible", 401,
        lite("Authentication Error - Expired Key. Key Expiry time 2026-01-01 and current time 2026-02-01",
        "expired_key",
            401), e.AuthenticationError, what="chat-servers, passed: a key of LiteLLM has expired"),
    reported("BerriAI/litellm@form", "compatible", 400,
        lite("/chat/completions: Invalid model name passed in model=a. Call `/v1/models` to view available models "
            "for your "
            "key.", "invalid_request_error"), e.NotFoundError, what="chat-servers, passed: LiteLLM does not know a "
            "model"),
    reported("BerriAI/litellm@form", "compatible", 429,
        lite("Budget has been exceeded! Current cost: 10.1, Max budget: 10.0", "budget_exceeded", 429),
        e.QuotaExceededError, what="chat-servers, passed: a budget of LiteLLM is spent, with status 429"),
    reported("BerriAI/litellm@form", "compatible", 429,
        lite("No deployments available for selected model, Try again in 5 seconds. Passed model=a. "
            "pre-call-checks=False, "
            "cooldown_list=['1']", code=429), e.RateLimitError,
        what="chat-servers, passed: each deployment of LiteLLM rests"),
    reported("BerriAI/litellm@form", "compatible", 429,
        lite("LiteLLM Rate Limit Handler for rate limit type = key. Crossed TPM / RPM / Max Parallel Request Limit. "
            "current rpm: 10, rpm limit: 10, current tpm: 12000, tpm limit: 10000", code=429), e.RateLimitError,
        what="chat-servers, passed: LiteLLM states a rate by two sizes"),
    reported("BerriAI/litellm@form", "compatible", 429,
        lite("Rate limit exceeded for api_key: 0a1. Limit type: tokens. Current limit: 1000, Remaining: 0. Limit "
            "resets at: "
            "2026-11-30 18:00:00 UTC", code=429), e.RateLimitError,
        what="chat-servers, passed: LiteLLM says when a limit of a minute ends"),
    reported("BerriAI/litellm@form", "compatible", 500,
        lite("litellm.InternalServerError: AnthropicException - Overloaded. Handle with `litellm.InternalServerError`.",
            code=500), e.OverloadedError, what="chat-servers, passed: LiteLLM quotes an overload"),
    reported("BerriAI/litellm@form", "compatible", 500,
        lite("litellm.APIConnectionError: OllamaException - Cannot connect to host localhost:11434", code=500),
        e.ServerError, what="chat-servers, passed: LiteLLM does not reach Ollama"),
    reported("BerriAI/litellm@form", "compatible", 400,
        lite("litellm.ContentPolicyViolationError: litellm.BadRequestError: AzureException - It was filtered"),
        e.ContentFilterError, what="chat-servers, passed: LiteLLM names the violation of a policy"),
    reported("BerriAI/litellm@form", "compatible", 400,
        lite("{'error': 'Violated guardrail policy', 'bedrock_guardrail_response': 'Sorry'}"), e.ContentFilterError,
        what="chat-servers, passed: a guardrail of LiteLLM writes Python"),
    reported("BerriAI/litellm@form", "compatible", 400,
        lite("Request size is too large. Request size is 10.0 MB. Max size is 5 MB", "bad_request_error"),
        e.RequestTooLargeError, what="chat-servers, failed: a request has too many bytes for LiteLLM"),
    reported("BerriAI/litellm@form", "compatible", 429,
        lite("Max budget limit reached.", code=429), e.QuotaExceededError,
        what="chat-servers, failed: the budget of a user of LiteLLM is reached"),
    reported("BerriAI/litellm@form", "compatible", 404,
        lite("litellm.NotFoundError: VertexAIException - {\"error\": {\"code\": 404, \"message\": \"Publisher Model "
            "`projects/p/a` was not found or your project does not have access to it.\", \"status\": \"NOT_FOUND\"}}",
            code=404), e.NotFoundError, what="chat-servers, passed: LiteLLM quotes an unknown model of Vertex AI"),
    reported("QuantumNous/new-api@source", "compatible", 403,
        new_api("token quota is not enough, token remain quota: $0.100000, need quota: $0.200000",
            "pre_consume_token_quota_failed"), e.QuotaExceededError,
        what="chat-servers, passed: the quota of a token of new-api is too small"),
    reported("QuantumNous/new-api@source", "compatible", 403,
        new_api("entitlement is not active", "entitlement_inactive"), e.PermissionDeniedError,
        what="chat-servers, passed: an entitlement of new-api is not active"),
    reported("QuantumNous/new-api@source", "compatible", 429,
        new_api("entitlement limit", "entitlement_daily_limit_exceeded"), e.QuotaExceededError,
        what="chat-servers, passed: a code of new-api names a daily limit"),
    reported("QuantumNous/new-api@source", "compatible", 429,
        new_api("too many running requests", "token_concurrency_limit_reached"), e.RateLimitError,
        what="chat-servers, passed: new-api limits the requests at one time"),
    reported("QuantumNous/new-api@source", "compatible", 429,
        new_api("您已达到请求数限制：1分钟内最多请求10次"), e.RateLimitError,
        what="chat-servers, passed: new-api limits the requests of a minute, in Chinese"),
    reported("QuantumNous/new-api@source", "compatible", 429,
        new_api("您已达到总请求数限制：1分钟内最多请求100次，包括失败次数，请检查您的请求是否正确"), e.RateLimitError,
        what="chat-servers, passed: new-api counts failed requests, too"),
    reported("QuantumNous/new-api@source", "compatible", 429,
        new_api("当前分组上游负载已饱和，请稍后再试", kind="upstream_error"), e.RateLimitError,
        what="chat-servers, passed: the upstream of a group of new-api is busy"),
    reported("QuantumNous/new-api@source", "compatible", 500,
        new_api("bad response status code 502", "bad_response_status_code", "upstream_error"), e.ServerError,
        what="chat-servers, passed: new-api gets a failure of its upstream"),
    reported("QuantumNous/new-api@source", "compatible", 400,
        new_api("sensitive words detected: a", "sensitive_words_detected"), e.ContentFilterError,
        what="chat-servers, passed: new-api has found words of its list"),
    reported("QuantumNous/new-api@source", "compatible", 400,
        new_api("request blocked by Gemini API: SAFETY", "prompt_blocked", "openai_error"), e.ContentFilterError,
        what="chat-servers, passed: new-api says that Gemini blocks a prompt"),
    reported("QuantumNous/new-api@source", "compatible", 400,
        new_api("Failed check: SAFETY_CHECK_TYPE_CSAM", "violation_fee.grok.csam"), e.ContentFilterError,
        what="chat-servers, failed: new-api says that xAI refuses a content"),
    reported("QuantumNous/new-api@source", "compatible", 400,
        new_api("模型 a 倍率或价格未配置，请联系管理员设置或开始自用模式；Model a ratio or price not set, please "
            "set or start "
            "self-use mode", "model_price_error"), e.NotFoundError,
        what="chat-servers, failed: a model of new-api has no price"),
    reported("QuantumNous/new-api@source", "compatible", 500,
        new_api("模型 a 倍率或价格未配置，请联系管理员设置或开始自用模式；Model a ratio or price not set, please "
            "set or start "
            "self-use mode", "model_price_error"), e.NotFoundError,
        what="chat-servers, failed: an older new-api calls a missing price its failure"),
    reported("QuantumNous/new-api@source", "compatible", 404,
        say("Invalid URL (POST /v1/v1/chat/completions)", type="invalid_request_error", param="", code=""),
        e.NotFoundError, what="chat-servers, passed: a path is wrong at new-api"),
    reported("songquanpeng/one-api@source", "compatible", 403,
        say("该令牌无权使用模型：a (request id: 1)", type="one_api_error"), e.PermissionDeniedError,
        what="chat-servers, passed: a token of one-api has other models"),
    reported("songquanpeng/one-api@source", "compatible", 403,
        say("该令牌只能在指定网段使用：10.0.0.0/8，当前 ip：1.2.3.4 (request id: 1)", type="one_api_error"),
        e.PermissionDeniedError, what="chat-servers, passed: a token of one-api is for another network"),
    reported("songquanpeng/one-api@source", "compatible", 403,
        say("用户已被封禁 (request id: 1)", type="one_api_error"), e.PermissionDeniedError,
        what="chat-servers, passed: one-api has banned a user"),
    reported("songquanpeng/one-api@source", "compatible", 500,
        say("Post \"https://a/v1\": dial tcp: lookup a: no such host", type="one_api_error", code="do_request_failed"),
        e.ServerError, what="chat-servers, passed: one-api does not find its upstream"),
    reported("songquanpeng/one-api@source", "compatible", 400,
        say("max_tokens is invalid", type="one_api_error", code="invalid_text_request"), e.InvalidRequestError,
        what="chat-servers, passed: one-api refuses an output limit"),
    reported("router-for-me/CLIProxyAPI@source", "compatible", 429,
        say("All credentials for model a are cooling down via provider claude", code="model_cooldown", model="a",
            provider="claude", reset_time="12s", reset_seconds=12), e.RateLimitError,
        what="chat-servers, passed: each account of CLIProxyAPI rests"),
    reported("router-for-me/CLIProxyAPI@source", "compatible", 503,
        say("auth_unavailable: no auth available", type="server_error", code="internal_server_error"), e.ServerError,
        what="chat-servers, passed: CLIProxyAPI has no account left"),
    reported("router-for-me/CLIProxyAPI@source", "compatible", 408,
        say("stream error: stream disconnected before completion: stream closed before response.completed",
            type="invalid_request_error"), e.ServerError,
        what="chat-servers, failed: a stream of CLIProxyAPI was cut, which it calls a timeout"),
    reported("router-for-me/CLIProxyAPI@source", "responses", 413,
        say("upstream websocket message too big", type="invalid_request_error", code="message_too_big"),
        e.RequestTooLargeError, what="responses, passed: a message is too large for a WebSocket of CLIProxyAPI"),
    reported("router-for-me/CLIProxyAPI@source", "anthropic", 502,
        {"type": "error", "error": {"type": "api_error",
            "message": "claude executor: upstream stream response ended before message completion"}}, e.ServerError,
        what="anthropic, passed: an answer of CLIProxyAPI has no end"),
    reported("router-for-me/CLIProxyAPI@source", "anthropic", 429,
        {"error": "auth in short cooldown, 30s remaining"}, e.RateLimitError,
        what="anthropic, passed: an account of CLIProxyAPI rests"),
    reported("ericc-ch/copilot-api@source", "compatible", 400,
        say(json.dumps(say("prompt token count of 130000 exceeds the limit of 128000",
            code="model_max_prompt_tokens_exceeded")), type="error"), e.ContextLengthError,
        what="chat-servers, passed: a proxy of Copilot quotes an overflow as text"),
    reported("ericc-ch/copilot-api@source", "compatible", 403,
        say(json.dumps({"message": "Request rejected"}), type="error"), e.PermissionDeniedError,
        what="chat-servers, passed: the user of a proxy of Copilot rejects a request"),
    reported("ericc-ch/copilot-api@source", "anthropic", 429,
        say(json.dumps({"message": "Rate limit exceeded"}), type="error"), e.RateLimitError,
        what="anthropic, passed: a proxy of Copilot limits the rate"),
    reported("Portkey-AI/gateway@source", "compatible", 446,
        {**say("The guardrail checks defined in the config failed. You can find more information in the `hook_results` "
            "object.", type="hooks_failed", param=None, code=None), "provider": "a"}, e.ContentFilterError,
        what="chat-servers, failed: a guardrail of Portkey has a status of its own"),
    reported("Portkey-AI/gateway@source", "compatible", 400,
        {"status": "failure", "message": "Either x-portkey-config or x-portkey-provider header is required"},
        e.InvalidRequestError, what="chat-servers, passed: Portkey misses a header"),
    reported("Portkey-AI/gateway@source", "compatible", 400,
        {**say("anthropic error: prompt is too long: 210000 tokens > 200000 maximum", type="invalid_request_error"),
            "provider": "anthropic"}, e.ContextLengthError,
        what="chat-servers, passed: Portkey puts the provider before its words"),
    reported("Portkey-AI/gateway@source", "compatible", 412,
        {"status": "failure", "data": {"errorCode": "AB03",
            "message": "Portkey Error: Usage limits exceeded. Monthly budget of this virtual key is exhausted."}},
        e.QuotaExceededError, what="chat-servers, failed: a budget at Portkey is spent, with status 412"),
    reported("Portkey-AI/gateway@source", "compatible", 500,
        {"status": "failure", "message": "Something went wrong"}, e.ServerError,
        what="chat-servers, passed: Portkey fails"),
    reported("Helicone/ai-gateway@source", "compatible", 400,
        say("Invalid model name: a", type="invalid_request_error", param=None, code=None), e.NotFoundError,
        what="chat-servers, passed: Helicone does not know a model"),
    reported("Helicone/ai-gateway@source", "compatible", 401,
        say("Provider key not found", type="invalid_request_error", code="provider_key_not_found"),
        e.AuthenticationError,
        what="chat-servers, passed: Helicone has no key of a provider"),
    reported("Kong/kong@source", "compatible", 400,
        say("cannot use own model - must be: gpt-4"), e.NotFoundError, what="chat-servers, failed: Kong fixes the "
            "model"),
    reported("Kong/kong@source", "compatible", 400,
        say("prompt pattern is blocked"), e.ContentFilterError, what="chat-servers, failed: Kong blocks a prompt"),
    reported("Kong/kong@source", "compatible", 429,
        say("AI token rate limit exceeded for provider(s): openai"), e.RateLimitError,
        what="chat-servers, passed: Kong limits tokens"),
    reported("Kong/kong@source", "compatible", 401,
        {"message": "No API key found in request", "request_id": "1"}, e.AuthenticationError,
        what="chat-servers, passed: Kong finds no key"),
    reported("Kong/kong@source", "compatible", 503,
        {"message": "failure to get a peer from the ring-balancer", "request_id": "1"}, e.ServerError,
        what="chat-servers, passed: Kong has no upstream"),
    reported("higress-group/higress@source", "compatible", 403,
        "Request denied by ai quota check, No quota left", e.QuotaExceededError,
        what="chat-servers, failed: no quota is left at Higress"),
    reported("higress-group/higress@source", "compatible", 403,
        "Request denied by Key Auth check. Unauthorized consumer.", e.PermissionDeniedError,
        what="chat-servers, passed: a consumer of Higress may not use a route"),
    reported("higress-group/higress@source", "compatible", 429,
        "Too many requests", e.RateLimitError, what="chat-servers, passed: Higress limits tokens, in plain text"),
    reported("envoyproxy/ai-gateway@source", "compatible", 404,
        "No matching route found. It is likely because the model specified in your request is not configured in the "
        "Gateway.",
        e.NotFoundError, what="chat-servers, passed: Envoy has no route for a model"),
    reported("envoyproxy/ai-gateway@source", "compatible", 429,
        {"type": "error", "error": {"type": "ThrottlingException", "code": "429",
            "message": "Too many tokens, please wait before trying again."}}, e.RateLimitError,
        what="chat-servers, passed: Envoy passes a throttled request of Bedrock on"),
    reported("envoyproxy/ai-gateway@source", "compatible", 400,
        {"type": "error", "error": {"type": "ValidationException", "code": "400",
            "message": "The model returned the following errors: Input is too long for requested model."}},
        e.ContextLengthError, what="chat-servers, passed: Envoy passes an overflow of Bedrock on"),
    reported("envoyproxy/envoy@form", "compatible", 429, "local_rate_limited", e.RateLimitError,
        what="chat-servers, passed: Envoy limits the rate itself"),
    reported("envoyproxy/envoy@form", "compatible", 504, "upstream request timeout",
        e.ServerError, what="chat-servers, passed: the upstream of Envoy takes too long"),
    reported("aws-samples/bedrock-access-gateway@source", "compatible", 500,
        {"detail": "An error occurred (ValidationException) when calling the ConverseStream operation: Input is too "
            "long "
            "for requested model."}, e.ContextLengthError,
        what="chat-servers, passed: a gateway of Bedrock calls an overflow its failure"),
    reported("aws-samples/bedrock-access-gateway@source", "compatible", 400,
        {"detail": "Unsupported model a, please use models API to get a list of supported models"}, e.NotFoundError,
        what="chat-servers, passed: a gateway of Bedrock does not know a model"),
    reported("aws-samples/bedrock-access-gateway@source", "compatible", 500,
        {"detail": "An error occurred (ValidationException) when calling the Converse operation: Malformed input "
            "request: "
            "#: required key [messages] not found, please reformat your input and try again."}, e.InvalidRequestError,
        what="chat-servers, failed: a gateway of Bedrock calls a refused request its failure"),
    reported("musistudio/claude-code-router@source", "anthropic", 429,
        say("API key daily requests limit exceeded.", type="rate_limit_error"), e.QuotaExceededError,
        what="anthropic, passed: a key of claude-code-router has a limit of a day"),
    reported("musistudio/claude-code-router@source", "anthropic", 403,
        say('Model "a" is not allowed for this profile.', type="permission_error"), e.PermissionDeniedError,
        what="anthropic, passed: a profile of claude-code-router has other models"),
    reported("musistudio/llms@form", "anthropic", 404,
        say("Error from provider(openrouter,a: 404): {\"error\":{\"message\":\"No endpoints found that support tool "
            "use\","
            "\"code\":404}}", type="api_error", code="provider_response_error"), e.NotFoundError,
        what="anthropic, failed: claude-code-router quotes what OpenRouter says"),
    reported("1rgs/claude-code-proxy@source", "anthropic", 429,
        {"detail": "litellm.RateLimitError: RateLimitError: OpenAIException - Rate limit reached for gpt-4o"},
        e.RateLimitError, what="anthropic, passed: claude-code-proxy has an error of FastAPI"),
]  # fmt: skip
SERVICES: list[Any] = [
    reported("cloudflare/cloudflare-docs@form", "compatible", 413,
        cloudflare(5021, "AiError: AiError: The estimated number of input and maximum output tokens (40000) "
            "exceeded this "
            "model context window limit (32000). (0a-1)"), e.ContextLengthError,
        what="chat-servers, passed: Workers AI counts input and output together"),
    reported("cloudflare/cloudflare-docs@form", "compatible", 429,
        cloudflare(4006, "AiError: you have used up your daily free allocation of 10,000 neurons, please upgrade to "
            "Cloudflare's Workers Paid plan if you would like to continue usage."), e.QuotaExceededError,
        what="chat-servers, passed: the free use of Workers AI is spent"),
    reported("cloudflare/cloudflare-docs@form", "compatible", 429,
        cloudflare(3040, "AiError: Capacity temporarily exceeded, please try again."), e.RateLimitError,
        what="chat-servers, passed: Workers AI has no capacity"),
    reported("cloudflare/cloudflare-docs@form", "compatible", 400,
        cloudflare(5007, "No such model @cf/meta/a or task"), e.NotFoundError,
        what="chat-servers, passed: Workers AI does not know a model"),
    reported("cloudflare/cloudflare-docs@form", "compatible", 401,
        cloudflare(10000, "Authentication error"), e.AuthenticationError,
        what="chat-servers, passed: the token of Workers AI is wrong"),
    reported("cloudflare/cloudflare-docs@form", "compatible", 400,
        {"success": False, "result": [], "messages": [], "error": [{"code": 2001,
            "message": "Please configure AI Gateway in the Cloudflare dashboard"}]}, e.InvalidRequestError,
        what="chat-servers, passed: an AI Gateway does not exist"),
    reported("cloudflare/cloudflare-docs@form", "compatible", 424,
        {"success": False, "result": [], "messages": [], "error": [{"code": 2016,
            "message": "Prompt blocked due to security configurations"}]}, e.ContentFilterError,
        what="chat-servers, failed: AI Gateway blocks a prompt, with status 424"),
    reported("cloudflare/cloudflare-docs@form", "compatible", 402,
        {"success": False, "error": [{"code": 2021, "message": "Invalid User Credits"}]}, e.QuotaExceededError,
        what="chat-servers, passed: AI Gateway has no credit"),
    reported("vercel/ai@form", "compatible", 402,
        say("Insufficient funds. Please add credits to your account to continue using AI services.",
            type="insufficient_funds"), e.QuotaExceededError, what="chat-servers, passed: Vercel has no funds"),
    reported("vercel/ai@form", "compatible", 403,
        say("AI Gateway requires a valid credit card on file to service requests.",
        type="customer_verification_required"),
        e.PermissionDeniedError, what="chat-servers, passed: Vercel wants a card"),
    reported("vercel/ai@form", "compatible", 424,
        say("Provider anthropic failed with no response", type="failed_dependency"), e.ServerError,
        what="chat-servers, failed: a provider behind Vercel fails, with status 424"),
    reported("services/Azure@form", "compatible", 401,
        {"statusCode": 401, "message": "Unauthorized. Access token is missing, invalid, audience is incorrect "
            "(https://cognitiveservices.azure.com), or have expired."}, e.AuthenticationError,
        what="chat-servers, passed: a token of Azure is for another audience"),
    reported("services/Azure@form", "compatible", 404,
        say("The API deployment for this resource does not exist. If you created the deployment within the last 5 "
            "minutes, "
            "please wait a moment and try again.", code="DeploymentNotFound"), e.NotFoundError,
        what="chat-servers, passed: Azure has no deployment"),
    reported("services/MoonshotAI@form", "compatible", 429,
        say("Your account org-a<ak-b> request reached max organization concurrency: 3, please try again after 1 "
            "seconds",
            type="rate_limit_reached_error"), e.RateLimitError,
        what="chat-servers, passed: Moonshot limits the requests at one time"),
    reported("services/MoonshotAI@form", "compatible", 429,
        say("Your account org-a is not active, current state: not_activated, please check your plan and billing "
            "details",
            type="exceeded_current_quota_error"), e.QuotaExceededError,
        what="chat-servers, passed: an account of Moonshot is not active"),
    reported("services/MoonshotAI@form", "compatible", 429,
        say("The engine is currently overloaded, please try again later", type="engine_overloaded_error"),
        e.OverloadedError, what="chat-servers, passed: the engine of Moonshot is overloaded"),
    reported("groq/groq-python@form", "groq", 498,
        say("Flex tier capacity exceeded", type="invalid_request_error", code="capacity_exceeded"), e.OverloadedError,
        what="chat-servers, passed: a tier of Groq is full"),
    reported("services/Cerebras@form", "compatible", 400,
        {"message": "Please reduce the length of the messages or completion. Current length is 140000 while limit "
            "is 131072",
            "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"},
        e.ContextLengthError, what="chat-servers, passed: Cerebras gives both sizes of an overflow"),
    reported("services/Cerebras@form", "compatible", 429,
        {"message": "We're experiencing high traffic right now! Please try again soon.",
            "type": "too_many_requests_error", "param": "queue", "code": "queue_exceeded"}, e.RateLimitError,
        what="chat-servers, passed: the queue of Cerebras is full"),
    reported("services/Cerebras@form", "compatible", 429,
        {"message": "Tokens per day limit exceeded - too many tokens processed.", "type": "too_many_tokens_error",
            "param": "quota", "code": "token_quota_exceeded"}, e.QuotaExceededError,
        what="chat-servers, passed: the day's tokens at Cerebras are spent"),
    reported("services/togethercomputer@form", "together", 402,
        say("Credit limit exceeded, please navigate to https://api.together.xyz/settings/billing to upgrade your plan.",
            type="credit_limit", param=None, code=None), e.QuotaExceededError,
        what="chat-servers, passed: the credit at Together is spent"),
    reported("services/fw-ai@form", "compatible", 412,
        say("Account a is suspended, possibly due to reaching the monthly spending limit or failure to pay past "
            "invoices.",
            object="error", type="invalid_request_error", code="PRECONDITION_FAILED"), e.QuotaExceededError,
        what="chat-servers, passed: an account of Fireworks is suspended, with status 412"),
    reported("services/fw-ai@form", "compatible", 400,
        say("The prompt is too long: 140000, model maximum context length: 131071", object="error",
            type="invalid_request_error"), e.ContextLengthError,
        what="chat-servers, passed: a prompt is too long for Fireworks"),
    reported("services/fw-ai@form", "compatible", 404,
        say("Model not found, inaccessible, and/or not deployed", object="error", code="NOT_FOUND"), e.NotFoundError,
        what="chat-servers, passed: a model is not deployed at Fireworks"),
    reported("services/novitalabs@form", "compatible", 403,
        novita(403, "NOT_ENOUGH_BALANCE", "not enough balance"), e.QuotaExceededError,
        what="chat-servers, passed: the balance at Novita is spent"),
    reported("services/novitalabs@form", "compatible", 403,
        novita(403, "FAILED_TO_AUTH", "fail to validate api key"), e.AuthenticationError,
        what="chat-servers, failed: the key of Novita is wrong, with status 403"),
    reported("services/novitalabs@form", "compatible", 429,
        novita(429, "TOKEN_LIMIT_EXCEEDED", "exceed max tokens per minute limit"), e.RateLimitError,
        what="chat-servers, passed: Novita limits the tokens of a minute"),
    reported("services/xai-org@form", "xai", 400,
        xai("Client specified an invalid argument", "This model's maximum prompt length is 131072 but the request "
            "contains "
            "140000 tokens."), e.ContextLengthError, what="chat-servers, passed: a prompt is too long for xAI"),
    reported("services/xai-org@form", "xai", 403,
        xai("The caller does not have permission to execute the specified operation",
            "Your newly created team doesn't have any credits yet. You can purchase credits on https://console.x.ai."),
        e.QuotaExceededError, what="chat-servers, passed: a team of xAI has no credit yet"),
    reported("services/xai-org@form", "xai", 429,
        xai("Some resource has been exhausted", "Your team a has either used all available credits or reached its "
            "monthly "
            "spending limit."), e.QuotaExceededError, what="chat-servers, passed: a team of xAI has spent its credit"),
    reported("services/xai-org@form", "xai", 400,
        xai("Client specified an invalid argument", "Incorrect API key provided: xa***B1. You can obtain an API key "
            "from "
            "https://console.x.ai."), e.AuthenticationError,
        what="chat-servers, passed: the key of xAI is wrong, with status 400"),
    reported("services/ppl-ai@form", "compatible", 400,
        say("Invalid model 'a'. Permitted models can be found in the documentation.", type="invalid_model", code=400),
        e.NotFoundError, what="chat-servers, passed: Perplexity does not know a model"),
    reported("services/ppl-ai@form", "compatible", 401,
        say("You exceeded your current quota, please check your plan and billing details", type="insufficient_quota",
            code=401), e.QuotaExceededError, what="chat-servers, passed: the quota at Perplexity is spent, with "
                "status 401"),
    reported("mistralai/client-python@form", "mistral", 400,
        {"object": "error", "message": "Prompt contains 140000 tokens and 0 draft tokens, too large for model with "
            "131072 "
            "maximum context length", "type": "invalid_request_prompt", "param": None, "code": "3051"},
        e.ContextLengthError, what="chat-servers, passed: a prompt is too long for Mistral"),
    reported("mistralai/client-python@form", "mistral", 429,
        {"object": "error", "message": "Service tier capacity exceeded for this model.", "type":
            "service_tier_capacity_exceeded", "param": None, "code": "3505"}, e.RateLimitError,
        what="chat-servers, passed: a tier of Mistral is full"),
    reported("mistralai/client-python@form", "mistral", 400,
        {"object": "error", "message": "Not the same number of function calls and responses",
            "type": "invalid_request_message_order", "param": None, "code": "3230"}, e.InvalidRequestError,
        what="chat-servers, passed: Mistral misses a result"),
    reported("services/dashscope@form", "compatible", 400,
        say("Access denied, please make sure your account is in good standing.", code="Arrearage", type="Arrearage",
            param=None), e.QuotaExceededError, what="chat-servers, passed: an account of DashScope is in arrears"),
    reported("services/volcengine@form", "compatible", 429,
        say("Your account [1] has reached the set inference limit for the [a] model, and the model service has been "
            "paused.",
            code="SetLimitExceeded", param="", type="TooManyRequests"), e.QuotaExceededError,
        what="chat-servers, passed: an account of Volcano Engine has reached the limit that it has set"),
    reported("services/volcengine@form", "compatible", 404,
        say("Your account 1 has not activated the model a. Please activate the model service in the Ark Console.",
            code="ModelNotOpen", param="", type="NotFound"), e.PermissionDeniedError,
        what="chat-servers, failed: an account of Volcano Engine has not activated a model"),
    reported("services/volcengine@form", "compatible", 400,
        say("Total tokens of image and text exceed max message tokens. Request id: 02", code="InvalidParameter",
        param="",
            type="BadRequest"), e.ContextLengthError,
        what="chat-servers, failed: Volcano Engine counts the tokens of images, too"),
    reported("services/MiniMax-AI@form", "compatible", 200,
        minimax(1004, "login fail: Please carry the API secret key in the 'Authorization' field of the request header"),
        e.AuthenticationError, what="chat-servers, failed: MiniMax misses the key, with status 200"),
    reported("services/MiniMax-AI@form", "compatible", 200, minimax(1039, "rate limit exceeded(TPM)"),
        e.RateLimitError, what="chat-servers, passed: MiniMax limits tokens, with status 200"),
    reported("services/MiniMax-AI@form", "compatible", 200, minimax(1026, "input new_sensitive"),
        e.ContentFilterError, what="chat-servers, failed: MiniMax refuses an input, with status 200"),
    reported("services/MiniMax-AI@form", "compatible", 200,
        minimax(2061, "your current token plan not support model, MiniMax-M2"), e.PermissionDeniedError,
        what="chat-servers, failed: a plan of MiniMax does not include a model, with status 200"),
    reported("services/MiniMax-AI@form", "compatible", 200,
        minimax(2013, "invalid params, context window exceeds limit"), e.ContextLengthError,
        what="chat-servers, passed: MiniMax states an overflow, with status 200"),
    reported("services/MiniMax-AI@form", "compatible", 200, minimax(2056, "usage limit exceeded"),
        e.QuotaExceededError, what="chat-servers, passed: the usage at MiniMax is spent, with status 200"),
    reported("services/MiniMax-AI@form", "compatible", 200, minimax(1033, "system error, please try later"),
        e.ServerError, what="chat-servers, failed: MiniMax fails, with status 200"),
    reported("googleapis/googleapis@form", "gemini", 403,
        say("Vertex AI API has not been used in project 1 before or it is disabled.", code=403,
            status="PERMISSION_DENIED", details=[{"reason": "SERVICE_DISABLED"}]), e.PermissionDeniedError,
        what="gemini, passed: Vertex AI is not enabled in a project"),
    reported("googleapis/python-genai@form", "gemini", 400,
        say("User location is not supported for the API use.", code=400, status="FAILED_PRECONDITION"),
        e.PermissionDeniedError, what="gemini, passed: Gemini is not offered in a country"),
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
