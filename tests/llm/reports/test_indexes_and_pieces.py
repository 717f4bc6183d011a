"""Reports on the four wires: odd blocks and indexes, counts, ids, arguments in pieces, delays and schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.messages import user
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Request
from tests.llm.providers.test_openai_stream import CREATED, MESSAGE, added, delta, done, final
from tests.llm.reports.chat import answer as chat_answer, calls_of as chat_calls, codec, refusal, say
from tests.llm.reports.forms import called, given
from tests.llm.reports.test_anthropic import answer as anthropic_answer
from tests.llm.reports.test_broken_streams import HI, USE, add, begin, call_piece, last, piece, said, stop
from tests.llm.reports.test_gemini import answer as gemini_answer, declared
from tests.llm.reports.test_responses import BARE, answer as responses_answer, calls_of
from tests.support.codec_runs import ANTHROPIC, GEMINI, OPENAI, body_of
from tests.support.reports import reported

BLOCKS: list[Any] = [
    reported("librefang/librefang#5911",
        [*HI, begin(1, type="new_block", data="x"), add(1, "new_delta", data="y"), stop(1),
            begin(2, **USE, input={}), add(2, "input_json_delta", partial_json='{"a": 1}'), stop(2),
            *last("tool_use")],
        ("hi", [("f", {"a": 1})])),
    reported("vercel/ai#11771",
        [begin(2, type="text", text=""), add(3, "text_delta", text="Now"), stop(3), *last("end_turn")], ("Now", [])),
]  # fmt: skip


@pytest.mark.parametrize(("events", "expected"), BLOCKS)
def test_blocks_with_odd_types_and_indexes_are_read(events: list[Any], expected: Any) -> None:
    assert said(anthropic_answer(*events)) == expected


@pytest.mark.report("ogx-ai/ogx#5122")
def test_counts_in_each_piece_are_not_added_up() -> None:
    counted = [
        {**piece(content="a"), "usage": {"prompt_tokens": 100, "completion_tokens": n}} for n in (1, 5, 9)
    ]
    ends = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    usage = chat_answer(*counted, ends).usage
    assert (usage.input_tokens, usage.output_tokens) == (100, 9)


@pytest.mark.report("QwenLM/Qwen-Agent#943")
def test_pieces_of_two_calls_that_take_turns_are_put_together_by_their_index() -> None:
    response = chat_answer(
        call_piece(0, None, "read", '{"a"'), call_piece(1, "b", "list", '{"b"'), call_piece(0, "late", None, ": 1"),
        call_piece(1, None, None, ": 2"), call_piece(0, None, None, "}"), call_piece(1, None, None, "}"),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    )  # fmt: skip
    assert chat_calls(response) == [("read", '{"a": 1}'), ("list", '{"b": 2}')]
    assert len({it.id for it in response.tool_calls}) == 2  # an id of our own for a call whose id comes late


@pytest.mark.report("docker/docker-agent#3825")  # fmt: skip
def test_arguments_that_come_before_their_item_belong_to_it() -> None:
    whole = '{"a": 1}'
    early = {
        "type": "response.function_call_arguments.done",
        "output_index": 0,
        "item_id": "fc_1",
        "arguments": whole,
    }
    late = delta("function_call_arguments", 0, '{"a"')
    response = responses_answer(
        CREATED, early, added(0, BARE), late, done(0, {**BARE, "arguments": whole}), final()
    )
    assert calls_of(response) == [("call_1", "f", {"a": 1})]


@pytest.mark.report("langchain-ai/langchainjs#11044")  # fmt: skip
@pytest.mark.parametrize("of_call", [{"id": ""}, {"call_id": ""}, {"id": None, "call_id": "c" * 400}])
def test_no_item_is_sent_with_an_empty_id(of_call: dict[str, Any]) -> None:
    thought = {"id": "", "type": "reasoning", "summary": [], "encrypted_content": "x"}
    call = {**BARE, "arguments": "{}", **of_call}
    items = [thought, {**MESSAGE, "id": None}, call]
    events = [event for at, item in enumerate(items) for event in (added(at, item), done(at, item))]
    response = responses_answer(CREATED, *events, final())
    (made,) = response.tool_calls
    body = body_of(OPENAI.encode(Request("m", (user("a"), response.message, given(made.id))), stream=True))
    sent = body["input"]
    assert all(it.get("id", "x") for it in sent)
    ids = [it["call_id"] for it in sent if "call_id" in it]
    assert len(ids) == 2 and len({*ids}) == 1 and len(ids[0]) <= 64
    assert sum(it.get("type") == "reasoning" for it in sent) == 1


LONG = "call_" + "x1" * 193


@pytest.mark.report("dyad-sh/dyad#4304")
@pytest.mark.parametrize(("wire", "limit"), [(OPENAI, 64), (ANTHROPIC, 64), (GEMINI, 64)])
def test_a_long_id_of_another_model_is_shortened_for_a_call_and_its_result(wire: Any, limit: int) -> None:
    request = Request("gpt-5.6-sol", (user("a"), called(LONG), given(LONG)))
    text = json.dumps(body_of(wire.encode(request, stream=True)))
    assert LONG not in text
    ids = [value for value in _texts(json.loads(text)) if value.startswith("call_")]
    assert all(len(value) <= limit for value in ids) and len({*ids}) <= 1


@pytest.mark.parametrize("size", [41, 43, 64, 391])
def test_a_long_id_is_shortened_to_the_limit_that_the_server_names(size: int) -> None:
    one = LONG[:size]
    chat, request = codec(), Request("m", (user("a"), called(one), given(one)))
    said = (
        f"Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a \
string with length {size} instead."
    )
    error = say(
        said,
        type="invalid_request_error",
        param="messages[1].tool_calls[0].id",
        code="string_above_max_length",
    )
    refused = chat.decode_error(request, ReplyHead(400, {}, 1.0), json.dumps(error).encode())
    assert chat.adapt_encoding(request, refused)
    _, made, result = body_of(chat.encode(request, stream=True))["messages"]
    assert made["tool_calls"][0]["id"] == result["tool_call_id"] and len(result["tool_call_id"]) <= 40


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


@pytest.mark.report("mpfaffenberger/code_puppy#293")  # fmt: skip
def test_arguments_in_pieces_have_values_of_each_kind() -> None:
    pieces = [
        {"jsonPath": "$.path", "stringValue": "x"}, {"jsonPath": "$.limit", "nullValue": "NULL_VALUE"},
        {"jsonPath": "$.deep", "boolValue": False}, {"jsonPath": "$.n", "numberValue": 0},
        {"jsonPath": "$.items[0]", "stringValue": "a"}, {"jsonPath": "$.items[1].b", "nullValue": None},
    ]  # fmt: skip
    response = gemini_answer(*(
        {"candidates": [{"content": {"parts": [{"functionCall": call}]}, **more}]} for call, more in (
            ({"name": "f", "willContinue": True}, {}),
            ({"partialArgs": pieces, "willContinue": True}, {}), ({}, {"finishReason": "STOP"}))
    ))  # fmt: skip
    (call,) = response.tool_calls
    assert json.loads(call.arguments) == {
        "path": "x", "limit": None, "deep": False, "n": 0, "items": ["a", {"b": None}]}  # fmt: skip


DELAYS: list[Any] = [
    reported(
        "cline/cline#14213",
        {"retry-after": "0x10"},
        None,
    ),
    ({"retry-after": "1e3"}, None),
    ({"retry-after": "1_000"}, None),
    ({"retry-after": "infinity"}, None),
    ({"retry-after": " 2.5 "}, 2.5),
    ({"retry-after": "Thu, 01 Jan 1970 00:10:00 GMT"}, 0.0),  # the answer came at 1000 s
    reported(
        "interviewstreet/hiring-agent#386",
        {"retry-after": "Thu, 01 Jan 1970 00:17:00 GMT"},
        20.0,
    ),
    reported(
        "openclaw/openclaw#111353",
        {"retry-after-ms": "", "retry-after": "7"},
        7.0,
    ),
    ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
    ({"retry-after-ms": "1500"}, 1.5),
]


@pytest.mark.parametrize(("headers", "delay_s"), DELAYS)
def test_a_delay_has_one_of_the_forms_of_the_standard(headers: dict[str, str], delay_s: float | None) -> None:
    found = refusal(429, say("slow down"), **headers).retry_after_s
    assert found == delay_s


@pytest.mark.report("thClaws/thClaws#172")
def test_words_that_gemini_does_not_know_are_not_among_its_parameters() -> None:
    tool = declared(
        level={"type": "integer", "enum": [0, 1, 2]}, n={"type": "integer", "exclusiveMinimum": 0},
        map={"type": "object", "propertyNames": {"pattern": "^a"}, "additionalProperties": {"type": "string"}},
    )  # fmt: skip
    text = json.dumps(tool.get("parameters", {}))
    assert not any(word in text for word in ("propertyNames", "exclusiveMinimum", "$schema", "[0, 1, 2]"))
    assert "parameters" in tool or "parametersJsonSchema" in tool
