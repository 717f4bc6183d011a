"""Convert a JSON Schema to Gemini's subset.

`const` becomes an `enum` with one value. `oneOf` becomes `anyOf`. A list of types becomes `nullable` or `anyOf`.
References are inlined. A recursive schema or an object without named properties cannot be converted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_ls.llm.messages import JsonObject

_KEPT = {
    "format", "title", "description", "nullable", "minItems", "maxItems", "required", "minProperties",
    "maxProperties", "minLength", "maxLength", "pattern", "minimum", "maximum", "default", "propertyOrdering",
}  # fmt: skip
_MAX_DEPTH = 24


class _NoSubsetError(Exception):
    pass


def to_gemini_schema(schema: JsonObject) -> JsonObject | None:
    """Return `schema` in Gemini's subset; None if the schema cannot be converted."""
    definitions = schema.get("$defs") or schema.get("definitions")
    try:
        return _convert(schema, definitions if isinstance(definitions, Mapping) else {}, 0)
    except _NoSubsetError:
        return None


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
    """Convert an enumeration. Only strings are allowed in Gemini's subset, so other values are omitted."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list):
        return {}
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) != len([value for value in values if value is not None]):
        return {}
    nullable = {"nullable": True} if None in values else {}
    return {"type": "STRING", "enum": texts, **nullable}


def _convert_choices(choices: list[dict[str, Any]]) -> dict[str, Any]:
    """Convert `anyOf` with null to `nullable`."""
    real = [choice for choice in choices if choice.get("type") != "NULL"]
    nullable = {"nullable": True} if len(real) < len(choices) else {}
    if len(real) == 1:
        return {**real[0], **nullable}
    return {"anyOf": real, **nullable}
