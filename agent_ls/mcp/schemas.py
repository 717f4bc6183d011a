"""Pure: convert a tool's JSON Schema to the subset that all providers accept: no references, no annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_ls.mcp.descriptions import JsonObject

MAX_DEPTH = 8
MAX_NODES = 5_000
_LEFT_OUT = ("$schema", "$id", "$comment", "$defs", "definitions", "$anchor", "$vocabulary", "examples")
_NAMED = ("properties", "patternProperties", "dependentSchemas")
_DATA = ("enum", "const", "default", "required")


def provider_schema(schema: JsonObject) -> dict[str, Any]:
    """Return the schema for a model. A part that is nested too deeply, or whose reference is invalid, becomes {} (any
    value).
    """
    plain = _SchemaSimplifier(schema).simplify(schema, 0)
    found = plain if isinstance(plain, dict) else {}
    found["type"] = "object"
    if not isinstance(found.get("properties"), dict):
        found["properties"] = {}
    return found


def is_object_schema(schema: Any) -> bool:
    """Return whether the schema allows a JSON object. The arguments of a tool are always an object."""
    return isinstance(schema, Mapping) and schema.get("type", "object") == "object"


class _SchemaSimplifier:
    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._nodes = 0

    def simplify(self, schema: Any, references: int) -> Any:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            return {}
        if isinstance(schema, list):
            return [self.simplify(item, references) for item in schema]
        if not isinstance(schema, Mapping):
            return schema
        if isinstance(name := schema.get("$ref"), str):
            found = self._referred(name) if references < MAX_DEPTH else None
            others = {key: value for key, value in schema.items() if key != "$ref"}
            return self.simplify({**found, **others}, references + 1) if found is not None else {}
        return {
            key: self._entry(key, value, references)
            for key, value in schema.items()
            if key not in _LEFT_OUT and not key.startswith("x-")
        }

    def _entry(self, key: str, value: Any, references: int) -> Any:
        if key in _DATA:
            return value
        if key in _NAMED and isinstance(value, Mapping):
            return {name: self.simplify(inner, references) for name, inner in value.items()}
        return self.simplify(value, references)

    def _referred(self, name: str) -> JsonObject | None:
        """Resolve a reference within the same schema; None for other references, because no schema is
        fetched.
        """
        found: Any = self._root
        if not name.startswith("#"):
            return None
        for step in filter(None, name[1:].split("/")):
            step = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, Mapping) or step not in found:
                return None
            found = found[step]
        return found if isinstance(found, Mapping) else None
