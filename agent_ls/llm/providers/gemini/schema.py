"""Gemini's schema subset made from ours: what it does not know is said in its own words, or not at all.

`const` becomes an `enum` of one, `oneOf` an `anyOf`, a list of types a `nullable` or an `anyOf`; references are put in
place. A schema that refers to itself has no such form, nor has an object whose properties are not named.
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


def subset(schema: JsonObject) -> JsonObject | None:
    """`schema` in Gemini's subset; None when it has no form there."""
    definitions = schema.get("$defs") or schema.get("definitions")
    try:
        return _converted(schema, definitions if isinstance(definitions, Mapping) else {}, 0)
    except _NoSubsetError:
        return None


def _converted(schema: Any, definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if depth > _MAX_DEPTH:
        raise _NoSubsetError
    if not isinstance(schema, Mapping):  # `true`: anything
        return {}
    if "$ref" in schema:
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return _converted({**_referred(schema["$ref"], definitions), **beside}, definitions, depth + 1)
    if "not" in schema or "patternProperties" in schema:
        raise _NoSubsetError
    if isinstance(whole := schema.get("allOf"), list):
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        if len(whole) != 1:
            raise _NoSubsetError
        return _converted({**whole[0], **rest}, definitions, depth + 1)
    out: dict[str, Any] = {key: value for key, value in schema.items() if key in _KEPT and value is not None}
    out.update(_typed(schema.get("type")))
    out.update(_values(schema))
    if isinstance(properties := schema.get("properties"), Mapping) and properties:
        out["properties"] = {
            name: _converted(inner, definitions, depth + 1) for name, inner in properties.items()
        }
    elif out.get("type") == "OBJECT":
        raise _NoSubsetError  # the service takes no object there whose names are free
    if "items" in schema:
        out["items"] = _converted(schema["items"], definitions, depth + 1)
    choices = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(choices, list):
        out.update(_chosen([_converted(choice, definitions, depth + 1) for choice in choices]))
    return out


def _referred(reference: Any, definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    found = definitions.get(str(reference).rpartition("/")[2])
    if not isinstance(found, Mapping):
        raise _NoSubsetError
    return found


def _typed(kind: Any) -> dict[str, Any]:
    if isinstance(kind, str):
        return {"type": kind.upper()}
    if not isinstance(kind, list):
        return {}
    kinds = [word.upper() for word in kind if word != "null"]
    nullable = {"nullable": True} if "null" in kind else {}
    if len(kinds) == 1:
        return {"type": kinds[0], **nullable}
    return {"anyOf": [{"type": word} for word in kinds], **nullable}


def _values(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Only texts may be listed; other values are left to the words of the description."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list):
        return {}
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) != len([value for value in values if value is not None]):
        return {}
    nullable = {"nullable": True} if None in values else {}
    return {"type": "STRING", "enum": texts, **nullable}


def _chosen(choices: list[dict[str, Any]]) -> dict[str, Any]:
    """`anyOf` with null is what `nullable` says."""
    real = [choice for choice in choices if choice.get("type") != "NULL"]
    nullable = {"nullable": True} if len(real) < len(choices) else {}
    if len(real) == 1:
        return {**real[0], **nullable}
    return {"anyOf": real, **nullable}
