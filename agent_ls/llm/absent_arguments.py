"""Remove null values of optional arguments. With strict schemas, models send null for each absent argument."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.schema_check import find_schema_error


def without_absent(value: Any, schema: Any) -> Any:
    """Return `value` without null properties that are optional in `schema` and whose own schema forbids null."""
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, list):
        return [without_absent(item, schema.get("items")) for item in value]
    properties = schema.get("properties")
    if not isinstance(value, Mapping) or not isinstance(properties, Mapping):
        return value
    required = schema.get("required") or ()
    return {
        name: without_absent(inner, properties.get(name))
        for name, inner in value.items()
        if inner is not None or name in required or name not in properties or _accepts_null(properties[name])
    }


def _accepts_null(schema: Any) -> bool:
    try:
        return not find_schema_error(None, schema)
    except ConfigurationError:
        # The property's schema refers to another part of the tool's schema. Only the property's schema is
        # available here.
        return True
