"""Whether a schema fits the strict subset of OpenAI's APIs; it changes no schema."""

from __future__ import annotations

from collections.abc import Mapping

from agent_ls.llm.messages import JsonObject, JsonValue

# Anything else may be refused in a strict schema, and a refused tool list loses the whole call.
_KNOWN = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "anyOf",
    "description",
    "title",
}


def fits_strict(schema: JsonObject) -> bool:
    """True when every object closes itself and requires all its properties (FORMATS section 1)."""
    return schema.get("type") == "object" and "anyOf" not in schema and _fits(schema)


def _fits(schema: JsonValue) -> bool:
    if not isinstance(schema, Mapping) or not set(schema) <= _KNOWN:
        return False
    if schema.get("type") == "object" and not _is_closed(schema):
        return False
    return all(_fits(inner) for inner in _inner(schema))


def _is_closed(schema: JsonObject) -> bool:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    return (
        schema.get("additionalProperties") is False
        and isinstance(properties, Mapping)
        and isinstance(required, list | tuple)
        and set(properties) == {name for name in required if isinstance(name, str)}
    )


def _inner(schema: JsonObject) -> list[JsonValue]:
    properties, choices = schema.get("properties"), schema.get("anyOf")
    return [
        *(properties.values() if isinstance(properties, Mapping) else ()),
        *(choices if isinstance(choices, list | tuple) else ()),
        *([schema["items"]] if "items" in schema else ()),
    ]
