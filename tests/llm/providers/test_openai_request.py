from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from agent_ls.llm.messages import (
    ImagePart,
    Message,
    OpaquePart,
    Origin,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    assistant,
    system,
    tool_results,
    user,
)
from agent_ls.llm.providers.base import ModelCapabilities, Thinking
from agent_ls.llm.providers.openai_responses import OpenAIResponsesCodec
from agent_ls.llm.providers.strict import fits_strict
from agent_ls.llm.requests import NamedToolChoice, Request, ToolChoice, ToolDefinition
from tests.support.codec_runs import body_of

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOL = ToolDefinition("read_file", "Reads.", SCHEMA)


def encode(request: Request, thinking: Thinking = "effort", *, stream: bool = True) -> dict[str, Any]:
    codec = OpenAIResponsesCodec(lambda _: ModelCapabilities(64_000, thinking))
    return body_of(codec.encode(request, stream=stream))


def own(raw: Mapping[str, Any], model: str = "m", provider: str = "openai") -> Origin:
    return Origin(provider, model, raw)


def turn(*parts: Any) -> Message:
    return Message(Role.ASSISTANT, parts)


def said(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


RS = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "blob"}
MSG = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "phase": "commentary",
    "content": [{"type": "output_text", "text": "t"}],
}
FC = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c1",
    "name": "read_file",
    "arguments": '{"path":"a"}',
}
OUT = {"type": "function_call_output", "call_id": "c1", "output": "text"}
THOUGHT = ReasoningPart("hm", own(RS))
SHELL = [{"type": kind, "call_id": "c", "id": kind} for kind in ("shell_call", "shell_call_output")]
TEXT = TextPart("t", own(MSG))
CALL = ToolCallPart("c1", "read_file", '{"path":"a"}', own(FC))
RESULT = ToolResultPart("c1", "read_file", "text")
PLAIN_CALL = {key: value for key, value in FC.items() if key != "id"}
PLAIN_TEXT = {"role": "assistant", "content": "t", "phase": "commentary"}


def test_the_complete_body_of_a_plain_request() -> None:
    request = Request("gpt-x", (system("be"), user("hi")), tools=(TOOL,), cache_key="session-1")
    codec = OpenAIResponsesCodec(lambda _: ModelCapabilities(64_000, "effort"))
    wire = codec.encode(request, stream=True)
    assert wire.path == "/responses"
    assert wire.headers == {}
    assert body_of(wire) == {
        "model": "gpt-x",
        "stream": True,
        "instructions": "be",
        "tools": [
            {
                "type": "function",
                "name": "read_file",
                "description": "Reads.",
                "parameters": SCHEMA,
                "strict": False,
            }
        ],
        "parallel_tool_calls": True,
        "reasoning": {"summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "session-1",
        "store": False,
        "input": [said("user", "hi")],
    }
    assert "stream" not in encode(request, stream=False)


@pytest.mark.req("U14")
def test_system_texts_are_sent_as_instructions_and_developer_texts_as_input_items() -> None:
    developer = Message(Role.DEVELOPER, (TextPart("d"),))
    body = encode(Request("m", (system("a"), developer, user("hi"), system("b"))))
    assert body["instructions"] == "a\n\nb"
    assert body["input"] == [said("developer", "d"), said("user", "hi")]


INPUTS: dict[str, tuple[Sequence[Message], list[Any]]] = {
    "items go back as they came": (
        [turn(THOUGHT, TEXT, CALL), tool_results([RESULT])],
        [RS, MSG, FC, OUT],
    ),
    "reasoning without its follower is left out": ([turn(TEXT, THOUGHT), user("x")], [MSG, said("user", "x")]),
    "reasoning alone is left out": ([turn(THOUGHT), user("x")], [said("user", "x")]),
    "two reasoning items before one follower": (
        [turn(THOUGHT, replace(THOUGHT, origin=own({**RS, "id": "rs_2"})), CALL), tool_results([RESULT])],
        [RS, {**RS, "id": "rs_2"}, FC, OUT],
    ),
    "lost reasoning takes the id of its follower along": (
        [turn(ReasoningPart("hm"), TEXT, CALL), tool_results([RESULT])],
        [PLAIN_TEXT, FC, OUT],
    ),
    "another model's items are plain": (
        [turn(*(replace(p, origin=replace(p.origin, model="other")) for p in (THOUGHT, TEXT, CALL) if p.origin)),
         tool_results([RESULT])],
        [PLAIN_TEXT, PLAIN_CALL, OUT],
    ),
    "another provider's items are plain": (
        [turn(ReasoningPart("hm", own({"type": "thinking"}, provider="anthropic")), TextPart("t"),
              replace(CALL, origin=None)), tool_results([RESULT])],
        [{"role": "assistant", "content": "t"}, PLAIN_CALL, OUT],
    ),
    "server tool items go back to their model only": (
        [turn(THOUGHT, OpaquePart(own({"type": "web_search_call", "id": "w"})), TEXT)],
        [RS, {"type": "web_search_call", "id": "w"}, MSG],
    ),
    "a call of a server tool without output is left out with its reasoning": (
        [turn(THOUGHT, OpaquePart(own({"type": "shell_call", "call_id": "c", "id": "s"})), TEXT)],
        [MSG],
    ),
    "a call of a server tool goes back with its output": (
        [turn(THOUGHT, *map(OpaquePart, map(own, SHELL)), TEXT)],
        [RS, *SHELL, MSG],
    ),
    "plain reasoning beside encrypted one is left out": (
        [turn(replace(THOUGHT, origin=own({**RS, "content": [{"type": "reasoning_text", "text": "hm"}]})), TEXT)],
        [{**RS, "content": []}, MSG],
    ),
    "foreign server tool items are left out with their reasoning": (
        [turn(THOUGHT, OpaquePart(own({"type": "web_search_call"}, model="other")), TEXT)],
        [MSG],
    ),
    "broken arguments replay as an empty object": (
        [turn(replace(CALL, arguments='{"pa', origin=own({**FC, "arguments": '{"pa'}))), tool_results([RESULT])],
        [{**FC, "arguments": "{}"}, OUT],
    ),
    "errors are said in the text": (
        [turn(CALL), tool_results([replace(RESULT, is_error=True)])],
        [FC, {**OUT, "output": "Error: text"}],
    ),
    "errors that say so are not said twice": (
        [turn(CALL), tool_results([replace(RESULT, content="error: no", is_error=True)])],
        [FC, {**OUT, "output": "error: no"}],
    ),
    "results of custom calls": (
        [turn(replace(CALL, origin=own({"type": "custom_tool_call", "call_id": "c1"}))), tool_results([RESULT])],
        [{"type": "custom_tool_call", "call_id": "c1"}, {**OUT, "type": "custom_tool_call_output"}],
    ),
    "empty turns vanish": ([user("a"), turn(), turn(TextPart("")), user("b")], [said("user", "a"), said("user", "b")]),
}  # fmt: skip


@pytest.mark.req("U4", "U14")
@pytest.mark.report("openai/openai-agents-python#2664")
@pytest.mark.report("openai/codex#36551")
@pytest.mark.parametrize(("history", "expected"), INPUTS.values(), ids=INPUTS)
def test_history_is_encoded_as_input_items(history: Sequence[Message], expected: list[Any]) -> None:
    assert encode(Request("m", tuple(history)))["input"] == expected


@pytest.mark.req("U5")
def test_images_of_user_messages_and_tool_results_are_encoded() -> None:
    picture = ImagePart(data=b"\x01\x02", media_type="image/png")
    shown = {"type": "input_image", "image_url": "data:image/png;base64,AQI=", "detail": "auto"}
    message = Message(Role.USER, (TextPart("see"), picture, ImagePart(url="https://x/y.png")))
    history = (message, turn(CALL), tool_results([replace(RESULT, images=(picture,))]))
    sent = encode(Request("m", history))["input"]
    assert sent[0]["content"][1:] == [
        shown,
        {"type": "input_image", "image_url": "https://x/y.png", "detail": "auto"},
    ]
    assert sent[2]["output"] == [{"type": "input_text", "text": "text"}, shown]


CHOICES: list[tuple[ToolChoice, Any]] = [
    ("auto", None),
    ("none", "none"),
    ("required", "required"),
    (NamedToolChoice("read_file"), {"type": "function", "name": "read_file"}),
]


@pytest.mark.parametrize(("choice", "expected"), CHOICES)
def test_every_kind_of_tool_choice_is_encoded(choice: ToolChoice, expected: Any) -> None:
    assert (
        encode(Request("m", (user("a"),), tools=(TOOL,), tool_choice=choice)).get("tool_choice") == expected
    )
    assert "tool_choice" not in encode(Request("m", (user("a"),), tool_choice=choice))


@pytest.mark.req("L7")
def test_effort_and_reasoning_fields_are_sent_only_to_reasoning_models() -> None:
    asked = Request("m", (user("a"),), reasoning_effort="high", max_output_tokens=500)
    body = encode(asked)
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}
    assert body["max_output_tokens"] == 500
    assert not {"reasoning", "include"} & set(encode(asked, "none"))
    assert "max_output_tokens" not in encode(replace(asked, max_output_tokens=None))


@pytest.mark.req("U13")
def test_provider_options_are_merged_and_options_of_other_providers_are_left_out() -> None:
    options: Mapping[str, Any] = {
        "openai": {
            "tools": [{"type": "web_search"}],
            "include": ["web_search_call.results"],
            "reasoning": {"summary": None},
            "text": {"verbosity": "low"},
            "store": True,
        },
        "anthropic": {"auto_cache": False},
    }
    asked = Request("m", (user("a"),), tools=(TOOL,), reasoning_effort="low", provider_options=options)
    body = encode(asked)
    assert body["tools"][-1] == {"type": "web_search"}
    assert len(body["tools"]) == 2
    assert body["include"] == ["reasoning.encrypted_content", "web_search_call.results"]
    assert body["reasoning"] == {"effort": "low", "summary": None}
    assert body["text"] == {"verbosity": "low"}
    assert body["store"] is True
    assert "auto_cache" not in body


@pytest.mark.req("O6")
def test_input_of_a_growing_conversation_keeps_its_prefix() -> None:
    short = Request("m", (user("a"), turn(THOUGHT, TEXT, CALL), tool_results([RESULT])))
    longer = replace(short, messages=(*short.messages, assistant("b"), user("c")))
    assert encode(longer)["input"][:5] == encode(short)["input"]


def closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


NULLABLE = {"anyOf": [{"type": "string"}, {"type": "null"}]}
SCHEMAS: dict[str, tuple[dict[str, Any], bool]] = {
    "closed": (closed(path={"type": "string", "description": "d"}), True),
    "no properties": (closed(), True),
    "optional by null": (closed(path=NULLABLE), True),
    "nested": (closed(a={"type": "array", "items": closed(b={"enum": ["x", "y"]})}), True),
    "open": (SCHEMA, False),
    "not required": ({**closed(path=NULLABLE), "required": []}, False),
    "nested open": (closed(a={"type": "array", "items": SCHEMA}), False),
    "open in a choice": (closed(a={"anyOf": [SCHEMA]}), False),
    "a default": (closed(path={"type": "string", "default": "."}), False),
    "a pattern": (closed(path={"type": "string", "pattern": "x"}), False),
    "any items": (closed(a={"type": "array", "items": True}), False),
    "a list of anything": (closed(a={"type": "array"}), False),
    "open or null": (closed(a={"type": ["object", "null"]}), False),
    "root is a choice": ({**closed(), "anyOf": [closed()]}, False),
}


@pytest.mark.req("U6")
@pytest.mark.parametrize(("schema", "expected"), SCHEMAS.values(), ids=SCHEMAS)
def test_only_tool_schemas_in_the_strict_subset_are_sent_as_strict(
    schema: dict[str, Any], expected: bool
) -> None:
    assert fits_strict(schema) is expected
    assert (
        encode(Request("m", (user("a"),), tools=(ToolDefinition("t", "", schema),)))["tools"][0]["strict"]
        is expected
    )
