"""Pure: correct the values of a JSON Schema's keywords.

Model providers refuse a whole request for one value of a wrong type, and servers are not checked by anyone else: many
have `"type": "int"`, or `"required": true` beside the type of an argument.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

LEFT_OUT: Any = object()
"""The result for a value that has no valid form."""

_TYPES = frozenset(("string", "number", "integer", "boolean", "object", "array", "null"))
_OTHER_NAMES = {
    "str": "string", "text": "string", "char": "string", "date": "string", "datetime": "string", "uuid": "string",
    "int": "integer", "int32": "integer", "int64": "integer", "long": "integer", "short": "integer", "uint": "integer",
    "float": "number", "double": "number", "decimal": "number", "numeric": "number",
    "bool": "boolean", "dict": "object", "map": "object", "list": "array", "tuple": "array", "none": "null",
}  # fmt: skip


def corrected(keyword: str, value: Any) -> Any:
    """Return a valid value for a keyword of JSON Schema 2020-12, LEFT_OUT if there is none."""
    correct = _CORRECTIONS.get(keyword)
    return correct(value) if correct else value


def _types(value: Any) -> Any:
    if not isinstance(value, list):
        return _type(value)
    kinds = ["null" if kind is None else _type(kind) for kind in value]
    return list(dict.fromkeys(kind for kind in kinds if kind is not LEFT_OUT)) or LEFT_OUT


def _type(value: Any) -> Any:
    name = value.lower() if isinstance(value, str) else ""
    name = _OTHER_NAMES.get(name, name)
    return name if name in _TYPES else LEFT_OUT


def _names(value: Any) -> Any:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        return LEFT_OUT
    return list(dict.fromkeys(name for name in value if isinstance(name, str)))


def _names_by_name(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return LEFT_OUT
    return {name: found for name, inner in value.items() if (found := _names(inner)) is not LEFT_OUT}


def _choices(value: Any) -> Any:
    return value if isinstance(value, list) and value else LEFT_OUT


def _text(value: Any) -> Any:
    if isinstance(value, list) and value and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return value if isinstance(value, str) else LEFT_OUT


def _number(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return LEFT_OUT
        value = int(value) if value.is_integer() else value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and math.isfinite(value) else LEFT_OUT


def _positive(value: Any) -> Any:
    found = _number(value)
    return found if found is not LEFT_OUT and found > 0 else LEFT_OUT


def _count(value: Any) -> Any:
    found = _number(value)
    return int(found) if found is not LEFT_OUT and found >= 0 and found == int(found) else LEFT_OUT


def _flag(value: Any) -> Any:
    return value if isinstance(value, bool) else LEFT_OUT


_CORRECTIONS: Mapping[str, Callable[[Any], Any]] = {
    "type": _types,
    "enum": _choices,
    "required": _names,
    "dependentRequired": _names_by_name,
    "multipleOf": _positive,
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), _choices),
    **dict.fromkeys(
        ("title", "description", "format", "pattern", "contentEncoding", "contentMediaType"), _text
    ),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _number),
    **dict.fromkeys(
        (
            "minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties",
            "maxProperties",
        ),
        _count,
    ),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _flag),
}  # fmt: skip
