"""Check request bodies against the request types of the official SDKs, by the name of the wire format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from anthropic.types import message_create_params as anthropic_types
from google.genai import types as google_types
from openai.types.chat import completion_create_params as chat_types
from openai.types.responses import response_create_params as responses_types
from pydantic import TypeAdapter, ValidationError

from tests.support.loopback import LoopbackProvider
from tests.support.sdk_types import misfits

Check: TypeAlias = Callable[[dict[str, Any], set[str]], list[str]]
"""Returns the errors in a body with their positions. The second argument has keys that a server accepts
beyond the types.
"""


def _typed(streaming: Any, whole: Any) -> Callable[[dict[str, Any], set[str]], list[str]]:
    def check(body: dict[str, Any], beyond: set[str]) -> list[str]:
        return misfits(_without(body, beyond), streaming if body.get("stream") else whole)

    return check


def _without(value: Any, keys: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, keys) for key, item in value.items() if key not in keys}
    return [_without(item, keys) for item in value] if isinstance(value, list) else value


def _responses(body: dict[str, Any], beyond: set[str]) -> list[str]:
    """Ignore the status of a custom call that is sent back: the SDK's type has it in answers only."""
    items = body.get("input")
    if isinstance(items, list):
        body = {**body, "input": [_without(it, _status_of(it)) for it in items]}
    return _typed(
        responses_types.ResponseCreateParamsStreaming, responses_types.ResponseCreateParamsNonStreaming
    )(body, beyond)


def _status_of(item: dict[str, Any]) -> set[str]:
    return {"status"} if item.get("type") == "custom_tool_call" else set()


def _google(body: dict[str, Any], _: set[str]) -> list[str]:
    """Check the parts of a body, because the SDK has no type for the complete body."""
    members = {
        "contents": list[google_types.Content],
        "systemInstruction": google_types.Content,
        "tools": list[google_types.Tool],
        "toolConfig": google_types.ToolConfig,
        "generationConfig": google_types.GenerationConfig,
        "safetySettings": list[google_types.SafetySetting],
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
    "anthropic": _typed(
        anthropic_types.MessageCreateParamsStreaming, anthropic_types.MessageCreateParamsNonStreaming
    ),
    "openai": _responses,
    "gemini": _google,
    "groq": _typed(chat_types.CompletionCreateParamsStreaming, chat_types.CompletionCreateParamsNonStreaming),
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
