"""Reports on frames of streams, shapes of answers, and requests that follow a refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Response
from agent_ls.loop.model.recovery import refuses_images
from tests.llm.providers.test_chat_stream import wire
from tests.llm.providers.test_gemini_stream import chunk
from tests.llm.providers.test_openai_stream import CREATED, delta, final
from tests.llm.providers.test_refusals import JSON, asking, at, second, spoken
from tests.llm.reports.chat import ASK, calls_of, codec, say
from tests.llm.reports.test_broken_streams import piece
from tests.llm.reports.test_error_kinds import refused
from tests.llm.reports.test_gemini import answer as gemini_answer
from tests.support.codec_runs import GEMINI, OPENAI, body_of, response_of
from tests.support.reports import reported


def read(data: str | bytes) -> Response:
    return response_of(codec(), data if isinstance(data, bytes) else data.encode(), ASK)


def event(**delta_: Any) -> str:
    return json.dumps({"id": "c", "choices": [{"index": 0, "delta": delta_, "finish_reason": None}]})


END = json.dumps({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
SPLIT = '{"id": "c",\ndata: "choices": [{"index": 0,\ndata: "delta": {"content": "ok"}}]}'
FRAMES: list[Any] = [
    reported("0xPlaygrounds/rig#534", f"data:\n {event(content='ok')}\n\ndata:\n {END}\n\ndata:\n [DONE]\n\n"),
    reported("SamSaffron/term-llm#487", f"event:message\ndata:{event(content='ok')}\n\ndata:{END}\n\ndata:[DONE]\n\n"),
    reported("SamSaffron/term-llm#454", f"data: {SPLIT}\n\ndata: {END}\n\ndata: [DONE]\n\n"),
    reported("agentic-os-org/ANOLISA#2209", f"\ufeffdata: {event(content='ok')}\n\ndata: {END}\n\ndata: [DONE]\n\n"),
    reported("miruamel/xuan#194", f"data: {event(content='ok')}\r\n\r\ndata: {END}\r\n\r\ndata: [DONE]\r\n\r\n"),
    reported("Kilo-Org/kilocode#3083", f"data: {event(content='o')}\ndata: null\ndata: {event(content='k')}\n\ndata: "
        f"{END}\n\n"),
    reported("AndraxDev/speak-gpt#162", 'data: {"id": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0, '
        f'"content_filter_results": {{}}}}]}}\n\ndata: {event(content="ok")}\n\ndata: {END}\n\ndata: [DONE]\n\n'),
]  # fmt: skip


@pytest.mark.parametrize("data", FRAMES)
def test_the_text_in_odd_frames_is_read(data: str) -> None:
    response = read(data)
    assert (response.text, response.finish_reason.kind) == ("ok", "stop")


@pytest.mark.report("openai/openai-python#3819")
def test_a_byte_order_mark_may_precede_a_stream_of_responses() -> None:
    events = [CREATED, delta("output_text", 0, "ok", content_index=0), final()]
    data = b"\xef\xbb\xbf" + "".join(f"data: {json.dumps(it)}\n\n" for it in events).encode()
    assert response_of(OPENAI, data, ASK).text == "ok"


@pytest.mark.report("envoyproxy/ai-gateway#2463")
def test_the_lines_of_responses_may_end_as_on_windows_and_have_no_space() -> None:
    usage = {"input_tokens": 5, "output_tokens": 7}
    events = [CREATED, delta("output_text", 0, "ok", content_index=0), final(usage=usage)]
    data = "".join(f"event:{it['type']}\r\ndata:{json.dumps(it)}\r\n\r\n" for it in events).encode()
    response = response_of(OPENAI, data, ASK)
    assert (response.text, response.usage.output_tokens) == ("ok", 7)


@pytest.mark.report("SamSaffron/term-llm#456")
def test_an_event_of_responses_may_have_several_lines() -> None:
    events = [CREATED, delta("output_text", 0, "ok", content_index=0), final()]
    lines = (json.dumps(it, indent=1).replace("\n", "\ndata: ") for it in events)
    assert response_of(OPENAI, "".join(f"data: {it}\n\n" for it in lines).encode(), ASK).text == "ok"


@pytest.mark.report("pixeltable/pixeltable#1234")
def test_the_last_event_may_have_only_counts() -> None:
    counts = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}}
    response = response_of(codec(), wire(piece(content="ok"), json.loads(END), counts), ASK)
    assert (response.usage.input_tokens, response.usage.output_tokens) == (9, 2)


def call(name: str | None, arguments: Any, *, index: int | None = 0, call_id: str | None = None) -> Any:
    made = {
        "index": index,
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
    return {"choices": [{"index": 0, "delta": {"tool_calls": [made]}}]}


A, B, C = '{"a": 1}', '{"a": 2}', '{"a": 3}'
CALLS: list[Any] = [
    reported("diegosouzapw/OmniRoute#11044", [call("read", A, call_id="c"), call("read", B, call_id="c"), call("read",
        C,
        call_id="c")], [("read", A), ("read", B), ("read", C)]),
    ([call("read", A + B + C, call_id="c")], [("read", A), ("read", B), ("read", C)]),
    reported("ai-dynamo/dynamo#4723", [call("read", A, call_id="c1"), call("list", B, call_id="c2")],
        [("read", A), ("list", B)]),
    reported("mcowger/plexus#691", [call("read", "", call_id="c1"), call(None, '{"a": '), call(None, "1}"),
        call("read", "", call_id="c2"), call(None, '{"a": '), call(None, "2}")], [("read", A), ("read", B)]),
    reported("lobehub/lobehub#11649", [call("read", "", call_id="c1"), call("read", "", index=1, call_id="c2"),
        call(None, '{"a": ', index=0), call(None, '{"a": ', index=1), call(None, "1}", index=0), call(None, "2}",
            index=1)],
        [("read", A), ("read", B)]),
    reported("sipeed/picoclaw#1292", [call("read", {"a": 1}, call_id="c1")], [("read", A)]),
    reported("huggingface/smolagents#1003", [call("read", json.dumps(A), call_id="c1")], [("read", A)]),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "calls"), CALLS)
def test_each_call_of_a_stream_is_read(chunks: list[Any], calls: Any) -> None:
    response = response_of(codec(), wire(*chunks, json.loads(END)), ASK)
    said = [(name, json.loads(arguments)) for name, arguments in calls_of(response)]
    assert said == [(name, json.loads(arguments)) for name, arguments in calls]
    assert len({part.id for part in response.tool_calls}) == len(calls)


def gemini_complete(candidate: Any) -> Response:
    body = {"candidates": [candidate], "usageMetadata": {}, "responseId": "r1", "modelVersion": "m1"}
    return GEMINI.decode(ASK, ReplyHead(200), json.dumps(body).encode())


ABORTED: list[Any] = [
    reported("agentjido/req_llm#944", {"finishReason": "UNEXPECTED_TOOL_CALL", "index": 0}, "error"),
    reported("0xPlaygrounds/rig#1030", {"finishReason": "MALFORMED_FUNCTION_CALL",
        "finishMessage": "Malformed function "
        "call: x", "index": 0}, "error"),
    reported("BerriAI/litellm#40864", {"finishReason": "NO_IMAGE", "index": 0}, "other"),
    reported("pydantic/pydantic-ai#2631", {"content": {"role": "model"}, "finishReason": "STOP", "index": 0}, "stop"),
]  # fmt: skip


@pytest.mark.parametrize(("candidate", "kind"), ABORTED)
def test_an_answer_of_gemini_without_content_has_its_end(candidate: Any, kind: str) -> None:
    response = gemini_complete(candidate)
    assert (response.text, response.finish_reason.kind) == ("", kind)


@pytest.mark.report("brekkylab/ailoy#434")
def test_a_call_of_gemini_may_precede_the_event_that_ends_it() -> None:
    end = {"candidates": [{"finishReason": "STOP", "index": 0}], "responseId": "r1", "modelVersion": "m1"}
    response = gemini_answer(chunk({"functionCall": {"name": "f", "args": {"a": 1}}}), end)
    assert ([part.name for part in response.tool_calls], response.finish_reason.kind) == (["f"], "tool_calls")


UNABLE = (
    "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or "
    "'json_object'\"}]"
)


@pytest.mark.report("ggml-org/llama.cpp#23463")
def test_a_format_that_makes_a_server_fail_is_left_out() -> None:
    body = say(UNABLE, type="internal_server_error", param=None, code=None)
    assert at(second("compatible", body, asking("compatible", **JSON), 500), "response_format") is None


@pytest.mark.report("kserve/kserve#3886")
def test_the_output_is_lowered_where_an_overflow_is_an_internal_error() -> None:
    words = (
        "This model's maximum context length is 8192 tokens. However, you requested 50014 tokens (14 in the "
        "messages, 50000 "
        "in the completion). Please reduce the length of the messages or completion."
    )
    body = say(words, code="500", param="", type="OpenAIError")
    assert isinstance(refused("compatible", 500, body), e.ContextLengthError)
    assert (
        5000
        < second("compatible", body, asking("compatible", max_output_tokens=50000), 500)["max_tokens"]
        < 8192
    )


@pytest.mark.report("ericc-ch/copilot-api#258")
def test_the_other_name_of_the_output_limit_is_used() -> None:
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    again = second(
        "compatible", say(words, param="max_tokens", code="unsupported_parameter"), asking("compatible")
    )
    assert (again.get("max_tokens"), again["max_completion_tokens"]) == (None, 65536)


OTHER: list[Any] = [
    reported("github/copilot-cli#1637", "compatible", say("model gpt-5.3-codex is not supported via Chat Completions "
        "API.",
        code="unsupported_api_for_model")),
    reported("proxysoul/Empryo#46", "compatible", say('model "gpt-5.4-mini" is not accessible via the '
        '/chat/completions '
        "endpoint", code="unsupported_api_for_model")),
]  # fmt: skip


@pytest.mark.parametrize(("wire_", "body"), OTHER)
def test_the_other_apis_are_named(wire_: str, body: Any) -> None:
    assert "openai (Responses)" in refused(wire_, 400, body).hint


@pytest.mark.report("caozhiyuan/copilot-api#278")
def test_a_page_that_blocks_is_no_wrong_permission() -> None:
    page = (
        "<!DOCTYPE html><html><head><title>Attention Required! | Cloudflare</title></head><body><h1>Sorry, you have "
        "been "
        "blocked</h1></body></html>"
    )
    error = refused("responses", 403, page)
    assert (error.retryable, "Attention Required" in str(error), "<" in str(error)) == (False, True, False)
    assert "web page" in str(error)


@pytest.mark.report("OpenCoworkAI/open-cowork#251")
def test_an_image_that_a_model_cannot_see_is_left_out() -> None:
    assert refuses_images(refused("ollama", 400, {"error": "this model does not support image input"}))


@pytest.mark.report("isair/jarvis#560")
def test_the_arguments_of_earlier_calls_are_texts() -> None:
    sent = body_of(spoken("compatible").encode(asking("compatible"), stream=True))
    assert all(isinstance(it["function"]["arguments"], str) for it in sent["messages"][2]["tool_calls"])
