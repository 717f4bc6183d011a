"""Reports on quoted overflow, Gemini's quota, Groq's broken calls, llama.cpp and fields of reasoning."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import user
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Request
from tests.llm.reports.chat import ASK, answer as chat_answer, codec, say
from tests.llm.reports.test_broken_streams import piece, said
from tests.llm.reports.test_error_kinds import exhausted, refused
from tests.support.codec_runs import body_of
from tests.support.reports import reported

LONG = '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 21543 tokens > 20000"}}'
LIMIT = (
    '{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context '
    'limit: 179413 + 32768 > 200000, decrease input length or `max_tokens` and try again"}}'
)
ENDPOINT = (
    "This endpoint's maximum context length is 40960 tokens. However, you requested about 42988 tokens (38892 of text "
    "input, 4096 in the output). Please reduce the length of either one."
)
CTX = (
    "the request exceeds the available context size. try increasing the context size or enable context shift"
)
NO_TIER = (
    "Gemini 2.5 Pro Preview doesn't have a free quota tier. Please use Gemini 2.5 Pro Experimental instead."
)
WAIT = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "33s"}]
BOTH = [{"violations": [{"quotaId": "GenerateContentInputTokensPerModelPerMinute-FreeTier"},
    {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]  # fmt: skip
CHECK = "Resource has been exhausted (e.g. check quota)."
KINDS: list[Any] = [
    reported("OpenHands/OpenHands#4894", "compatible", 400,
        say(f"litellm.BadRequestError: litellm.ContextWindowExceededError: AnthropicError - {LONG}", code="400"),
        e.ContextLengthError),
    reported("BrokkAi/brokk-app#540", "compatible", 400,
        say(f"litellm.BadRequestError: AnthropicException - b'{LIMIT}'. Received Model Group=m", code="400"),
        e.ContextLengthError),
    reported("BerriAI/litellm#18282", "gemini", 400,
        say("The input token count exceeds the maximum number of tokens allowed (1048576).", code=400,
            status="INVALID_ARGUMENT"), e.ContextLengthError),
    reported("agent0ai/agent-zero#1102", "compatible", 400,
        say("ContextWindowExceededError: OpenAIException - This model's maximum context length is 16384 tokens. "
            "However, your request has 19427 input tokens. Please reduce the length of the input messages."),
        e.ContextLengthError),
    reported("OpenHands/OpenHands#8149", "compatible", 400,
        say("litellm.BadRequestError: Error code: 400 - " + str(say(f"OpenrouterException - {ENDPOINT}", code="400"))),
        e.ContextLengthError),
    reported("ai-christianson/RA.Aid#182", "gemini", 429, exhausted(NO_TIER, details=WAIT), e.QuotaExceededError),
    reported("NEKOparapa/AiNiee#124", "gemini", 429, exhausted(CHECK), e.RateLimitError),
    reported("google-gemini/gemini-cli#8437", "gemini", 429,
        exhausted("You exceeded your current quota, please check your plan and billing details.", details=BOTH),
        e.QuotaExceededError),
    reported("google-gemini/gemini-cli#2020", "gemini", 429,
        say(json.dumps(exhausted(CHECK), indent=2) + "\n", code=429, status="Too Many Requests"), e.RateLimitError),
    reported("ggml-org/llama.cpp#15780", "llamacpp", 500,
        say(CTX, code=500, type="exceed_context_size_error", n_prompt_tokens=1407, n_ctx=256), e.ContextLengthError),
    reported("oobabooga/textgen#7257", "compatible", 200,
        say(CTX, code=400, type="exceed_context_size_error", n_prompt_tokens=14429, n_ctx=8192), e.ContextLengthError),
    reported("abetlen/llama-cpp-python#416", "compatible", 500,
        say("Requested tokens (2285) exceed context window of 512", type="internal_server_error"),
        e.ContextLengthError),
    reported("engeldlgado/toshllm#102", "compatible", 400,
        say("request (8283 tokens) exceeds the available context size (2048 tokens), try increasing it"),
        e.ContextLengthError),
    reported("anthropics/claude-code#562", "anthropic", 503,
        {"message": "Too many connections, please wait before trying again."}, e.ServerError),
    reported("awslabs/agent-evaluation#64", "anthropic", 200,
        {"type": "error", "error": {"type": "throttlingException",
            "message": "Your request rate is too high. Reduce the frequency of requests."}}, e.RateLimitError),
    reported("langgenius/dify#28638", "compatible", 400, say("Model deepseek-v3.1 not exist."), e.NotFoundError),
    reported("tinyhumansai/openhuman#1596", "compatible", 404,
        say("model 'reasoning-v1' not found", type="not_found_error"), e.NotFoundError),
    reported("use-agent-os/agent-os#1420", "gemini", 404,
        say("Requested entity was not found.", code=404, status="NOT_FOUND"), e.NotFoundError),
    reported("8monkey-ai/hebo-platform#447", "compatible", 422,
        say("Model 'GPT-OSS 20B' not found in catalog", type="invalid_request_error", code="model_not_found", param=""),
        e.NotFoundError),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind"), KINDS)
def test_an_error_has_its_class(wire: str, status: int, body: Any, kind: type[e.ProviderError]) -> None:
    error = refused(wire, status, body)
    assert (isinstance(error, kind), error.retryable) == (True, kind.retryable)


def rescued(text: str) -> Any:
    words = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."
    body = say(words, type="invalid_request_error", code="tool_use_failed", failed_generation=text)
    return codec("groq").rescue(ASK, ReplyHead(400), json.dumps(body).encode())


USED = {
    "tool_calls": [
        {"id": "pending", "type": "function", "function": {"name": "read"}, "parameters": {"q": "x"}}
    ]
}
RESCUED: list[Any] = [
    reported("groq/groq-typescript#103", f"<tool-use>\n{json.dumps(USED, indent=2)}\n</tool-use>"),
]  # fmt: skip


@pytest.mark.parametrize("text", RESCUED)
def test_a_call_that_the_server_refused_is_read(text: str) -> None:
    assert said(rescued(text)) == ("", [("read", {"q": "x"})])


@pytest.mark.report("mastra-ai/mastra#9688")  # fmt: skip
def test_a_call_of_an_unknown_tool_is_tried_again() -> None:
    words = "Tool call validation failed: attempted to call tool 'listFiles' which was not in request.tools"
    assert refused("groq", 400, say(words, type="invalid_request_error")).retryable


@pytest.mark.report("livekit/agents#3114")  # fmt: skip
@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_there_is_no_tool_choice_without_tools(choice: Any) -> None:
    request = Request("m", (user("hi"),), tool_choice=choice)
    assert "tool_choice" not in body_of(codec("xai").encode(request, stream=True))


STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
WHOLE = {
    "choices": [
        {"message": {"role": "assistant", "content": "12.", "reasoning": "hm"}, "finish_reason": "stop"}
    ]
}
REASONED: list[Any] = [
    reported("0xPlaygrounds/rig#1440", [piece(content=None, reasoning_content="hm"),
        piece(content="12.", reasoning_content=None), STOP]),
    reported("langgenius/dify-plugin-sdks#295", [piece(reasoning="hm", reasoning_content="hm", content=""),
        piece(content="12."), STOP]),
]  # fmt: skip


@pytest.mark.parametrize("chunks", REASONED)
def test_thinking_of_each_field_is_shown_once(chunks: list[Any]) -> None:
    response = chat_answer(*chunks)
    assert (response.text, response.reasoning) == ("12.", "hm")


@pytest.mark.report("infiniflow/ragflow#14817")  # fmt: skip
def test_thinking_of_a_whole_answer_is_read() -> None:
    response = codec().decode(ASK, ReplyHead(200), json.dumps(WHOLE).encode())
    assert (response.text, response.reasoning) == ("12.", "hm")
