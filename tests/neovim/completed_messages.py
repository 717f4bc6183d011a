"""Fill required fields of messages that a test leaves out, by the protocol's schema."""

from __future__ import annotations

from typing import Any

from tests.support.wire_schema import misfit, schema, schemas_of_events, strict_schema


def completed(value: Any, part: Any) -> Any:
    """Return the value with its missing required fields added as "", 0, false, an empty list, or null."""
    if isinstance(choices := part.get("anyOf"), list):
        made = (completed(value, choice) for choice in choices)
        return next(
            (one for one, choice in zip(made, choices, strict=True) if not misfit(one, choice)),
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
    """Return the event with its missing required fields added. An event of an unknown kind is not changed."""
    known = schemas_of_events().get(event["kind"])
    whole: dict[str, Any] = completed(event, known) if known else event
    return whole


def completed_side(group: str, name: str, side: str, value: Any) -> Any:
    """Return the params or the result of a method with the missing required fields added."""
    return completed(value, strict_schema(group, name, side)) if name in schema()[group] else value
