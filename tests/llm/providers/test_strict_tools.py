"""OpenAI's strict schemas for tools: the provider option `strict_tools`, and null for absent arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.absent_arguments import without_absent
from agent_ls.llm.messages import user
from agent_ls.llm.providers.strict import fits_strict, to_strict
from agent_ls.llm.requests import Request, ToolDefinition
from agent_ls.llm.schema_check import find_schema_error
from agent_ls.loop.calls.arguments import parse_arguments
from agent_ls.profiles.create import create_profile
from agent_ls.profiles.options import ProfileOptions
from agent_ls.tools.base import Tool
from tests.llm.providers.test_openai_request import NULLABLE, closed, encode

pytestmark = pytest.mark.req("U6")

TEXT: dict[str, Any] = {"type": "string"}

OPEN: dict[str, Any] = {"type": "object", "properties": {"b": TEXT}}

STRICT: dict[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
    "optional": ({"type": "object", "properties": {"a": TEXT}}, closed(a={"type": ["string", "null"]})),
    "required": ({"type": "object", "properties": {"a": TEXT}, "required": ["a"]}, closed(a=TEXT)),
    "limits": (
        {"type": "object", "properties": {"a": {**TEXT, "minLength": 1, "default": "x"}}},
        closed(a={"type": ["string", "null"]}),
    ),
    "one of some words": (
        {"type": "object", "properties": {"a": {**TEXT, "enum": ["x"]}}},
        closed(a={"type": ["string", "null"], "enum": ["x", None]}),
    ),
    "a choice": ({"type": "object", "properties": {"a": NULLABLE}}, closed(a=NULLABLE)),
    "inside of a list": (
        {"type": "object", "properties": {"a": {"type": "array", "items": OPEN}}, "required": ["a"]},
        closed(a={"type": "array", "items": closed(b={"type": ["string", "null"]})}),
    ),
    "no properties": (closed(), closed()),
    "any names": ({"type": "object", "properties": {"a": {"type": "object"}}}, None),
    "more names": ({"type": "object", "properties": {"a": TEXT}, "additionalProperties": TEXT}, None),
    "parts of another schema": ({"type": "object", "properties": {"a": {"allOf": [TEXT]}}}, None),
    "a reference": ({"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": TEXT}}, None),
    "root is a choice": ({"type": "object", "anyOf": [closed()]}, None),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "expected"), STRICT.values(), ids=STRICT)
def test_to_strict_converts_a_schema_or_returns_none(
    schema: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    found = to_strict(schema)
    assert found == expected
    assert found is None or fits_strict(found)


def test_schema_that_is_nested_too_deep_is_not_strict() -> None:
    schema: dict[str, Any] = closed(a=TEXT)
    for _ in range(12):
        schema = closed(a=schema)
    assert to_strict(schema) is None


@pytest.mark.parametrize("chosen", [True, False])
def test_strict_tools_option_converts_suitable_schemas_and_is_not_sent(*, chosen: bool) -> None:
    free = ToolDefinition("free", "", {"type": "object", "properties": {"a": {"type": "object"}}})
    tool = ToolDefinition("read", "", {"type": "object", "properties": {"a": TEXT}})
    request = Request(
        "gpt-5", (user("a"),), tools=(tool, free), provider_options={"openai": {"strict_tools": chosen}}
    )
    body = encode(request)
    assert [each["strict"] for each in body["tools"]] == [chosen, False]
    assert body["tools"][0]["parameters"] == (to_strict(tool.parameters) if chosen else tool.parameters)
    assert body["tools"][1]["parameters"] == free.parameters
    assert "strict_tools" not in body


def _offered(*, native: bool) -> list[Tool[Any]]:
    options = ProfileOptions(plan=True, ask_user=True, think=True, subagents=True, native_names=native)
    registry = create_profile("openai", "gpt-5", options=options).registry
    return [tool for name in registry.names() if (tool := registry.lookup(name))]


EVERY = [(native, tool) for native in (False, True) for tool in _offered(native=native)]


@pytest.mark.parametrize(("native", "tool"), EVERY, ids=[f"{tool.name}-{native}" for native, tool in EVERY])
def test_built_in_tools_accept_arguments_that_match_their_strict_schema(
    native: bool, tool: Tool[Any]
) -> None:
    definitions = create_profile(
        "openai",
        "gpt-5",
        options=ProfileOptions(plan=True, ask_user=True, think=True, subagents=True, native_names=native),
    ).tools()
    (schema,) = [to_strict(each.parameters) for each in definitions if each.name == tool.name]
    assert schema
    sample = _sample(schema)
    assert not find_schema_error(sample, schema)
    parse_arguments(json.dumps(sample), tool.arguments)


def _sample(schema: Any) -> Any:
    """Return a valid value for a schema, with null wherever the schema accepts null."""
    kind = schema.get("type")
    if "null" in (kind or ()) or {"type": "null"} in schema.get("anyOf", ()):
        return None
    if schema.get("enum"):
        return schema["enum"][0]
    if kind == "object":
        return {name: _sample(inner) for name, inner in schema["properties"].items()}
    if kind == "array":
        return [_sample(schema["items"])]
    return 1 if kind == "integer" else kind == "boolean" or "x"


def test_null_is_removed_only_for_optional_arguments_that_do_not_accept_null() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": TEXT,
            "b": NULLABLE,
            "c": TEXT,
            "d": {"type": "array", "items": {"type": "object", "properties": {"e": TEXT}}},
            "f": {"$ref": "#/$defs/f"},
        },
        "required": ["c"],
    }
    given = {"a": None, "b": None, "c": None, "d": [{"e": None}, 1], "f": None, "g": None}
    assert without_absent(given, schema) == {"b": None, "c": None, "d": [{}, 1], "f": None, "g": None}
