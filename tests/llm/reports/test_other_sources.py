"""Errors, fields and streams of further servers, libraries and gateways."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.llm import errors as e
from tests.llm.providers.test_refusals import FORCED, asking, at, second
from tests.llm.reports.chat import say
from tests.llm.reports.test_broken_streams import ENDS, call_piece, piece, said
from tests.llm.reports.test_error_kinds import refused
from tests.llm.reports.test_printed_calls_and_lists import STOP, ended
from tests.llm.reports.test_source_streams import heard, lines
from tests.support.reports import reported

HI = piece(content="Hi")
ERRORS: list[Any] = [
    reported("Wei-Shaw/claude-relay-service@source", "anthropic", 429,
        {"error": "Concurrency limit exceeded", "message": "Too many concurrent requests. Limit: 5 concurrent requests",
            "currentConcurrency": 6, "concurrencyLimit": 5}, e.RateLimitError),
    reported("Wei-Shaw/claude-relay-service@source", "anthropic", 402,
        {"error": {"type": "insufficient_quota", "message": "Daily cost limit exceeded ($10)",
        "code": "daily_cost_limit"},
            "currentCost": 10.2, "costLimit": 10, "resetAt": "2026-12-01T00:00:00.000Z"}, e.QuotaExceededError),
    reported("Wei-Shaw/claude-relay-service@source", "anthropic", 403,
        {"error": "Client not allowed", "message": "Your client is not authorized to use this API key",
            "allowedClients": ["claude_code"]}, e.PermissionDeniedError),
    reported("Wei-Shaw/claude-relay-service@source", "anthropic", 401,
        {"error": "Missing API key", "message": "Please provide an API key in the x-api-key, Authorization header"},
        e.AuthenticationError),
    reported("Wei-Shaw/claude-relay-service@source", "anthropic", 413,
        {"error": "Payload Too Large", "message": "Request body size exceeds limit", "limit": "60MB"},
        e.RequestTooLargeError),
    reported("Wei-Shaw/claude-relay-service@source", "anthropic", 503,
        {"error": "No available Claude accounts support the requested model: a", "message": "x"}, e.ServerError),
    reported("mostlygeek/llama-swap@source", "compatible", 404,
        {"error": "no peer or local handler found for requested model a"}, e.NotFoundError),
    reported("mostlygeek/llama-swap@source", "compatible", 502,
        "unable to start process: upstream command exited prematurely but successfully", e.ServerError),
    reported("mostlygeek/llama-swap@source", "compatible", 429, "Too many requests", e.RateLimitError),
    reported("thushan/olla@source", "compatible", 502,
        "AI backend stopped responding - no data received for 30.0s (backend may be overloaded)", e.ServerError),
    reported("thushan/olla@source", "compatible", 404,
        "model a not available: no healthy endpoints", e.NotFoundError),
    reported("apache/apisix@source", "compatible", 400,
        {"message": "Request contains prohibited content"}, e.ContentFilterError),
    reported("apache/apisix@source", "compatible", 503,
        {"error_msg": "rate limiting: token limit of this instance is reached"}, e.RateLimitError),
    reported("apache/apisix@source", "compatible", 401,
        {"message": "Missing API key in request"}, e.AuthenticationError),
    reported("exo-explore/exo@source", "compatible", 404,
        {"error": {"message": "No instance found for model a", "type": "Not Found", "code": 404}}, e.NotFoundError),
    reported("exo-explore/exo@source", "compatible", 400,
        {"detail": "Insufficient memory to create instance. Required: 40.0GB, Available: 20.0GB"},
        e.InvalidRequestError),
    reported("predibase/lorax@source", "compatible", 422,
        {"error": "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
            "error_type": "validation"}, e.ContextLengthError),
    reported("predibase/lorax@source", "compatible", 429,
        {"error": "Model is overloaded", "error_type": "overloaded"}, e.OverloadedError),
    reported("waybarrios/vllm-mlx@source", "compatible", 503, {"detail": "Model not loaded"}, e.ServerError),
    reported("waybarrios/vllm-mlx@source", "compatible", 400,
        {"detail": "Default max tokens cannot exceed max request tokens"}, e.InvalidRequestError),
    reported("snailyp/gemini-balance@source", "gemini", 500,
        {"detail": "No available API keys"}, e.ServerError),
    reported("snailyp/gemini-balance@source", "gemini", 400,
        {"error": {"code": "invalid_request", "message": "Model a is not supported"}}, e.NotFoundError),
    reported("labring/aiproxy@source", "compatible", 404,
        say("The model `a` does not exist or you do not have access to it.", type="aiproxy_error",
        code="model_not_found"),
        e.NotFoundError),
    reported("labring/aiproxy@source", "compatible", 403,
        say("group (a) balance not enough", type="aiproxy_error", code="group_balance_not_enough"),
        e.QuotaExceededError),
    reported("labring/aiproxy@source", "compatible", 429,
        say("group (a) requests per minute is reached", type="aiproxy_error", code="request_rate_limit_exceeded"),
        e.RateLimitError),
    reported("services/IBM@form", "compatible", 400,
        {"errors": [{"code": "invalid_input_argument", "message": "Invalid input argument for Model 'a': the number "
            "of input "
            "tokens 5000 cannot exceed the total tokens limit 4096 for this model", "more_info": "https://x"}],
            "trace": "1", "status_code": 400}, e.ContextLengthError),
    reported("services/IBM@form", "compatible", 403,
        {"errors": [{"code": "token_quota_reached", "message": "The token quota of the month is reached"}],
        "trace": "1"},
        e.QuotaExceededError),
    reported("databricks/databricks-sdk-py@form", "compatible", 429,
        {"error_code": "REQUEST_LIMIT_EXCEEDED", "message": "Exceeded workspace input tokens per minute rate limit "
            "for a."},
        e.RateLimitError),
    reported("databricks/databricks-sdk-py@form", "compatible", 404,
        {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "The given endpoint does not exist, please retry after "
            "checking "
            "the specified model and version deployment exists."}, e.NotFoundError),
    reported("databricks/databricks-sdk-py@form", "compatible", 400,
        {"error_code": "BAD_REQUEST",
        "message": "{\"message\":\"prompt is too long: 210000 tokens > 200000 maximum\"}"},
        e.ContextLengthError),
    reported("services/aws@form", "compatible", 424,
        {"ErrorCode": "CLIENT_ERROR_FROM_MODEL", "Message": "Received client error (422) from primary with message "
            "\"Input validation error: `inputs` must have less than 4096 tokens. Given: 5000\"",
            "OriginalStatusCode": 422}, e.ContextLengthError),
    reported("services/aws@form", "compatible", 400,
        {"message": "Endpoint a of account 1 not found."}, e.NotFoundError),
    reported("services/snowflakedb@form", "compatible", 400,
        {"message": "max tokens of 8192 exceeded", "request_id": "1", "error_code": "390142"}, e.ContextLengthError),
    reported("services/deepinfra@form", "compatible", 402,
        {"detail": {"error": "inference prohibited, please enter a payment method or top up balance"}},
        e.QuotaExceededError),
    reported("services/deepinfra@form", "compatible", 429,
        {"detail": {"error": "Model busy, retry later"}}, e.RateLimitError),
    reported("services/siliconflow@form", "compatible", 403,
        {"code": 30001, "message": "Sorry, your account balance is insufficient", "data": None}, e.QuotaExceededError),
    reported("services/siliconflow@form", "compatible", 400,
        {"code": 20015, "message": "length of prompt_tokens (140000) must be less than max_seq_len (131072).",
        "data": None},
        e.ContextLengthError),
    reported("services/siliconflow@form", "compatible", 400,
        {"code": 20012, "message": "Model does not exist. Please check it carefully.", "data": None}, e.NotFoundError),
    reported("services/stepfun-ai@form", "compatible", 402,
        say("You have no available quota, please recharge", type="quota_exceeded"), e.QuotaExceededError),
    reported("services/stepfun-ai@form", "compatible", 451,
        say("The content you provided or machine outputted is blocked.", type="censorship_blocked"),
        e.ContentFilterError),
    reported("services/baidubce@form", "compatible", 429,
        say("Rate limit reached for TPM", code="tpm_rate_limit_exceeded", type="rate_limit_exceeded"),
        e.RateLimitError),
    reported("services/baidubce@form", "compatible", 400,
        say("the max input characters is 11200", code="invalid_argument", type="invalid_request_error"),
        e.ContextLengthError),
    reported("services/TencentCloud@form", "compatible", 400,
        {"Response": {"Error": {"Code": "FailedOperation.EngineServerLimitExceeded", "Message": "引擎层请求数超过限额"},
            "RequestId": "1"}}, e.RateLimitError),
    reported("services/iflytek@form", "compatible", 200,
        {"code": 11202, "message": "AppIdQpsOverFlowError:(授权限制：秒级流控超限)", "sid": "1"}, e.RateLimitError),
    reported("huggingface/huggingface_hub@form", "compatible", 402,
        {"error": "You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get "
            "20x more."},
        e.QuotaExceededError),
    reported("huggingface/huggingface_hub@form", "compatible", 400,
        say("The requested model 'a' is not a chat model.", type="invalid_request_error", param="model",
            code="model_not_supported"), e.NotFoundError),
    reported("services/AI21Labs@form", "compatible", 422,
        {"detail": [{"loc": ["body", "messages"], "msg": "Prompt has too many tokens. Reduce it by 300 tokens",
            "type": "value_error"}]}, e.ContextLengthError),
    reported("services/writer@form", "compatible", 400,
        {"tpe": "error", "errors": [{"key": "fail.content.moderation", "description": "The content was moderated"}],
            "extras": {}}, e.ContentFilterError),
    reported("services/Azure@form", "compatible", 403,
        {"statusCode": 403, "message": "Out of call volume quota. Quota will be replenished in 04:22:11."},
        e.QuotaExceededError),
    reported("services/Azure@form", "compatible", 401,
        {"statusCode": 401, "message": "Access denied due to missing subscription key."}, e.AuthenticationError),
    reported("services/apigee@form", "compatible", 429,
        {"fault": {"faultstring": "Rate limit quota violation. Quota limit exceeded. Identifier : a", "detail": {
            "errorcode": "policies.ratelimit.QuotaViolation"}}}, e.RateLimitError),
    reported("TykTechnologies/tyk@form", "compatible", 403, {"error": "Quota exceeded"},
        e.QuotaExceededError),
    reported("services/aws@form", "compatible", 403, {"message": "Missing Authentication Token"},
        e.PermissionDeniedError),
    reported("services/aws@form", "compatible", 504, {"message": "Endpoint request timed out"},
        e.ServerError),
    reported("cloudflare/cloudflare-docs@form",
        "compatible", 524, "<html><head><title>a.com | 524: A timeout occurred</title></head></html>", e.ServerError),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind"), ERRORS)
def test_an_error_has_its_class(wire: str, status: int, body: Any, kind: type[e.ProviderError]) -> None:
    error = refused(wire, status, body)
    is_kind = isinstance(error, kind) if kind is e.ServerError else type(error) is kind
    assert (is_kind, error.retryable) == (True, kind.retryable), f"{type(error).__name__}: {error}"


FIELDS: list[Any] = [
    reported("go-playground/validator@form", "compatible", 400,
        {"error": "Key: 'ChatRequest.ReasoningEffort' Error:Field validation for 'ReasoningEffort' failed on the "
            "'oneof' tag"},
        "reasoning_effort", {}),
    reported("hyperium/tonic@form", "compatible", 400,
        say("rpc error: code = InvalidArgument desc = proto: (line 1:40): unknown field \"stream_options\""),
        "stream_options", {}),
    reported("sinclairzx81/typebox@form", "compatible", 422,
        {"type": "validation", "on": "body", "property": "/reasoning_effort", "message": "Unexpected property",
        "summary": "x"},
        "reasoning_effort", {}),
    reported("laravel/framework@form", "compatible", 422,
        {"message": "The given data was invalid.", "errors": {"tool_choice": ["The selected tool choice is invalid."]}},
        "tool_choice", FORCED),
    reported("quarkusio/quarkus@form", "compatible", 400,
        {"objectName": "ChatRequest", "attributeName": "stream_options", "line": 1, "column": 30,
            "value": "stream_options"}, "stream_options", {}),
    reported("services/strands-agents@form", "anthropic", 400,
        {"message": "The model returned the following errors: thinking: Input should be a valid dictionary"},
        "thinking", {}),
    reported("services/IBM@form", "compatible", 400,
        {"errors": [{"code": "json_validation_error", "message": "Json document validation error: "
            "'reasoning_effort' is an "
            "unrecognized field", "more_info": "x"}], "status_code": 400}, "reasoning_effort", {}),
    reported("databricks/databricks-sdk-py@form", "compatible", 400,
        {"error_code": "BAD_REQUEST", "message": "Bad request: json: unknown field \"stream_options\"\n"},
        "stream_options",
        {}),
    reported("lightning-ai/litserve@form", "compatible", 422,
        {"detail": [{"type": "literal_error", "loc": ["body", "tool_choice"], "msg": "Input should be 'auto' or 'none'",
            "input": "required", "ctx": {"expected": "'auto' or 'none'"}}]}, "tool_choice", FORCED),
    reported("services/snowflakedb@form", "compatible", 400,
        {"message": "unrecognized request parameter: parallel_tool_calls, top_p", "error_code": "392700"}, "top_p", {}),
    reported("openai/codex@form", "openai", 400, {"detail": "Unsupported parameter: "
            "max_output_tokens"},
        "max_output_tokens", {}),
    reported("vllm-project/vllm@source", "openai", 400,
        say("`include` is only supported for reasoning models", type="BadRequestError", param="include"),
        "include", {}),
    reported("lmstudio-ai/lmstudio-bug-tracker@form", "openai", 400,
        say("Invalid value for 'reasoning.summary': expected one of 'concise'", type="invalid_request_error",
            param="reasoning.summary"), "reasoning.summary", {}),
    reported("songquanpeng/one-api@source", "gemini", 400,
        say("* GenerateContentRequest.generation_config.thinking_config.thinking_level: invalid value", code=400,
            status="INVALID_ARGUMENT"), "generationConfig.thinkingConfig.thinkingLevel", {"reasoning_effort": "high"}),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "path", "more"), FIELDS)
def test_a_refused_field_is_left_out(wire: str, status: int, body: Any, path: str, more: Any) -> None:
    assert at(second(wire, body, asking(wire, **more), status), path) is None


READ = ("read", {"path": "a.py"})
WHOLE = '{"path": "a.py"}'
STREAMS: list[Any] = [
    reported("exo-explore/exo@source",
        lines(HI, ended("error"), {"error": {"message": "Generation failed", "type": "InternalServerError",
        "code": 500}}),
        e.ServerError),
    reported("thushan/olla@source",
        lines(HI) + b'data: {"error":{"message":"AI backend closed connection after 3.0s - response stream ended '
        b'unexpectedly","type":"stream_error"}}\n\n', e.ServerError),
    reported("Wei-Shaw/claude-relay-service@source",
        lines(HI) + b'event: error\ndata: {"error":"Upstream connection reset","timestamp":"2026-11-30T18:00:00Z"}\n\n',
        e.ServerError),
    reported("predibase/lorax@source",
        lines(HI) + b'data:{"error":"Incomplete generation","error_type":"incomplete_generation"}\n\n',
        e.ProviderError),
    reported("PaddlePaddle/FastDeploy@source",
        lines(HI, {"object": "error", "message": "input is too long", "code": 400, "type": None}, "[DONE]"),
        e.ContextLengthError),
    reported("databricks/databricks-sdk-py@form", lines(HI, ended("length_limit")), "length"),
    reported("vercel/ai@form",
        lines(HI, ended("content-filter")), "content_filter"),
    reported("vercel/ai@form",
        lines(piece(content="Hi"), call_piece(0, "a", "read", WHOLE), ended("tool-calls")), "tool_calls"),
    reported("PaddlePaddle/FastDeploy@source", lines(HI, ended("recover_stop")),
        "stop"),
    reported("services/xai-org@form", lines(HI, ended("REASON_STOP")), "stop"),
    reported("services/xai-org@form", lines(HI, ended("REASON_MAX_LEN")), "length"),
    reported("services/watsonx@form", lines(HI, ended("time_limit")), "length"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "outcome"), STREAMS)
def test_an_end_is_what_its_server_says(data: bytes, outcome: Any) -> None:
    if isinstance(outcome, str):
        response = heard("compatible", data)
        assert (response.finish_reason.kind, response.text) == (outcome, "Hi")
        return
    with pytest.raises(outcome) as raised:
        heard("compatible", data)
    assert isinstance(raised.value, e.ProviderError)


PARTS: list[Any] = [
    reported("exo-explore/exo@source",
        [piece(reasoning_content="hm"), piece(content="Hi"), STOP], ("hm", "Hi", [])),
    reported("PaddlePaddle/FastDeploy@source",
        [piece(content="", reasoning_content="hm", prompt_token_ids=None, completion_token_ids=[1]), piece(content="Hi",
            reasoning_content="", tool_calls=None), STOP], ("hm", "Hi", [])),
    reported("apache/apisix@source",
        [piece(reasoning={"text": "hm"}), piece(content="Hi"), STOP], ("hm", "Hi", [])),
    reported("waybarrios/vllm-mlx@source",
        [piece(tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": {"name": "read",
            "arguments": WHOLE}}]), ENDS], ("", "", [READ])),
    reported("labring/aiproxy@source",
        [piece(content=None, tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": {"name": "read",
            "arguments": WHOLE}, "extra_content": {"google": {"thought_signature": "s"}}}]), STOP], ("", "", [READ])),
    reported("snailyp/gemini-balance@source",
        [piece(content=None, reasoning_content=None, tool_calls=[{"id": "call_1", "type": "function", "function": {
            "name": "read", "arguments": {"path": "a.py"}}}]), STOP], ("", "", [READ])),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "parts"), PARTS)
def test_a_delta_is_read(chunks: list[Any], parts: Any) -> None:
    response = heard("compatible", lines(*chunks, "[DONE]"))
    assert (response.reasoning, *said(response)) == parts
