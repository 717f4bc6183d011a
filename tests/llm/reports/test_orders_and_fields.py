"""Reports on the four wires: pieces in other orders, counts, refused fields, and requests at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import anyio
import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.endpoint import Endpoint
from agent_ls.llm.http_adapter import HttpAdapter
from agent_ls.llm.messages import ImagePart, Message, Role, ToolCallPart, ToolResultPart, tool_results, user
from agent_ls.llm.requests import Request, ToolDefinition
from tests.llm.providers.test_openai_stream import CREATED, MESSAGE, added, delta, done, final
from tests.llm.providers.test_refusals import spoken
from tests.llm.reports.chat import TOOLS, answer as chat_answer, codec, say
from tests.llm.reports.forms import STEP, bodies
from tests.llm.reports.test_anthropic import answer as anthropic_answer
from tests.llm.reports.test_broken_streams import USE, add, begin, call_piece, last, piece, said, stop
from tests.llm.reports.test_gemini import answer as gemini_answer
from tests.llm.reports.test_resent_requests import sent
from tests.llm.reports.test_responses import BARE, answer as responses_answer, calls_of
from tests.support.codec_runs import OPENAI, body_of
from tests.support.reports import reported
from tests.support.web_server import serving

STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
ENDS = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
CALLS: list[Any] = [
    reported("1jehuang/jcode#1326",
        [call_piece(0, "a", "read", '{"a"'), STOP, call_piece(0, None, None, ": 1"), STOP,
            call_piece(0, None, None, "}"), STOP],
        [("read", {"a": 1})]),
    reported("movieclaw/movieclaw#224", [call_piece(0, "a", "read<|channel|>commentary", '{"a": 1}'), ENDS],
        [("read", {"a": 1})]),
    reported("dyedd/lens#49",
        [call_piece(0, "a", "read", ""), call_piece(0, None, "", '{"a": 1}'), call_piece(0, None, "", '{"b": 2}'),
            ENDS],
        [("read", {"a": 1}), ("read", {"b": 2})]),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "expected"), CALLS)
def test_calls_are_put_together(chunks: list[Any], expected: Any) -> None:
    assert said(chat_answer(*chunks))[1] == expected


COUNTED = {"prompt_tokens": 100, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 80}}
COUNTS: list[Any] = [
    reported("BerriAI/litellm#36168",
        [piece(content="a"), STOP, {"choices": [{"index": 0, "delta": {}}], "usage": COUNTED}]),
    reported("cline/cline#2145", [{**piece(content=it), "usage": COUNTED} for it in "abc"] + [STOP]),
]  # fmt: skip


@pytest.mark.parametrize("chunks", COUNTS)
def test_counts_are_taken_once(chunks: list[Any]) -> None:
    usage = chat_answer(*chunks).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (100, 2, 80)


@pytest.mark.report("experientiallabs/experiential#758")
def test_an_error_in_a_begun_call_is_tried_again() -> None:
    error = say(
        "provider returned a malformed response; retry the request",
        type="api_error",
        code="all_routes_failed",
    )
    with pytest.raises(e.ProviderError, match="malformed response") as failed:
        chat_answer(call_piece(0, "a", "read", '{"'), error)
    assert failed.value.retryable


@pytest.mark.report("OpenCoworkAI/open-cowork#232")
def test_tools_are_sent_without_fields_that_gateways_refuse() -> None:
    body = body_of(codec().encode(Request("m", (user("hi"),), tools=TOOLS), stream=True))
    assert {key for tool in body["tools"] for key in tool["function"]} <= {
        "name",
        "description",
        "parameters",
    }


@pytest.mark.report("NousResearch/hermes-agent#73027")
def test_images_are_left_out_where_a_content_has_to_be_a_text() -> None:
    call = Message(Role.ASSISTANT, (ToolCallPart("a", "read", "{}"),))
    shown = tool_results([ToolResultPart("a", "read", "x", images=(ImagePart(b"x", "image/png"),))])
    refusal = {"loc": ["body", "messages", 3, "content"], "msg": "Input should be a valid string"}
    first, second = sent(
        "compatible", Request("m", (user("hi"), call, shown), tools=TOOLS), 422, {"detail": [refusal]}
    )
    assert "image_url" in json.dumps(first)
    assert all(isinstance(it["content"], str) for it in second["messages"])


CLAUDE: list[Any] = [
    reported("sgl-project/sglang#24293",
        [begin(0, **USE, input={}), add(0, "input_json_delta", partial_json='{"a"'), add(0, "text_delta", text="I "),
            add(0, "text_delta", text="see."), add(0, "input_json_delta", partial_json=": 1}"), stop(0),
            *last("tool_use")],
        ("I see.", [("f", {"a": 1})])),
    ([begin(0, **USE, input={}), add(0, "thinking_delta", thinking="hm"), add(0, "text_delta", text="I see."),
        add(0, "input_json_delta", partial_json='{"a": 1}'), stop(0), begin(1, type="text", text=""),
        add(1, "text_delta", text=" So."), stop(1), *last("tool_use")], ("I see. So.", [("f", {"a": 1})])),
]  # fmt: skip


@pytest.mark.parametrize(("events", "expected"), CLAUDE)
def test_a_text_in_an_open_call_is_shown(events: list[Any], expected: Any) -> None:
    assert said(anthropic_answer(*events)) == expected


@pytest.mark.report("anomalyco/opencode#24696")
def test_all_fields_of_a_list_are_left_out() -> None:
    refused = "Extra inputs are not permitted, field: '{}[0].cache_control', value: {{'type': 'ephemeral'}}"
    words = f"2 request validation errors: {refused.format('tools')}; {refused.format('system')}"
    first, second = bodies("anthropic", STEP, 400, say(words))
    assert "cache_control" in json.dumps(first) and "cache_control" not in json.dumps(second)


WHOLE = {**BARE, "arguments": '{"a": 1}'}


def completed(*items: Any) -> Any:
    event: dict[str, Any] = final()
    event["response"]["output"] = [*items]
    return event


RESPONSES: list[Any] = [
    reported("anomalyco/opencode#46084",
        [added(0, BARE), delta("function_call_arguments", 0, '{"a"'),
            completed({key: value for key, value in WHOLE.items() if key != "id"})]),
    reported("onyx-dot-app/onyx#13624",
        [added(0, BARE), delta("function_call_arguments", 0, '{"a": 1}'), done(0, WHOLE),
            completed({**WHOLE, "id": "fc_other"})]),
]  # fmt: skip


@pytest.mark.parametrize("events", RESPONSES)
def test_a_call_is_read_once_and_whole(events: list[Any]) -> None:
    assert calls_of(responses_answer(CREATED, *events)) == [("call_1", "f", {"a": 1})]


@pytest.mark.report("maximhq/bifrost#5169")
def test_reasoning_without_an_item_harms_nothing() -> None:
    thought = {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "hm"}
    text = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "hi"}
    item = {**MESSAGE, "content": [{"type": "output_text", "text": "hi"}]}
    assert responses_answer(CREATED, thought, added(0, MESSAGE), text, done(0, item), final()).text == "hi"


@pytest.mark.report("timothy-agent/timothy#702")
def test_an_empty_result_is_sent() -> None:
    call = Message(Role.ASSISTANT, (ToolCallPart("c", "f", "{}"),))
    asked = Request("m", (user("a"), call, tool_results([ToolResultPart("c", "f", "")])))
    (result,) = (
        it
        for it in body_of(OPENAI.encode(asked, stream=True))["input"]
        if it.get("type", "")[-7:] == "_output"
    )
    assert result["output"] == ""


@pytest.mark.report("lbjlaq/Antigravity-Manager#1312")
def test_parameters_are_sent_under_the_name_that_a_proxy_knows() -> None:
    words = "Unknown name \"parametersJsonSchema\" at 'request.tools[0].function_declarations[0]': Cannot find field."
    schema: Any = {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "array"}]}}}
    tools = (ToolDefinition("f", "", schema),)
    refused = say(f"Invalid JSON payload received. {words}", code=400, status="INVALID_ARGUMENT")
    first, second = bodies("gemini", (user("hi"),), 400, refused, tools=tools)
    (one,), (other,) = (it["tools"][0]["functionDeclarations"] for it in (first, second))
    assert "parametersJsonSchema" in one and "parametersJsonSchema" not in other and other["parameters"]


GEMINI: list[Any] = [
    reported("UKGovernmentBEIS/inspect_ai#2990", "default_api:f"),
    "default_api.f",
]  # fmt: skip


@pytest.mark.parametrize("name", GEMINI)
def test_a_tool_is_found_without_its_namespace(name: str) -> None:
    part = {"functionCall": {"name": name, "args": {"a": 1}}}
    answer = gemini_answer({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]})
    assert said(answer)[1] == [("f", {"a": 1})]


@pytest.mark.report("open-telemetry/opentelemetry-ebpf-instrumentation#2530")
def test_the_input_is_counted_without_a_total() -> None:
    ended = {"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}
    answer = gemini_answer({"candidates": [ended], "usageMetadata": {"promptTokenCount": 12}})
    assert answer.usage.input_tokens == 12


# --- requests over HTTP -------------------------------------------------------------------------------------------


@contextmanager
def refusing(
    message: str, at_once: int, keys: Sequence[str] = ()
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Run a server that refuses each request with a field of `keys`, or each if there is none.

    The first `at_once` requests are refused together. Yield its address and the bodies.
    """
    seen: list[dict[str, Any]] = []
    together = threading.Barrier(at_once)
    answer = {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]
    }

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            seen.append(body)
            is_refused = not keys or any(key in body for key in keys)
            if len(seen) <= at_once:
                together.wait(60)
            data = json.dumps({"error": {"message": message}} if is_refused else answer).encode()
            self.send_response(400 if is_refused else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *words: object) -> None:
            pass

    with serving(Handler) as port:
        yield f"http://127.0.0.1:{port}", seen


async def test_requests_that_are_refused_at_once_are_all_sent_again() -> None:
    words = "Unsupported parameter: 'temperature' is not supported with this model."
    texts: list[str] = []
    with refusing(words, 3, ["temperature"]) as (address, seen):
        adapter = HttpAdapter(codec(), Endpoint(address, "k"))

        async def ask() -> None:
            texts.append((await adapter.complete(Request("m", (user("hi"),), temperature=0.5))).text)

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(ask)
        await adapter.close()
    assert texts == ["hi"] * 3 and len(seen) == 6


@pytest.mark.report("vercel/ai#13789")
async def test_a_refused_request_is_not_sent_again_as_it_was() -> None:
    words = (
        "The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or reduce "
        "the number of strict tools."
    )
    with refusing(words, 1) as (address, seen):
        adapter = HttpAdapter(spoken("anthropic"), Endpoint(address, "k"))
        with pytest.raises(e.InvalidRequestError, match="grammar is too large"):
            await adapter.complete(Request("m", (user("hi"),), tools=TOOLS))
        await adapter.close()
    assert len({json.dumps(it) for it in seen}) == len(seen)
