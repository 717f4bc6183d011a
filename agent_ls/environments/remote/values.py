"""Convert arguments and results of environment methods to JSON and back. Both ends use this module.

Bytes are moved into the body of a message; the JSON contains their start and length. A value from the other
end is untrusted, so its type is checked.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from agent_ls.environments import errors
from agent_ls.environments.base import (
    Attribution,
    CommandOptions,
    DirEntry,
    DroppedOutput,
    ExecResult,
    FileState,
    FileWrite,
    GrepLine,
    GrepOptions,
    GrepResult,
    ProcessInfo,
)
from agent_ls.environments.errors import EnvError
from agent_ls.environments.instruction_files import InstructionFile, InstructionText, Listing
from agent_ls.environments.local.environ import EnvRules
from agent_ls.environments.remote.facts import EndConfig, Facts, RemoteEnvironmentFacts

_CLASSES: Mapping[str, Any] = {
    cls.__name__: cls
    for cls in (
        Attribution,
        CommandOptions,
        DirEntry,
        DroppedOutput,
        EndConfig,
        EnvRules,
        ExecResult,
        Facts,
        FileState,
        FileWrite,
        GrepLine,
        GrepOptions,
        GrepResult,
        InstructionFile,
        InstructionText,
        Listing,
        ProcessInfo,
        RemoteEnvironmentFacts,
    )
}
_BYTES, _TYPE = "$bytes", "$type"
_OMITTED = frozenset(("terminal", "confinement"))
"""Fields of CommandOptions that are not sent."""

_ERRORS: Mapping[str, type[EnvError]] = {
    name: cls for name, cls in vars(errors).items() if isinstance(cls, type) and issubclass(cls, EnvError)
}
_ERROR_FIELDS = ("path", "real", "unrestored")


class ValueFault(Exception):
    """The other end sent a value of the wrong type."""


def pack(value: Any) -> tuple[Any, bytes]:
    """Return `value` as JSON, and the bytes that the JSON refers to."""
    body = bytearray()
    return _packed(value, body), bytes(body)


def _packed(value: Any, body: bytearray) -> Any:
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, bytes):
        start = len(body)
        body += value
        return {_BYTES: [start, len(value)]}
    if isinstance(value, Mapping):
        return {str(name): _packed(inner, body) for name, inner in value.items()}
    if isinstance(value, Sequence):
        return [_packed(inner, body) for inner in value]
    fields = [field.name for field in dataclasses.fields(value) if field.name not in _OMITTED]
    return {_TYPE: type(value).__name__, **{name: _packed(getattr(value, name), body) for name in fields}}


def unpack(value: Any, body: bytes, expected: Any) -> Any:
    """Return the value that was passed to `pack` at the other end.

    Raises:
        ValueFault: the value does not have the type `expected`.
    """
    found = _unpack(value, memoryview(body))
    if not _has_type(found, expected):
        raise ValueFault(f"a value of type {type(found).__name__} where {expected} was expected")
    return found


def _unpack(value: Any, body: memoryview) -> Any:
    if isinstance(value, list):
        return tuple(_unpack(inner, body) for inner in value)
    if not isinstance(value, dict):
        return value
    if (span := value.get(_BYTES)) is not None:
        if not (isinstance(span, list) and len(span) == 2 and all(type(it) is int for it in span)):
            raise ValueFault("a range of bytes that is malformed")
        start, length = span
        if not (0 <= start <= start + length <= len(body)):
            raise ValueFault("a range that is outside the bytes of the message")
        return bytes(body[start : start + length])
    inner = {name: _unpack(it, body) for name, it in value.items() if name != _TYPE}
    if _TYPE not in value:
        return inner
    cls = _CLASSES.get(str(value[_TYPE]))
    if cls is None:
        raise ValueFault(f"an unknown type {value[_TYPE]!r}")
    try:
        made = cls(**inner)
    except TypeError as error:
        raise ValueFault(str(error)) from error
    hints = _hints(cls)
    for name in inner:
        if not _has_type(getattr(made, name), hints[name]):
            raise ValueFault(f"an invalid {name} of {cls.__name__}")
    return made


_known_hints: dict[Any, Mapping[str, Any]] = {}


def _hints(cls: Any) -> Mapping[str, Any]:
    if cls not in _known_hints:
        _known_hints[cls] = typing.get_type_hints(cls)
    return _known_hints[cls]


def _has_type(value: Any, hint: Any) -> bool:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_has_type(value, one) for one in inner)
    if origin is typing.Literal:
        return value in inner
    if origin is tuple and inner and inner[-1] is not Ellipsis:
        return (
            isinstance(value, tuple)
            and len(value) == len(inner)
            and all(_has_type(it, one) for it, one in zip(value, inner, strict=True))
        )
    if origin is tuple or (isinstance(origin, type) and issubclass(origin, Sequence)):
        return isinstance(value, tuple) and all(_has_type(it, inner[0]) for it in value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, dict) and all(_has_type(it, inner[1]) for it in value.values())
    if hint is None or hint is type(None):
        return value is None
    if hint is int:
        return type(value) is int
    return hint is Any or (isinstance(hint, type) and isinstance(value, hint))


def pack_error(error: EnvError) -> Mapping[str, Any]:
    fields = {name: getattr(error, name) for name in _ERROR_FIELDS if hasattr(error, name)}
    return {"class": type(error).__name__, "text": str(error), "fields": fields}


def unpack_error(raw: Any) -> EnvError:
    """Return the error that the other end has packed; EnvError if its class is unknown."""
    raw = raw if isinstance(raw, dict) else {}
    cls = _ERRORS.get(str(raw.get("class")), EnvError)
    error = cls.__new__(cls)
    Exception.__init__(error, str(raw.get("text", "the other machine gave no reason")))
    fields = raw.get("fields")
    for name, value in fields.items() if isinstance(fields, dict) else ():
        if name in _ERROR_FIELDS:
            setattr(error, name, tuple(map(str, value)) if isinstance(value, list) else str(value))
    return error
