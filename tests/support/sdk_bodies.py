"""Check request bodies against the request types of the official SDKs, by the name of the wire format.

An SDK is imported when the first body is checked against it: importing all of them takes seconds, in each test process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError

from tests.support.loopback import LoopbackProvider
from tests.support.sdk_types import misfits

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
    """Ignore the status of a custom call that is sent back: the SDK's type has it in answers only."""
    from openai.types.responses import response_create_params as types

    items = body.get("input")
    if isinstance(items, list):
        body = {**body, "input": [_without(it, _status_of(it)) for it in items]}
    return _misfits(body, beyond, types.ResponseCreateParamsStreaming, types.ResponseCreateParamsNonStreaming)


def _status_of(item: dict[str, Any]) -> set[str]:
    return {"status"} if item.get("type") == "custom_tool_call" else set()


def _google(body: dict[str, Any], _: set[str]) -> list[str]:
    """Check the parts of a body, because the SDK has no type for the complete body."""
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
    found = [f"there is no {name}" for name in set(body) - set(members)]
    for name, value in ((name, body[name]) for name in members if name in body):
        try:
            TypeAdapter(members[name]).validate_python(value)
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
