"""The protocol's schema in the form that tests use: without references, and without unknown fields."""

from __future__ import annotations

from functools import cache
from typing import Any

from agent_ls.llm.schema_check import find_schema_error
from agent_ls.server.schema.messages import protocol_schema


@cache
def schema() -> dict[str, Any]:
    return protocol_schema()


def whole(part: Any, *, strict: bool = True) -> Any:
    """With what is referred to in place of the reference; nothing of ours refers to itself.

    `strict`: clients leave alone what they do not know, but an example has no field that nobody describes.
    """
    if isinstance(part, list):
        return [whole(item, strict=strict) for item in part]
    if not isinstance(part, dict):
        return part
    if isinstance(ref := part.get("$ref"), str):
        return whole(schema()["$defs"][ref.removeprefix("#/$defs/")], strict=strict)
    closed = {"additionalProperties": False} if strict and "properties" in part else {}
    return closed | {key: whole(value, strict=strict) for key, value in part.items() if key != "$defs"}


@cache
def _strict(group: str, name: str, side: str) -> Any:
    return whole(schema()[group][name][side])


def misfit_of(group: str, name: str, side: str, value: Any) -> str:
    """In words, "" for nothing. `group` is methods or clientRequests, `side` params or result."""
    if name not in schema()[group]:
        return f"{name} is not known"
    return find_schema_error(value, _strict(group, name, side))


def completed(value: Any, part: Any) -> Any:
    """The value with what it must have and a test did not care to say: "", 0, false, nothing."""
    if isinstance(choices := part.get("anyOf"), list):
        made = (completed(value, choice) for choice in choices)
        return next(
            (one for one, choice in zip(made, choices, strict=True) if not find_schema_error(one, choice)),
            value,
        )
    if isinstance(value, dict) and "properties" in part:
        missing = [name for name in part.get("required", ()) if name not in value]
        filled = {name: _neutral(part["properties"][name]) for name in missing}
        return filled | {
            name: completed(one, part["properties"].get(name, {})) for name, one in value.items()
        }
    if isinstance(value, list) and "items" in part:
        return [completed(item, part["items"]) for item in value]
    return value


def _neutral(part: Any) -> Any:
    if isinstance(choices := part.get("anyOf"), list):
        return None if {"type": "null"} in choices else _neutral(choices[0])
    if "const" in part:
        return part["const"]
    if "enum" in part:
        return part["enum"][0]
    kinds: dict[str, Any] = {
        "string": "",
        "integer": part.get("minimum", 0),
        "number": 0,
        "boolean": False,
        "array": [],
    }
    return kinds[part["type"]] if part["type"] in kinds else completed({}, part)


def completed_event(event: dict[str, Any]) -> dict[str, Any]:
    """An event of a kind that nobody knows stays as it is."""
    for one in _event()["anyOf"]:
        if event["kind"] in (
            one["properties"]["kind"].get("const"),
            *one["properties"]["kind"].get("enum", ()),
        ):
            whole_one: dict[str, Any] = completed(event, one)
            return whole_one
    return event


def misfit_of_event(event: dict[str, Any]) -> str:
    kinds = [
        one for one in _event()["anyOf"] if not find_schema_error(event["kind"], one["properties"]["kind"])
    ]
    return find_schema_error(event, kinds[0]) if kinds else ""


@cache
def _event() -> Any:
    return whole(schema()["$defs"]["Event"])


def completed_side(group: str, name: str, side: str, value: Any) -> Any:
    return completed(value, _strict(group, name, side)) if name in schema()[group] else value
