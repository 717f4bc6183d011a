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
    """Return a part of the schema with each reference replaced by the type that it names. No type is recursive.

    `strict`: forbid fields that the schema does not describe. Clients ignore them, but an example must not have any.
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
def strict_schema(group: str, name: str, side: str) -> Any:
    return whole(schema()[group][name][side])


def misfit_of(group: str, name: str, side: str, value: Any) -> str:
    """Return the error of a value; "" if it is valid. `group` is methods or clientRequests, `side` params or result."""
    if name not in schema()[group]:
        return f"{name} is not known"
    return find_schema_error(value, strict_schema(group, name, side))


def misfit_of_event(event: dict[str, Any]) -> str:
    """Return the error of an event; "" if it is valid or of an unknown kind."""
    kinds = [
        one
        for one in event_schema()["anyOf"]
        if not find_schema_error(event["kind"], one["properties"]["kind"])
    ]
    return find_schema_error(event, kinds[0]) if kinds else ""


@cache
def event_schema() -> Any:
    return whole(schema()["$defs"]["Event"])
