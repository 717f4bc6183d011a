"""Reports of users about Anthropic's API and of its proxies, each in its smallest form."""

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
    system,
    tool_results,
    user,
)
from agent_ls.llm.providers.anthropic import AnthropicCodec
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Request, Response, ToolDefinition
from agent_ls.loop.model.recovery import refuses_reasoning
from tests.llm.providers.test_anthropic_stream import block, end, sse, start, text_block
from tests.support.codec_runs import ANTHROPIC, body_of, response_of

TOOLS = (ToolDefinition("f", "", {"type": "object"}),)
ASK = Request("m", (user("hi"),), tools=TOOLS)
USE = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}


def answer(*events: Any) -> Response:
    return response_of(ANTHROPIC, sse(start(), *events), ASK)


def sent_back(response: Response) -> list[dict[str, Any]]:
    """Return the blocks of the answer as the next request sends them."""
    ids = [part.id for part in response.tool_calls]
    request = Request(
        "m", (user("a"), response.message, tool_results([ToolResultPart(i, "f", "x") for i in ids]))
    )
    blocks: list[dict[str, Any]] = body_of(ANTHROPIC.encode(request, stream=True))["messages"][1]["content"]
    return blocks


def refusal(status: int, body: Any) -> e.LlmError:
    return ANTHROPIC.decode_error(ASK, ReplyHead(status), json.dumps(body).encode())


@pytest.mark.report("farion1231/cc-switch#1181")
def test_ids_and_names_of_calls_of_other_models_fit_the_pattern_of_the_service() -> None:
    ids = ("functions.read:0", "functions_read_0", "call|1", "")
    calls = tuple(ToolCallPart(i, "functions.read", "{}") for i in ids)
    results = tool_results([ToolResultPart(i, "functions.read", "x") for i in ids])
    request = Request("m", (user("a"), Message(Role.ASSISTANT, calls), results))
    _, made, answered = body_of(ANTHROPIC.encode(request, stream=True))["messages"]
    sent = [item["id"] for item in made["content"]]
    assert len(set(sent)) == len(ids)
    assert sent == [item["tool_use_id"] for item in answered["content"]]
    for item in made["content"]:
        assert re.fullmatch("[a-zA-Z0-9_-]+", item["id"]) and re.fullmatch("[a-zA-Z0-9_-]+", item["name"])


@pytest.mark.report("can1357/oh-my-pi#8319", "zendev-sh/goai#94", "openai/openai-agents-python#4175")
def test_blocks_of_thinking_are_sent_back_unchanged() -> None:
    thinking = {"type": "thinking", "thinking": "al", "signature": ""}
    response = answer(
        *block(
            0,
            thinking,
            {"type": "thinking_delta", "thinking": "pha"},
            {"type": "signature_delta", "signature": "S1"},
        ),
        *block(1, {"type": "redacted_thinking", "data": "xyz"}),
        *block(2, {**thinking, "thinking": "beta"}, {"type": "signature_delta", "signature": "S2"}),
        *block(3, USE),
        *end("tool_use"),
    )
    assert sent_back(response)[:3] == [
        {"type": "thinking", "thinking": "alpha", "signature": "S1"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "thinking", "thinking": "beta", "signature": "S2"},
    ]


@pytest.mark.report("Yeachan-Heo/gajae-code#4247")
def test_thinking_whose_text_is_left_out_keeps_its_signature() -> None:
    hidden = {"type": "thinking", "thinking": "", "signature": "S"}
    assert sent_back(answer(*block(0, hidden), *block(1, USE), *end("tool_use")))[0] == hidden


@pytest.mark.report("anthropics/claude-code#63284")
@pytest.mark.parametrize(
    "words",
    [
        "messages.3.content.8: `thinking` or `redacted_thinking` blocks in the latest message cannot be modified.",
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.1.content.0.thinking.signature: Field required",
    ],
)
def test_a_refusal_of_earlier_thinking_is_recognised(words: str) -> None:
    assert refuses_reasoning(refusal(400, {"error": {"type": "invalid_request_error", "message": words}}))


def test_a_refusal_of_other_fields_is_none_of_thinking() -> None:
    words = "`max_tokens` must be greater than `thinking.budget_tokens`"
    assert not refuses_reasoning(refusal(400, {"error": {"type": "invalid_request_error", "message": words}}))


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


@pytest.mark.report(
    "use-agent-os/agent-os#2137", "tailcallhq/forgecode#2595", "anthropics/anthropic-sdk-typescript#346"
)
def test_overloaded_is_tried_again_in_a_stream_and_as_a_status() -> None:
    with pytest.raises(e.OverloadedError, match="Overloaded") as raised:
        answer(OVERLOADED)
    assert raised.value.retryable
    assert isinstance(refusal(529, OVERLOADED), e.OverloadedError)


@pytest.mark.report("trimble-oss/dba-dash#1973")
def test_the_words_of_a_gateway_are_shown() -> None:
    error = refusal(
        404, {"message": "Endpoint not exists: /v1/messages", "availableEndpoints": ["/converse"]}
    )
    assert isinstance(error, e.NotFoundError) and "/v1/messages" in str(error)


def test_the_words_of_bedrock_behind_a_proxy_have_their_class() -> None:
    body = {"__type": "ThrottlingException", "message": "Too many tokens, please wait before trying again."}
    assert type(refusal(400, body)) is e.RateLimitError


@pytest.mark.report("seifghazi/claude-code-proxy#32", "anthropics/claude-code#16785")
@pytest.mark.parametrize("ending", [1, 2], ids=["without message_stop", "with it"])
def test_streams_of_proxies_are_read(ending: int) -> None:
    events = [
        start(),
        *block(0, USE, {"type": "input_json_delta", "partial_json": '{"a": 1}'}),
        *end("tool_use")[:ending],
    ]
    data = "".join(f"data:{json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    response = response_of(ANTHROPIC, data.encode(), ASK)
    assert [part.arguments for part in response.tool_calls] == ['{"a": 1}']
    assert response.finish_reason.kind == "tool_calls"


def test_a_call_whose_arguments_stand_in_its_first_event_is_whole() -> None:
    response = answer(*block(0, {**USE, "input": {"a": 1}}), *end("tool_use"))
    assert [json.loads(part.arguments) for part in response.tool_calls] == [{"a": 1}]


@pytest.mark.report("writingmate/chatlabs#35")
@pytest.mark.report("nick1udwig/kibitz#78")
@pytest.mark.report("NousResearch/hermes-agent#83037")
def test_empty_messages_are_not_sent() -> None:
    empty = Message(Role.ASSISTANT, (TextPart(""),))
    request = Request("m", (user("a"), empty, user(" "), user("b")))
    sent = body_of(ANTHROPIC.encode(request, stream=True))["messages"]
    assert [item["text"] for message in sent for item in message["content"]] == ["a", "b"]


ODD: dict[str, tuple[list[dict[str, Any]], str, list[str], str]] = {
    "no start of the block": (
        [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}, *end()],
        "Hi",
        [],
        "stop",
    ),
    "no index": (
        [
            {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hi"}},
            {"type": "content_block_stop"},
            {"type": "content_block_start", "content_block": USE},
            {
                "type": "content_block_delta",
                "delta": {"type": "input_json_delta", "partial_json": '{"a": 1}'},
            },
            {"type": "content_block_stop"},
            *end("tool_use"),
        ],
        "Hi",
        ['{"a": 1}'],
        "tool_calls",
    ),
    "no end of the block": (
        [
            *block(0, USE, {"type": "input_json_delta", "partial_json": '{"a": 1}'}, open=True),
            *end("tool_use"),
        ],
        "",
        ['{"a": 1}'],
        "tool_calls",
    ),
    "cut by the limit": (
        [
            *block(0, USE, {"type": "input_json_delta", "partial_json": '{"a": 1}'}, open=True),
            *end("max_tokens"),
        ],
        "",
        [],
        "length",
    ),
    "no stop reason": (
        [*block(0, {**USE, "input": {"a": 1}}), {"type": "message_stop"}],
        "",
        ['{"a": 1}'],
        "tool_calls",
    ),
    "words of another API": ([*text_block(0, "Hi"), *end("stop")], "Hi", [], "stop"),
}


@pytest.mark.parametrize(("events", "text", "arguments", "kind"), ODD.values(), ids=ODD)
def test_incomplete_streams_of_proxies_are_read(
    events: list[dict[str, Any]], text: str, arguments: list[str], kind: str
) -> None:
    response = answer(*events)
    assert (response.text, [part.arguments for part in response.tool_calls]) == (text, arguments)
    assert response.finish_reason.kind == kind


@pytest.mark.parametrize(
    ("whole", "pieces"),
    [('{"a": 1}', []), ({}, ["{}", '{"a": 1}']), ({}, ['{"a"', ": 1}"])],
    ids=["text", "{} first", "pieces"],
)
def test_arguments_in_odd_forms_are_read(whole: Any, pieces: list[str]) -> None:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    (made,) = answer(*block(0, {**USE, "input": whole}, *deltas), *end("tool_use")).tool_calls
    assert json.loads(made.arguments) == {"a": 1}


DROPPED: list[Any] = [
    pytest.param("cache_control is not supported", "cache_control", id="cache marks"),
    pytest.param(
        "tools.0.cache_control: Extra inputs are not permitted", "cache_control", id="marks of tools"
    ),
    pytest.param("output_config.effort: Extra inputs are not permitted", "output_config", id="effort"),
    pytest.param("thinking.adaptive.display: Extra inputs are not permitted", "display", id="display"),
    pytest.param("adaptive thinking is not supported on this model", "thinking", id="thinking"),
]


@pytest.mark.parametrize(("words", "gone"), DROPPED)
def test_an_optional_field_that_a_proxy_refuses_is_left_out(words: str, gone: str) -> None:
    spoken = AnthropicCodec(capabilities_lookup("anthropic"))
    request = Request("claude-sonnet-5-5", (user("hi"),), tools=TOOLS, reasoning_effort="low")
    assert f'"{gone}"' in spoken.encode(request, stream=True).content.decode()
    error = spoken.decode_error(request, ReplyHead(400), json.dumps({"error": {"message": words}}).encode())
    assert spoken.adapt_encoding(request, error)
    assert f'"{gone}"' not in spoken.encode(request, stream=True).content.decode()


@pytest.mark.req("U6")
def test_reasoning_tokens_are_estimated_if_the_service_reports_none() -> None:
    thinking = {"type": "thinking", "thinking": "x" * 400, "signature": "S"}
    response = answer(*block(0, thinking), *text_block(1, "Hi"), *end(output_tokens=150))
    assert (response.reasoning, response.usage.reasoning_tokens) == ("x" * 400, 100)
    assert isinstance(response.message.parts[0], ReasoningPart)
    told = answer(*block(0, thinking), *end(output_tokens=150, output_tokens_details={"thinking_tokens": 7}))
    assert told.usage.reasoning_tokens == 7


@pytest.mark.report("laravel/ai#881")
def test_a_refusal_after_a_call_is_no_normal_end() -> None:
    response = answer(*block(0, USE), *end("refusal"))
    assert (response.finish_reason.kind, len(response.tool_calls)) == ("content_filter", 1)


@pytest.mark.report("Bike4Mind/bike4mind#2127")
@pytest.mark.parametrize("rounds", [0, 1, 12])
def test_a_request_never_has_more_than_four_marks_for_the_cache(rounds: int) -> None:
    talk = [user("hi")]
    for number in range(rounds):
        call = ToolCallPart(f"c{number}", "f", "{}")
        talk += [Message(Role.ASSISTANT, (call,)), tool_results([ToolResultPart(call.id, "f", "x")])]
    request = Request("claude-opus-4-7", (system("s"), *talk), tools=TOOLS, cache_key="k")
    assert 1 <= ANTHROPIC.encode(request, stream=True).content.count(b"cache_control") <= 4


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


@pytest.mark.report("gsd-build/gsd-2#2869")
@pytest.mark.parametrize(
    ("after", "kept"),
    [((), True), ((user("b"),), False), ((Message(Role.ASSISTANT, (TextPart("so"),)), user("b")), False)],
)
def test_a_search_without_a_result_is_sent_back_only_to_go_on(after: tuple[Message, ...], kept: bool) -> None:
    paused = answer(*text_block(0, "I look"), *block(1, SEARCH), *end("pause_turn"))
    assert paused.finish_reason.kind == "pause"
    sent = body_of(ANTHROPIC.encode(Request("m", (user("a"), paused.message, *after)), stream=True))[
        "messages"
    ]
    assert [it["type"] for it in sent[1]["content"] if it["type"] != "text"] == ["server_tool_use"] * kept
    alone = answer(*block(0, SEARCH), *end("pause_turn")).message
    sent = body_of(ANTHROPIC.encode(Request("m", (user("a"), alone, *after)), stream=True))["messages"]
    assert [it["role"] for it in sent][:2] == ["user", "assistant"] and all(it["content"] for it in sent)


def test_a_search_whose_result_comes_after_the_pause_is_kept() -> None:
    paused = answer(*block(0, SEARCH), *end("pause_turn")).message
    rest = answer(*block(0, FOUND), *text_block(1, "so"), *end("end_turn")).message
    sent = body_of(ANTHROPIC.encode(Request("m", (user("a"), paused, rest, user("b"))), stream=True))
    assert [it["type"] for it in sent["messages"][1]["content"]] == [
        "server_tool_use",
        "web_search_tool_result",
        "text",
    ]
