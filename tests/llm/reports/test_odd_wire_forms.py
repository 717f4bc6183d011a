"""Reports on each wire: refused requests, streams in odd forms, and errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import Message, Role, ToolCallPart, ToolResultPart, tool_results, user
from agent_ls.llm.requests import Request, ToolDefinition, Usage
from tests.llm.providers.test_anthropic_stream import sse, start
from tests.llm.providers.test_gemini_stream import chunk, wire as gemini_wire
from tests.llm.providers.test_openai_stream import CREATED, final, sse as openai_sse
from tests.llm.providers.test_refusals import JSON, asking, at, second, spoken
from tests.llm.reports.chat import answer as chat_answer, say
from tests.llm.reports.test_broken_streams import ENDS, HI, call_piece, last, said
from tests.llm.reports.test_error_kinds import refused
from tests.llm.reports.test_responses import answer as responses_answer
from tests.support.codec_runs import ANTHROPIC, GEMINI, OPENAI, body_of, response_of
from tests.support.reports import reported

BODY = "body -> stream_options\n  Extra inputs are not permitted (type=extra_forbidden)"
RESENT: list[Any] = [
    reported("argilla-io/synthetic-data-generator#48", "compatible",
        {"error": "Input validation error: `top_p` must be > 0.0 and < 1.0", "error_type": "validation"}, 422, "top_p"),
    reported("Kilo-Org/kilocode#9652", "compatible", {"error": BODY}, 422, "stream_options"),
    reported("mrwadams/stride-gpt#19", "compatible",
        say("Invalid parameter: 'response_format' of type 'json_schema' is not supported.", param="response_format"),
        400, "response_format"),
    reported("anthropics/claude-code#12122", "anthropic",
        say('{"message":"messages.0.content.0.text.cache_control.ephemeral.ttl: Extra inputs are not permitted"}. '
            "Received Model Group=m", type="None", param="None", code="400"), 400, "cache_control"),
    reported("cline/cline#261", "anthropic",
        say("messages.0.content.0.text.cache_control: Extra inputs are not permitted"), 400, "cache_control"),
    reported("Wei-Shaw/sub2api#3954", "openai", {"detail": "Unsupported parameter: max_output_tokens"}, 400,
        "max_output_tokens"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "body", "status", "path"), RESENT)
def test_the_second_request_lacks_what_was_refused(wire: str, body: Any, status: int, path: str) -> None:
    request = asking(wire, **(JSON if path == "response_format" else {}))
    assert at(second(wire, body, request, status), path) is None


@pytest.mark.report("anthropics/claude-code#24451")  # fmt: skip
def test_the_output_that_the_model_writes_is_asked_for() -> None:
    words = "max_tokens: 65536 > 64000, which is the maximum allowed number of output tokens for m"
    assert second("anthropic", say(words), asking("anthropic"))["max_tokens"] == 64000


NESTED = {
    "type": "error",
    "error": {"type": "invalid_request_error", "message": "messages.12: no result for toolu_1"},
}
CUT = "stream error: stream disconnected before completion: stream closed before response.completed"
KINDS: list[Any] = [
    reported("co-l/openfox#212", "compatible", 400,
        say(f"[400]: {json.dumps({**NESTED, 'request_id': 'r'})}", type="invalid_request_error", code=400),
        e.InvalidRequestError, "no result for toolu_1"),
    reported("can1357/oh-my-pi#298", "cerebras", 422, "", e.InvalidRequestError, "422"),
    reported("router-for-me/CLIProxyAPI#3055", "compatible", 200, say(CUT, type="invalid_request_error"),
        e.ServerError, "stream closed"),
    ("anthropic", 400, say("read tcp 1.2.3.4: connection reset by peer"), e.ServerError, "reset"),
    ("gemini", 500, say("socket hang up"), e.ServerError, "hang up"),
    ("responses", 400, {"detail": "upstream stream ended before first payload"}, e.ServerError, "payload"),
    reported("microsoft/agent-framework#4576", "responses", 400,
        say("Invalid payload", code="invalid_payload", details=[{"message": "Value is null", "param": "/input/2/id"}]),
        e.InvalidRequestError, "/input/2/id"),
    reported("google-gemini/gemini-cli#12214", "gemini", 400,
        [say("The input token count (134123) exceeds the maximum number of tokens allowed (131072).", code=400,
            errors=[{"domain": "global", "reason": "badRequest"}], status="INVALID_ARGUMENT")],
        e.ContextLengthError, "134123"),
    reported("google-gemini/gemini-cli#27197", "gemini", 400,
        say("The input token count (81881) exceeds the maximum number of tokens allowed (65536).", code=400,
            status="INVALID_ARGUMENT"),
        e.ContextLengthError, "65536"),
    reported("google-gemini/gemini-cli#5807", "gemini", 400,
        say(json.dumps(say("The input token count (1091639) exceeds the maximum number of tokens allowed (1048576).",
            code=400, status="INVALID_ARGUMENT"), indent=2), code=400, status="Bad Request"),
        e.ContextLengthError, "1091639"),
    reported("cocoindex-io/cocoindex#1151", "gemini", 429,
        say("Quota exceeded for x.googleapis.com/input_tokens_per_minute_per_base_model with base model: m. Please "
            "submit a quota increase request.", code=429, status="RESOURCE_EXHAUSTED"),
        e.RateLimitError, "per_minute"),
    reported("google-gemini/gemini-cli#15911", "gemini", 429,
        say("Resource exhausted. Please try again later. Please refer to https://x/error-code-429 for more details.",
            code=429, status="RESOURCE_EXHAUSTED"),
        e.RateLimitError, "try again"),
    reported("RooCodeInc/Roo-Code#9413", "gemini", 400,
        say("Request contains an invalid argument.", code=400, status="INVALID_ARGUMENT"),
        e.InvalidRequestError, "invalid argument"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "word"), KINDS)
def test_an_error_has_its_class_and_the_words_of_the_server(
    wire: str, status: int, body: Any, kind: type[e.LlmError], word: str
) -> None:
    error = refused(wire, status, body)
    assert (type(error), word in str(error), error.retryable) == (kind, True, kind.retryable)


CHAT: list[Any] = [
    reported("agno-agi/agno#8880",
        [call_piece(0, "a", "read", '{"x": '), call_piece(0, None, None, "1}"), call_piece(0, "b", "list", ""),
            call_piece(1, None, None, '{"y": 1}')],
        [("read", {"x": 1}), ("list", {"y": 1})]),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "calls"), CHAT)
def test_calls_of_chat_servers_are_read(chunks: list[Any], calls: list[Any]) -> None:
    assert said(chat_answer(*chunks, ENDS))[1] == calls


@pytest.mark.report("sgl-project/sglang#23071")  # fmt: skip
def test_arguments_that_are_no_json_are_not_run() -> None:
    twice = '{"path": "a"{"path": "a", "why": "b"}'
    response = chat_answer(call_piece(0, "a", "read", ""), call_piece(1, None, None, twice), ENDS)
    assert [part.name for part in response.tool_calls] == ["read"]
    with pytest.raises(ValueError, match=r"delimiter|data"):
        json.loads(response.tool_calls[0].arguments)


@pytest.mark.report("OpenRouterTeam/openrouter-examples#71")  # fmt: skip
def test_a_tool_of_chat_completions_has_no_field_that_is_openais_own() -> None:
    assert b'"strict"' not in spoken("openrouter").encode(asking("openrouter"), stream=True).content


TEXTS: list[Any] = [
    reported("anthropics/claude-code#3276", "\ud83d alone"),
    reported("anthropics/claude-code#77525", "a\x00b\x1bc\x85"),
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_is_sent_as_valid_json(text: str) -> None:
    content = ANTHROPIC.encode(Request("m", (user(text),)), stream=True).content
    assert not any(byte < 0x20 for byte in content)
    sent = json.loads(content.decode("utf-8"))["messages"][0]["content"][0]["text"]
    assert sent == text.replace("\ud83d", "\ufffd")


def unnamed(*events: Any) -> bytes:
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)


@pytest.mark.report("openclaw/openclaw#37571")  # fmt: skip
def test_events_are_known_by_their_data() -> None:
    assert response_of(ANTHROPIC, unnamed(start(), *HI, *last("end_turn"))).text == "hi"


@pytest.mark.report("BerriAI/litellm#38953")  # fmt: skip
def test_a_whole_answer_in_one_event_is_read() -> None:
    whole = {
        "id": "m",
        "type": "message",
        "content": [{"type": "text", "text": "no"}],
        "stop_reason": "end_turn",
    }
    assert response_of(ANTHROPIC, unnamed(whole)).text == "no"


@pytest.mark.report("tombii/better-ccflare#307")  # fmt: skip
def test_an_answer_with_a_reason_of_its_end_is_complete() -> None:
    response = response_of(ANTHROPIC, sse(start(), *HI, last("end_turn")[0], {"type": "ping"}))
    assert (response.text, response.finish_reason.kind) == ("hi", "stop")


@pytest.mark.report("praxis-proxy/ai#935")  # fmt: skip
def test_an_event_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(e.LlmError):
        response_of(ANTHROPIC, b"data: not-json\n\ndata: [DONE]\n\n")


DELTA = {"type": "response.output_text.delta", "delta": "hi"}
CALL = {"id": "fc_1", "type": "function_call", "call_id": "c", "name": "f", "arguments": ""}
ARGUMENTS = {
    "type": "response.function_call_arguments.delta",
    "output_index": 0,
    "item_id": "fc_1",
    "delta": '{"a":1}',
}
BEGINS = {"type": "response.output_item.added", "output_index": 0, "item": CALL}
BARE = {"id": "r", "object": "response", "status": "completed", "output": []}
RESPONSES: list[Any] = [
    reported("router-for-me/CLIProxyAPI#5028", [CREATED, {**DELTA, "output_index": 0}, final()], "hi", []),
    reported("Oaklight/llm-rosetta#56", [CREATED, DELTA, {"type": "response.completed", "response": {"output": []}}],
        "hi", []),
    reported("openai/openai-python#3399",
        [CREATED, {"type": "response.output_item.added", "output_index": 0}, {**DELTA, "output_index": 0}, final()],
        "hi", []),
    ([CREATED, {**DELTA, "output_index": 0}, {"type": "response.output_item.done", "output_index": 0}, final()],
        "hi", []),
    reported("lefoulkrod/computron_9000#61",
        [CREATED, ARGUMENTS, BEGINS, {"type": "response.output_item.done", "output_index": 0, "item": CALL}, final()],
        "", [("f", {"a": 1})]),
]  # fmt: skip


@pytest.mark.parametrize(("events", "text", "calls"), RESPONSES)
def test_responses_are_read(events: list[Any], text: str, calls: list[Any]) -> None:
    assert said(responses_answer(*events)) == (text, calls)


@pytest.mark.report("pjq/sap-ai-core-llm-proxy#35")  # fmt: skip
def test_a_response_in_place_of_an_event_is_named_by_its_line() -> None:
    frames = b"".join(
        f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()
        for kind, data in (
            ("response.created", {**BARE, "status": "in_progress"}),
            ("response.output_text.delta", {"delta": "hi"}),
            ("response.completed", BARE),
        )
    )
    assert response_of(OPENAI, frames).text == "hi"


@pytest.mark.report("router-for-me/CLIProxyAPI#4904")  # fmt: skip
def test_a_stream_without_an_end_is_cut() -> None:
    with pytest.raises(e.StreamError) as caught:
        response_of(OPENAI, openai_sse(CREATED, {**DELTA, "output_index": 0}))
    assert caught.value.retryable


@pytest.mark.report("openai/openai-cs-agents-demo#34")  # fmt: skip
def test_calls_of_other_models_have_no_id_of_an_item() -> None:
    call = Message(Role.ASSISTANT, (ToolCallPart("x", "read", "{}"),))
    request = Request("m", (user("hi"), call, tool_results([ToolResultPart("x", "read", "y")])))
    assert not any("id" in item for item in body_of(OPENAI.encode(request, stream=True))["input"])


@pytest.mark.report("ankit373/hydra#855")  # fmt: skip
def test_a_refused_prompt_is_told_and_the_last_count_is_the_whole() -> None:
    refused_prompt = response_of(GEMINI, gemini_wire({"promptFeedback": {"blockReason": "SAFETY"}}))
    assert refused_prompt.finish_reason.kind == "content_filter"
    counts: list[Any] = [
        {"usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": count}} for count in (1, 9)
    ]
    response = response_of(
        GEMINI,
        gemini_wire(chunk({"text": "a"}, **counts[0]), chunk({"text": "b"}, finish="STOP", **counts[1])),
    )
    assert response.usage == Usage(4, 9)


@pytest.mark.report("higress-group/higress#2408")  # fmt: skip
def test_an_answer_without_a_reason_of_its_end_is_cut() -> None:
    with pytest.raises(e.StreamError):
        response_of(GEMINI, gemini_wire(chunk({"text": "a"})))


@pytest.mark.report("google-gemini/gemini-cli#16987")  # fmt: skip
def test_each_call_has_one_result() -> None:
    calls = Message(Role.ASSISTANT, tuple(ToolCallPart(i, "read", "{}") for i in "abc"))
    results = tool_results([ToolResultPart("b", "read", "x")])
    request = Request(
        "m",
        (user("hi"), calls, results, user("more")),
        tools=(ToolDefinition("read", "", {"type": "object"}),),
    )
    _, made, given, *_ = body_of(GEMINI.encode(request, stream=True))["contents"]
    assert sum("functionCall" in part for part in made["parts"]) == 3
    assert sum("functionResponse" in part for part in given["parts"]) == 3
