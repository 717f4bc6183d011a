"""Custom tools of the Responses API: calls with free text in place of JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from lark import Lark, UnexpectedInput

from agent_ls.llm.errors import InvalidRequestError
from agent_ls.llm.messages import Message, Role, ToolResultPart, tool_results, user
from agent_ls.llm.providers.base import ModelCapabilities
from agent_ls.llm.providers.openai_responses import OpenAIResponsesCodec
from agent_ls.llm.requests import FreeText, NamedToolChoice, Request, ToolDefinition
from agent_ls.llm.stream import ToolCallDelta, ToolCallEnd, ToolCallStart
from agent_ls.tools.apply_patch import APPLY_PATCH
from agent_ls.tools.registry import ToolRegistry
from tests.support.codec_runs import body_of, events_of, response_of

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"query": {"type": "string"}}}
SQL = ToolDefinition("sql", "Asks.", SCHEMA, FreeText("query"))
ASK = Request("m", (user("Ask."),), tools=(SQL,))
INPUT = 'select "ä\n👋" \\ \t\x01'


def codec(*, custom_tools: bool = True) -> OpenAIResponsesCodec:
    return OpenAIResponsesCodec(lambda _: ModelCapabilities(64_000, "effort", custom_tools=custom_tools))


def tools_of(request: Request, spoken: OpenAIResponsesCodec) -> list[Any]:
    tools: list[Any] = body_of(spoken.encode(request, stream=True))["tools"]
    return tools


def sse(*events: dict[str, Any]) -> bytes:
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()


def answer(*pieces: str, text: str = INPUT) -> tuple[bytes, dict[str, Any]]:
    raw = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "sql", "input": text}
    raw["status"] = "completed"
    piece = {"type": "response.custom_tool_call_input.delta", "output_index": 0}
    end = {"id": "r", "status": "completed", "output": [raw], "usage": {}}
    data = sse(
        {"type": "response.created", "response": {"id": "r", "model": "m"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**raw, "input": ""}},
        *({**piece, "delta": delta} for delta in pieces),
        {"type": "response.custom_tool_call_input.done", "output_index": 0, "input": text},
        {"type": "response.output_item.done", "output_index": 0, "item": raw},
        {"type": "response.completed", "response": end},
    )
    return data, raw


@pytest.mark.req("P2", "U2")
def test_free_text_tool_is_sent_as_custom_tool_only_if_the_model_supports_custom_tools() -> None:
    (tool,) = tools_of(ASK, codec())
    assert tool == {"type": "custom", "name": "sql", "description": "Asks.", "format": {"type": "text"}}
    (function,) = tools_of(ASK, codec(custom_tools=False))
    assert (function["type"], function["parameters"]) == ("function", SCHEMA)


def test_grammar_of_apply_patch_is_sent_as_a_lark_grammar() -> None:
    (tool,) = tools_of(replace(ASK, tools=ToolRegistry([APPLY_PATCH]).definitions()), codec())
    assert tool["format"]["type"] == "grammar" and tool["format"]["syntax"] == "lark"
    assert tool["format"]["definition"] == (APPLY_PATCH.free_text and APPLY_PATCH.free_text.grammar)


@pytest.mark.parametrize("custom", [True, False])
def test_tool_choice_contains_the_type_of_the_chosen_tool(custom: bool) -> None:
    named = replace(ASK, tool_choice=NamedToolChoice("sql"))
    body = body_of(codec(custom_tools=custom).encode(named, stream=False))
    assert body["tool_choice"] == {"type": "custom" if custom else "function", "name": "sql"}


@pytest.mark.req("P2", "U3")
@pytest.mark.parametrize("pieces", [(), (INPUT,), tuple(INPUT), ("select ", '"ä\n', "👋")], ids=range(4))
def test_streamed_free_text_in_any_chunks_becomes_the_argument_of_the_tool_call(
    pieces: tuple[str, ...],
) -> None:
    data, _ = answer(*pieces)
    events = events_of(codec(), [data], ASK)
    deltas = [event.json for event in events if isinstance(event, ToolCallDelta)]
    (start,) = [event for event in events if isinstance(event, ToolCallStart)]
    (end,) = [event for event in events if isinstance(event, ToolCallEnd)]
    assert "".join(deltas) == end.part.arguments
    assert json.loads(end.part.arguments) == {"query": INPUT}
    assert (start.id, start.name) == ("call_1", "sql")
    assert len(deltas) >= len(pieces)


def test_decoded_custom_tool_call_has_json_arguments_and_keeps_the_raw_item() -> None:
    data, raw = answer(INPUT)
    call = response_of(codec(), data, ASK).tool_calls[0]
    assert json.loads(call.arguments) == {"query": INPUT}
    assert call.origin and call.origin.raw == raw


@pytest.mark.req("U4", "U14")
def test_call_and_result_are_replayed_as_custom_items_and_to_another_model_as_a_function_call() -> None:
    data, raw = answer(INPUT)
    call = response_of(codec(), data, ASK).tool_calls[0]
    said = (Message(Role.ASSISTANT, (call,)), tool_results([ToolResultPart("call_1", "sql", "3 rows")]))
    items = body_of(codec().encode(Request("m", said, tools=(SQL,)), stream=True))["input"]
    result = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "3 rows"}
    assert items == [raw, result]
    called, output = body_of(codec().encode(Request("other", said, tools=(SQL,)), stream=True))["input"]
    assert called["type"] == "function_call" and json.loads(called["arguments"]) == {"query": INPUT}
    assert output["type"] == "function_call_output"


def test_server_that_refuses_custom_tools_gets_function_tools_in_following_requests() -> None:
    spoken = codec()
    other = InvalidRequestError("temperature is not supported", provider="openai", model="m")
    refusal = InvalidRequestError("Invalid value: 'custom'.", provider="openai", model="m")
    assert not spoken.adapt_encoding(ASK, other)
    assert spoken.adapt_encoding(ASK, refusal)
    assert [tool["type"] for tool in tools_of(ASK, spoken)] == ["function"]
    assert not spoken.adapt_encoding(ASK, refusal)


def test_proxy_that_refuses_the_cache_key_gets_requests_without_it_from_then_on() -> None:
    spoken, request = codec(), replace(ASK, cache_key="s-1")
    refusal = InvalidRequestError(
        "anthropic does not support: ['prompt_cache_key']", provider="openai", model="m"
    )
    assert body_of(spoken.encode(request, stream=True))["prompt_cache_key"] == "s-1"
    assert spoken.adapt_encoding(request, refusal)
    body = body_of(spoken.encode(request, stream=True))
    assert "prompt_cache_key" not in body and [tool["type"] for tool in body["tools"]] == ["custom"]
    assert not spoken.adapt_encoding(request, refusal)


def example() -> str:
    _, _, rest = APPLY_PATCH.description.partition("```\n")
    return rest.partition("```")[0]


@pytest.mark.req("P2", "T4")
@pytest.mark.parametrize("parser", ["lalr", "earley"])
def test_the_grammar_of_patches_accepts_only_the_form_in_the_description(parser: Any) -> None:
    assert APPLY_PATCH.free_text
    grammar = Lark(APPLY_PATCH.free_text.grammar, parser=parser)
    assert list(grammar.parse(example()).find_data("chunk"))
    moved = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@ class A\n@@ def f\n one\n-two\n*** End of File\n"
    assert list(grammar.parse(f"{moved}*** End Patch").find_data("moved"))
    for wrong in ('{"patch": "*** Begin Patch"}', moved, example().replace("@@ def greet(name):\n", "")):
        with pytest.raises(UnexpectedInput):
            grammar.parse(wrong)
