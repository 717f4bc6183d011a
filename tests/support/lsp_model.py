"""Validate messages of the server against the LSP meta model, as the types that lsprotocol generates from it.

Stricter than lsprotocol's own decoder: an unknown property, a missing one, and a null where the specification
has no null are errors. Messages whose method is not in the specification are not checked here.
"""

from __future__ import annotations

import enum
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

import attrs
from lsprotocol import types as lsp
from lsprotocol.converters import get_converter

PROGRESS: Mapping[str, type] = {
    "begin": lsp.WorkDoneProgressBegin,
    "report": lsp.WorkDoneProgressReport,
    "end": lsp.WorkDoneProgressEnd,
}
RESULT, ERROR = {"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}
WITHOUT_ID = {"jsonrpc", "method", "params"}
ABSENT_OR_NULL = {"active_parameter", "root_path", "workspace_folders"}
"""The properties that the specification allows both to be absent and to be null."""


def error_in_message(message: Mapping[str, Any], method: str) -> str:
    """Return the first error of a message, "" if it is valid.

    `method`: the method of the request that this message answers; "" for a request or notification.
    """
    if "method" not in message:
        return _error_in_answer(message, method)
    name = message["method"]
    if name not in lsp.METHOD_TO_TYPES:
        return ""
    kind = _resolved(lsp.METHOD_TO_TYPES[name][0])
    members = {field.name: field for field in attrs.fields(kind)}
    expected = WITHOUT_ID | ({"id"} & members.keys())
    if wrong := {*message} - expected or expected - {"params"} - {*message}:
        return f"{name}: unexpected or missing members {sorted(wrong)}"
    params = members["params"].type
    if params is None or params is type(None):
        return f"{name}: has no parameters, got {message['params']}" if "params" in message else ""
    return _error_in_value(message.get("params"), params, name) or _error_in_progress(name, message["params"])


def _error_in_answer(message: Mapping[str, Any], method: str) -> str:
    if {*message} not in (RESULT, ERROR):
        return f"answer to {method}: has the members {sorted(message)}"
    if "error" in message:
        return _error_in_value(message["error"], lsp.ResponseError, f"error of {method}")
    if method not in lsp.METHOD_TO_TYPES:
        return ""
    answer = lsp.METHOD_TO_TYPES[method][1]
    assert answer is not None, f"{method} is a notification"
    (result,) = (field.type for field in attrs.fields(_resolved(answer)) if field.name == "result")
    return _error_in_value(message["result"], result, f"result of {method}")


def _error_in_progress(method: str, params: Any) -> str:
    """Check the value of a $/progress message, which the meta model types as any value."""
    value = params.get("value") if method == "$/progress" else None
    if not isinstance(value, dict) or value.get("kind") not in PROGRESS:
        return ""
    return _error_in_value(value, PROGRESS[value["kind"]], method)


def _error_in_value(value: Any, kind: Any, path: str) -> str:
    origin = get_origin(kind)
    if kind is Any or kind is lsp.LSPObject:
        return ""
    if origin in (Union, types.UnionType):
        errors = [_error_in_value(value, choice, path) for choice in get_args(kind)]
        return "" if "" in errors else max(errors, key=len)
    if origin is Literal:
        return "" if value in get_args(kind) else f"{path}: {value!r} is none of {get_args(kind)}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            return f"{path}: {value!r} is not an object"
        return _first(
            _error_in_value(one, get_args(kind)[1], f"{path}.{name}") for name, one in value.items()
        )
    if isinstance(origin, type) and issubclass(origin, Sequence):
        if not isinstance(value, list):
            return f"{path}: {value!r} is not an array"
        items = get_args(kind) if origin is tuple else get_args(kind) * len(value)
        if len(items) != len(value):
            return f"{path}: has {len(value)} items instead of {len(items)}"
        return _first(_error_in_value(one, item, f"{path}[]") for one, item in zip(value, items, strict=True))
    if isinstance(kind, type) and attrs.has(kind):
        return _error_in_object(value, kind, path)
    return _error_in_scalar(value, kind, path)


def _error_in_scalar(value: Any, kind: Any, path: str) -> str:
    if kind is None:
        kind = type(None)
    assert isinstance(kind, type), f"{path}: the model has a type that is not handled: {kind}"
    if issubclass(kind, enum.Enum):
        return "" if value in [one.value for one in kind] else f"{path}: {value!r} is no {kind.__name__}"
    accepted: tuple[type, ...] = (int, float) if kind is float else (kind,)
    is_right = isinstance(value, accepted) and (kind is bool or not isinstance(value, bool))
    return "" if is_right else f"{path}: {value!r} is no {kind.__name__}"


def _error_in_object(value: Any, kind: type, path: str) -> str:
    if not isinstance(value, dict):
        return f"{path}: {value!r} is no {kind.__name__}"
    members = {_json_name(field.name): field for field in attrs.fields(_resolved(kind))}
    if unknown := value.keys() - members.keys():
        return f"{path}: {kind.__name__} has no property {sorted(unknown)}"
    for name, field in members.items():
        # lsprotocol gives None as default to a property that may be absent, and to one that may be null.
        has_null = field.default is None and lsp.is_special_property(kind, field.name)
        is_required = field.default is not None or (has_null and field.name not in ABSENT_OR_NULL)
        if name not in value:
            if is_required:
                return f"{path}: {kind.__name__} needs the property {name}"
        elif value[name] is None and field.default is None and not has_null and field.type != lsp.LSPAny:
            return f"{path}.{name}: null, but the property may only be absent"
        elif isinstance(field.default, str) and value[name] != field.default:
            return f"{path}.{name}: {value[name]!r} is not {field.default!r}"
        elif error := _error_in_value(value[name], field.type, f"{path}.{name}"):
            return error
    return ""


def _first(errors: Iterable[str]) -> str:
    return next((error for error in errors if error), "")


def _json_name(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name.rstrip("_"))


@cache
def _resolve_all() -> None:
    get_converter()  # replaces the forward references in all types of lsprotocol


def _resolved(kind: type) -> Any:
    _resolve_all()
    return kind
