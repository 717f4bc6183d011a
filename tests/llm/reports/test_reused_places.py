"""Streams that use the place of an ended part once more, and servers that refuse tools in their own words."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.llm.messages import (
    Message,
    ReasoningPart,
    Role,
    ToolCallPart,
    ToolResultPart,
    tool_results,
    user,
)
from agent_ls.llm.providers.refused_tools import refuses_tools
from agent_ls.llm.requests import Request
from tests.llm.providers.test_openai_stream import CREATED, added, done
from tests.llm.reports.chat import TOOLS, answer as chat_answer, codec, refusal, say
from tests.llm.reports.test_anthropic import answer as anthropic_answer
from tests.llm.reports.test_broken_streams import ENDS, add, begin, call_piece, last, piece, said, stop
from tests.llm.reports.test_responses import answer as responses_answer
from tests.support.codec_runs import body_of
from tests.support.reports import reported

TEXT = begin(0, type="text", text="")
REUSED: list[Any] = [
    reported(
        "orangeboyChen/codebuddy2api#11",
        [
            TEXT,
            add(0, "text_delta", text="hm"),
            stop(0),
            begin(0, type="tool_use", id="a", name="f", input={}),
            add(0, "input_json_delta", partial_json='{"a":1}'),
            stop(0),
        ],
        ("hm", [("f", {"a": 1})]),
    ),
    reported(
        "xemantic/anthropic-sdk-kotlin#147",
        [
            TEXT,
            add(0, "text_delta", text="hm"),
            begin(1, type="tool_use", id="a", name="f", input={}),
            add(1, "input_json_delta", partial_json='{"a":1}'),
        ],
        ("hm", [("f", {"a": 1})]),
    ),
    pytest.param(
        [
            TEXT,
            add(0, "text_delta", text="hm"),
            begin(0, type="tool_use", id="a", name="f", input={}),
            add(0, "input_json_delta", partial_json='{"a":1}'),
            begin(1, type="tool_use", id="b", name="f", input={}),
            add(1, "input_json_delta", partial_json='{"a":2}'),
        ],
        ("hm", [("f", {"a": 1}), ("f", {"a": 2})]),
        id="no block is stopped",
    ),
    reported(
        "BerriAI/litellm#37273",
        [
            begin(0, type="tool_use", id="a", name="f", input={}),
            add(0, "input_json_delta", partial_json='{"a":1}'),
            stop(0),
            stop(0),
        ],
        ("", [("f", {"a": 1})]),
    ),
    reported(
        "farion1231/cc-switch#2303",
        [
            begin(0, type="tool_use", id="a", name="f", input={}),
            begin(1, type="tool_use", id="b", name="f", input={}),
            add(0, "input_json_delta", partial_json='{"a":1}'),
            add(1, "input_json_delta", partial_json='{"a":2}'),
            stop(0),
            stop(1),
        ],
        ("", [("f", {"a": 1}), ("f", {"a": 2})]),
    ),
    reported(
        "earendil-works/pi#7283",
        [begin(0, type="text", text="he"), add(0, "text_delta", text="llo"), stop(0)],
        ("hello", []),
    ),
]


@pytest.mark.parametrize(("events", "expected"), REUSED)
def test_a_block_at_the_index_of_an_earlier_one_is_read(events: list[Any], expected: Any) -> None:
    assert said(anthropic_answer(*events, *last("tool_use"))) == expected


def message(text: str) -> Any:
    content = [{"type": "output_text", "text": text, "annotations": []}] if text else []
    return {"id": "msg_1", "type": "message", "role": "assistant", "content": content}


def call(call_id: str, arguments: str = "") -> Any:
    return {"type": "function_call", "id": "fc", "call_id": call_id, "name": "f", "arguments": arguments}


def ended(output: Any) -> Any:
    return {"type": "response.completed", "response": {"id": "r", "status": "completed", **output}}


TWICE = [added(0, message("")), done(0, message("one ")), added(0, message("")), done(0, message("two"))]
ITEMS: list[Any] = [
    reported("router-for-me/CLIProxyAPI#3801", [*TWICE, ended({"output": []})], ("one two", [])),
    pytest.param(
        [*TWICE, ended({"output": [message("one "), message("two")]})], ("one two", []), id="said at the end"
    ),
    pytest.param(
        [
            *(added(0, call("a")), done(0, call("a", '{"a":1}'))),
            *(added(0, call("a")), done(0, call("a", '{"a":1}'))),
            *(added(0, call("b")), done(0, call("b", '{"a":2}'))),
            ended({"output": []}),
        ],
        ("", [("f", {"a": 1}), ("f", {"a": 2})]),
        id="a call said twice runs once",
    ),
    reported(
        "decolua/9router#705",
        [added(0, message("")), done(0, message("ok")), ended({"error": None})],
        ("ok", []),
    ),
    reported(
        "openai/openai-python#3321",
        [added(0, message("")), done(0, message("ok")), ended({"output": None, "usage": None})],
        ("ok", []),
    ),
]


@pytest.mark.parametrize(("events", "expected"), ITEMS)
def test_an_item_at_the_index_of_an_ended_one_is_read(events: list[Any], expected: Any) -> None:
    assert said(responses_answer(CREATED, *events)) == expected


def unplaced(call_id: Any, name: Any, arguments: str) -> Any:
    return piece(tool_calls=[{"id": call_id, "function": {"name": name, "arguments": arguments}}])


CHAT: list[Any] = [
    reported(
        "microsoft/autogen#6843",
        [call_piece(0, "a", "read", "{}"), call_piece(0, "a", None, '{"stock": "MSFT"}')],
        [("read", {"stock": "MSFT"})],
    ),
    reported(
        "langchain-ai/langchain#34654",
        [
            unplaced("c", "get_time", ""),
            unplaced("c", "", ""),
            *(unplaced("", "", '{"city": "Boston'), unplaced("", "", '"'), unplaced(None, None, "}")),
        ],
        [("get_time", {"city": "Boston"})],
    ),
]


@pytest.mark.parametrize(("chunks", "calls"), CHAT)
def test_pieces_of_a_call_are_joined(chunks: list[Any], calls: list[Any]) -> None:
    assert said(chat_answer(*chunks, ENDS)) == ("", calls)


@pytest.mark.report("1jehuang/jcode#321")
@pytest.mark.report("huggingface/physics-intern#6")
def test_what_is_sent_back_is_whole() -> None:
    messages = (
        user("a"),
        Message(Role.ASSISTANT, (ReasoningPart("hm"),)),
        Message(Role.ASSISTANT, (ToolCallPart("c", "read", '{"a": '),)),
        tool_results([ToolResultPart("c", "read", "bad", is_error=True)]),
    )
    sent = body_of(codec().encode(Request("m", messages, tools=TOOLS), stream=True))["messages"]
    assert [item["role"] for item in sent] == ["user", "assistant", "tool"]
    assert sent[1]["tool_calls"][0]["function"]["arguments"] == "{}"


REFUSED = [
    "tools is not supported in this model. For a list of supported models, refer to the guide",
    "No connected provider supports tool calling for this model. The provider must be started",
    "Value error, Currently only named tools are supported.",
    "`tools` is not supported",
    "Function calling isn't enabled for this model",
    "2 validation errors\ntool_choice\n  Extra inputs are not permitted\ntools\n  Extra inputs are not permitted",
    "1 validation error for ChatCompletionRequest\nfunctions\n  Extra inputs are not permitted",
    "[{'type': 'extra_forbidden', 'loc': ('body', 'tools'), 'msg': 'Extra inputs are not permitted'}]",
    "Unrecognized request argument supplied: tools",
]
OTHER = [
    "tools.0.function.strict\n  Extra inputs are not permitted",
    "Unknown parameter: 'tools[0].function.strict'",
    "Invalid 'tools': array too long. Expected 128",
    "tool_choice is not supported",
    "parallel_tool_calls is not supported by this model",
    "parallel tool calls are not supported by this model",
]


@pytest.mark.report("vllm-project/vllm#6631")
@pytest.mark.report("langchain-ai/opengpts#166")
@pytest.mark.report("graze-social/cocore#166")
@pytest.mark.parametrize("words", [*REFUSED, *OTHER])
def test_a_server_that_refuses_tools_gets_the_text_protocol(words: str) -> None:
    spoken, request = codec(), Request("m", (user("hi"),), tools=TOOLS)
    error = refusal(404, say(words))
    assert refuses_tools(error) == refuses_tools(refusal(400, say(words))) == (words in REFUSED)
    if words in REFUSED:
        assert spoken.adapt_encoding(request, error)
        assert "tools" not in body_of(spoken.encode(request, stream=True))
