"""Reports on filters, Vertex AI, xAI, answers that come twice, and odd orders of events."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import ToolResultPart, tool_results, user
from agent_ls.llm.requests import Request
from agent_ls.llm.stream import StreamFinish
from tests.llm.providers.test_anthropic_stream import end, sse, start, text_block
from tests.llm.providers.test_openai_stream import CREATED, added, done, final
from tests.llm.providers.test_refusals import JSON, asking, at, second, spoken
from tests.llm.reports.chat import answer as chat_answer, codec, say
from tests.llm.reports.test_anthropic import ASK as ASK_ANTHROPIC, answer as anthropic_answer
from tests.llm.reports.test_broken_streams import HI, begin, last, piece
from tests.llm.reports.test_error_kinds import check_exact_error
from tests.llm.reports.test_responses import answer as responses_answer
from tests.support.codec_runs import ANTHROPIC, body_of, events_of, response_of
from tests.support.reports import reported

RISK = "This content was flagged for possible cybersecurity risk. If this seems wrong, try rephrasing your request."
NO_ACCESS = "User gateway-1 is not authorized to access model x or model does not exist"
KINDS: list[Any] = [
    reported("NousResearch/hermes-agent#115218", "compatible", 400,
        say("Content Exists Risk", type="AI_APICallError", isRetryable=False), e.ContentFilterError, "Risk"),
    reported("hackerai-tech/hackerai#632", "openrouter", 403, say("PROHIBITED_CONTENT", code=403),
        e.ContentFilterError, "PROHIBITED"),
    reported("CyberStrikeus/CyberStrike#111", "responses", 400, say(RISK), e.ContentFilterError, "cybersecurity"),
    reported("NousResearch/hermes-agent#100113", "compatible", 500,
        say("sensitive words detected", type="new_api_error", code="sensitive_words_detected"), e.ContentFilterError,
        "sensitive words"),
    reported("code-yeongyu/oh-my-openagent#7023", "compatible", 400,
        say("The response was blocked by a content filter", type="ContentFilterError"), e.ContentFilterError,
        "blocked"),
    reported("lidge-jun/opencodex#1689", "anthropic", 400,
        {"error": {"code": "content-blocked", "type": "agent_router_api_error"}}, e.ContentFilterError, ""),
    reported("truefoundry/models#949", "compatible", 403,
        {"status": "failure", "message": NO_ACCESS, "error": {"message": NO_ACCESS, "type": "AuthorizationError",
            "code": "403"}}, e.PermissionDeniedError, "not authorized"),
    reported("cline/cline#1426", "compatible", 401,
        say("The API key or AK/SK in the request is missing or invalid. requestId: 0217", code="AuthenticationError"),
        e.AuthenticationError, "AK/SK"),
    reported("cline/cline#1426", "compatible", 400,
        say("One or more parameters specified in the request are not valid.", code="InvalidParameter"),
        e.InvalidRequestError, "One or more"),
    reported("yym68686/uni-api#105", "xai", 400, {"code": "Client specified an invalid argument",
        "error": "Argument not supported on this model: presencePenalty"}, e.InvalidRequestError, "presencePenalty"),
    reported("anthropics/claude-code#83989", "compatible", 400, {"code": "unclassified", "error": "invalid request"},
        e.InvalidRequestError, "invalid request"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), KINDS)
def test_an_error_has_its_class_and_words(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    check_exact_error(wire, status, body, kind, words)


QUOTED = (
    'litellm.BadRequestError: Vertex_aiException BadRequestError - {"type":"error","error":{"type":'
    '"invalid_request_error","message":"output_config: Extra inputs are not permitted"},"request_id":"req_vrtx_1"}'
)
LEFT_OUT: list[Any] = [
    reported("NousResearch/hermes-agent#23088", "openai",
        {"code": "invalid-argument", "error": "Model grok-4-1-fast does not support parameter reasoningEffort."},
        {"reasoning_effort": "high"}, "reasoning.effort"),
    reported("anthropics/anthropic-sdk-python#1188", "anthropic",
        say("output_config.format: Extra inputs are not permitted", type="invalid_request_error"), JSON,
        "output_config.format"),
    reported("anthropics/claude-code#37746", "anthropic",
        say("output_config: Extra inputs are not permitted", type="invalid_request_error"), {}, "output_config"),
    reported("OpenHands/software-agent-sdk#1630", "anthropic", say(QUOTED, code="400"), {}, "output_config"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "body", "more", "path"), LEFT_OUT)
def test_what_is_refused_is_left_out(wire: str, body: Any, more: Any, path: str) -> None:
    request = asking(wire, **more)
    assert at(body_of(spoken(wire).encode(request, stream=True)), path) is not None
    assert at(second(wire, body, request), path) is None


@pytest.mark.report("FoundationAgents/OpenManus#23")  # fmt: skip
def test_a_result_without_its_call_is_not_sent() -> None:
    messages = (user("hi"), tool_results([ToolResultPart("a", "read", "x")]), user("more"))
    sent = body_of(codec("deepseek").encode(Request("m", messages), stream=True))["messages"]
    assert "tool" not in {message["role"] for message in sent}


TEXT = "Hello world, this is an answer of some length."
STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
WHOLE = {"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}
TWICE: list[Any] = [
    reported("abundantbeing/hermes-browser-extension#11", [piece(content=TEXT[:9]), piece(content=TEXT[9:]),
        {"choices": [WHOLE]}]),
    reported("Gitlawb/openclaude#21", [piece(content=TEXT), STOP, STOP]),
    reported("infiniflow/ragflow#15443", [*(piece(content=TEXT[at : at + 9]) for at in range(0, len(TEXT), 9)),
        {"choices": [{"index": 0, "delta": {"content": TEXT, "final_content": TEXT,
            "reference": {}}, "finish_reason": None}]}, STOP]),
]  # fmt: skip


@pytest.mark.parametrize("chunks", TWICE)
def test_an_answer_is_shown_once(chunks: list[Any]) -> None:
    assert chat_answer(*chunks).text == TEXT


def test_equal_pieces_of_an_answer_are_all_kept() -> None:
    rule = "-" * 60
    assert chat_answer(piece(content=rule), piece(content=rule), STOP).text == rule * 2


@pytest.mark.report("danielmiessler/Fabric#1684")  # fmt: skip
def test_a_streamed_text_of_responses_is_shown_once() -> None:
    item = {"id": "m", "type": "message", "role": "assistant"}
    content = [{"type": "output_text", "text": "Hello", "annotations": []}]
    place = {"item_id": "m", "output_index": 0, "content_index": 0}
    events = [
        added(0, {**item, "content": []}),
        {"type": "response.output_text.delta", **place, "delta": "Hello"},
        {"type": "response.output_text.done", **place, "text": "Hello"},
        done(0, {**item, "content": content}),
        final(),
    ]
    assert responses_answer(CREATED, *events).text == "Hello"


@pytest.mark.report("heyhuynhgiabuu/proxypal#19")  # fmt: skip
def test_a_block_before_the_message_is_read() -> None:
    events = (HI[0], start(), *HI[1:], *last("end_turn"))
    assert response_of(ANTHROPIC, sse(*events), ASK_ANTHROPIC).text == "hi"


@pytest.mark.report("earendil-works/pi#1983")  # fmt: skip
def test_events_without_names_are_read() -> None:
    wire = sse(start(), *text_block(0, "hi"), *end())
    lines = [line for line in wire.split(b"\n") if not line.startswith(b"event:")]
    assert response_of(ANTHROPIC, b"\n".join(lines), ASK_ANTHROPIC).text == "hi"


@pytest.mark.report("earendil-works/pi#5592")  # fmt: skip
def test_an_answer_ends_with_its_last_event() -> None:
    *_, ended = events_of(ANTHROPIC, [sse(start(), *text_block(0, "hi"), *end())], ASK_ANTHROPIC)
    assert isinstance(ended, StreamFinish)


@pytest.mark.report("earendil-works/pi#2120")  # fmt: skip
def test_an_end_for_a_call_without_one_is_not_the_end_for_calls() -> None:
    response = anthropic_answer(*HI, *last("tool_use"))
    assert response.finish_reason.kind == "error"
    assert not anthropic_answer(begin(0, type="text", text=""), *last("tool_use")).tool_calls
