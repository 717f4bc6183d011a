"""A schema of others cannot block the process: what may take too long is not checked."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.schema_check import find_schema_error
from agent_ls.llm.schema_cost import MAX_KEYWORDS, MAX_PATTERN_STEPS, steps_of

pytestmark = pytest.mark.req("T10", "R5")

SLOW = "(a+)+$"
TEXT = "a" * 40 + "!"
DOUBLING = {
    "$defs": {
        "x": {"anyOf": [{"properties": {"a": {"$ref": "#/$defs/x"}}, "required": [key]} for key in "yz"]}
    },
    "$ref": "#/$defs/x",
}


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"a": found}
    return found


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        pytest.param(TEXT, {"pattern": SLOW}, id="pattern"),
        pytest.param(
            [TEXT], {"items": {"anyOf": [{"pattern": "x"}, {"pattern": SLOW}]}}, id="pattern inside"
        ),
        pytest.param({TEXT: 1}, {"propertyNames": {"pattern": SLOW}}, id="names"),
        pytest.param({TEXT: 1}, {"patternProperties": {SLOW: {}}}, id="pattern of properties"),
        pytest.param(
            {TEXT: 1}, {"additionalProperties": False, "patternProperties": {SLOW: {}}}, id="other properties"
        ),
        pytest.param(
            {TEXT: 1},
            {"unevaluatedProperties": False, "allOf": [{"patternProperties": {SLOW: {}}}]},
            id="unevaluated",
        ),
        pytest.param(nested(40), DOUBLING, id="doubling references"),
        pytest.param([{"a": [i]} for i in range(20_000)], {"uniqueItems": True}, id="duplicates"),
        pytest.param(["x"] * MAX_KEYWORDS, {"items": {"type": "integer"}}, id="many items"),
    ],
)
def test_a_check_that_may_take_too_long_is_not_made(value: Any, schema: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        find_schema_error(value, schema)


@pytest.mark.parametrize(
    ("value", "schema", "has_problem"),
    [
        ("aaa!", {"pattern": SLOW}, True),
        ("aaa", {"pattern": SLOW}, False),
        ("2026-01-01", {"pattern": r"^\d{4}-\d{2}-\d{2}$"}, False),
        ("v1.2.3-beta", {"pattern": r"^v?\d+\.\d+\.\d+(-beta)?$"}, False),
        ("a b", {"pattern": r"^[\w-]+$"}, True),
        ("x" * 5_000, {"pattern": "^[a-z]+$"}, False),
        ("x" * 100_000, {"pattern": "^(foo|bar)$"}, True),
        (
            {"x-a": 1},
            {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False},
            False,
        ),
        ({"y": 1}, {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False}, True),
        ([1, 2, 2], {"uniqueItems": True}, True),
        ({"pattern": TEXT}, {"properties": {"pattern": {"type": "string"}}}, False),
        ({"pattern": SLOW}, {"const": {"pattern": SLOW}}, False),
        (nested(8), DOUBLING, True),
    ],
)
def test_a_usual_check_is_made(value: Any, schema: dict[str, Any], has_problem: bool) -> None:
    assert bool(find_schema_error(value, schema)) == has_problem


def test_the_schema_of_a_program_is_always_checked() -> None:
    assert find_schema_error(["x"] * MAX_KEYWORDS, {"items": {"type": "integer"}}, is_own=True)


@pytest.mark.parametrize(
    "pattern",
    [
        SLOW,
        "(a|a)*b",
        "(a?){30}a{30}",
        "a*a*a*a*a*b",
        "((a{1,40}){1,40})c",
        r"(\w+)\1",
        "(?=(a+)+b)a",
        "^a|(b*)*c",
    ],
)
def test_a_pattern_that_may_backtrack_is_costly_for_long_texts_only(pattern: str) -> None:
    assert steps_of(pattern, 1_000) > MAX_PATTERN_STEPS > steps_of(pattern, 3)


@pytest.mark.parametrize(
    "pattern", ["^[a-z0-9-]+$", "^https?://.*$", r"^[^@]+@[^@]+$", "[", "", "a{3}", "abc|def"]
)
def test_a_usual_pattern_is_never_costly(pattern: str) -> None:
    assert steps_of(pattern, 2_000) <= MAX_PATTERN_STEPS
