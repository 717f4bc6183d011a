"""Every schema in a request body holds only keywords of JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from agent_ls.llm.messages import user
from agent_ls.llm.providers.base import Codec
from agent_ls.llm.requests import Request, ToolDefinition
from agent_ls.mcp.schemas import provider_schema
from agent_ls.profiles.create import create_profile
from agent_ls.profiles.options import ProfileOptions
from tests.support.codec_runs import ANTHROPIC, CHAT, GEMINI, OPENAI, body_of

KEYWORDS = frozenset(
    "$schema $id $anchor $ref $defs $comment allOf anyOf oneOf not if then else const enum type properties required "
    "patternProperties additionalProperties propertyNames minProperties maxProperties items prefixItems contains "
    "minItems maxItems uniqueItems minLength maxLength pattern format minimum maximum exclusiveMinimum "
    "exclusiveMaximum multipleOf title description default examples deprecated readOnly writeOnly".split()
)
GEMINI_ONLY = frozenset({"nullable", "propertyOrdering"})
PLACES = ("input_schema", "parameters", "parametersJsonSchema", "schema")
MAPS = ("properties", "patternProperties", "$defs")
CODECS: Mapping[str, Codec] = {"anthropic": ANTHROPIC, "openai": OPENAI, "openrouter": CHAT, "gemini": GEMINI}


def unknown_keywords(schema: object) -> Iterator[str]:
    """Yield the keys of a schema, and of the schemas in it, that JSON Schema does not define."""
    if isinstance(schema, list):
        for one in schema:
            yield from unknown_keywords(one)
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        if key not in KEYWORDS:
            yield key
        if key in MAPS:
            for one in value.values():
                yield from unknown_keywords(one)
        elif key not in ("default", "const", "enum", "examples", "required"):
            yield from unknown_keywords(value)


def schemas(body: object) -> Iterator[dict[str, Any]]:
    """Yield the schemas of the tools in a request body."""
    if isinstance(body, list):
        for one in body:
            yield from schemas(one)
    elif isinstance(body, dict):
        for key, value in body.items():
            if key in PLACES and isinstance(value, dict) and "type" in value:
                yield value
            else:
                yield from schemas(value)


@pytest.mark.parametrize("native", [False, True], ids=["common names", "native names"])
@pytest.mark.parametrize("provider", CODECS)
def test_request_bodies_hold_only_keywords_of_json_schema(provider: str, native: bool) -> None:
    options = ProfileOptions(native_names=native, background_processes=True, think=True, submit=True)
    tools = create_profile(provider, "m", options=options).tools()
    body = body_of(CODECS[provider].encode(Request("m", (user("hi"),), tools=tools), stream=True))
    found = list(schemas(body))
    assert len(found) >= 8
    allowed = GEMINI_ONLY if provider == "gemini" else frozenset[str]()
    assert {key for schema in found for key in unknown_keywords(schema)} <= allowed


# what generators of schemas write into the tools of MCP servers
ODD: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "$id": "https://x.example/tool.json",
    "definitions": {
        "Unit": {"enum": ["m", "ft"], "x-order": 1},
        "Tree": {"items": {"$ref": "#/definitions/Tree"}},
    },
    "type": "object",
    "properties": {
        "unit": {"$ref": "#/definitions/Unit"},
        "tree": {"$ref": "#/definitions/Tree"},
        "limit": {"type": "integer", "exclusiveMinimum": True, "minimum": 0, "errorMessage": "no", "ge": 1},
        "when": {"type": "string", "format": "date-time", "nullable": True, "markdownDescription": "x"},
        "pair": {
            "type": "array",
            "items": [{"type": "string"}, {"type": "number"}],
            "discriminator": {"a": 1},
        },
    },
    "dependencies": {"unit": ["limit"]},
    "examples": [{}],
}


@pytest.mark.parametrize("provider", CODECS)
def test_schemas_of_mcp_tools_hold_only_keywords_of_json_schema(provider: str) -> None:
    tool = ToolDefinition("odd", "", provider_schema(ODD))
    body = body_of(CODECS[provider].encode(Request("m", (user("hi"),), tools=(tool,)), stream=True))
    (schema,) = schemas(body)
    allowed = GEMINI_ONLY if provider == "gemini" else frozenset[str]()
    assert set(unknown_keywords(schema)) <= allowed
    assert set(schema["properties"]) == set(ODD["properties"])


def test_a_keyword_of_another_vocabulary_is_noticed() -> None:
    schema = {"type": "object", "properties": {"a": {"anyOf": [{"type": "integer", "ge": 1}]}}}
    assert list(unknown_keywords(schema)) == ["ge"]
