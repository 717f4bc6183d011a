"""Reports on errors of model servers and gateways: their class, and whether they are tried again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.providers.refused_tools import name_refused_tools
from tests.llm.reports.chat import TOOLS, say
from tests.llm.reports.test_error_kinds import check_exact_error, exhausted, refused
from tests.support.reports import reported

POOL = "z-ai/glm-5.3-flash is temporarily rate-limited upstream. Please retry shortly, or add your own key."
SUSPENDED = json.dumps(say("Your account org-1 <ak-1> is suspended due to insufficient balance, please recharge your "
    "account or check your plan and billing details", type="exceeded_current_quota_error"))  # fmt: skip
FORBIDDEN = [
    {
        "type": "extra_forbidden",
        "loc": ["body", "messages", 0, "user", "name"],
        "msg": "Extra inputs are not permitted",
    }
]
TEAM = "Your team 16f2 has either used all available credits or reached its monthly spending limit. To continue making "
NO_CREDITS = (
    "Your newly created team doesn't have any credits or licenses yet. You can purchase those on the console."
)
TOO_MANY = "Too many tokens for team e9 and model grok-4. Your team's rate limit is Tokens per Minute (actual/limit): "
ACCOUNT = "openai.gpt-5.6-luna is not available for this account. You can explore other available models."
BEDROCK = (
    "The model returned the following errors: Invalid parameter combination. Please check and try again."
)
PER_PROJECT = (
    "Quota exceeded for aiplatform.googleapis.com/generate_content_requests_per_minute_per_project_per_base_model "
    "with base model: m. Please submit a quota increase request."
)
SUM = say("This model's maximum context length is 163840 tokens. However, you requested 32000 output tokens and your "
    "prompt contains at least 131841 input tokens, for a total of at least 163841 tokens. (parameter=input_tokens, "
    "value=131841)", type="BadRequestError", param="input_tokens", code=400)  # fmt: skip
LONGER = (
    "Invalid request. Please check the parameters and try again. Details: The input (514881 tokens) is longer than "
    "the model's context length (262144 tokens)."
)
BUSY = "The engine is currently overloaded, please try again later"
SHORT = "invalid request: message must be at least 1 token long or tool results must be specified."
KINDS: list[Any] = [
    reported("open-webui/computer#293", "openrouter", 429,
        say("Provider returned error", code=429, metadata={"raw": POOL, "provider_name": "B",
            "limit_source": "upstream_provider_shared_pool"}), e.RateLimitError, "temporarily rate-limited"),
    reported("cline/cline#4826", "xai", 429, {"code": "Some resource has been exhausted",
        "error": f"{TOO_MANY}65605/16000."}, e.RateLimitError, "65605/16000"),
    reported("Gage-Technologies/mistral-go#2", "mistral", 422,
        {"object": "error", "message": {"detail": FORBIDDEN}, "type": "invalid_request_error", "param": None,
            "code": None}, e.InvalidRequestError, "messages.0.user.name"),
    reported("earendil-works/pi#3643", "compatible", 402, say("You have no quota", code="quota_exceeded"),
        e.QuotaExceededError, "no quota"),
    reported("github/copilot-cli#908", "compatible", 400, "Bad Request\n", e.InvalidRequestError, "Bad Request"),
    reported("huggingface/chat-ui#1343", "vllm", 400, "", e.InvalidRequestError, ""),
    reported("MoonshotAI/MoonshotAI-Cookbook#16", "moonshot", 429, say(BUSY, type="engine_overloaded_error"),
        e.OverloadedError, "overloaded"),
    reported("MoonshotAI/kimi-cli#901", "moonshot", 429,
        say("We're receiving too many requests at the moment. Please wait a moment and try again.",
            type="rate_limit_reached_error"), e.RateLimitError, "too many"),
    reported("LLM-Red-Team/kimi-cc#41", "anthropic", 429,
        say("Your account x / proj-1 <ak-1> request reached project TPM rate limit, current: 1410, limit: 100, see the "
            "docs", type="rate_limit_reached_error"), e.RateLimitError, "current: 1410"),
    reported("anomalyco/opencode#24462", "compatible", 429,
        say("Error from provider: Provider returned error", code=429, metadata={"raw": SUSPENDED}),
        e.QuotaExceededError, "insufficient balance"),
    reported("a37836323/-chatgpt4.0-api-key#2", "compatible", 503,
        say("No available channels for model  in group default (request id: 1)", type="new_api_error",
            message_zh="当前分组 default 下对于模型 无可用渠道"), e.ServerError, "No available channels"),
    reported("popjane/free_chatgpt_api#110", "compatible", 503,
        say("当前分组 default 下对于模型 gpt-4o-mini 无可用渠道 (request id: 2)", type="v_api_error"), e.ServerError,
        "gpt-4o-mini"),
    reported("tbphp/gpt-load#528", "responses", 503,
        say("No available upstream candidate.", code="no_available_candidate"), e.ServerError, "upstream candidate"),
    reported("lingyuins/octopus#77", "compatible", 502, say("no available channel"), e.ServerError, "no available"),
    reported("nminaya/grammar-nazi-bot#957", "cerebras", 429,
        {"message": "Requests per minute limit exceeded - too many requests sent.", "type": "too_many_requests_error",
            "param": "quota", "code": "request_quota_exceeded"}, e.RateLimitError, "Requests per minute"),
    reported("anomalyco/opencode#7463", "cerebras", 429,
        {"message": "Tokens per minute limit exceeded - too many tokens processed.", "param": "quota",
            "type": "too_many_tokens_error", "code": "token_quota_exceeded"}, e.RateLimitError, "Tokens per minute"),
    reported("sandialabs/atlas-ui-3#111", "compatible", 429,
        say("litellm.RateLimitError: RateLimitError: CerebrasException - We're experiencing high traffic right now! "
            "Please try again soon.", code="429"), e.RateLimitError, "high traffic"),
    reported("huggingface/transformers#28523", "compatible", 422,
        {"error": "Input validation error: `max_new_tokens` must be <= 192. Given: 200", "error_type": "validation"},
        e.InvalidRequestError, "192"),
    reported("continuedev/continue#10373", "xai", 429, {"code": "Some resource has been exhausted",
        "error": f"{TEAM}API requests, please purchase more credits or raise your spending limit."},
        e.QuotaExceededError, "credits"),
    reported("continuedev/continue#12670", "xai", 403, {"code": "The caller does not have permission to execute the "
        "specified operation", "error": NO_CREDITS}, e.QuotaExceededError, "credits"),
    reported("continuedev/continue#10250", "compatible", 401,
        say("Incorrect API key provided: https://****lETQ. You can find your API key at the site.",
            type="invalid_request_error", param=None, code="invalid_api_key"), e.AuthenticationError, "Incorrect"),
    reported("theopenco/llmgateway#3393", "compatible", 401, say(ACCOUNT), e.PermissionDeniedError, "this account"),
    reported("NousResearch/hermes-agent#89749", "zai", 429,
        say("The service may be temporarily overloaded, please try again later", code="1305"), e.RateLimitError,
        "overloaded"),
    reported("NousResearch/hermes-agent#100065", "zai", 429, say("Rate limit reached for requests", code="1302"),
        e.RateLimitError, "Rate limit"),
    reported("sipeed/picoclaw#795", "zai", 500, say("网络错误，错误id：2026，请联系客服。", code="1234"), e.ServerError,
        "网络错误"),
    reported("anomalyco/opencode#2898", "zai", 400,
        say("Invalid API parameter, please check the documentation.", code="1210"), e.InvalidRequestError, "Invalid"),
    reported("kwaroran/Risuai#504", "compatible", 400, {"message": SHORT}, e.InvalidRequestError, "1 token"),
    reported("cohere-ai/cohere-python#525", "compatible", 400,
        {"message": "invalid request: cannot specify both message and tool_results in multistep mode"},
        e.InvalidRequestError, "multistep"),
    reported("yym68686/uni-api#6", "compatible", 400,
        {"message": f"All command-r-plus error: {{'message': '{SHORT}'}}"}, e.InvalidRequestError, "1 token"),
    reported("langchain-ai/langchain-aws#566", "compatible", 400, {"message": BEDROCK}, e.InvalidRequestError,
        "combination"),
    reported("langchain-ai/langchain-google#355", "gemini", 429, exhausted(PER_PROJECT), e.RateLimitError, "minute"),
    reported("CommandCodeAI/command-code#785", "compatible", 500,
        {"success": False, "error": {"code": "INTERNAL_SERVER_ERROR", "status": 500,
            "message": "An unexpected error occurred. Please try again later."}}, e.ServerError, "unexpected"),
    reported("anomalyco/opencode#38108", "compatible", 200,
        {"error_type": "validation_error", "error_message": json.dumps(SUM)}, e.ContextLengthError, "163840"),
    reported("anomalyco/opencode#35991", "compatible", 400, {"detail": LONGER}, e.ContextLengthError, "514881"),
    reported("anomalyco/opencode#50761", "compatible", 400, {"model": "deepseek-v4.1-flash"}, e.InvalidRequestError,
        ""),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), KINDS)
def test_an_error_has_its_class_and_words(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    check_exact_error(wire, status, body, kind, words)


EOF = say("unexpected EOF", type="invalid_request_error", param=None, code=None)
UNPARSED = "Failed to parse input at pos 12: <tool_call>\n<function=read>\n<parameter=path>\na.py"
PASSING: list[Any] = [
    reported("ollama/ollama#14834", 200, say("XML syntax error on line 110: unexpected EOF", type="api_error")),
    reported("ollama/ollama#14986", 500, {"error": "EOF"}),
    reported("ollama/ollama#16082", 400, EOF),
    reported("ollama/ollama-js#285", 400,
        {"error": 'Post "https://ollama.com:443/v1/chat/completions?ts=1775218167": unexpected EOF'}),
    reported("chatboxai/chatbox#2114", 500,
        {"error": "an error was encountered while running the model: unexpected EOF"}),
    (400, {"error": "write tcp 10.0.0.1:80: write: broken pipe"}),
    (400, {"error": 'Post "http://10.0.0.1/v1/chat/completions": dial tcp 10.0.0.1:80: i/o timeout'}),
    (400, say("litellm.APIConnectionError: peer closed connection without sending complete message body (incomplete "
        "chunked read)", code="400")),
    (400, say("Premature close", type="invalid_request_error")),
    (422, say("the upstream disconnected before it had answered")),
    reported("continuedev/continue#10896", 200, {"error": "failed to parse XML: XML syntax error on line 1: element "
        "<tool_call> closed by </arg_value>"}),
    pytest.param(200, {"error": "expected element type <function> but have <parameter>"}),
    reported("continuedev/continue#12680", 200,
        {"error": "XML syntax error on line 8: element <function> closed by </parameter>"}),
    (500, {"error": "XML syntax error on line 8: element <function> closed by </parameter>"}),
    reported("ollama/ollama#11704", 200,
        {"error parsing tool call": "invalid character 'c' looking for beginning of value"}),
    reported("agentscope-ai/QwenPaw#3560", 200, say(UNPARSED, code=500, type="server_error")),
    reported("earendil-works/pi#3494", 429, {"type": "error", "error": {"type": "rate_limit_error", "message": BUSY}}),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body"), PASSING)
def test_a_failure_that_may_pass_is_tried_again(status: int, body: Any) -> None:
    assert refused("ollama", status, body).retryable


REFUSED = [
    "template: :3: unexpected EOF",
    "failed to parse request: unexpected EOF",
    "unexpected end of JSON input",
    "Please do not close the connection before the answer has come: stream must be true",
]


@pytest.mark.parametrize("words", REFUSED)
def test_what_the_server_refuses_is_not_tried_again(words: str) -> None:
    assert not refused("ollama", 400, say(words, type="invalid_request_error")).retryable


ACCESS: list[Any] = [
    ("Your organization does not have access to the model gpt-9.", e.PermissionDeniedError),
    ("This model is not enabled for your project", e.PermissionDeniedError),
    ("The requested deployment isn't available on your current plan.", e.PermissionDeniedError),
    ("You are not authorized to use this model.", e.PermissionDeniedError),
    ("Model m is not included in the subscription of this key", e.PermissionDeniedError),
    ("Invalid API key, or the model is not enabled for your project", e.AuthenticationError),
    ("You didn't provide an API key. It is not available in this account.", e.AuthenticationError),
]


@pytest.mark.parametrize(("words", "kind"), ACCESS)
def test_a_key_that_may_not_use_a_model_is_not_called_wrong(words: str, kind: type[e.ProviderError]) -> None:
    assert type(refused("compatible", 401, say(words))) is kind


@pytest.mark.report("BuilderIO/micro-agent#86")
def test_a_delay_in_milliseconds_is_read() -> None:
    words = "429 Rate limit reached for gpt-4o in organization o on tokens per min (TPM): Limit 30000, Used 29937, "
    error = refused("compatible", 429, say(f"{words}Requested 385. Please try again in 644ms."))
    assert (type(error), error.retry_after_s) == (e.RateLimitError, 0.644)


@pytest.mark.report("vllm-project/vllm#7463")
def test_a_method_that_is_not_allowed_is_a_matter_of_the_address() -> None:
    error = refused("vllm", 405, {"detail": "Method Not Allowed"})
    assert (type(error), error.retryable) == (e.ConfigurationError, False)


BEDROCK_TOOL = (
    "1 validation error detected: Value '' at 'toolConfig.tools.{}.member.toolSpec.description' failed to "
)
PLACES: list[Any] = [
    reported(
        "BerriAI/litellm#19384",
        BEDROCK_TOOL.format(1),
        "read",
    ),
    (BEDROCK_TOOL.format(3), "get_time"),
    ("tools.1.custom.input_schema: JSON schema is invalid", "list"),
    ("Invalid schema for tools[2].function", "get_time"),
]


@pytest.mark.parametrize(("words", "name"), PLACES)
def test_the_tool_of_a_place_is_named(words: str, name: str) -> None:
    body = say(f'litellm.BadRequestError: BedrockException - {{"message":"{words}"}}', code="400")
    error = refused("compatible", 400, body)
    assert isinstance(error, e.InvalidRequestError)
    name_refused_tools(error, TOOLS)
    assert [tool.name for tool in TOOLS if tool.name in error.hint] == [name]
