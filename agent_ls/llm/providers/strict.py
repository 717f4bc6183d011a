"""Decide whether a schema fits the strict subset of OpenAI's APIs."""

from __future__ import annotations

from collections.abc import Mapping

from agent_ls.llm.messages import JsonObject, JsonValue

# The keywords that a strict schema may have. The API may refuse the whole request because of other keywords.
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
    """Return True if every object forbids additional properties and requires all its properties."""
    return schema.get("type") == "object" and "anyOf" not in schema and _is_strict(schema)


def _is_strict(schema: JsonValue) -> bool:
    if not isinstance(schema, Mapping) or not set(schema) <= _KNOWN:
        return False
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list | tuple) else (kind,)
    if ("object" in kinds and not _is_closed(schema)) or ("array" in kinds and "items" not in schema):
        return False
    return all(_is_strict(inner) for inner in _inner(schema))


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


def to_strict(schema: JsonObject) -> JsonObject | None:
    """Return a strict schema for the same arguments, None if there is none.

    Optional properties become required and accept null, which means absent. Keywords outside the subset
    (lengths, ranges, patterns, defaults) are left out; arguments are still checked against the original schema.
    """
    if "anyOf" in schema or schema.get("type") != "object":
        return None
    found = _close_objects(schema, MAX_DEPTH)
    return found if isinstance(found, dict) and fits_strict(found) else None


MAX_DEPTH = 10
"""Maximum nesting depth of a strict schema."""

_LEFT_OUT = {
    "default",
    "examples",
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
}


def _close_objects(schema: JsonValue, depth: int) -> JsonValue:
    """Return the schema with all objects closed (without additional properties).

    A part that cannot be closed stays unchanged; the result is then not strict.
    """
    if not isinstance(schema, Mapping) or not depth:
        return None
    found = {key: value for key, value in schema.items() if key not in _LEFT_OUT}
    for key in ("items", "anyOf"):
        inner = found.get(key)
        if isinstance(inner, list | tuple):
            found[key] = [_close_objects(choice, depth - 1) for choice in inner]
        elif inner is not None:
            found[key] = _close_objects(inner, depth - 1)
    properties, required = found.get("properties"), found.get("required", [])
    if isinstance(properties, Mapping) and properties and not found.get("additionalProperties"):
        needed = required if isinstance(required, list | tuple) else []
        closed = {name: _close_objects(value, depth - 1) for name, value in properties.items()}
        found["properties"] = {
            name: value if name in needed else _make_nullable(value) for name, value in closed.items()
        }
        found |= {"required": list(properties), "additionalProperties": False}
    return found


def _make_nullable(schema: JsonValue) -> JsonValue:
    if not isinstance(schema, Mapping):
        return schema
    kind, choices, values = schema.get("type"), schema.get("anyOf"), schema.get("enum")
    found = dict(schema)
    if isinstance(choices, list | tuple):
        return found if {"type": "null"} in choices else {**found, "anyOf": [*choices, {"type": "null"}]}
    if kind is not None:
        kinds = list(kind) if isinstance(kind, list | tuple) else [kind]
        found["type"] = kinds if "null" in kinds else [*kinds, "null"]
    if isinstance(values, list | tuple):
        found["enum"] = list(values) if None in values else [*values, None]
    return found
