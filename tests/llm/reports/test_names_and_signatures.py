"""Streams and refusals of model servers and proxies, each in its smallest form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.messages import ReasoningPart, ToolResultPart, tool_results, user
from agent_ls.llm.providers.anthropic import AnthropicCodec
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Request, Response, ToolDefinition
from tests.llm.providers.test_gemini_stream import chunk
from tests.llm.providers.test_openai_stream import CREATED, done, final
from tests.llm.reports.chat import answer as chat_answer
from tests.llm.reports.test_broken_streams import ENDS, call_piece, piece, said
from tests.llm.reports.test_gemini import answer as gemini_answer
from tests.llm.reports.test_responses import answer as responses_answer
from tests.support.codec_runs import CHAT, body_of
from tests.support.reports import reported

STOPS = {"choices": [{"index": 0, "delta": {"tool_calls": []}, "finish_reason": "stop"}]}
CALLS: list[Any] = [
    reported(
        "anomalyco/opencode#37783",
        [call_piece(0, "c", "read", "{"), call_piece(0, "", "", '"a": '), call_piece(0, "", "", "1}")],
    ),
    reported("vercel/ai#16507", [call_piece(0, "c", "", '{"a"'), call_piece(0, None, "read", ": 1}")]),
    reported("jjang-ai/vmlx#244", [call_piece(0, "c", "", ""), call_piece(0, "c", "read", '{"a": 1}')]),
    reported(
        "continuedev/continue#5849", [call_piece(0, "c", "re", ""), call_piece(0, None, "ad", '{"a": 1}')]
    ),
    reported(
        "A3S-Lab/Code#139",
        [
            call_piece(0, "c", "read", ""),
            piece(
                tool_calls=[
                    {"index": 0, "function": {"name": "", "parameters": None, "arguments": '{"a": 1}'}}
                ]
            ),
        ],
    ),
    [call_piece(0, "c", "read", ""), call_piece(0, "c", "read", '{"a":'), call_piece(0, "c", "read", " 1}")],
    [piece(tool_calls=[{"index": 0, "id": "c", "function": {"name": "read", "parameters": {"a": 1}}}])],
    [piece(function_call={"name": "read", "arguments": '{"a": 1}'})],
    [
        piece(
            tool_calls=[
                {"index": "0", "id": 7, "type": None, "function": {"name": "read", "arguments": {"a": 1}}}
            ]
        )
    ],
    [piece(tool_calls={"index": 0, "id": "c", "function": {"name": "read", "arguments": '{"a": 1}'}})],
    [call_piece(0, "c", "functions.read", '{"a": 1}')],
]


@pytest.mark.parametrize("chunks", CALLS)
def test_a_call_whose_name_or_id_arrives_in_an_odd_form_is_made(chunks: list[Any]) -> None:
    assert said(chat_answer(*chunks, ENDS)) == ("", [("read", {"a": 1})])


@pytest.mark.report("open-webui/open-webui#29690")
def test_a_name_that_is_null_never_reaches_the_history() -> None:
    assert all(
        isinstance(it.name, str) for it in chat_answer(call_piece(0, "c", None, "{}"), ENDS).tool_calls
    )


def thoughts(response: Response) -> list[str]:
    return [part.text for part in response.message.parts if isinstance(part, ReasoningPart)]


THOUGHTS: list[Any] = [
    reported(
        "vercel/ai#20203",
        [piece(reasoning_content="a", tool_calls=[]), piece(reasoning_content="b", tool_calls=[])],
        "ab",
    ),
    reported("leookun/cursor-byok#363", [piece(reasoning="a"), piece(reasoning="b")], "ab"),
    reported(
        "Effect-TS/effect#6060",
        [
            piece(reasoning=it, reasoning_details=[{"type": "reasoning.text", "text": it, "index": 0}])
            for it in "ab"
        ],
        "ab",
    ),
    ([piece(reasoning="a", reasoning_content="a")], "a"),
]


@pytest.mark.parametrize(("chunks", "text"), THOUGHTS)
def test_reasoning_is_one_part_whatever_its_field(chunks: list[Any], text: str) -> None:
    response = chat_answer(*chunks, piece(content="x", tool_calls=[]), STOPS)
    assert (thoughts(response), response.text) == ([text], "x")


@pytest.mark.report("langchain-ai/langchain#37625")
def test_a_summary_that_comes_only_with_its_item_is_kept() -> None:
    thought = {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "thought"}]}
    message = {
        "type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]
    }  # fmt: skip
    response = responses_answer(CREATED, done(0, thought), done(1, message), final())
    assert (thoughts(response), response.text) == (["thought"], "x")


REFUSALS: list[Any] = [
    reported(
        "BerriAI/litellm#17250",
        ["messages.0.content.0.text.cache_control.ephemeral.ttl: Extra inputs are not permitted"],
        0,
    ),
    reported("UKGovernmentBEIS/inspect_ai#3851", ["cache_control: Extra inputs are not permitted"], 1),
    (
        [
            "cache_control: Extra inputs are not permitted",
            "tools.0.cache_control: Extra inputs are not permitted",
        ],
        0,
    ),
    (["`cache_control` is not supported"], 0),
]


@pytest.mark.parametrize(("texts", "marks"), REFUSALS)
def test_only_the_marks_that_a_cloud_refuses_are_left_out(texts: list[str], marks: int) -> None:
    spoken = AnthropicCodec(capabilities_lookup("anthropic"))
    tools = (ToolDefinition("f", "", {"type": "object"}),)
    ask = Request("claude-sonnet-4-5", (user("hi"),), tools=tools)
    for text in texts:
        body = json.dumps({"error": {"type": "invalid_request_error", "message": text}}).encode()
        error = spoken.decode_error(ask, ReplyHead(400, {}, 1.0), body)
        assert spoken.adapt_encoding(ask, error)
    sent = body_of(spoken.encode(ask, stream=True))
    assert "cache_control" not in sent and json.dumps(sent).count("cache_control") == marks


@pytest.mark.report("allenhutchison/obsidian-gemini#230")
def test_a_call_keeps_the_signature_that_it_came_with() -> None:
    call = {"functionCall": {"name": "f", "args": {"a": 1}}}
    response = gemini_answer(chunk({**call, "thoughtSignature": "c2ln"}), chunk(finish="STOP"))
    assert [(it.name, json.loads(it.arguments)) for it in response.tool_calls] == [("f", {"a": 1})]
    assert "c2ln" in repr(response.message)


DETAIL = {"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1"}


@pytest.mark.report("Kilo-Org/kilo#303")
def test_thoughts_before_two_calls_are_sent_back_once_and_whole() -> None:
    pieces: Any = [{**DETAIL, "text": "al"}, {**DETAIL, "text": "pha"}, {**DETAIL, "signature": "S1"}]
    calls = (call_piece(0, "a", "read", "{}"), call_piece(1, "b", "list", "{}"))
    response = chat_answer(
        *(piece(reasoning_details=[it]) for it in pieces), *calls, ENDS, provider="openrouter"
    )
    results = tool_results([ToolResultPart("a", "read", "x"), ToolResultPart("b", "list", "y")])
    ask = Request(response.model or "m", (user("hi"), response.message, results))
    sent = body_of(CHAT.encode(ask, stream=True))["messages"]
    assert sent[1]["reasoning_details"] == [{**DETAIL, "text": "alpha", "signature": "S1"}]
    assert json.dumps(sent).count("S1") == 1
