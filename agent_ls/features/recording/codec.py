"""Pure: convert values of a recording to JSON and back.

Dataclasses are stored with their class name, bytes as text or base64.
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from agent_ls.environments import base, errors as env_errors, language_host
from agent_ls.llm import errors as llm_errors, messages, requests
from agent_ls.llm.stream import StreamEvent
from agent_ls.loop.events import editor as editor_events
from agent_ls.tools import web_fetch

_TYPE, _TEXT, _BYTES = "__type", "__text", "__bytes"


def _classes(*modules: Any) -> dict[str, type[Any]]:
    return {
        name: cls
        for module in modules
        for name, cls in vars(module).items()
        if isinstance(cls, type) and dataclasses.is_dataclass(cls)
    }


# The first entries are class names in older recordings. If two classes have the same name, the class of the
# model's response stream is used, because it comes last.
CLASSES: dict[str, type[Any]] = {
    "Page": web_fetch.WebPage,
    "Found": language_host.FoundLocations,
    "Place": language_host.FoundLocation,
    "Spot": language_host.SourcePosition,
    **_classes(base, messages, requests, web_fetch, language_host, editor_events),
    **{cls.__name__: cls for cls in get_args(StreamEvent)},
}
ERRORS = {
    name: cls
    for module in (env_errors, llm_errors)
    for name, cls in vars(module).items()
    if isinstance(cls, type) and issubclass(cls, Exception)
}


def to_json_value(value: Any) -> Any:
    """Convert a value to JSON."""
    if isinstance(value, bytes):
        try:  # text stays text, so that secrets in it are found and removed
            return {_TEXT: value.decode("utf-8")}
        except UnicodeDecodeError:
            return {_BYTES: base64.b64encode(value).decode("ascii")}
    if isinstance(value, BaseException):
        attributes = {name: to_json_value(it) for name, it in vars(value).items()}
        return {_TYPE: type(value).__name__, "message": str(value), "told": attributes}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: to_json_value(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
        return {_TYPE: type(value).__name__, **fields}
    if isinstance(value, Mapping):
        return {str(name): to_json_value(it) for name, it in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [to_json_value(it) for it in value]
    return value


def value_of(raw: Any) -> Any:
    """Convert JSON to a value.

    Raises:
        ValueError: a class that this version does not know.
    """
    if isinstance(raw, list):
        return tuple(value_of(it) for it in raw)
    if not isinstance(raw, dict):
        return raw
    if _TEXT in raw:
        return str(raw[_TEXT]).encode("utf-8")
    if _BYTES in raw:
        return base64.b64decode(raw[_BYTES])
    name = raw.get(_TYPE)
    if name is None:
        return {key: value_of(it) for key, it in raw.items()}
    if cls := ERRORS.get(name):
        # The error's own __init__ is not called, because it would build the message again, but the final message
        # is stored.
        error = cls.__new__(cls)
        error.args = (raw["message"],)
        vars(error).update({key: value_of(it) for key, it in raw["told"].items()})
        if notes := vars(error).pop("__notes__", ()):
            error.__notes__ = list(notes)  # Python demands a list
        return error
    if cls := CLASSES.get(name):
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{key: value_of(it) for key, it in raw.items() if key in known})
    raise ValueError(f"the recording was made by another version of agent-ls: {name} is unknown")
