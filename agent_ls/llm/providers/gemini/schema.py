"""Convert a JSON Schema to Gemini's subset.

`const` becomes an `enum` with one value. `oneOf` becomes `anyOf`. A list of types becomes `nullable` or `anyOf`.
References are inlined. A recursive schema or an object without named properties cannot be converted.

The result is checked against a list of what the service is known to accept. It refuses a whole request for one
keyword at a wrong place, so a schema with anything else is not converted: request.py then sends it as JSON Schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_ls.llm.messages import JsonObject
from agent_ls.patterns import regex

_KEPT = {
    "format", "title", "description", "nullable", "minItems", "maxItems", "required", "minProperties",
    "maxProperties", "minLength", "maxLength", "pattern", "minimum", "maximum", "default", "propertyOrdering",
}  # fmt: skip
_MAX_DEPTH = 24

# What the service is known to accept: the formats of each type, and the keywords beside them.
_FORMATS: Mapping[str, frozenset[str]] = {
    "STRING": frozenset({"enum", "date-time"}),
    "NUMBER": frozenset({"float", "double"}),
    "INTEGER": frozenset({"int32", "int64"}),
    "BOOLEAN": frozenset(),
    "ARRAY": frozenset(),
    "OBJECT": frozenset(),
}
_EVERYWHERE = frozenset({"type", "format", "title", "description", "nullable", "default"})
_OF_TYPE: Mapping[str, frozenset[str]] = {
    "STRING": frozenset({"enum", "minLength", "maxLength", "pattern"}),
    "NUMBER": frozenset({"minimum", "maximum"}),
    "INTEGER": frozenset({"minimum", "maximum"}),
    "ARRAY": frozenset({"items", "minItems", "maxItems"}),
    "OBJECT": frozenset({"properties", "required", "propertyOrdering", "minProperties", "maxProperties"}),
}
_NAME = regex(r"[a-zA-Z_][a-zA-Z0-9_.\-]*")


class _NoSubsetError(Exception):
    pass


def to_gemini_schema(schema: JsonObject) -> JsonObject | None:
    """Return `schema` in Gemini's subset; None if the schema cannot be converted."""
    definitions = schema.get("$defs") or schema.get("definitions")
    try:
        converted = _convert(schema, definitions if isinstance(definitions, Mapping) else {}, 0)
    except _NoSubsetError:
        return None
    return converted if _is_accepted(converted) else None


def _convert(schema: Any, definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if depth > _MAX_DEPTH:
        raise _NoSubsetError
    if not isinstance(schema, Mapping):  # `true` allows any value
        return {}
    if "$ref" in schema:
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return _convert({**_resolve_reference(schema["$ref"], definitions), **beside}, definitions, depth + 1)
    if "not" in schema or "patternProperties" in schema:
        raise _NoSubsetError
    if isinstance(whole := schema.get("allOf"), list):
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        if len(whole) != 1:
            raise _NoSubsetError
        return _convert({**whole[0], **rest}, definitions, depth + 1)
    out: dict[str, Any] = {key: value for key, value in schema.items() if key in _KEPT and value is not None}
    out.update(_convert_type(schema.get("type")))
    out.update(_convert_enum(schema))
    if isinstance(properties := schema.get("properties"), Mapping) and properties:
        out["properties"] = {
            name: _convert(inner, definitions, depth + 1) for name, inner in properties.items()
        }
    elif out.get("type") == "OBJECT":
        raise _NoSubsetError  # the service accepts no object with arbitrary property names
    if "items" in schema:
        out["items"] = _convert(schema["items"], definitions, depth + 1)
    choices = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(choices, list):
        out.update(_convert_choices([_convert(choice, definitions, depth + 1) for choice in choices]))
    return out


def _resolve_reference(reference: Any, definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    found = definitions.get(str(reference).rpartition("/")[2])
    if not isinstance(found, Mapping):
        raise _NoSubsetError
    return found


def _convert_type(kind: Any) -> dict[str, Any]:
    if isinstance(kind, str):
        return {"type": kind.upper()}
    if not isinstance(kind, list):
        return {}
    kinds = [word.upper() for word in kind if word != "null"]
    nullable = {"nullable": True} if "null" in kind else {}
    if len(kinds) == 1:
        return {"type": kinds[0], **nullable}
    return {"anyOf": [{"type": word} for word in kinds], **nullable}


def _convert_enum(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Convert an enumeration of strings."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list):
        return {}
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) != len([value for value in values if value is not None]):
        raise _NoSubsetError  # only strings are allowed
    nullable = {"nullable": True} if None in values else {}
    return {"type": "STRING", "enum": texts, **nullable}


def _convert_choices(choices: list[dict[str, Any]]) -> dict[str, Any]:
    """Convert `anyOf` with null to `nullable`."""
    real = [choice for choice in choices if choice.get("type") != "NULL"]
    nullable = {"nullable": True} if len(real) < len(choices) else {}
    if len(real) == 1:
        return {**real[0], **nullable}
    return {"anyOf": real, **nullable}


def _is_accepted(node: Mapping[str, Any]) -> bool:
    """Return whether the service is known to accept a converted schema."""
    choices, kind = node.get("anyOf"), node.get("type")
    if choices is not None:
        has_other = set(node) - {"anyOf", "nullable", "description", "title"}
        return not has_other and len(choices) > 1 and all(map(_is_accepted, choices))
    if (
        not isinstance(kind, str)
        or kind not in _FORMATS
        or not set(node) <= _EVERYWHERE | _OF_TYPE.get(kind, frozenset())
    ):
        return False
    if "format" in node and node["format"] not in _FORMATS[kind]:
        return False
    if kind == "OBJECT":
        properties = node.get("properties", {})
        names = node.get("required", [])
        is_known = isinstance(names, list) and all(name in properties for name in names)
        return (
            is_known and all(map(_NAME.fullmatch, properties)) and all(map(_is_accepted, properties.values()))
        )
    if kind == "ARRAY":
        return isinstance(node.get("items"), Mapping) and _is_accepted(node["items"])
    return all(node.get("enum", ["-"])) and node.get("enum") != []
