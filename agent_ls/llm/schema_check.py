"""Check JSON values against a JSON Schema (draft 2020-12), and describe the first problem in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from agent_ls.llm.errors import ConfigurationError

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

# `jsonschema` is imported only when a value is checked, because a server that runs only the agent never checks one.


def find_schema_error(value: Any, schema: Any, *, is_own: bool = False) -> str:
    """Return the first problem of `value`, "" if `value` matches `schema`.

    Problems of an object come before problems of its members. `is_own`: the program wrote the schema, so a check may
    take as long as it needs. A schema of others cannot be used for a value where that may take too long.

    References are resolved only inside the schema. Nothing is fetched.

    Raises:
        ConfigurationError: the schema cannot be used.
    """
    try:
        found = min(_validator(schema, is_own=is_own).iter_errors(value), key=_rank, default=None)
    except RecursionError:
        return "the value or its schema is nested too deeply"
    except (
        Exception
        # an unknown reference or an invalid pattern; each library involved has its own exception class
    ) as error:
        raise _unusable(error) from None
    return _describe(found) if found else ""


def check_schema(schema: Any) -> None:
    """Check a schema.

    Raises:
        ConfigurationError: `schema` is not a JSON Schema.
    """
    from jsonschema.exceptions import SchemaError

    try:
        _validator(schema, is_own=True).check_schema(schema)
    except (SchemaError, RecursionError) as error:
        raise _unusable(error) from None


def _unusable(error: Exception) -> ConfigurationError:
    words = str(getattr(error, "message", "") or error).splitlines()[:1]
    return ConfigurationError(
        f"the JSON Schema cannot be used: {''.join(words)}",
        hint="Correct the schema; use draft 2020-12.",
    )


def _validator(schema: Any, *, is_own: bool) -> Draft202012Validator:
    from jsonschema import Draft202012Validator
    from referencing.jsonschema import EMPTY_REGISTRY

    from agent_ls.llm.schema_cost import limited_validator

    # The validator's default registry may fetch references from the network.
    kind = Draft202012Validator if is_own else limited_validator(schema)
    return kind(schema, registry=EMPTY_REGISTRY)


_ORDER = ("type", "const", "enum", "anyOf", "oneOf", "required", "additionalProperties")


def _rank(error: ValidationError) -> tuple[int, int]:
    kind = str(error.validator)
    return len(error.absolute_path), _ORDER.index(kind) if kind in _ORDER else len(_ORDER)


def _describe(error: ValidationError) -> str:
    where, limit = _format_path(error.absolute_path), cast("Any", error.validator_value)
    given = cast("Any", error.instance)
    value = where or "the value"
    match error.validator:
        case "type":
            kinds = [limit] if isinstance(limit, str) else limit
            return f"{value} must be {' or '.join(map(str, kinds))}"
        case "const":
            return f"{value} must be {limit!r}"
        case "enum":
            return f"{value} must be one of {', '.join(map(repr, limit))}"
        case "anyOf":
            return f"{value} matches none of the allowed schemas"
        case "oneOf":
            return f"{value} must match exactly one of the allowed schemas"
        case "required":
            return f"{_join_path(where, _list_first(name for name in limit if name not in given))} is missing"
        case "additionalProperties" if limit is False:
            schema = error.schema if isinstance(error.schema, Mapping) else {}
            return f"{_join_path(where, _first_unknown(given, schema))} is not known"
        case str(kind) if kind in _LIMITS:
            return f"{value} {_LIMITS[kind].format(limit)}"
        case _:
            return f"{value}: {error.message}"


_LIMITS = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "pattern": "must match the pattern {}",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "uniqueItems": "must not contain duplicate items",
    "minProperties": "must have at least {} entries",
    "maxProperties": "must have at most {} entries",
}


def _first_unknown(instance: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    known, patterns = schema.get("properties") or {}, schema.get("patternProperties") or {}
    return _list_first(
        name for name in instance if name not in known and not any(re.search(it, name) for it in patterns)
    )


def _list_first(names: Iterable[Any]) -> str:
    return str(next(iter(names), ""))


def _format_path(path: Iterable[str | int]) -> str:
    place = ""
    for step in path:
        place = f"{place}[{step}]" if isinstance(step, int) else _join_path(place, step)
    return place


def _join_path(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
