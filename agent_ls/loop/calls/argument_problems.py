"""Pure: word the problems of a call's arguments for the model: the argument, what is wanted, and what was given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import ValidationError

from agent_ls.tools.base import Arguments

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

SHOWN_VALUE_CHARS = 60

_Place: TypeAlias = tuple[str | int, ...]

_WANTED = {
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "finite_number": "a finite number",
    "bool": "true or false",
    "string": "a text",
    "bytes": "a text",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "frozen_set": "a list",
    "dict": "an object",
    "mapping": "an object",
    "model": "an object",
    "dataclass": "an object",
    "none_required": "null",
    "date": "a date such as 2026-01-31",
    "datetime": "a date with a time such as 2026-01-31T12:00:00Z",
    "time": "a time such as 12:00:00",
    "uuid": "a UUID",
    "url": "an address such as https://example.com",
}
"""By the beginning of pydantic's type of a problem: `int` is also `int_parsing` and `int_from_float`."""

_LIMITS = {
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "multiple_of": "a multiple of {multiple_of}",
    "string_too_short": "a text of at least {min_length} characters",
    "string_too_long": "a text of at most {max_length} characters",
    "string_pattern_mismatch": "a text that matches {pattern}",
    "too_short": "at least {min_length} items",
    "too_long": "at most {max_length} items",
}


def describe_problems(error: ValidationError, model: type[Arguments], raw: Mapping[str, Any]) -> list[str]:
    """Return a line for each argument with a problem; the forms that an argument may have are joined."""
    schema = model.model_json_schema()
    known = ", ".join(schema["properties"])
    found: dict[_Place, list[ErrorDetails]] = {}
    for problem in error.errors(include_url=False):
        found.setdefault(_place(problem, raw), []).append(problem)
    lines = []
    for place, problems in found.items():
        # Of the forms that an argument may have, one fits so far: only its own problem helps.
        is_branch = any(len(problem["loc"]) > len(place) for problem in problems)
        if is_branch and any(other[: len(place)] == place != other for other in found):
            continue
        lines.append(_line(place, problems, known, schema))
    return lines


def _line(place: _Place, problems: Sequence[ErrorDetails], known: str, schema: Mapping[str, Any]) -> str:
    name, first = ".".join(map(str, place)), problems[0]
    if first["type"] == "missing":
        return f"- {name}: required, but missing"
    if first["type"] == "extra_forbidden":
        names = f" (known: {known or 'none'})" if len(place) == 1 else ""
        return f"- {name}: unknown argument{names}"
    if not place:  # a rule about several arguments: its message names them
        return f"- {first['msg'].removeprefix('Value error, ')}"
    words = dict.fromkeys(_wanted(problem, place, schema) for problem in problems)
    if None in words:
        own = "; ".join(dict.fromkeys(it["msg"].removeprefix("Value error, ") for it in problems))
        return f"- {name}: {own}, got {_display_value(first['input'])}"
    return f"- {name}: must be {' or '.join(filter(None, words))}, got {_display_value(first['input'])}"


def _place(problem: ErrorDetails, raw: Mapping[str, Any]) -> _Place:
    """Return the path of the argument. pydantic's own has steps for the forms that a value may have, too."""
    place: list[str | int] = []
    value: Any = raw
    for step in problem["loc"]:
        is_inside = isinstance(value, dict) and step in value
        if not is_inside and isinstance(value, list) and isinstance(step, int):
            is_inside = step < len(value)
        if is_inside:
            value = value[step]
            place.append(step)
    if problem["type"] == "missing":
        place.append(problem["loc"][-1])
    return tuple(place)


def _wanted(problem: ErrorDetails, place: _Place, schema: Mapping[str, Any]) -> str | None:
    """Return what is wanted in plain words; None if the problem is of the tool's own rules, which have their words."""
    kind, context = problem["type"], problem.get("ctx", {})
    if kind in ("literal_error", "enum"):
        return _choices(place, schema) or str(context.get("expected", ""))
    if kind in _LIMITS:
        return _LIMITS[kind].format(**context)
    return next(
        (words for start, words in _WANTED.items() if kind == start or kind.startswith(f"{start}_")), None
    )


def _choices(place: _Place, root: Mapping[str, Any]) -> str:
    """Return which values an argument may have by the schema. A tool may accept further ones, which no model knows."""
    from agent_ls.llm.argument_forms import resolved  # imported here, to keep the start fast

    schema: Any = root
    for step in place:
        schema = resolved(schema, root)
        schema = schema.get("items") if isinstance(step, int) else schema.get("properties", {}).get(step)
        if not isinstance(schema, dict):
            return ""
    forms = [resolved(form, root) for form in (schema, *schema.get("anyOf", ()))]
    values = [repr(value) for form in forms for value in form.get("enum", ())]
    return " or ".join(filter(None, (", ".join(values[:-1]), *values[-1:])))


def _display_value(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= SHOWN_VALUE_CHARS else f"{text[:SHOWN_VALUE_CHARS]}…"
