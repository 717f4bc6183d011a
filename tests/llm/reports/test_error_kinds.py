"""Errors of servers and proxies that reports quote: the kind, the delay before another try, and the hint."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.providers.base import Codec, ReplyHead
from agent_ls.llm.providers.refused_tools import name_refused_tools
from agent_ls.llm.requests import ToolDefinition
from agent_ls.llm.retry import RetryPolicy, retry_delay_s
from tests.llm.reports.chat import ASK, codec, say
from tests.support.codec_runs import ANTHROPIC, GEMINI, OPENAI
from tests.support.reports import reported

WIRES: dict[str, Codec] = {"anthropic": ANTHROPIC, "responses": OPENAI, "gemini": GEMINI}


def refused(wire: str, status: int, body: Any, **headers: str) -> e.LlmError:
    """Return the error of a response. Status 200: the body is no answer, or an event of a stream."""
    text = body if isinstance(body, str) else json.dumps(body)
    head = ReplyHead(status, headers, 1_000.0)
    return (WIRES.get(wire) or codec(wire)).decode_error(ASK, head, text.encode())


def check_error(wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str) -> None:
    """Check the class of the error of a response, some words of its text, and whether it is tried again."""
    error = refused(wire, status, body)
    assert (isinstance(error, kind), words in str(error), error.retryable) == (True, True, kind.retryable)


def check_exact_error(wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str) -> None:
    """Check an error as `check_error` does, and that its class is no other than `kind`."""
    check_error(wire, status, body, kind, words)
    assert type(refused(wire, status, body)) is kind


def exhausted(message: str, **more: Any) -> Any:
    return {"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED", **more}}


def rate(limit: str, **more: Any) -> Any:
    words = f"Rate limit reached for model `m` in organization `o` on tokens per minute (TPM): {limit}"
    return {"error": {"message": words, "type": "tokens", "code": "rate_limit_exceeded", **more}}


NESTED = (
    json.dumps(say("The requested model is not supported.", code="model_not_supported", param="model")) + "\n"
)
OVER = (
    'litellm.ContextWindowExceededError: AnthropicError - {"type":"error","error":{"type":"invalid_request_error",'
    '"message":"prompt is too long: 200480 tokens > 200000 maximum"}}'
)
FILTERED = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
PER_DAY = "and limit 'Gemini 2.5 Pro Requests per\n day per user per tier' of service 'x'."
KINDS: list[Any] = [
    reported("sgl-project/sglang#2431", "compatible", 500, "Internal Server Error", e.ServerError),
    reported("ggml-org/llama.cpp#23582", "llamacpp", 400, "", e.InvalidRequestError),
    reported("agentuniverse-ai/agentUniverse#700", "ollama", 200,
        {"error": 'model "llama9" not found, try pulling it first'}, e.NotFoundError),
    reported("ollama/ollama-python#557", "ollama", 500, {"error": "unexpected error format"}, e.ServerError),
    reported("lmstudio-ai/lms#169", "lmstudio", 200,
        {"error": "Unexpected endpoint or method. (POST /chat/completions)"}, e.NotFoundError),
    ("compatible", 404, {"error": "Unexpected endpoint or method. (GET /models)"}, e.NotFoundError),
    ("compatible", 200, {"error": "No such endpoint: /chat/completions"}, e.NotFoundError),
    ("anthropic", 200, {"message": "Unexpected endpoint or method. (POST /v1/messages)"}, e.NotFoundError),
    reported("IBM/mcp-cli#133", "lmstudio", 401,
        say("Incorrect API key provided: 11****1111.", type="invalid_request_error", code="invalid_api_key"),
        e.AuthenticationError),
    reported("BerriAI/litellm#21755", "openrouter", 200,
        {"choices": [{"message": {"content": None}}], "error": {"code": 429, "message": "Rate limit exceeded"}},
        e.RateLimitError),
    reported("elizaOS/eliza#4040", "groq", 413,
        say("Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 6294, please reduce it",
            code="rate_limit_exceeded"), e.ContextLengthError),
    reported("danielmiessler/Fabric#364", "groq", 429,
        rate("Limit 7000, Used 0, Requested ~12903. Please try again in 50.59s."), e.ContextLengthError),
    reported("OpenHands/OpenHands#4167", "openrouter", 429,
        rate("\nLimit 7000, Used 6148, Requested 7895. Please try again in 1m0.363142857s."), e.ContextLengthError),
    ("groq", 429, rate("Limit 6,000, Used 0, Requested 8,192."), e.ContextLengthError),
    ("responses", 429, rate("Limit 30000, Requested 31000."), e.ContextLengthError),
    ("compatible", 429, rate("Limit: 10000 / min. Requested: 20000."), e.ContextLengthError),
    ("responses", 429, rate("Limit 30000, Used 29000, Requested 2000."), e.RateLimitError),
    reported("zai-org/feedback#81", "anthropic", 200,
        {"type": "error", "error": {"code": "1210", "message": "Invalid API parameter, please check it."}},
        e.InvalidRequestError),
    ("anthropic", 200, {"error": {"code": "1113", "message": "Insufficient."}}, e.QuotaExceededError),
    ("anthropic", 429, {"error": {"code": "1308", "message": "Usage limit reached for 5 hour."}}, e.QuotaExceededError),
    ("responses", 200, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}, e.ContextLengthError),
    reported("QwenLM/qwen-code#1422", "zai", 403, "", e.PermissionDeniedError),
    reported("charmbracelet/crush#1237", "zai", 400,
        {"code": "1210", "message": "Invalid API\nparameter, please check the documentation."}, e.InvalidRequestError),
    reported("lobehub/lobehub#11408", "zai", 400, say("messages 参数非法。", code="1214"), e.InvalidRequestError),
    reported("caozhiyuan/copilot-api#129", "compatible", 400, {"error": {"message": NESTED, "type": "error"}},
        e.NotFoundError),
    reported("Alishahryar1/free-claude-code#1021", "compatible", 404,
        {"status": 404, "title": "Not Found", "detail": "Function '23d4': Not found for account 'Q'"}, e.NotFoundError),
    reported("Hmbown/Codewhale#1482", "compatible", 404, "404 page not found", e.NotFoundError),
    reported("Alishahryar1/free-claude-code#917", "anthropic", 200, "", e.StreamError),
    reported("mozilla-ai/any-llm#714", "together", 400,
        {"message": "Input validation error", "type_": "invalid_request_error"}, e.InvalidRequestError),
    reported("SWE-agent/SWE-agent#135", "together", 400,
        {"message": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769. Given: 31000"},
        e.ContextLengthError),
    reported("anthropics/claude-code#1531", "anthropic", 400,
        say("input length and `max_tokens` exceed context limit: \n    175272 + 32000 > 200000, decrease input length"),
        e.ContextLengthError),
    reported("tya5/reyn#5699", "compatible", 400, say("Input too big", code="context_length_exceeded"),
        e.ContextLengthError),
    reported("BerriAI/litellm#6629", "compatible", 200,
        say('litellm.ContextWindowExceededError: Bedrock: {"message":"Input is too long for requested model."}',
            type="None", code="400"), e.ContextLengthError),
    reported("BerriAI/litellm#7259", "compatible", 400,
        say(f"litellm.BadRequestError: {OVER}\nAvailable Fallbacks=None",
        type=None, code="400"), e.ContextLengthError),
    reported("entropy-research/Devon#88", "compatible", 400, OVER, e.ContextLengthError),
    reported("BerriAI/litellm#2745", "compatible", 400,
        say("This model's maximum context length is 8192 tokens. However, you requested 10152 tokens (6152 in the "
            "messages, 4000 in the completion)."), e.ContextLengthError),
    reported("anomalyco/opencode#27524", "compatible", 400, say("maximum context length exceeded"),
        e.ContextLengthError),
    reported("anomalyco/opencode#35920", "zai", 400, say("tokens in request more than max tokens allowed"),
        e.ContextLengthError),
    ("compatible", 400, say("The number of tokens is larger than the limit of this model"), e.ContextLengthError),
    ("compatible", 400, say("input tokens are greater than allowed"), e.ContextLengthError),
    ("compatible", 400, say("prompt has 9 tokens more than context"), e.ContextLengthError),
    ("compatible", 400, say("requested completion tokens are more than max for this model"), e.InvalidRequestError),
    reported("BerriAI/litellm#37599", "compatible", 400, {"error": {"code": "400", "message":
        "AnthropicException - b'" + json.dumps(say("You have reached your specified API usage limits. You will regain "
            "access on 2026-09-01.")) + "'. Received Model Group=m"}}, e.QuotaExceededError),
    ("compatible", 429, say("You've hit your usage limit. Upgrade to Pro."), e.QuotaExceededError),
    ("responses", 400, say("Your project has reached its spending limit."), e.QuotaExceededError),
    ("openrouter", 400, say("spend cap reached for this key"), e.QuotaExceededError),
    reported("BerriAI/litellm#1447", "compatible", 400,
        {"detail": "AzureException - Error code: 400 - {'error': {'message': 'x is not of type'}}\n\nTraceback: …"},
        e.InvalidRequestError),
    reported("nearai/ironclaw#1994", "compatible", 502, "<html><head><title>502 Bad Gateway</title></head></html>",
        e.ServerError),
    reported("HKUDS/nanobot#536", "compatible", 502, '<!DOCTYPE html>\n<html><title>x | 502: Bad gateway</title><div>',
        e.ServerError),
    reported("ollama/ollama#3694", "ollama", 524, "<html><head><title>x | 524: A timeout occurred</title></head>",
        e.ServerError),
    reported("anthropics/claude-code#82931", "anthropic", 413, {"error": "gateway: body larger than 1 MB"},
        e.RequestTooLargeError),
    reported("lsdefine/GenericAgent#753", "responses", 200,
        say("Our servers are currently overloaded. Please try again later.", type="server_error"), e.OverloadedError),
    reported("langchain-ai/langchain#39039", "responses", 200,
        {"status": "failed", "error": {"code": "server_error", "message": "The server had an error"}}, e.ServerError),
    reported("earendil-works/pi#1458", "responses", 200,
        say("Requests have exceeded token rate limit of your tier.", code="rate_limit_exceeded"), e.RateLimitError),
    reported("vercel/ai#6534", "responses", 200,
        say("Request too large for m on tokens per min (TPM): Limit 30000, Requested 35364. The input or output tokens "
            "must be reduced.", type="tokens", code="rate_limit_exceeded"), e.ContextLengthError),
    reported("google-gemini/gemini-cli#15498", "gemini", 429, exhausted("Resource exhausted. Please try again later."),
        e.RateLimitError),
    reported("googleapis/google-cloud-java#11195", "gemini", 429,
        exhausted("Unable to submit request because the service is temporarily out of capacity."), e.RateLimitError),
    reported("google-gemini/gemini-cli#14811", "gemini", 429,
        say(json.dumps(exhausted("Resource has been exhausted (e.g. check quota)."), indent=2), code=429),
        e.RateLimitError),
    reported("vxcontrol/pentagi#313", "compatible", 500,
        say("litellm.InternalServerError: Failed to parse tool call arguments as JSON: unexpected end of input"),
        e.ServerError),
    reported("stanford-crfm/helm#3327", "compatible", 400, say(FILTERED, param="prompt", code="content_filter",
        status=400),
        e.ContentFilterError),
    reported("browser-use/browser-use#262", "compatible", 400,
        say(FILTERED, inner_error={"code": "ResponsibleAIPolicyViolation"}, code="content_filter"),
        e.ContentFilterError),
    reported("continuedev/continue#4192", "compatible", 400,
        say("The response was filtered due to the prompt triggering Microsoft's content management policy."),
        e.ContentFilterError),
    reported("microsoft/sample-app-aoai-chatGPT#986", "compatible", 400,
        say("litellm.ContentPolicyViolationError: Azure Exception - Error code: 400", type=None, code="400"),
        e.ContentFilterError),
    reported("QwenLM/qwen-code#2384", "compatible", 400,
        say("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]"),
        e.ContextLengthError),
    reported("agentscope-ai/agentscope#1295", "compatible", 400,
        {"status_code": 400, "code": "InvalidParameter", "message": "url error, please check url!", "output": None},
        e.InvalidRequestError),
    reported("MiniMax-AI/MiniMax-M2#76", "openrouter", 200,
        say("Minimax midstream error: invalid params, tool result's tool id(call_x) not found", code=400),
        e.InvalidRequestError),
    reported("earendil-works/pi#5468", "anthropic", 400, {"type": "error", "error": {"type": "bad_request_error",
        "message": "invalid params, invalid function arguments json string, tool_call_id: call_x_1 (2013)"}},
        e.InvalidRequestError),
    reported("jlcodes99/cockpit-tools#1431", "compatible", 400,
        say("invalid params, code: 2013, msg: invalid params, unknown model 'gpt-5.5' (2013)"), e.NotFoundError),
    reported("jin-bo/agentao#283", "responses", 429, say("You have reached it.", code="credit_balance_exhausted"),
        e.QuotaExceededError),
    ("compatible", 429, say("You have reached it.", code="organization_spend_limit_exceeded"), e.QuotaExceededError),
    ("responses", 429, say("You have reached it.", code="project_spend_limit_exceeded"), e.QuotaExceededError),
    ("compatible", 429, say("You have reached it.", code="organization_usage_limit_exceeded"), e.QuotaExceededError),
    reported("Gitlawb/openclaude#249", "gemini", 429,
        exhausted("Quota exceeded for metric: x/free_tier_requests, limit: 0, model: m\nPlease retry in 43.9s.",
            details=[{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "43s"}]),
        e.QuotaExceededError),
    reported("gadievron/raptor#852", "gemini", 429,
        exhausted("You exceeded your current quota. Please retry in 20.1s.", details=[
            {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "250"}]}]),
        e.QuotaExceededError),
    reported("google-gemini/gemini-cli#10925", "gemini", 429,
        exhausted(f"Quota exceeded for quota metric 'Gemini 2.5 Pro Requests' {PER_DAY}",
            details=[{"reason": "RATE_LIMIT_EXCEEDED"}]), e.QuotaExceededError),
    ("compatible", 429, say("Rate limit exceeded: free-models-per-day. Add 10 credits"), e.QuotaExceededError),
    ("compatible", 429, say("You have reached your daily limit of 50 requests."), e.QuotaExceededError),
    ("groq", 429, say("tokens per day (TPD): Limit 100000, Used 99000. Please try again in 7m12s."), e.RateLimitError),
    reported("finaldie/auto-news#104", "gemini", 429, exhausted("Resource has been exhausted (e.g. check quota)."),
        e.RateLimitError),
    reported("xqicxx/dsh-telegram#37", "compatible", 429, "", e.RateLimitError),
    reported("rbb-dev/Open-WebUI-OpenRouter-pipe#25", "openrouter", 400,
        say("qwen.qwen3.6-plus-preview:free is not a valid model ID", code=400), e.NotFoundError),
    reported("Hmbown/Codewhale#1717", "compatible", 200, say("service busy, try later", code="503"), e.OverloadedError),
]  # fmt: skip


@pytest.mark.req("U8")
@pytest.mark.parametrize(("wire", "status", "body", "kind"), KINDS)
def test_errors_have_their_kind(wire: str, status: int, body: Any, kind: type[e.LlmError]) -> None:
    error = refused(wire, status, body)
    assert (type(error), error.retryable) == (kind, kind.retryable)


DELAYS: list[Any] = [
    reported("mindcraft-bots/mindcraft#188",
        rate("Limit 6000, Used 5914, Requested 1822. Please try again in 17.359s."), {}, 17.359),
    reported("bklieger-groq/stockbot-on-groq#46",
        say("Rate limit reached on : Limit 500000, Used 500370, Requested 252. Please try again in 1m47.5854s."), {},
        107.585),
    reported("openinterpreter/openinterpreter#408",
        rate("Limit 6000,\nUsed 3513, Requested 3166. Please try again in 6.780999999s."), {}, 6.781),
    reported("Pythagora-io/gpt-pilot#862", say("Rate limit"), {"retry-after": "2", "x-ratelimit-reset-tokens": "7.66s"},
        2.0),
    reported("earendil-works/pi#9595", say("slow down"), {"retry-after": "30"}, 30.0),
    reported("MemTensor/MemOS#1620", say("slow down"), {"retry-after": "Thu, 01 Jan 1970 00:16:55 GMT"}, 15.0),
    reported("huggingface/smolagents#2107", say("slow down"), {"retry-after": "120"}, 120.0),
    reported("NousResearch/hermes-agent#2724", say("slow down"), {"retry-after": "3600"}, 3600.0),
]  # fmt: skip


@pytest.mark.parametrize(("body", "headers", "delay_s"), DELAYS)
def test_the_delay_that_a_server_asks_for_is_waited_or_told(
    body: Any, headers: dict[str, str], delay_s: float
) -> None:
    error = refused("groq", 429, body, **headers)
    policy = RetryPolicy()
    assert error.retry_after_s == pytest.approx(delay_s, abs=0.001)
    waited = retry_delay_s(error, 0, policy, 0.5)
    assert waited == (error.retry_after_s if delay_s <= policy.max_delay_s else None)


HINTS: list[Any] = [
    reported("mnfst/llm-gateway#2657", say("The model does not support the '/v1/chat/completions' API"), "Responses"),
    reported("caozhiyuan/copilot-api#113",
        say('model "m" is not accessible via the /chat/completions endpoint', code="unsupported_api_for_model"),
        "Responses"),
    reported("David-Li0406/Preference-Leakage#6",
        say("As of transformers v4.44, default chat template is no longer allowed", code=400), "template"),
    (say("This model is only supported in v1/responses and not in v1/chat/completions."), "Responses"),
    (say("Model m is not available on /v1/chat/completions. Use /v1/responses instead."), "Responses"),
    reported("HunorLaczko/ha-groq-cloud-api#25", say("'tools' : maximum number of items is 128"), "offers 3 tools"),
    (say("Invalid 'tools': array too long. Expected at most 128, but got 140 instead."), "offers 3 tools"),
    (say("Too many tools: 65 provided, 64 allowed"), "offers 3 tools"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "word"), HINTS)
def test_a_hint_says_what_helps(body: Any, word: str) -> None:
    error = refused("compatible", 400, body)
    assert isinstance(error, e.InvalidRequestError)
    name_refused_tools(error, [ToolDefinition(name, "", {"type": "object"}) for name in "abc"])
    assert word in error.hint


PAGE = '<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title><style>*{}</style></head>'


@pytest.mark.report("anthropics/claude-code#30437")
@pytest.mark.parametrize(
    ("wire", "status"), [("anthropic", 403), ("compatible", 401), ("responses", 403), ("gemini", 403)]
)
def test_a_page_in_place_of_the_service_is_none_of_the_key(wire: str, status: int) -> None:
    error = refused(wire, status, PAGE)
    assert not error.retryable and "Just a moment" in str(error) and "<" not in str(error)
    assert "firewall" in error.hint


@pytest.mark.report("ggml-org/llama.vscode#181")
def test_the_words_of_the_server_are_shown() -> None:
    assert "prefix token is missing" in str(
        refused("llamacpp", 400, say("Infill: prefix token is missing.", code=400))
    )
