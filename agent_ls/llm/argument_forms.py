"""Read arguments that models write as text although the schema of the tool wants another type."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Mapping
from typing import Any

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.schema_check import find_schema_error

_DEFINITIONS = ("$defs", "definitions")
_SHARED = (*_DEFINITIONS, "$schema")


def in_wanted_form(values: Mapping[str, Any], schema: Any) -> dict[str, Any]:
    """Return the arguments, with texts in the type that the schema of a tool wants.

    `"[1, 2]"` for a list, `"{}"` for an object, `"5"` and `"true"` become what they say, also inside of other values
    and if they are written as in Python. A text is changed only where the schema forbids a text and allows what the
    text says. One object becomes a list where the schema wants a list of objects.
    """
    found = _in_form(dict(values), schema, schema)
    return found if isinstance(found, dict) else dict(values)


def _in_form(value: Any, given: Any, root: Any) -> Any:
    schema = resolved(given, root)
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, str):
        return value if _fits(value, schema, root) else _said(value, schema, root)
    properties, items = schema.get("properties"), schema.get("items")
    if isinstance(value, list) and isinstance(items, Mapping):
        return [_in_form(item, items, root) for item in value]
    if isinstance(value, Mapping) and isinstance(properties, Mapping):
        return {
            name: _in_form(_without_wrapper(inner, name, properties), properties.get(name), root)
            for name, inner in value.items()
        }
    if isinstance(value, Mapping) and _wants(schema, "array") and _wants(resolved(items, root), "object"):
        return [_in_form(value, items, root)]
    return value


def resolved(schema: Any, root: Any) -> Any:
    """Return what a schema refers to, if that is one of the definitions of `root`."""
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    if not isinstance(reference, str) or not isinstance(root, Mapping):
        return schema
    for shared in _DEFINITIONS:
        place = root.get(shared)
        if reference.startswith(f"#/{shared}/") and isinstance(place, Mapping):
            return place.get(reference.rpartition("/")[2], schema)
    return schema


def _wants(schema: Any, kind: str) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == kind


def _without_wrapper(value: Any, name: str, properties: Mapping[str, Any]) -> Any:
    """Return the list in `{"items": [...]}`, if it was given for the argument `items`, which is a list."""
    is_wrapped = isinstance(value, Mapping) and [*value] == [name] and _wants(properties.get(name), "array")
    return value[name] if is_wrapped else value


def _said(text: str, schema: Mapping[str, Any], root: Any) -> Any:
    """Return the value that a text says and the schema allows; the text itself if there is none."""
    values = [{}, []] if not text.strip() else [_parsed(text)]
    for value in values:
        is_nested = isinstance(value, (list, dict))
        found = _in_form(value, schema, root) if is_nested else value
        if value is not text and _fits(found, schema, root):
            return found
        # The tool refuses a text here anyway. What is wrong within the list or object, it can say of that alone.
        if is_nested and value and _wants(schema, "array" if isinstance(found, list) else "object"):
            return found
    return text


def _parsed(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        lower = text.strip().lower()
        return lower == "true" if lower in ("true", "false") else _parsed_as_python(text)
    return text if isinstance(value, str) or value is None or _is_odd(value) else value


def _parsed_as_python(text: str) -> Any:
    """Return a list or dict that is written as in Python; the text itself if there is none."""
    if text.strip()[:1] not in ("[", "{"):
        return text
    try:
        return json.loads(json.dumps(ast.literal_eval(text.strip()), allow_nan=False))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return text


def _is_odd(value: Any) -> bool:
    """Return whether a number is one that JSON does not have."""
    return isinstance(value, float) and not math.isfinite(value)


def _fits(value: Any, schema: Mapping[str, Any], root: Any) -> bool:
    shared = {key: root[key] for key in _SHARED if isinstance(root, Mapping) and key in root}
    try:
        return not find_schema_error(value, {**shared, **schema})
    except ConfigurationError:
        return True  # the schema refers to a part of the tool's schema that is not here: nothing is changed
