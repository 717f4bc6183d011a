"""Reports on all wires: words of thinking and streams, errors in streams, and relays of Gemini."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import Message, Role, ToolCallPart, ToolResultPart, tool_results, user
from agent_ls.llm.providers.refused_streams import demands_stream
from agent_ls.llm.requests import Request
from agent_ls.loop.model.recovery import refuses_reasoning
from tests.llm.providers.test_anthropic_stream import sse, start
from tests.llm.providers.test_openai_stream import CREATED, sse as openai_sse
from tests.llm.providers.test_refusals import asking, at, second, spoken
from tests.llm.reports.chat import answer as chat_answer, codec, say
from tests.llm.reports.test_anthropic import ASK as ASK_ANTHROPIC
from tests.llm.reports.test_broken_streams import add, begin, call_piece, piece
from tests.llm.reports.test_error_kinds import check_error, refused
from tests.llm.reports.test_responses import ASK as ASK_RESPONSES
from tests.support.codec_runs import ANTHROPIC, OPENAI, body_of, response_of
from tests.support.reports import reported

ONLY_THINKS = "Only 'enabled' and 'disabled' are supported for thinking; 'adaptive' is not supported."
ADAPTIVE: list[Any] = [
    reported("anthropics/claude-code#29531",
        say("event:error\ndata:" + json.dumps({"code": "InvalidParameter", "message": ONLY_THINKS}))),
    reported("decolua/9router#2023",
        {"message": "Validation: `thinking.type` must be `enabled` or `disabled`", "type": "Bad Request", "code": 400}),
]  # fmt: skip


@pytest.mark.parametrize("body", ADAPTIVE)
def test_adaptive_thinking_is_not_sent_again(body: Any) -> None:
    request = asking("anthropic")
    assert at(body_of(spoken("anthropic").encode(request, stream=True)), "thinking.type") == "adaptive"
    assert (second("anthropic", body, request).get("thinking") or {}).get("type") != "adaptive"


SCOPE = {"message": "system.1.cache_control.ephemeral.scope: Extra inputs are not permitted"}
GRAMMAR = say(
    "Failed to initialize samplers: failed to parse grammar", code=400, type="invalid_request_error"
)
OPTIONS = {
    "type": "extra_forbidden",
    "loc": ["body", "stream_options"],
    "msg": "Extra inputs are not permitted",
}
LEFT_OUT: list[Any] = [
    reported("caozhiyuan/copilot-api#145", "anthropic", 400, {"error": SCOPE}, "system.0.cache_control"),
    reported("lidge-jun/opencodex#2135", "llamacpp", 400, GRAMMAR, "tools.0.function.parameters.properties.a.pattern"),
    reported("mistralai/platform-docs-public#7", "compatible", 422,
        {"object": "error", "message": json.dumps({"detail": [OPTIONS]}), "type": "internal_error_proxy",
            "code": "1000"},
        "stream_options"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "path"), LEFT_OUT)
def test_what_is_refused_is_left_out(wire: str, status: int, body: Any, path: str) -> None:
    body = second(wire, body, asking(wire), status)
    assert isinstance(body.get("system"), str) or at(body, path) is None


NO_STREAM = {"code": "invalid_parameter_error", "type": "invalid_request_error"}
ROUTED = say("enable thinking can not be support when `stream=False`.", **NO_STREAM)
STREAM_WORDS: list[Any] = [
    reported("tencentmusic/supersonic#2355", 400,
        say("parameter.enable_thinking must be set to false for non-streaming calls", param=None, **NO_STREAM)),
    reported("alibaba/spring-ai-alibaba#867", 400,
        say("parameter.enable_thinking必须设置为false才能进行非流式调用", param=None, **NO_STREAM)),
    reported("musistudio/claude-code-router#948", 400,
        say(f"Error from provider(modelscope,m: 400): {json.dumps(ROUTED)}Error: x\n    at nt (x.js:1)",
            type="api_error", code="provider_response_error")),
    reported("langgenius/dify-official-plugins#825", 400,
        {"code": "InvalidParameter", "message": "This model only supports incremental_output set to True."}),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body"), STREAM_WORDS)
def test_a_model_that_only_streams_is_known(status: int, body: Any) -> None:
    assert demands_stream(refused("compatible", status, body))


CORRUPT = say("Corrupted thought signature.", code=400, status="INVALID_ARGUMENT")
SIGNATURES: list[Any] = [
    reported("heyhuynhgiabuu/proxypal#119", "gemini", 400, CORRUPT),
    reported("massgen/MassGen#665", "openrouter", 400,
        say("Provider returned error", code=400, metadata={"raw": json.dumps(CORRUPT), "provider_name": "x"})),
    reported("decolua/9router#301", "anthropic", 400,
        say("[gemini-cli/m] [400]: Unable to submit request: Thought signature is not valid.. (reset after 30s)")),
    reported("lbjlaq/Antigravity-Manager#970", "compatible", 429,
        f"All accounts exhausted. Last error: HTTP 400: {json.dumps(CORRUPT, indent=2)}"),
    reported("router-for-me/CLIProxyAPI#5652", "gemini", 400,
        say("Tool call part is missing thought_signature", code=400, status="INVALID_ARGUMENT")),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body"), SIGNATURES)
def test_a_session_goes_on_without_the_thoughts(wire: str, status: int, body: Any) -> None:
    assert refuses_reasoning(refused(wire, status, body))


BETA = say(
    "Unexpected value(s) `x-2025-10-29` for the `anthropic-beta` header. Please try again without the header."
)
EXHAUSTED = say(
    "Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model with base model: "
    "anthropic-claude.", code=429, status="RESOURCE_EXHAUSTED",
)  # fmt: skip
CALL_FAILED = say(
    "Failed to parse tool call arguments as JSON", type="invalid_request_error", code="tool_use_failed"
)
NAMES = [{"type": "extra_forbidden", "loc": ["body", "messages", 0, "user", "name"], "msg": "Extra inputs"}]
KINDS: list[Any] = [
    reported("anthropics/claude-code#11672", "anthropic", 400,
        say(json.dumps({"type": "error", **BETA}) + ". Received Model Group=m\nAvailable Model Group Fallbacks=None",
            type="None", param="None", code="400"), e.InvalidRequestError, "`anthropic-beta` header"),
    reported("cline/cline#651", "anthropic", 429, [EXHAUSTED], e.RateLimitError, "per_base_model"),
    reported("Aider-AI/aider#1912", "compatible", 429,
        say(f"litellm.RateLimitError: VertexAIException - b'{json.dumps(EXHAUSTED)}'", type=None, code="429"),
        e.RateLimitError, "per_base_model"),
    reported("yym68686/uni-api#41", "anthropic", 400,
        say("Project `1` is not allowed to use Publisher Model `m`", code=400, status="FAILED_PRECONDITION"),
        e.PermissionDeniedError, "Publisher Model"),
    reported("anthropics/claude-code#820", "anthropic", 400,
        say("prompt is too long: 200251 tokens > 200000 maximum", type="invalid_request_error"), e.ContextLengthError,
        "200251"),
    reported("MoonshotAI/MoonshotAI-Cookbook#18", "moonshot", 400, say("model max length exceeded, max length:8192"),
        e.ContextLengthError, "8192"),
    reported("moeru-ai/airi#1768", "moonshot", 400,
        say("Invalid request: tokenization failed", type="invalid_request_error"), e.InvalidRequestError,
        "tokenization"),
    reported("nomtek/mistralai_client_dart#44", "mistral", 422,
        {"object": "error", "message": {"detail": NAMES}, "type": "invalid_request_error", "param": None},
        e.InvalidRequestError, "name"),
    reported("jundot/omlx#2018", "compatible", 500, say("Internal server error", type="server_error"), e.ServerError,
        "Internal server error"),
    reported("langchain-ai/langchain#32999", "responses", 400,
        {"object": "error", "message": "object of type 'ValidatorIterator' has no len() None", "code": 400},
        e.InvalidRequestError, "has no len()"),
    reported("QwenLM/Qwen-Agent#941", "compatible", 400,
        {"code": "InternalError.Algo.InvalidParameter",
            "message": "The thinking_budget parameter must be a positive integer"},
        e.InvalidRequestError, "thinking_budget"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), KINDS)
def test_an_error_has_its_class_and_words(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    check_error(wire, status, body, kind, words)


UNREADABLE: list[Any] = [
    reported("lucagrippa/obsidian-ai-tagger#34", say("Failed to call a function. See 'failed_generation'.",
        type="invalid_request_error", code="tool_use_failed", failed_generation="")),
    reported("OpenHands/OpenHands#10187",
        say(f"litellm.BadRequestError: GroqException - {json.dumps(CALL_FAILED)}\n. Received Model Group=coding",
            type=None, code="400")),
]  # fmt: skip


@pytest.mark.parametrize("body", UNREADABLE)
def test_a_call_that_groq_cannot_read_is_tried_again(body: Any) -> None:
    assert refused("groq", 400, body).retryable


@pytest.mark.report("labring/FastGPT#3575")  # fmt: skip
def test_each_answer_has_a_text_for_moonshot() -> None:
    said = (user("hi"), Message(Role.ASSISTANT, (ToolCallPart("a", "read", "{}"),)),
        tool_results([ToolResultPart("a", "read", "x")]))  # fmt: skip
    words = "Invalid request: the message at position 1 with role 'assistant' must not be empty (request id: 2025)"
    assert second("moonshot", say(words), Request("m", said))["messages"][1]["content"].strip()


@pytest.mark.report("charmbracelet/crush#1590")  # fmt: skip
def test_mistral_gets_no_thinking_field() -> None:
    ended = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    response = chat_answer(
        piece(reasoning_content="Hm."), call_piece(0, "a", "read", "{}"), ended, provider="mistral"
    )
    messages = (user("hi"), response.message, tool_results([ToolResultPart("a", "read", "x")]))
    sent = body_of(codec("mistral").encode(Request("m", messages), stream=True))["messages"][1]
    assert "reasoning_content" not in sent


@pytest.mark.report("langchain-ai/deepagents#202")  # fmt: skip
def test_a_result_of_text_is_a_string() -> None:
    items = body_of(OPENAI.encode(asking("openai"), stream=True))["input"]
    assert {type(item["output"]) for item in items if item.get("type") == "function_call_output"} == {str}


@pytest.mark.report("AstrBotDevs/AstrBot#6614")  # fmt: skip
def test_the_usage_is_read_from_a_choice() -> None:
    usage = {"prompt_tokens": 1336, "completion_tokens": 31, "total_tokens": 1367, "cached_tokens": 1280}
    ended = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage}], "usage": None}
    found = chat_answer(piece(content="hi"), ended, provider="moonshot").usage
    assert (found.input_tokens, found.output_tokens, found.cache_read_tokens) == (1336, 31, 1280)


def failed(error: Any) -> Any:
    return {
        "type": "response.failed",
        "response": {"id": "r", "status": "failed", "error": error, "output": []},
    }


TOO_MANY = {
    "type": "too_many_requests",
    "code": "rate_limit_exceeded",
    "message": "exceeded rate limit.",
    "param": None,
}
LIMITS: list[Any] = [
    reported("earendil-works/pi#7983", [failed(None), {"type": "error", "error": TOO_MANY}]),
    reported("sozercan/vekil#267", [failed({"message": "Your requests to m have exceeded rate limit."})]),
]  # fmt: skip


@pytest.mark.parametrize("events", LIMITS)
def test_a_rate_limit_in_the_stream_is_one(events: list[Any]) -> None:
    with pytest.raises(e.RateLimitError, match="exceeded rate limit"):
        response_of(OPENAI, openai_sse(CREATED, *events), ASK_RESPONSES)


@pytest.mark.report("openclaw/openclaw#29320")  # fmt: skip
def test_a_cut_line_of_a_stream_is_tried_again() -> None:
    piece_of = add(0, "input_json_delta", partial_json='{"command": "journalctl')
    text = json.dumps(piece_of)
    cut = b"event: content_block_delta\ndata: " + text[:-10].encode() + b" " * 20 + b"}\n\n"
    with pytest.raises(e.LlmError) as raised:
        response_of(ANTHROPIC, sse(start(), begin(0, type="tool_use", id="t", name="f")) + cut, ASK_ANTHROPIC)
    assert raised.value.retryable


@pytest.mark.report("envoyproxy/ai-gateway#2698")  # fmt: skip
def test_an_overload_in_a_stream_of_chat_completions_is_tried_again() -> None:
    with pytest.raises(e.OverloadedError) as raised:
        chat_answer(piece(content="hi"), {"error": {"type": "overloaded_error", "message": "Overloaded"}})
    assert raised.value.retryable
