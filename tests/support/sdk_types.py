"""Check a value against an SDK type as strictly as a service checks a body: unknown keys are errors too.

Available checkers are not strict enough: they accept unknown keys of a TypedDict, and skip the members of an
Iterable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, NotRequired, Required, Union, get_args, get_origin

from typing_extensions import get_type_hints, is_typeddict

_WRAPPERS = (Annotated, Required, NotRequired, ClassVar)


def misfits(value: object, kind: Any, at: str = "body") -> list[str]:
    """Return the errors of `value` compared to type `kind`, with their positions; empty if it is valid."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in (Any, object):
        return []
    if origin in _WRAPPERS:
        return misfits(value, inner[0], at)
    if origin in (Union, UnionType):
        # If no alternative of a union fits, report the errors of the closest one.
        return min((misfits(value, choice, at) for choice in inner), key=len)
    if origin is Literal:
        return [] if value in inner else [f"{at}: {value!r} is none of {inner}"]
    if is_typeddict(kind):
        return _typed_dict(value, kind, at)
    if isinstance(value, dict):
        is_mapping = isinstance(origin, type) and issubclass(origin, Mapping)
        wanted = inner[1] if is_mapping else None
        return _each(value.items(), wanted, at) if is_mapping else [f"{at}: an object is no {kind}"]
    if isinstance(value, list):
        is_list = _is_list(kind, origin)
        return _each(enumerate(value), inner[0], at) if is_list else [f"{at}: a list is no {kind}"]
    return [] if _is_plain(value, kind) else [f"{at}: {value!r} is no {kind}"]


def _typed_dict(value: object, kind: Any, at: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{at}: {value!r} is no {kind.__name__}"]
    hints = _hints(kind)
    missing = [key for key, hint in hints.items() if get_origin(hint) is Required and key not in value]
    unknown = [key for key in value if key not in hints]
    wrong = [
        fault for key in value if key in hints for fault in misfits(value[key], hints[key], f"{at}.{key}")
    ]
    return [
        *(f"{at}: {key} is missing for a {kind.__name__}" for key in missing),
        *(f"{at}: a {kind.__name__} has no {key}" for key in unknown),
        *wrong,
    ]


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _each(items: Iterable[tuple[object, object]], kind: Any, at: str) -> list[str]:
    return [fault for key, item in items for fault in misfits(item, kind, f"{at}.{key}")]


def _is_list(kind: Any, origin: Any) -> bool:
    """Whether the type is a list, a sequence, an iterable, or an SDK protocol for those."""
    return origin is not None and not issubclass(origin, Mapping) and len(get_args(kind)) == 1


def _is_plain(value: object, kind: Any) -> bool:
    if kind in (None, NoneType):
        return value is None
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(kind, type) and isinstance(value, kind)
