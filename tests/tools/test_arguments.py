from __future__ import annotations

import json

import pytest
from pydantic import Field, ValidationError

from agent_ls.loop.calls.arguments import parse_arguments
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext
from agent_ls.tools.registry import ToolRegistry


class Sample(Arguments):
    title: str = Field(description="Its title.")
    note: str = Field(default="", description="A note.")
    count: int = Field(default=3, ge=1, description="How many.")
    sizes: dict[str, int] = Field(default_factory=dict, description="Sizes.")


async def prepare(arguments: Sample, context: ToolContext) -> Prepared:
    raise NotImplementedError


SAMPLE = Tool("sample", "A sample.", "read", Sample, prepare, lambda a: a.title)


@pytest.mark.req("T1")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"title": "a"}, ("a", "", 3), id="defaults"),
        pytest.param({"title": "a", "note": None, "count": None}, ("a", "", 3), id="null-is-not-given"),
        pytest.param(
            {"title": "a", "count": "5"},
            ("a", "", 5),
            id="number-as-text",
            marks=pytest.mark.report("vllm-project/vllm#21756"),
        ),
    ],
)
def test_arguments_when_valid_then_they_are_parsed(
    given: dict[str, object], expected: tuple[str, str, int]
) -> None:
    written = json.dumps(given)
    for text in (written, json.dumps(written)):  # some servers send the object as a text
        values = parse_arguments(text, Sample)
        assert (values.title, values.note, values.count) == expected


@pytest.mark.spec("loop 9.3.3")
@pytest.mark.req("T1", "T9")
@pytest.mark.parametrize(
    ("given", "name", "kind"),
    [
        pytest.param({}, "title", "missing", id="missing"),
        pytest.param({"title": None}, "title", "string_type", id="null-for-a-required-one"),
        pytest.param({"title": 1}, "title", "string_type", id="wrong-type"),
        pytest.param({"title": "a", "count": 0}, "count", "greater_than_equal", id="out-of-range"),
        pytest.param({"title": "a", "tilte": "b"}, "tilte", "extra_forbidden", id="unknown"),
        pytest.param({"title": "a", "tilte": None}, "tilte", "extra_forbidden", id="unknown-and-null"),
        pytest.param({"title": "\ud800"}, "title", "value_error", id="half-a-surrogate-pair"),
        pytest.param({"title": "a", "sizes": {"\udfff": 1}}, "sizes", "value_error", id="half-a-pair-inside"),
    ],
)
def test_arguments_when_invalid_then_each_error_is_reported(
    given: dict[str, object], name: str, kind: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        Sample.model_validate(given)
    assert [(problem["loc"], problem["type"]) for problem in caught.value.errors()] == [((name,), kind)]


@pytest.mark.req("T9")
def test_definitions_have_plain_schemas_and_unchanged_property_names() -> None:
    (definition,) = ToolRegistry([SAMPLE]).definitions()
    assert definition.parameters == {
        "type": "object",
        "additionalProperties": False,
        "required": ["title"],
        "properties": {
            "title": {"type": "string", "description": "Its title."},
            "note": {"type": "string", "description": "A note."},
            "count": {"type": "integer", "description": "How many.", "default": 3, "minimum": 1},
            "sizes": {"type": "object", "description": "Sizes.", "additionalProperties": {"type": "integer"}},
        },
    }


@pytest.mark.req("P6")
def test_registry_when_a_name_is_registered_again_then_the_latest_wins() -> None:
    first = Tool("x", "1", "read", Sample, prepare, lambda a: a.title)
    second = Tool("x", "2", "read", Sample, prepare, lambda a: a.title)
    registry = ToolRegistry([first, SAMPLE])
    copy = registry.copy()
    registry.register(second)
    assert registry.names() == ("x", "sample")
    assert registry.lookup("x") is second
    assert copy.lookup("x") is first
    registry.unregister("x")
    registry.unregister("never there")
    assert registry.lookup("x") is None
