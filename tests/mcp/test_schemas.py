"""Schemas of MCP tools: references in every form of JSON Schema, recursion, size, and keywords."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.mcp.schemas import KEYWORDS, MAX_NODES, is_object_schema, provider_schema
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

UNIT = {"type": "string", "enum": ["km", "mi"]}
PAGE = {"type": "object", "properties": {"n": {"type": "integer"}}}


def made(reference: str, **root: Any) -> Any:
    """Return the simplified property `a`, which has this reference."""
    return provider_schema({"type": "object", "properties": {"a": {"$ref": reference}, "b": PAGE}, **root})[
        "properties"
    ]["a"]


@pytest.mark.parametrize(
    ("reference", "root", "expected"),
    [
        reported("github/copilot-cli#1876", "#/$defs/Unit", {"$defs": {"Unit": UNIT}}, UNIT, id="definition"),
        pytest.param("#/definitions/Unit", {"definitions": {"Unit": UNIT}}, UNIT, id="old-definition"),
        reported(
            "Softeria/ms-365-mcp-server#576", "#/properties/c/anyOf/1/properties/to/items",
            {"properties": {"a": {"$ref": "#/properties/c/anyOf/1/properties/to/items"}, "c": {
                "anyOf": [{"type": "null"}, {"properties": {"to": {"type": "array", "items": UNIT}}}]}}},
            UNIT, id="list-steps",
        ),
        pytest.param("#/$defs/Page%3CItem%3E", {"$defs": {"Page<Item>": PAGE}}, PAGE, id="percent-escape"),
        pytest.param("#/$defs/a~1b~0c", {"$defs": {"a/b~c": PAGE}}, PAGE, id="pointer-escape"),
        pytest.param(
            "https://x.example/t.json#/$defs/Unit",
            {"$id": "https://x.example/t.json", "$defs": {"Unit": UNIT}},
            UNIT,
            id="own-address",
        ),
        pytest.param(
            "t.json#/$defs/Unit",
            {"$id": "https://x.example/t.json", "$defs": {"Unit": UNIT}},
            UNIT,
            id="relative-address",
        ),
        pytest.param("#unit", {"$defs": {"U": {"$anchor": "unit", **UNIT}}}, UNIT, id="anchor"),
        pytest.param("#unit", {"$defs": {"U": {"$dynamicAnchor": "unit", **UNIT}}}, UNIT, id="dynamic-anchor"),
        pytest.param("#unit", {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {
            "U": {"$id": "#unit", **UNIT}}}, UNIT, id="anchor-of-draft-7"),
        pytest.param("unit.json", {"$defs": {"U": {"$id": "unit.json", **UNIT}}}, UNIT, id="embedded-schema"),
        pytest.param("#/$defs/A", {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": UNIT}}, UNIT, id="chain"),
        pytest.param("#/$defs/Unit", {"$schema": "urn:unknown", "$defs": {"Unit": UNIT}}, UNIT, id="unknown-dialect"),
        pytest.param("https://elsewhere.example/x.json", {}, {}, id="elsewhere"),
        pytest.param("#/$defs/None", {}, {}, id="dangling"),
        pytest.param("#/properties/b/allOf/x", {}, {}, id="no-such-step"),
        pytest.param("#/$defs/A", {"$defs": {"A": {"$ref": "#/$defs/A"}}}, None, id="itself"),
    ],
)  # fmt: skip
def test_reference_becomes_the_definition_it_names(reference: str, root: Any, expected: Any) -> None:
    found = made(reference, **root)
    assert expected is None or found == expected


def test_description_beside_a_reference_is_kept_also_if_it_cannot_be_resolved() -> None:
    for reference in ("#/$defs/Unit", "#/$defs/None"):
        schema = {"properties": {"a": {"$ref": reference, "description": "of d"}}, "$defs": {"Unit": UNIT}}
        assert provider_schema(schema)["properties"]["a"]["description"] == "of d"


FILTER: Any = {
    "type": "object",
    "properties": {
        "and": {"type": "array", "items": {"$ref": "#/$defs/Filter"}},
        "or": {"type": "array", "items": {"$ref": "#/$defs/Filter"}},
        "not": {"$ref": "#/$defs/Filter"},
        "field": {"type": "string"},
    },
}


@pytest.mark.report("google-labs-code/stitch-sdk#367")
def test_type_that_contains_itself_is_written_out_once_and_named_inside() -> None:
    schema = {
        "type": "object",
        "properties": {"filter": {"$ref": "#/$defs/Filter"}, "limit": {"type": "integer"}, "order": UNIT},
        "$defs": {"Filter": FILTER},
    }
    found = provider_schema(schema)

    assert len(json.dumps(found)) < 3 * len(json.dumps(schema))
    assert found["properties"]["limit"] == {"type": "integer"} and found["properties"]["order"] == UNIT
    inside = found["properties"]["filter"]["properties"]
    assert inside["field"] == {"type": "string"}
    assert inside["not"]["type"] == "object" and "Filter" in inside["not"]["description"]


def test_types_that_contain_each_other_stay_small() -> None:
    names = [f"T{number}" for number in range(10)]
    types = {
        name: {"type": "object", "properties": {other: {"$ref": f"#/$defs/{other}"} for other in names}}
        for name in names
    }
    found = provider_schema({"properties": {"a": {"$ref": "#/$defs/T0"}, "z": UNIT}, "$defs": types})
    assert found["properties"]["z"] == UNIT
    assert len(json.dumps(found)) < 40_000


def test_definition_used_by_many_parameters_is_written_out_for_each() -> None:
    fields = {f"p{number}": {"$ref": "#/$defs/Page"} for number in range(12)}
    found = provider_schema({"properties": fields, "$defs": {"Page": PAGE}})
    assert all(it == PAGE for it in found["properties"].values())


def test_limit_of_parts_leaves_out_the_deepest_ones() -> None:
    deep: dict[str, Any] = {"type": "integer"}
    for _ in range(40):
        deep = {"type": "object", "properties": {f"k{number}": deep for number in range(3)}}
    found = provider_schema({"properties": {"deep": deep, "last": UNIT}})
    assert found["properties"]["last"] == UNIT
    assert json.dumps(found).count("{") < 4 * MAX_NODES


def keywords_of(schema: Any) -> set[str]:
    """Return all keywords of a schema; names of properties and values are no keywords."""
    found: set[str] = set()
    if isinstance(schema, dict):
        for key, value in schema.items():
            found.add(key)
            if key in ("properties", "patternProperties", "dependentSchemas"):
                found.update(*map(keywords_of, value.values()), set())
            elif key not in ("enum", "const", "default", "required"):
                found |= keywords_of(value)
    elif isinstance(schema, list):
        found.update(*map(keywords_of, schema), set())
    return found


def test_only_keywords_of_json_schema_remain() -> None:
    schema = {
        "type": "object",
        "x-order": 1,
        "$comment": "c",
        "properties": {
            "ge": {"type": "integer", "ge": 1, "example": 3, "examples": [1], "errorMessage": "no"},
            "x-real": {"type": "string", "nullable": True, "enum": ["a"]},
            "$ref": {"type": "string", "discriminator": {"propertyName": "k"}},
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
            "age": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
        },
    }
    found = provider_schema(schema)
    assert keywords_of(found) <= KEYWORDS
    assert set(found["properties"]) == {"ge", "x-real", "$ref", "pair", "age"}
    assert found["properties"]["x-real"] == {"type": ["string", "null"], "enum": ["a", None]}
    assert found["properties"]["pair"]["prefixItems"] == [{"type": "string"}, {"type": "integer"}]


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": ["object", "null"]}, {"properties": {}}])
def test_schema_that_allows_an_object_is_accepted(schema: Any) -> None:
    assert is_object_schema(schema)
