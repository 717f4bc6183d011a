"""Reports on all wires: refused requests, errors and streams."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import (
    Message,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    assistant,
    tool_results,
    user,
)
from agent_ls.llm.requests import Request
from tests.llm.providers.test_anthropic_stream import sse, start
from tests.llm.providers.test_gemini_stream import wire as gemini_wire
from tests.llm.providers.test_refusals import check_left_out, second, spoken
from tests.llm.reports.chat import answer as chat_answer, say
from tests.llm.reports.test_anthropic import ASK as ASK_ANTHROPIC
from tests.llm.reports.test_broken_streams import ENDS, HI, call_piece, piece, said
from tests.llm.reports.test_error_kinds import check_error
from tests.llm.reports.test_refusals_through_proxies import schema
from tests.support.codec_runs import ANTHROPIC, GEMINI, body_of, response_of
from tests.support.reports import reported

SCHEMA = say(
    "Invalid JSON payload received. Unknown name \"$schema\" at 'request.tools[0].function_declarations[0].parameters'"
    ": Cannot find field.", code=400, status="INVALID_ARGUMENT",
)  # fmt: skip
CACHE = "Malformed input request: #/messages/6/content/0: extraneous key [cachePoint] is not permitted, try again."
LEFT_OUT: list[Any] = [
    reported("KashifKhn/gemini-proxy#1", "compatible", 400,
        say(f"Upstream error (400): {json.dumps(SCHEMA, indent=2)}"),
        schema(**{"$schema": "x", "type": "string"}), "tools.0.function.parameters.properties.a.$schema"),
    reported("just-every/code#227", "openai", 400,
        say("The following tools cannot be used with reasoning.effort 'minimal': web_search.", param="tools",
            type="invalid_request_error"), {"reasoning_effort": "minimal"}, "reasoning.effort"),
    reported("stdapi-ai/stdapi.ai#24", "anthropic", 400, say(CACHE), {}, "cache_control"),
    reported("NousResearch/hermes-agent#40790", "gemini", 400,
        say("Invalid JSON payload. Unknown name \"thinking_config\" at 'generation_config': Cannot find field.",
            code=400, status="INVALID_ARGUMENT"), {}, "generationConfig.thinkingConfig"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "more", "path"), LEFT_OUT)
def test_what_is_refused_is_left_out(
    wire: str, status: int, body: Any, more: dict[str, Any], path: str
) -> None:
    check_left_out(wire, status, body, more, path)


ONLY_CALL = (
    user("hi"),
    Message(Role.ASSISTANT, (ToolCallPart("a", "read", "{}"),)),
    tool_results([ToolResultPart("a", "read", "x")]),
)


@pytest.mark.report("langchain-ai/langchain#34140")  # fmt: skip
def test_each_message_has_a_text_if_the_server_wants_one() -> None:
    body = {"code": "Client specified an invalid argument",
        "error": "Invalid request content: Each message must have at least one content element."}  # fmt: skip
    messages = second("xai", body, Request("m", ONLY_CALL))["messages"]
    assert all((message.get("content") or "").strip() for message in messages)


@pytest.mark.report("justlovemaki/AIClient2API#632")  # fmt: skip
def test_messages_of_the_developer_become_the_users() -> None:
    request = Request("m", (user("hi"), Message(Role.DEVELOPER, (TextPart("note"),)), user("more")))
    body = second("openai", {"detail": "System messages are not allowed"}, request)
    assert [item["role"] for item in body["input"]] == ["user", "user", "user"]


@pytest.mark.report("stdapi-ai/stdapi.ai#24")
@pytest.mark.report("OpenHands/OpenHands#5339")
def test_a_refused_blank_text_is_not_sent_again() -> None:
    message = Message(Role.ASSISTANT, (TextPart("\n"), ToolCallPart("a", "read", "{}")))
    request = Request("m", (user("hi"), message, tool_results([ToolResultPart("a", "read", "x")])))
    for refusal in (
        "messages: text content blocks must contain non-whitespace text",
        "The text field in the ContentBlock object at messages.1.content.0 is blank.",
    ):
        sent = second("anthropic", say(refusal), request)["messages"][1]["content"]
        assert [block["type"] for block in sent] == ["tool_use"]


@pytest.mark.report("editor-code-assistant/eca#247")  # fmt: skip
def test_two_answers_in_a_row_are_one_turn_of_gemini() -> None:
    request = Request("gemini-2.5-flash", (user("hi"), assistant("ok"), *ONLY_CALL[1:]))
    contents = body_of(spoken("gemini").encode(request, stream=True))["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user"]


LONG = (
    "This model's maximum context length is 262144 tokens. However, your messages resulted in 262897 tokens."
)
PYTHON = (
    "Error code: 400 - {'error': {'message': \"This model's maximum context length is 196608 tokens. However, your "
    "messages resulted in 199906 tokens.\", 'type': 'Bad Request', 'code': 400}} (request_id=req_1)"
)
DEMAND = say(
    "This model is currently experiencing high demand. Please try again later.",
    code=503,
    status="UNAVAILABLE",
)
KINDS: list[Any] = [
    reported("badrisnarayanan/antigravity-claude-proxy#316", "anthropic", 400,
        say("invalid_request_error: Invalid model: m. Use /v1/models to see available models.",
            type="invalid_request_error"),
        e.NotFoundError, "Invalid model"),
    reported("BerriAI/litellm#12061", "anthropic", 400,
        {"detail": {"error": "completion: Invalid model name passed in model=m"}},
        e.NotFoundError, "Invalid model name"),
    reported("ericc-ch/copilot-api#121", "anthropic", 400,
        say("The requested model is not supported.", code="model_not_supported", param="model",
            type="invalid_request_error"),
        e.NotFoundError, "not supported"),
    reported("anthropics/claude-code#2909", "anthropic", 400, say("system: Invalid model name",
        type="invalid_request_error"),
        e.NotFoundError, "Invalid model name"),
    reported("QuantumNous/new-api#2484", "anthropic", 400,
        {**say("***.***.text: Field required (request id: 1) (request id: 2)", type="<nil>"), "type": "error"},
        e.InvalidRequestError, "Field required"),
    reported("openai/codex#3224", "responses", 400, {"detail": "Instructions are not valid"}, e.InvalidRequestError,
        "Instructions are not valid"),
    reported("deanxv/done-hub#29", "responses", 400,
        say("Provider API error: bad response status code 400", code="bad_response_status_code", param="400",
            type="upstream_error"),
        e.InvalidRequestError, "status code 400"),
    reported("openai/codex#32871", "responses", 500, say("fixture-specific failure", code="fixture_failure"),
        e.ServerError,
        "fixture-specific failure"),
    reported("NousResearch/hermes-agent#26161", "gemini", 400,
        "<html><title>Error 400 (Bad\nRequest)!!1</title></html>", e.InvalidRequestError, "Error 400 (Bad Request)"),
    reported("continuedev/continue#10639", "gemini", 503,
        say(json.dumps(DEMAND, indent=2) + "\n", code=503, status="Service Unavailable"), e.OverloadedError,
            "high demand"),
    reported("cline/cline#13194", "openrouter", 400,
        say("Provider returned error", code=400, metadata={"raw": json.dumps(say(LONG, type="Bad Request", code=400)),
            "provider_name": "Nvidia"}), e.ContextLengthError, "262897"),
    reported("Alishahryar1/free-claude-code#391", "anthropic", 400, say(PYTHON, type="api_error"),
        e.ContextLengthError, "199906"),
    reported("infiniflow/ragflow#17292", "compatible", 200, {"base_resp": {"status_code": 1002,
        "status_msg": "rate limit"}},
        e.RateLimitError, "rate limit"),
    reported("tashfeenahmed/freellmapi#426", "compatible", 413,
        say("Request body too large for gpt-4.1 model. Max size: 8000 tokens.", code="tokens_limit_reached"),
        e.ContextLengthError, "8000"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), KINDS)
def test_an_error_has_its_class_and_the_words_of_the_server(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    check_error(wire, status, body, kind, words)


THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
STOPS = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
STREAMS: list[Any] = [
    reported("AIPentest/CyberStrikeAI#231",
        [call_piece(0, "a", "read", '{"x": 1}'), call_piece(0, "b", "list", '{"y": 2}'), ENDS],
        ("", [("read", {"x": 1}), ("list", {"y": 2})]), ""),
    reported("vllm-project/vllm#27703", [piece(content="<think>H"), piece(content="m.</think>ok"), STOPS], ("ok", []),
        "Hm."),
    reported("BerriAI/litellm#20246", [piece(reasoning="Hm."), piece(content="ok"), STOPS], ("ok", []), "Hm."),
    reported("microsoft/agent-framework#6978", [piece(content=[THOUGHT]), piece(content=[{"type": "text",
        "text": "ok"}]), STOPS],
        ("ok", []), "Hm."),
    reported("raullenchai/Rapid-MLX#579",
        [piece(content="[TOOL_CALLS]"), piece(content="read"), piece(content="[ARGS]"), piece(content='{"x":'),
            piece(content=" 1}"), STOPS],
        ("", [("read", {"x": 1})]), ""),
    reported("MiniMax-AI/MiniMax-M2.5#2", [piece(role="", reasoning_content=""), piece(role="", content="ok"), STOPS],
        ("ok", []), ""),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "result", "reasoning"), STREAMS)
def test_a_stream_of_chat_completions_is_read(chunks: list[Any], result: Any, reasoning: str) -> None:
    response = chat_answer(*chunks)
    assert (said(response), response.reasoning) == (result, reasoning)


GEMINI_ENDS: list[Any] = [
    reported("simonw/llm-gemini#80", {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": "m"}),
    reported("google-gemini/deprecated-generative-ai-python#276", {"promptFeedback": {"blockReason": "OTHER"}}),
    reported("gbaptista/gemini-ai#21", {"candidates": [{"finishReason": "RECITATION", "safetyRatings": []}]}),
]  # fmt: skip


@pytest.mark.parametrize("chunk", GEMINI_ENDS)
def test_a_filtered_answer_of_gemini_says_so(chunk: Any) -> None:
    response = response_of(GEMINI, gemini_wire(chunk), Request("m", (user("hi"),)))
    assert response.finish_reason.kind == "content_filter"


@pytest.mark.report("charmbracelet/crush#960")  # fmt: skip
def test_an_overload_in_the_stream_is_tried_again() -> None:
    failed = {
        "type": "error",
        "error": {"details": None, "type": "overloaded_error", "message": "Overloaded"},
    }
    with pytest.raises(e.OverloadedError) as raised:
        response_of(ANTHROPIC, sse(start(), *HI, failed), ASK_ANTHROPIC)
    assert raised.value.retryable
