"""A request that no provider can accept is refused before it is sent, with the field that is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import agent_ls
from agent_ls.argument_types import Misuse, find_misuse
from agent_ls.llm import (
    CallableTool,
    Client,
    ConfigurationError,
    JsonFormat,
    JsonObject,
    ToolDefinition,
    build_request,
    request_check,
    user,
)

OBJECT: JsonObject = {"type": "object", "properties": {}}
TWICE = (ToolDefinition("look", "Looks.", OBJECT), ToolDefinition("look", "Looks again.", OBJECT))
WRONG: list[dict[str, Any]] = [
    {"tools": ({"name": "look"},)},
    {"tools": (CallableTool("look", "Looks.", OBJECT),)},
    {"tools": None},
    {"tools": TWICE},
    {"reasoning_effort": 3},
    {"max_output_tokens": "5"},
    {"max_output_tokens": 0},
    {"temperature": "hot"},
    {"stop_sequences": "END"},
    {"provider_options": []},
    {"provider_options": {"openai": "x"}},
    {"response_format": {"type": "json"}},
    {"response_format": JsonFormat({"type": "array"})},
    {"messages": ("hi",)},
    {"messages": user("hi")},
    {"messages": ()},
    {"model": None},
    {"metadata": {"a": 1}},
]


@pytest.mark.req("U1", "U15")
@pytest.mark.parametrize(
    "change", WRONG, ids=lambda change: f"{next(iter(change))}-{next(iter(change.values()))!s:.20}"
)
async def test_a_wrong_value_of_a_request_is_named_before_it_is_sent(change: dict[str, Any]) -> None:
    model = agent_ls.ScriptedModel("never")
    client = Client({"test": model})
    request = replace(build_request("m", "hi", provider="test"), **change)
    with pytest.raises(ConfigurationError) as caught:
        await client.complete(request)
    assert next(iter(change)) in str(caught.value) and caught.value.hint
    with pytest.raises(ConfigurationError):
        client.stream(request)
    assert model.requests == []


@pytest.mark.req("U15")
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("my tool", OBJECT),
        ("", OBJECT),
        ("1st", OBJECT),
        ("a" * 65, OBJECT),
        (7, OBJECT),
        ("look", {}),
        ("look", {"type": "array"}),
        ("look", None),
    ],
)
def test_a_tool_definition_is_checked_when_it_is_made(name: Any, parameters: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ToolDefinition(name, "Looks.", parameters)
    assert caught.value.hint


@pytest.mark.req("U15")
@pytest.mark.parametrize("change", [{"description": 7}, {"description": None}, {"free_text": "grammar"}])
def test_the_other_values_of_a_tool_definition_are_named_when_it_is_made(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ToolDefinition(**{"name": "look", "description": "Looks.", "parameters": OBJECT, **change})
    assert next(iter(change)) in str(caught.value) and caught.value.hint


class Unread(dict[str, Any]):
    """A schema of which only the root may be looked at."""

    def items(self) -> Any:
        raise AssertionError("the schema was gone through")

    __iter__ = values = items


async def test_the_schemas_of_tools_are_not_gone_through_for_each_request() -> None:
    tools = (ToolDefinition("look", "Looks.", Unread(OBJECT)),)
    request = replace(build_request("m", "hi", provider="test"), tools=tools)
    assert (await Client({"test": agent_ls.ScriptedModel("yes")}).complete(request)).text == "yes"


async def test_a_request_without_a_fault_is_sent() -> None:
    model = agent_ls.ScriptedModel("yes")
    request = build_request("", "hi", provider="test")
    tools = (CallableTool("look", "Looks.", OBJECT).definition,)
    given = replace(request, tools=tools, temperature=1, metadata={"user_id": "u"}, messages=(user("hi"),))
    assert (await Client({"test": model}).complete(given)).text == "yes"


def test_values_that_are_the_default_are_not_compared_with_their_types(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[str] = []

    def counting(name: str, value: object, hint: object) -> Misuse | None:
        compared.append(name)
        return find_misuse(name, value, hint)

    monkeypatch.setattr(request_check, "find_misuse", counting)
    request_check.check_request(replace(build_request("m", "hi", provider="test"), temperature=0.5))
    assert compared == ["model", "provider", "provider_options", "temperature", "metadata"]
