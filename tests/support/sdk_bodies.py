"""Check request bodies against the request types of the official SDKs, by the name of the wire format.

The check is as strict as that of a service: unknown keys are errors too. Available checkers accept unknown keys of a
TypedDict, and skip the members of an Iterable. An SDK is imported when the first body is checked against it, because
importing all of them takes seconds in each test process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NotRequired,
    Required,
    TypeAlias,
    Union,
    get_args,
    get_origin,
)

from pydantic import TypeAdapter, ValidationError
from typing_extensions import get_type_hints, is_typeddict

from tests.support.loopback import LoopbackProvider

Check: TypeAlias = Callable[[dict[str, Any], set[str]], list[str]]
"""Returns the errors in a body with their positions. The second argument has keys that a server accepts
beyond the types.
"""


def _misfits(body: dict[str, Any], beyond: set[str], streaming: Any, whole: Any) -> list[str]:
    return misfits(_without(body, beyond), streaming if body.get("stream") else whole)


def _anthropic(body: dict[str, Any], beyond: set[str]) -> list[str]:
    from anthropic.types import message_create_params as types

    return _misfits(body, beyond, types.MessageCreateParamsStreaming, types.MessageCreateParamsNonStreaming)


def _chat(body: dict[str, Any], beyond: set[str]) -> list[str]:
    from openai.types.chat import completion_create_params as types

    return _misfits(
        body, beyond, types.CompletionCreateParamsStreaming, types.CompletionCreateParamsNonStreaming
    )


def _without(value: Any, keys: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, keys) for key, item in value.items() if key not in keys}
    return [_without(item, keys) for item in value] if isinstance(value, list) else value


def _responses(body: dict[str, Any], beyond: set[str]) -> list[str]:
    """Return the errors of a body of the Responses API.

    The status of a custom tool call is ignored, because the SDK has this field only in the type of answers.
    """
    from openai.types.responses import response_create_params as types

    items = body.get("input")
    if isinstance(items, list):
        body = {**body, "input": [_without(it, _status_of(it)) for it in items]}
    return _misfits(body, beyond, types.ResponseCreateParamsStreaming, types.ResponseCreateParamsNonStreaming)


def _status_of(item: dict[str, Any]) -> set[str]:
    return {"status"} if item.get("type") == "custom_tool_call" else set()


@cache
def _google_members() -> Mapping[str, TypeAdapter[Any]]:
    """Return a validator for each member of a body, because the SDK has no type for the complete body."""
    from google.genai import types

    members = {
        "contents": list[types.Content],
        "systemInstruction": types.Content,
        "tools": list[types.Tool],
        "toolConfig": types.ToolConfig,
        "generationConfig": types.GenerationConfig,
        "safetySettings": list[types.SafetySetting],
        "cachedContent": str,
    }
    return {name: TypeAdapter(kind) for name, kind in members.items()}


def _google(body: dict[str, Any], _: set[str]) -> list[str]:
    members = _google_members()
    found = [f"there is no {name}" for name in set(body) - set(members)]
    for name, value in ((name, body[name]) for name in members if name in body):
        try:
            members[name].validate_python(value)
        except ValidationError as error:
            found.append(str(error))
    return found


CHECKS: Mapping[str, Check] = {
    "anthropic": _anthropic,
    "openai": _responses,
    "gemini": _google,
    "groq": _chat,
}


def faults_of(server: LoopbackProvider, provider: str) -> list[str]:
    """Return the errors of all bodies that were sent to a loopback server. Parts of Gemini's URL are not checked."""
    check, address = CHECKS[provider], {"model", "stream"} if provider == "gemini" else set()
    bodies = (request.body for request in server.requests if request.method == "POST")
    return [
        fault
        for body in bodies
        for fault in check({key: value for key, value in body.items() if key not in address}, set())
    ]


# --- types of an SDK

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
    """Return whether the type is a list, a sequence, an iterable, or an SDK protocol for those."""
    return origin is not None and not issubclass(origin, Mapping) and len(get_args(kind)) == 1


def _is_plain(value: object, kind: Any) -> bool:
    if kind in (None, NoneType):
        return value is None
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(kind, type) and isinstance(value, kind)
