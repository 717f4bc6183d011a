"""Encode the conversation as Gemini's contents.

Parts that the requested model created are sent back unchanged, with their signatures. Thoughts are left out.
Calls of another model have no valid signature. Gemini 3 and later refuse calls without a signature in the current
turn, so the first of these calls gets a placeholder.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Self

from agent_ls.llm.messages import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    JsonObject,
    JsonValue,
    Message,
    OpaquePart,
    Origin,
    ReasoningPart,
    Role,
    SearchPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agent_ls.llm.providers.call_names import valid_tool_name
from agent_ls.llm.providers.gemini.errors import NAME
from agent_ls.llm.providers.refused_forms import NO_TEXT
from agent_ls.llm.providers.wire_json import arguments_object, encode_json, object_at, objects_at, text_at

# The placeholder that gemini-cli and other clients send for a call without a signature.
NO_SIGNATURE = "skip_thought_signature_validator"

_OLDER = ("gemini-1", "gemini-2", "gemma")  # models that need no signatures, and accept no images in results


class GeminiHistory:
    """A WireHistory. `system` contains the system texts, which are sent outside the contents."""

    def __init__(self, model: str) -> None:
        self.system: list[str] = []
        self._model = model
        self._is_older = model.removeprefix("models/").startswith(_OLDER)
        self._closed: list[bytes] = []
        self._said: list[JsonObject] = []  # parts of the last user content; more parts may follow
        self._answered: Sequence[JsonObject] = ()  # parts of the last content if it is the model's
        self._calls: Mapping[str, JsonObject] = {}  # calls of the last answer, in wire format

    def copy(self) -> Self:
        other = type(self)(self._model)
        other.system = [*self.system]
        other._closed = [*self._closed]
        other._said = self._said  # shared, because the list is never changed in place
        other._answered = self._answered
        other._calls = self._calls  # shared, because the mapping is never changed in place
        return other

    def add(self, message: Message) -> None:
        match message.role:
            case Role.SYSTEM | Role.DEVELOPER:
                self.system += [message.text] if message.text else []
            case Role.USER:
                self._said = [*self._said, *_user(message)]
            case Role.ASSISTANT:
                self._append("model", self._answer(message))
            case Role.TOOL:
                self._results([part for part in message.parts if isinstance(part, ToolResultPart)])

    @property
    def contents(self) -> Sequence[bytes]:
        contents = [*self._closed, *([_encode("user", self._said)] if self._said else [])]
        return contents or [_encode("user", [{"text": NO_TEXT}])]  # there are only instructions

    def _append(self, role: str, parts: Sequence[JsonObject]) -> None:
        if not parts:
            return
        if self._said:
            self._closed.append(_encode("user", self._said))
            self._said, self._answered = [], ()
        if role == "model" and self._answered:  # the service refuses a call that does not follow the user
            self._answered = [*self._answered, *parts]
            self._closed[-1] = _encode(role, self._answered)
            return
        if not self._closed:  # the service refuses a conversation that begins with an answer
            self._closed.append(_encode("user", [{"text": NO_TEXT}]))
        self._closed.append(_encode(role, parts))
        self._answered = parts if role == "model" else ()

    # --- the model's messages

    def _answer(self, message: Message) -> list[JsonObject]:
        parts: list[JsonObject] = []
        calls: dict[str, JsonObject] = {}
        for part in message.parts:
            own = self._own(part)
            if isinstance(part, ToolCallPart):
                call = own[0] if own else _call(part)
                if not own and not calls and not self._is_older:
                    call = {**call, "thoughtSignature": NO_SIGNATURE}
                calls[part.id] = object_at(call, "functionCall")
                parts.append(call)
            elif own:
                parts += own
            elif isinstance(part, TextPart) and part.text:
                parts.append({"text": part.text})
        self._calls = calls
        return parts

    def _own(self, part: ContentPart) -> list[JsonObject]:
        """Return the wire parts to send back unchanged; empty if another provider or model created `part`."""
        origin: Origin | None = None
        if isinstance(part, TextPart | ReasoningPart | ToolCallPart | OpaquePart | SearchPart):
            origin = part.origin
        if origin is None or origin.provider != NAME or origin.model != self._model:
            return []
        return [*objects_at(origin.raw, "parts")]

    # --- results

    def _results(self, results: Sequence[ToolResultPart]) -> None:
        """Encode the results of all calls of an answer as one content, which has no other parts."""
        self._append("user", [self._result(result) for result in results])
        if self._is_older:
            self._said = [_blob(image) for result in results for image in result.images]

    def _result(self, result: ToolResultPart) -> JsonObject:
        call = self._calls.get(result.tool_call_id, {})
        fields: dict[str, JsonValue] = {
            "name": text_at(call, "name") or valid_tool_name(result.name),
            "response": {"error" if result.is_error else "output": result.content},
        }
        if text_at(call, "id"):  # the result of a call without id is matched by its position
            fields["id"] = text_at(call, "id")
        if result.images and not self._is_older:
            fields["parts"] = [_blob(image) for image in result.images]
        return {"functionResponse": fields}


def _encode(role: str, parts: Sequence[JsonObject]) -> bytes:
    return encode_json({"role": role, "parts": [*parts]})


def _call(call: ToolCallPart) -> JsonObject:
    return {"functionCall": {"name": valid_tool_name(call.name), "args": arguments_object(call.arguments)}}


def _user(message: Message) -> list[JsonObject]:
    parts: list[JsonObject] = []
    for part in message.parts:
        match part:
            case TextPart(text) if text:
                parts.append({"text": text})
            case ImagePart() | DocumentPart() | AudioPart():
                parts.append(_blob(part))
            case _:
                pass  # other parts do not occur in a user's message
    return parts


def _blob(part: ImagePart | DocumentPart | AudioPart) -> JsonObject:
    media_type = part.media_type or "image/png"
    if part.data is None:
        return {
            "fileData": {"fileUri": part.url, **({"mimeType": part.media_type} if part.media_type else {})}
        }
    return {"inlineData": {"mimeType": media_type, "data": base64.b64encode(part.data).decode("ascii")}}
