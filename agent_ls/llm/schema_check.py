"""Whether a JSON value fits a JSON Schema, as far as schemas of tools and answers go; the first misfit in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def misfit(value: Any, schema: Any, place: str = "") -> str:
    """ "" when `value` fits. Keywords that are not known are not checked; references are not followed."""
    if not isinstance(schema, Mapping):
        return ""
    where = place or "the value"
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(kinds, list) and not any(_is_a(value, kind) for kind in kinds):
        return f"{where} must be {' or '.join(map(str, kinds))}"
    if "const" in schema and value != schema["const"]:
        return f"{where} must be {schema['const']!r}"
    if isinstance(schema.get("enum"), list) and value not in schema["enum"]:
        return f"{where} must be one of {', '.join(map(repr, schema['enum']))}"
    choices = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(choices, list) and all(misfit(value, choice, place) for choice in choices):
        return f"{where} fits none of the forms that it may have"
    if isinstance(value, dict):
        return _object_misfit(value, schema, place)
    if isinstance(value, list) and "items" in schema:
        found = (misfit(item, schema["items"], f"{place}[{at}]") for at, item in enumerate(value))
        return next(filter(None, found), "")
    return ""


def _object_misfit(value: dict[str, Any], schema: Mapping[str, Any], place: str) -> str:
    properties = schema.get("properties") or {}
    missing = [name for name in schema.get("required") or () if name not in value]
    if missing:
        return f"{_at(place, missing[0])} is missing"
    unknown = [name for name in value if name not in properties]
    if unknown and schema.get("additionalProperties") is False:
        return f"{_at(place, unknown[0])} is not known"
    found = (
        misfit(value[name], inner, _at(place, name)) for name, inner in properties.items() if name in value
    )
    return next(filter(None, found), "")


def _at(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _is_a(value: Any, kind: Any) -> bool:
    if isinstance(value, bool):
        return bool(kind == "boolean")
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(str(kind), (object,)))
