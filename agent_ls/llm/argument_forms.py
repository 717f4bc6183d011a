"""Read arguments that models write as text although the schema of the tool wants another type."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.schema_check import find_schema_error

_SHARED = ("$defs", "definitions", "$schema")


def in_wanted_form(values: Mapping[str, Any], schema: Any) -> dict[str, Any]:
    """Return the arguments, with texts in the type that the schema of a tool wants.

    `"[1, 2]"` for a list, `"{}"` for an object, `"5"` and `"true"` become what they say, also inside of other values. A
    text is changed only where the schema forbids a text and allows what the text says.
    """
    found = _in_form(dict(values), schema, schema)
    return found if isinstance(found, dict) else dict(values)


def _in_form(value: Any, schema: Any, root: Any) -> Any:
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, str):
        return value if _fits(value, schema, root) else _said(value, schema, root)
    properties, items = schema.get("properties"), schema.get("items")
    if isinstance(value, list) and isinstance(items, Mapping):
        return [_in_form(item, items, root) for item in value]
    if isinstance(value, Mapping) and isinstance(properties, Mapping):
        return {name: _in_form(inner, properties.get(name), root) for name, inner in value.items()}
    return value


def _said(text: str, schema: Mapping[str, Any], root: Any) -> Any:
    """Return the value that a text says and the schema allows; the text itself if there is none."""
    values = [{}, []] if not text.strip() else [_parsed(text)]
    for value in values:
        found = _in_form(value, schema, root) if isinstance(value, (list, dict)) else value
        if value is not text and _fits(found, schema, root):
            return found
    return text


def _parsed(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        lower = text.strip().lower()
        return lower == "true" if lower in ("true", "false") else text
    return text if isinstance(value, str) or value is None or _is_odd(value) else value


def _is_odd(value: Any) -> bool:
    """Return whether a number is one that JSON does not have."""
    return isinstance(value, float) and not math.isfinite(value)


def _fits(value: Any, schema: Mapping[str, Any], root: Any) -> bool:
    shared = {key: root[key] for key in _SHARED if isinstance(root, Mapping) and key in root}
    try:
        return not find_schema_error(value, {**shared, **schema})
    except ConfigurationError:
        return True  # the schema refers to a part of the tool's schema that is not here: nothing is changed
