"""Keywords of a server's schema with values of a wrong type: providers refuse a whole request for one of them."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agent_ls.mcp.schemas import KEYWORDS, provider_schema
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

VALUES: list[Any] = [
    reported("MarkusPfundstein/mcp-gsuite#60", {"type": "string", "required": False}, {"type": "string"}),
    reported("zanetworker/mcp-docling#5", {"type": "int"}, {"type": "integer"}),
    reported("blurrah/mcp-graphql#14", {"type": "any"}, {}),
    reported("crowecawcaw/click-mcp#20", {"description": None, "schema": {"type": "boolean"}}, {}),
    ({"type": "String"}, {"type": "string"}),
    ({"type": "float", "minimum": "0", "maximum": "1.5"}, {"type": "number", "minimum": 0, "maximum": 1.5}),
    ({"type": ["str", None]}, {"type": ["string", "null"]}),
    ({"type": ["string", "str"]}, {"type": ["string"]}),
    ({"type": None}, {}),
    ({"type": "string", "description": ["a", "b"]}, {"type": "string", "description": "a\nb"}),
    ({"type": "string", "minLength": -1, "maxLength": 5.0}, {"type": "string", "maxLength": 5}),
    ({"type": "string", "enum": []}, {"type": "string"}),
    ({"anyOf": []}, {}),
    ({"type": "array", "items": "string"}, {"type": "array", "items": {}}),
    ({"type": "object", "required": "a"}, {"type": "object", "required": ["a"]}),
]


@pytest.mark.parametrize(("schema", "expected"), VALUES)
def test_a_value_gets_a_valid_form_or_is_left_out(schema: Any, expected: Any) -> None:
    assert provider_schema({"type": "object", "properties": {"a": schema}})["properties"]["a"] == expected


@pytest.mark.report("Dolibarr/dolibarr#38290")
def test_arguments_that_say_that_they_are_required_are_in_the_list() -> None:
    marked = {"type": "integer", "required": True}
    schema = {"type": "object", "properties": {"a": marked, "b": marked, "c": {}}, "required": ["b", "b", 1]}
    assert provider_schema(schema)["required"] == ["b", "a"]


ODD: list[Any] = [
    None, True, "", "x", "5", 0, -1, 1.5, float("inf"), [], [None], ["a", "a"], [1], [{}], {}, {"a": None},
    {"a": "x"}, {"a": ["b", "b", 1]},
]  # fmt: skip


@pytest.mark.parametrize("keyword", sorted(KEYWORDS - {"pattern"}))
def test_no_value_makes_the_schema_invalid(keyword: str) -> None:
    for value in ODD:
        for schema in ({keyword: value}, {"properties": {"a": {keyword: value}}}):
            Draft202012Validator.check_schema(provider_schema({"type": "object", **schema}))
