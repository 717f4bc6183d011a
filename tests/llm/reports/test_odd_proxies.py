"""Answers and requests on the APIs of Anthropic, OpenAI (Responses) and Google that broke other clients."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.messages import (
    Message,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    tool_results,
    user,
)
from agent_ls.llm.providers.anthropic import AnthropicCodec
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.openai_responses import OpenAIResponsesCodec
from agent_ls.llm.requests import Request, Response
from agent_ls.mcp.names import tool_name
from tests.llm.providers.test_anthropic_stream import call_block, end, sse as messages_sse, start, text_block
from tests.llm.providers.test_gemini_stream import chunk
from tests.llm.providers.test_openai_stream import CREATED, MESSAGE, added, delta, done, final, sse
from tests.llm.reports.chat import answer as chat_answer, codec
from tests.llm.reports.test_anthropic import ASK as ASK_ANTHROPIC, TOOLS, answer as anthropic_answer
from tests.llm.reports.test_broken_streams import ENDS as CHAT_ENDS, piece, said
from tests.llm.reports.test_gemini import CALL, answer as gemini_answer, declared
from tests.llm.reports.test_resent_requests import called
from tests.llm.reports.test_responses import ASK as ASK_RESPONSES
from tests.llm.reports.test_tools import declared as declared_by_mcp, refused
from tests.support.codec_runs import ANTHROPIC, GEMINI, body_of, response_of
from tests.support.reports import reported

BROKEN: list[Any] = [
    reported("brightwave-inc/tidebreak#1083",
        messages_sse({"type": "error", "error": {"type": "api_error", "message": "Gone"}})),
    reported("lbjlaq/Antigravity-Manager#3371",
        b'data: {"error":{"message":"Stream error: Gone","type":"stream_error"}}\n\n'),
    reported("BerriAI/litellm#41826",
        b'data: {"error": {"message": "litellm.APIConnectionError: Gone", "type": "None", "code": "500"}}\n\n'),
    reported("BerriAI/litellm#20361", b""),
]  # fmt: skip


@pytest.mark.parametrize("wire", BROKEN)
def test_a_stream_that_breaks_off_is_an_error_in_the_words_of_the_server(wire: bytes) -> None:
    with pytest.raises((e.StreamError, e.ProviderError)) as raised:
        response_of(ANTHROPIC, messages_sse(start(), *text_block(0, "par", open=True)) + wire, ASK_ANTHROPIC)
    assert raised.value.retryable and ("Gone" in str(raised.value) or not wire)


FIRST: list[Any] = [
    reported("NousResearch/hermes-agent#60700", {"content": [], "usage": None}),
    reported("SaladDay/cc-switch-cli#323", {"content": None, "usage": {"input_tokens": 0, "output_tokens": 0}}),
]  # fmt: skip


@pytest.mark.parametrize("first", FIRST)
def test_an_odd_first_event_is_read(first: Any) -> None:
    begun = {"type": "message_start", "message": {"id": "m", "model": "x", **first}}
    response = response_of(ANTHROPIC, messages_sse(begun, *text_block(0, "hi"), *end(input_tokens=9)))
    assert (response.text, response.usage.input_tokens) == ("hi", 9)


@pytest.mark.report("pingmike2/freebuff2api-wokers#15")
@pytest.mark.report("earendil-works/pi#9681")  # fmt: skip
@pytest.mark.report("griffinwork40/agent-afk#290")  # fmt: skip
def test_the_end_of_an_answer_has_its_kind() -> None:
    calls = anthropic_answer(*call_block(0, '{"a": 1}'), *end("end_turn"))
    assert (calls.finish_reason.kind, said(calls)) == ("tool_calls", ("", [("f", {"a": 1})]))
    assert said(anthropic_answer(*end("tool_use"))) == ("", [])
    assert anthropic_answer(*end("refusal")).finish_reason.kind == "content_filter"


@pytest.mark.parametrize(
    ("details", "words"),
    [
        reported("anomalyco/opencode#37392", {"category": "cyber", "explanation": "Declined: cyber."},
        "Declined: cyber."),
        ({"category": "cyber", "explanation": None}, "cyber"),
    ],
)  # fmt: skip
def test_the_reason_of_a_refusal_is_told(details: Any, words: str) -> None:
    *deltas, last = end("refusal")
    response = anthropic_answer(
        {**deltas[0], "delta": {"stop_reason": "refusal", "stop_details": details}}, last
    )
    assert response.warnings == (words,)


@pytest.mark.report("anthropics/claude-code#8210")  # fmt: skip
@pytest.mark.report("google-gemini/gemini-cli#16132")
@pytest.mark.report("anthropics/claude-code#12894")
def test_a_call_has_its_result_and_needs_no_thinking() -> None:
    calls = Message(Role.ASSISTANT, (ToolCallPart("t1", "f", "{}"), ToolCallPart("t2", "f", "{}")))
    messages = (user("a"), calls, tool_results([ToolResultPart("t1", "f", "x")]), user("go"))
    sent = body_of(ANTHROPIC.encode(Request("m", messages, tools=TOOLS), stream=True))["messages"]
    made = [block["id"] for block in sent[1]["content"]]
    assert made == [block["tool_use_id"] for block in sent[2]["content"] if block["type"] == "tool_result"]
    parts = body_of(GEMINI.encode(Request("gemini-4-argon", messages, tools=TOOLS), stream=True))["contents"]
    assert len(parts[1]["parts"]) == sum("functionResponse" in part for part in parts[2]["parts"])
    thinks = Request("claude-sonnet-4-5", called("t1").messages[:-1], tools=TOOLS, reasoning_effort="high")
    assert "thinking" not in body_of(ANTHROPIC.encode(thinks, stream=True))


@pytest.mark.report("browser-use/browser-use#988")
@pytest.mark.report("browser-use/browser-use#187")
@pytest.mark.report("farion1231/cc-switch#464")
def test_a_conversation_begins_with_the_user_and_has_no_empty_message() -> None:
    calls = Message(Role.ASSISTANT, (ToolCallPart("t1", "f", "{}"),))
    empty = Message(Role.ASSISTANT, (ReasoningPart("hm"),))
    messages = (Message(Role.ASSISTANT, (TextPart("a"),)), user("b"), empty, calls, user("c"))
    request = Request("m", (*messages, tool_results([ToolResultPart("t1", "f", "x")])), tools=TOOLS)
    sent = body_of(ANTHROPIC.encode(request, stream=True))["messages"]
    assert [it["role"] for it in sent] == ["user", "assistant", "user", "assistant", "user"]
    assert all(it["content"] for it in sent) and sent[4]["content"][0]["type"] == "tool_result"


@pytest.mark.report("CherryHQ/cherry-studio#16431")
def test_a_refused_kind_of_thinking_is_left_out() -> None:
    codec = AnthropicCodec(capabilities_lookup("anthropic"))
    request = Request("claude-sonnet-4-5", (user("a"),), tools=TOOLS, reasoning_effort="high")
    codec.encode(request, stream=True)
    words = 'invalid params, invalid thinking.type: "enabled" (allowed: adaptive, disabled) (2013)'
    body = json.dumps({"type": "error", "error": {"type": "bad_request_error", "message": words}})
    assert codec.adapt_encoding(request, codec.decode_error(request, ReplyHead(400), body.encode()))
    assert "thinking" not in body_of(codec.encode(request, stream=True))


# --- Responses

THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}
USE = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": '{"a": 1}'}
SAID = {**MESSAGE, "role": "assistant", "content": [{"type": "output_text", "text": "hi", "annotations": []}]}
PIECES = [added(0, {**USE, "arguments": ""}), delta("function_call_arguments", 0, '{"a": 1}')]
FLOAT = {**CREATED, "response": {"id": "r", "created_at": 1756892755.0, "error": None, "output": []}}


def respond(*events: Any) -> Response:
    codec = OpenAIResponsesCodec(capabilities_lookup("openai"))
    return response_of(codec, sse(*events), ASK_RESPONSES)


def output(*items: Any) -> Response:
    return respond(
        CREATED, *(one for at, it in enumerate(items) for one in (added(at, it), done(at, it))), final()
    )


ANSWERS: list[Any] = [
    reported("router-for-me/CLIProxyAPI#2626", [CREATED, *PIECES, done(0, USE), final(output=[])], ("", [("f",
        {"a": 1})])),
    reported("router-for-me/CLIProxyAPI#4622", [CREATED, *PIECES, done(0, USE), final(output=[{**USE, "id": None}])],
        ("", [("f", {"a": 1})])),
    reported("KochC/opencode-llm-proxy#48", [CREATED, added(0, MESSAGE), delta("output_text", 0, "hi"),
        {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": ""}, done(0, SAID),
        final()],
        ("hi", [])),
    reported("sgl-project/sglang#9963", [FLOAT, added(0, MESSAGE), delta("output_text", 0, "hi"), done(0, SAID),
        final()],
        ("hi", [])),
]  # fmt: skip


@pytest.mark.parametrize(("events", "expected"), ANSWERS)
def test_odd_streams_of_responses_are_read(events: list[Any], expected: Any) -> None:
    assert said(respond(*events)) == expected


@pytest.mark.report("earendil-works/pi#9897")  # fmt: skip
def test_a_call_with_cut_arguments_is_dropped_with_a_warning() -> None:
    response = respond(CREATED, PIECES[0], delta("function_call_arguments", 0, '{"a": "tru'), final())
    assert not response.tool_calls and response.warnings


HISTORY: list[Any] = [
    reported("openai/openai-agents-js#929", [THOUGHT], "m", []),
    reported("yusuf-eren/openai-agents-js#29", [THOUGHT, SAID], "other", ["message"]),
    reported("newo-ether/Agora#141", [THOUGHT, USE], "m", ["reasoning", "function_call"]),
    reported("continuedev/continue#11994", [THOUGHT, SAID, USE], "m", ["reasoning", "message", "function_call"]),
    reported("openai/openai-agents-python#2020", [{**THOUGHT, "encrypted_content": None}, USE], "m", ["function_call"]),
]  # fmt: skip


@pytest.mark.parametrize(("items", "model", "kinds"), HISTORY)
def test_items_are_sent_back_in_the_form_that_the_service_accepts(
    items: list[Any], model: str, kinds: list[str]
) -> None:
    response = output(*items)
    results = [tool_results([ToolResultPart("call_1", "f", "x")])] if response.tool_calls else []
    request = Request(model, (user("a"), response.message, *results, user("b")), tools=ASK_RESPONSES.tools)
    sent = body_of(OpenAIResponsesCodec(capabilities_lookup("openai")).encode(request, stream=True))["input"]
    own = [it for it in sent if it.get("role") != "user" and it.get("type") != "function_call_output"]
    assert [it.get("type", "message") for it in own] == kinds
    assert all("summary" in it for it in own if it.get("type") == "reasoning")


@pytest.mark.report("Gitlawb/openclaude#571")
def test_cached_tokens_are_counted() -> None:
    counts = {"input_tokens": 24400, "input_tokens_details": {"cached_tokens": 22800}, "output_tokens": 5}
    usage = respond(CREATED, added(0, SAID), done(0, SAID), final(usage=counts)).usage
    assert (usage.input_tokens, usage.cache_read_tokens) == (24400, 22800)


# --- Gemini

SCHEMAS: list[Any] = [
    reported("decolua/9router#2489", "object"),
    reported("router-for-me/CLIProxyAPI#97", {"type": "string"}),
    reported("openswarm-ai/openswarm#24",
        {"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {}}),
    reported("agno-agi/agno#2649", {"type": ""}),
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_schema_has_nothing_that_gemini_refuses(schema: Any) -> None:
    found = declared_by_mcp(value=schema, other={"type": "string"})
    plain = found.get("parameters", {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}})
    assert not list(refused(plain)) and not re.search(r"\$schema|propertyNames|additional", json.dumps(plain))
    assert "$schema" not in json.dumps(declared(a={"type": "string"}).get("parameters"))


@pytest.mark.report("kaitranntt/ccs#25")
@pytest.mark.report("MoonshotAI/kimi-cli#2531")
@pytest.mark.parametrize(("server", "tool"), [("21st-dev", "21st_magic"), ("1 s", f"do it/now{'x' * 80}")])
def test_names_of_tools_of_servers_begin_with_a_letter(server: str, tool: str) -> None:
    assert re.fullmatch(r"[A-Za-z_]\w{0,63}", tool_name(server, tool))


SIGNED = [
    {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"},
    {"text": "x", "thoughtSignature": "c"},
]


@pytest.mark.report("Wei-Shaw/claude-relay-service#967")
@pytest.mark.report("RooCodeInc/Roo-Code#9392")
def test_a_signature_stays_beside_its_call_and_with_its_model() -> None:
    response = gemini_answer(*map(chunk, SIGNED), chunk(finish="STOP"))
    results = tool_results([ToolResultPart(part.id, "f", "x") for part in response.tool_calls])
    request = Request("gemini-4-argon", (user("a"), response.message, results), tools=TOOLS)
    made = body_of(GEMINI.encode(request, stream=True))["contents"][1]["parts"][0]
    assert (made["thoughtSignature"], "thoughtSignature" in made["functionCall"]) == ("c2ln", False)
    assert "thoughtSignature" not in json.dumps(body_of(ANTHROPIC.encode(request, stream=True))["messages"])


@pytest.mark.report("securo-finance/securo#884")
@pytest.mark.report("suitenumerique/conversations#402")
def test_a_call_keeps_its_signature_on_the_api_of_openai_and_reasoning_stays_with_its_model() -> None:
    signature = {"google": {"thought_signature": "SIG"}}
    made = {
        "index": 0,
        "id": "c",
        "function": {"name": "read", "arguments": "{}"},
        "extra_content": signature,
    }
    response = chat_answer(piece(reasoning_content="hm"), piece(tool_calls=[made]), CHAT_ENDS)
    messages = (user("a"), response.message, tool_results([ToolResultPart("c", "read", "x")]))
    sent = body_of(codec().encode(Request("m", messages), stream=True))["messages"][1]
    assert sent["tool_calls"][0]["extra_content"] == signature
    assert "hm" not in json.dumps(body_of(codec("mistral").encode(Request("m", messages), stream=True)))


THINKING: list[Any] = [
    reported("dwgx/WindsurfAPI#243", ("<think>se", "cret</think>", "hi"), ["secret"], "hi"),
    (("<think>a</think>h<think>b</think>i",), ["a", "b"], "hi"),
    (("<thinking>", "\na</thinking>\n\nhi"), ["a"], "hi"),
    (("Say <think>.",), [], "Say <think>."),
    (("",), [], ""),
]  # fmt: skip


@pytest.mark.parametrize(("pieces", "thoughts", "text"), THINKING)
def test_reasoning_in_tags_is_no_text_on_other_apis(pieces: Any, thoughts: list[str], text: str) -> None:
    body = {
        "content": [{"type": "text", "text": "".join(pieces)}, {"type": "tool_use", "name": "f", "id": "c"}]
    }
    deltas = [delta("output_text", 0, one) for one in pieces]
    written = {**SAID, "content": [{"type": "output_text", "text": "".join(pieces), "annotations": []}]}
    for response in (
        anthropic_answer(*text_block(0, *pieces), *call_block(1, "{}"), *end("tool_use")),
        ANTHROPIC.decode(ASK_ANTHROPIC, ReplyHead(200), json.dumps(body).encode()),
        respond(CREATED, added(0, MESSAGE), *deltas, done(0, written), added(1, USE), done(1, USE), final()),
    ):
        assert [it.text for it in response.message.parts if isinstance(it, ReasoningPart)] == thoughts
        assert (response.text, [call.name for call in response.tool_calls]) == (text, ["f"])


MALFORMED = "MALFORMED_FUNCTION_CALL"
COUNTS = {"usageMetadata": {"promptTokenCount": 2595, "totalTokenCount": 2595}}
ENDS: list[Any] = [
    reported("NousResearch/hermes-agent#83886", chunk(CALL, finish=MALFORMED)),
    reported("vercel/ai#5039", {"candidates": [{"content": {}, "finishReason": MALFORMED}], **COUNTS}),
    reported("pydantic/pydantic-ai#3300", {"candidates": [{"finishReason": MALFORMED, "index": 0}], **COUNTS}),
    reported("Wei-Shaw/sub2api#7081", chunk({"thoughtSignature": "c2ln"}, finish=MALFORMED)),
]  # fmt: skip


@pytest.mark.parametrize("event", ENDS)
def test_a_malformed_call_is_an_error(event: Any) -> None:
    assert gemini_answer(event).finish_reason.kind == "error"


@pytest.mark.report("BerriAI/litellm#24462")
def test_an_empty_answer_is_complete() -> None:
    assert gemini_answer(chunk(finish="STOP")).finish_reason.kind == "stop"
