"""Pure: write a tool's schema without choices at its root.

Anthropic, OpenAI and others refuse a request with a tool whose schema has `anyOf`, `oneOf`, `allOf` or `not` at the
top, and one such tool makes each request of the session fail. The server checks the arguments itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ALL = ("allOf",)
_ONE = ("anyOf", "oneOf")
_CONDITIONS = ("then", "else")
_DROPPED = frozenset(
    (*_ALL, *_ONE, *_CONDITIONS, "if", "not", "enum", "const", "dependentSchemas", "dependentRequired")
)
MAX_DEPTH = 8


def without_root_choices(schema: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return an object schema whose properties are those of all branches. What all choices require stays required."""
    properties: dict[str, Any] = {}
    _merge(properties, schema.get("properties"))
    required = dict.fromkeys(_names(schema.get("required")))
    if depth < MAX_DEPTH:
        for key in _ALL:
            for branch in _branches(schema.get(key), depth):
                _merge(properties, branch.get("properties"))
                required |= dict.fromkeys(_names(branch.get("required")))
        for key in _ONE:
            branches = _branches(schema.get(key), depth)
            for branch in branches:
                _merge(properties, branch.get("properties"))
            common = [set(_names(branch.get("required"))) for branch in branches]
            required |= dict.fromkeys(sorted(set.intersection(*common)) if common else ())
        for key in (*_CONDITIONS, "dependentSchemas"):
            inner = schema.get(key)
            found = [*inner.values()] if key == "dependentSchemas" and isinstance(inner, Mapping) else [inner]
            for branch in _branches(found, depth):
                _merge(properties, branch.get("properties"))
    kept = {key: value for key, value in schema.items() if key not in _DROPPED}
    return {
        **kept,
        "properties": properties,
        **({"required": [name for name in required if depth or name in properties]} if required else {}),
    }


def _branches(value: Any, depth: int) -> list[dict[str, Any]]:
    found = value if isinstance(value, list) else []
    return [without_root_choices(branch, depth + 1) for branch in found if isinstance(branch, Mapping)]


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _merge(into: dict[str, Any], properties: Any) -> None:
    """Add the properties of a branch. Where branches differ in a property, each form is allowed."""
    for name, schema in properties.items() if isinstance(properties, Mapping) else ():
        old = into.get(name)
        if old in (None, schema, {}, True):
            into[name] = schema
        elif schema not in ({}, True):
            forms = old["anyOf"] if isinstance(old, Mapping) and [*old] == ["anyOf"] else [old]
            into[name] = old if schema in forms else {"anyOf": [*forms, schema]}
