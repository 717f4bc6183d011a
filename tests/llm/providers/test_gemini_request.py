from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.messages import (
    AudioPart,
    DocumentPart,
    ImagePart,
    Message,
    Origin,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    assistant,
    system,
    tool_results,
    user,
)
from agent_ls.llm.providers.gemini import GeminiCodec
from agent_ls.llm.providers.gemini.schema import to_gemini_schema
from agent_ls.llm.requests import JsonFormat, NamedToolChoice, Request, ToolChoice, ToolDefinition
from tests.support.codec_runs import GEMINI, body_of

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "additionalProperties": False,
}
TOOL = ToolDefinition("read_file", "Reads.", SCHEMA)
CALL = ToolCallPart("c1", "read_file", '{"path": "a"}')
RESULT = ToolResultPart("c1", "read_file", "text")
ARGON = "gemini-4-argon"


def encode(request: Request) -> dict[str, Any]:
    return body_of(GEMINI.encode(request, stream=True))


def contents(*said: Message, model: str = ARGON) -> list[Any]:
    found: list[Any] = encode(Request(model, said))["contents"]
    return found


def turn(*parts: Any) -> Message:
    return Message(Role.ASSISTANT, parts)


def test_the_complete_body_of_a_plain_request() -> None:
    request = Request(ARGON, (system("be"), user("hi")), tools=(TOOL,), max_output_tokens=9)
    sent = GEMINI.encode(request, stream=True)
    assert sent.path == "/v1beta/models/gemini-4-argon:streamGenerateContent?alt=sse"
    assert GEMINI.encode(request, stream=False).path == "/v1beta/models/gemini-4-argon:generateContent"
    parameters = {"type": "OBJECT", "properties": {"path": {"type": "STRING"}}}
    assert body_of(sent) == {
        "systemInstruction": {"parts": [{"text": "be"}]},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "read_file", "description": "Reads.", "parameters": parameters}
                ]
            }
        ],
        "generationConfig": {"maxOutputTokens": 9, "thinkingConfig": {"includeThoughts": True}},
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    }


def own(call: dict[str, Any], **beside: Any) -> Origin:
    return Origin("gemini", ARGON, {"parts": [{"functionCall": call, **beside}]})


CALL_PART = {"functionCall": {"name": "read_file", "args": {"path": "a"}}}
CONTENTS: dict[str, tuple[Sequence[Message], list[Any]]] = {
    "neighbours are joined": (
        [user("a"), user("b")],
        [{"role": "user", "parts": [{"text": "a"}, {"text": "b"}]}],
    ),
    "results stand alone, in call order, without ids that were not given": (
        [
            turn(replace(CALL, origin=own({"name": "read_file"}, thoughtSignature="s"))),
            tool_results([RESULT]),
            user("and now"),
        ],
        [
            {"role": "model", "parts": [{"functionCall": {"name": "read_file"}, "thoughtSignature": "s"}]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "read_file", "response": {"output": "text"}}}],
            },
            {"role": "user", "parts": [{"text": "and now"}]},
        ],
    ),
    "ids that were given go back": (
        [
            turn(replace(CALL, origin=own({"id": "c1", "name": "read_file"}))),
            tool_results([replace(RESULT, is_error=True)]),
        ],
        [
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "read_file"}}]},
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "read_file", "response": {"error": "text"}, "id": "c1"}}
                ],
            },
        ],
    ),
    "first call of another model says that it has no signature": (
        [turn(CALL, replace(CALL, id="c2")), tool_results([RESULT, replace(RESULT, tool_call_id="c2")])],
        [
            {
                "role": "model",
                "parts": [{**CALL_PART, "thoughtSignature": "skip_thought_signature_validator"}, CALL_PART],
            },
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "read_file", "response": {"output": "text"}}}] * 2,
            },
        ],
    ),
    "images of results": (
        [turn(CALL), tool_results([replace(RESULT, images=(ImagePart(b"png", "image/png"),))])],
        [
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "name": "read_file",
                            "response": {"output": "text"},
                            "parts": [{"inlineData": {"mimeType": "image/png", "data": "cG5n"}}],
                        }
                    }
                ],
            }
        ],
    ),
}


@pytest.mark.req("U4", "U14")
@pytest.mark.parametrize(("said", "expected"), CONTENTS.values(), ids=CONTENTS)
def test_contents_are_encoded_in_the_wire_format(said: Sequence[Message], expected: list[Any]) -> None:
    assert contents(*said)[-len(expected) :] == expected


@pytest.mark.req("U4")
def test_signature_of_another_model_is_left_out() -> None:
    signed = replace(CALL, origin=own({"name": "read_file", "args": {"path": "a"}}, thoughtSignature="s"))
    answer = contents(turn(signed), tool_results([RESULT]), model="gemini-2.5-flash")[1]
    assert answer["parts"] == [CALL_PART]


def test_older_models_get_images_of_results_separately() -> None:
    result = replace(RESULT, images=(ImagePart(b"png", "image/png"),))
    found = contents(turn(CALL), tool_results([result]), user("what is it?"), model="gemini-2.5-flash")
    blob = {"inlineData": {"mimeType": "image/png", "data": "cG5n"}}
    assert found[-1] == {"role": "user", "parts": [blob, {"text": "what is it?"}]}
    assert "thoughtSignature" not in repr(found)


@pytest.mark.req("U5")
def test_images_documents_and_sounds_are_sent() -> None:
    parts = (
        ImagePart(url="https://x.example/a.png", media_type="image/png"),
        DocumentPart(b"pdf"),
        AudioPart(b"wav"),
    )
    (content,) = contents(Message(Role.USER, parts))
    assert content["parts"] == [
        {"fileData": {"fileUri": "https://x.example/a.png", "mimeType": "image/png"}},
        {"inlineData": {"mimeType": "application/pdf", "data": "cGRm"}},
        {"inlineData": {"mimeType": "audio/wav", "data": "d2F2"}},
    ]


@pytest.mark.req("U6")
@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", None),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        (NamedToolChoice("read_file"), {"mode": "ANY", "allowedFunctionNames": ["read_file"]}),
    ],
)
def test_every_kind_of_tool_choice_is_encoded(choice: ToolChoice, expected: Any) -> None:
    body = encode(Request(ARGON, (user("hi"),), tools=(TOOL,), tool_choice=choice))
    assert body.get("toolConfig", {}).get("functionCallingConfig") == expected


@pytest.mark.req("L7")
@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        (ARGON, None, {"includeThoughts": True}),
        (ARGON, "high", {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        (ARGON, "none", {"includeThoughts": True, "thinkingLevel": "LOW"}),
        ("gemini-3-flash-preview", "none", {"includeThoughts": True, "thinkingLevel": "MINIMAL"}),
        ("gemini-2.5-flash", "none", {"includeThoughts": True, "thinkingBudget": 0}),
        ("gemini-2.5-pro", "none", {"includeThoughts": True, "thinkingBudget": 128}),
        ("gemini-2.5-pro", "high", {"includeThoughts": True, "thinkingBudget": 24_576}),
        ("gemini-2.0-flash", "high", None),
    ],
)
def test_reasoning_effort_is_sent_as_thinking_level_or_budget_depending_on_the_model(
    model: str, effort: str | None, expected: Any
) -> None:
    body = encode(Request(model, (user("hi"),), reasoning_effort=effort))
    assert body.get("generationConfig", {}).get("thinkingConfig") == expected


SUBSETS: dict[str, tuple[Any, Any]] = {
    "kept": (
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"], "title": "t"},
        {"type": "OBJECT", "properties": {"a": {"type": "INTEGER", "minimum": 1}}, "required": ["a"], "title": "t"},
    ),
    "left out": (
        {"$schema": "x", "type": "number", "exclusiveMinimum": 0, "additionalProperties": False},
        {"type": "NUMBER"},
    ),
    "const": ({"const": "a"}, {"type": "STRING", "enum": ["a"]}),
    "enum of numbers": ({"type": "integer", "enum": [1, 2]}, None),
    "nullable": ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "STRING", "nullable": True}),
    "list of types": ({"type": ["string", "null"]}, {"type": "STRING", "nullable": True}),
    "several types": ({"type": ["string", "integer"]}, {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]}),
    "one of": ({"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
               {"anyOf": [{"type": "STRING"}, {"type": "ARRAY", "items": {"type": "STRING"}}]}),
    "reference": (
        {"type": "array", "items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"type": "string"}}},
        {"type": "ARRAY", "items": {"type": "STRING"}},
    ),
    "all of one": ({"allOf": [{"type": "string"}], "description": "d"}, {"type": "STRING", "description": "d"}),
    "refers to itself": (
        {"$ref": "#/$defs/A", "$defs": {"A": {"type": "array", "items": {"$ref": "#/$defs/A"}}}},
        None,
    ),
    "not": ({"not": {"type": "string"}}, None),
    "free names": ({"type": "object", "additionalProperties": {"type": "string"}}, None),
    "reference to nothing": ({"$ref": "#/$defs/A"}, None),
}  # fmt: skip


@pytest.mark.req("U6")
@pytest.mark.parametrize(("schema", "expected"), SUBSETS.values(), ids=SUBSETS)
def test_json_schema_is_converted_to_the_gemini_schema_subset(schema: Any, expected: Any) -> None:
    assert to_gemini_schema(schema) == expected


@pytest.mark.req("U6")
def test_a_schema_outside_the_subset_is_sent_as_json_schema_and_an_empty_one_is_left_out() -> None:
    odd: dict[str, Any] = {"type": "object", "properties": {"a": {"not": {}}}}
    tools = (ToolDefinition("f", "", odd), ToolDefinition("g", "", {"type": "object", "properties": {}}))
    first, second = encode(Request(ARGON, (user("hi"),), tools=tools))["tools"][0]["functionDeclarations"]
    assert first == {"name": "f", "description": "f", "parametersJsonSchema": odd}
    assert second == {"name": "g", "description": "g"}


@pytest.mark.req("U9")
def test_json_response_format_is_sent_as_mime_type_and_schema() -> None:
    config = encode(Request(ARGON, (user("hi"),), response_format=JsonFormat(SCHEMA)))["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseSchema"] == {"type": "OBJECT", "properties": {"path": {"type": "STRING"}}}


@pytest.mark.req("U13")
def test_provider_options_are_sent_and_their_built_in_tools_are_added_to_the_tool_list() -> None:
    options: dict[str, Any] = {
        "gemini": {"tools": [{"googleSearch": {}}], "safetySettings": [{"threshold": "OFF"}]}
    }
    body = encode(Request(ARGON, (user("hi"),), tools=(TOOL,), provider_options=options))
    assert body["tools"][1] == {"googleSearch": {}}
    assert body["safetySettings"] == [{"threshold": "OFF"}]


@pytest.mark.req("O6", "U7")
def test_each_request_of_a_session_begins_with_the_bytes_of_the_previous_request() -> None:
    codec = GeminiCodec(capabilities_lookup("gemini"))
    history: list[Message] = [system("be"), user("a")]
    before = b""
    for number in range(4):
        body = codec.encode(Request(ARGON, tuple(history), tools=(TOOL,)), stream=True).content
        assert body.startswith(before)
        before = body.removesuffix(b"]}")
        call = replace(CALL, id=f"c{number}")
        history += [turn(TextPart("x"), call), tool_results([replace(RESULT, tool_call_id=call.id)])]


def test_messages_without_anything_are_left_out() -> None:
    assert contents(user("a"), assistant(""), user("b")) == [
        {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]}
    ]
