"""Check values against schemas of others without blocking the process: what may take too long is not checked.

A server writes both the schema and, in a result, the value. With `(a+)+$`, or with references that double at each
level, a check would take years, and no other part of the process would run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

MAX_PATTERN_STEPS = 1e7
"""Maximum number of steps that matching one text may take: about a fifth of a second."""
MAX_KEYWORDS = 30_000
"""Maximum number of keywords that are checked for one value: less than a second."""
MAX_UNIQUE = 1_000

Keyword = Callable[[Any, Any, Any, Any], "Iterator[ValidationError] | None"]


class TooCostlyError(Exception):
    """Checking the value may take too long."""


def limited_validator(schema: Any) -> type[Draft202012Validator]:
    """Return a class whose validator checks one value against `schema`.

    Its checks raise TooCostlyError where they may take too long.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    left = MAX_KEYWORDS
    named = tuple(_patterns_of_names(schema))

    def counted(name: str, check: Keyword) -> Keyword:
        def run(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
            nonlocal left
            left -= 1
            if left < 0:
                raise TooCostlyError("the value is too large to be checked against it")
            _check_cost(name, wanted, instance, named)
            yield from check(validator, wanted, instance, schema) or ()

        return run

    rows = {name: counted(name, check) for name, check in Draft202012Validator.VALIDATORS.items()}
    return cast("type[Draft202012Validator]", extend(Draft202012Validator, rows))  # type: ignore[no-untyped-call]


def _patterns_of_names(schema: Any) -> Iterator[str]:
    """Yield all patterns for names of properties, which the keywords about other properties use too."""
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, Mapping):
            found = part.get("patternProperties")
            yield from filter(lambda it: isinstance(it, str), found if isinstance(found, Mapping) else ())
            pending += part.values()
        elif isinstance(part, list):
            pending += part


def _check_cost(name: str, wanted: Any, instance: Any, named: Sequence[str]) -> None:
    """Raise TooCostlyError if a keyword may take too long. `named` are the patterns for names of properties."""
    match name:
        case "pattern" if isinstance(instance, str) and isinstance(wanted, str):
            texts = [(wanted, len(instance))]
        case "patternProperties" | "additionalProperties" | "unevaluatedProperties" if isinstance(
            instance, Mapping
        ):
            texts = [(pattern, max(map(len, instance), default=0)) for pattern in named]
        case "uniqueItems" if isinstance(instance, list) and len(instance) > MAX_UNIQUE:
            raise TooCostlyError("the list is too long to be checked for duplicates")
        case _:
            return
    if costly := next(
        (pattern for pattern, length in texts if steps_of(pattern, length) > MAX_PATTERN_STEPS), ""
    ):
        raise TooCostlyError(f"the pattern {costly[:80]} may take too long")


@lru_cache(maxsize=512)
def steps_of(pattern: str, length: int) -> float:
    """Return how many steps a search for `pattern` in a text of this length takes at most; infinite if unknown."""
    import re._parser as parser  # type: ignore[import-not-found]  # the module has no types

    try:
        parsed = parser.parse(pattern)
    except (parser.error, RecursionError, OverflowError):
        return 0  # an invalid pattern is not searched for
    starts = 1 if pattern.startswith("^") and "|" not in pattern else length + 1
    try:
        return starts * _steps(parsed, length, is_repeated=False)
    except OverflowError:
        return math.inf


def _steps(parsed: Any, length: int, *, is_repeated: bool) -> float:
    found = 1.0
    for kind, value in parsed:
        match str(kind):
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                low, high, body = value
                times = min(int(high), length)
                inner = _steps(body, length, is_repeated=is_repeated or high > 1)
                if high != low:
                    found *= 2.0**length if is_repeated else times + 1
                found *= inner
            case "BRANCH":
                parts = [_steps(part, length, is_repeated=is_repeated) for part in value[1]]
                found *= 2.0**length * max(parts) if is_repeated else sum(parts)
            case "SUBPATTERN":
                found *= _steps(value[-1], length, is_repeated=is_repeated)
            case "ASSERT" | "ASSERT_NOT":
                found *= _steps(value[1], length, is_repeated=is_repeated)
            case "ATOMIC_GROUP":
                found *= _steps(value, length, is_repeated=is_repeated)
            case "GROUPREF" | "GROUPREF_EXISTS":
                found *= 2.0**length
    return found
