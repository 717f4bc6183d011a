"""Encode the conversation as input items of the Responses API.

An item that the requested model created is sent back unchanged. The API accepts a reasoning item only together with
the item that follows it. If the reasoning cannot be sent back, the following item is sent as plain text or as a plain
call, without the id that links the two items. If the following item is missing, the reasoning is dropped.

A call of a tool of the service that has no output is dropped too: the API refuses it.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Sequence
from typing import Self

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.messages import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    JsonObject,
    JsonValue,
    Message,
    OpaquePart,
    ReasoningPart,
    Role,
    SearchPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agent_ls.llm.providers.call_names import valid_call_id, valid_tool_name
from agent_ls.llm.providers.openai_responses.errors import NAME
from agent_ls.llm.providers.wire_json import encode_json, parse_object, text_at

_NEED_OUTPUT = {"shell_call", "local_shell_call", "apply_patch_call", "computer_call", "mcp_approval_request"}
"""Items that the API refuses without an item for their output. Other calls of its tools contain their results."""


class ResponsesHistory:
    """A WireHistory. `instructions` contains the system texts; `items` are the input items as JSON."""

    def __init__(self, model: str) -> None:
        self.instructions: list[str] = []
        self.items: list[bytes] = []
        self._model = model
        self._custom_calls: frozenset[str] = frozenset()

    def copy(self) -> Self:
        other = type(self)(self._model)
        other.instructions = [*self.instructions]
        other.items = [*self.items]
        other._custom_calls = self._custom_calls
        return other

    def add(self, message: Message) -> None:
        if message.role is Role.SYSTEM:
            self.instructions += [message.text] if message.text else []
            return
        self.items += map(encode_json, self._items_of(message))

    def _items_of(self, message: Message) -> Sequence[JsonObject]:
        match message.role:
            case Role.ASSISTANT:
                replayed = _assistant(message, self._model)
                custom = (item for item in replayed if item.get("type") == "custom_tool_call")
                self._custom_calls |= {text_at(item, "call_id") for item in custom}
                return replayed
            case Role.TOOL:
                results = (part for part in message.parts if isinstance(part, ToolResultPart))
                return [_result(part, is_custom=part.tool_call_id in self._custom_calls) for part in results]
            case role:
                content = _content(message)
                return [{"type": "message", "role": role.value, "content": content}] if content else []


def _content(message: Message) -> list[JsonObject]:
    content: list[JsonObject] = []
    for part in message.parts:
        match part:
            case TextPart(text) if text:
                content.append({"type": "input_text", "text": text})
            case ImagePart():
                content.append(_image(part))
            case DocumentPart():
                content.append(_document(part))
            case AudioPart():
                raise ConfigurationError(
                    f"{NAME} does not accept audio in this API",
                    provider=NAME,
                    hint="Attach a transcript of the audio instead.",
                )
            case _:
                pass  # other parts do not occur in a user's message
    return content


def _image(image: ImagePart) -> JsonObject:
    url = image.url if image.data is None else _data_url(image.data, image.media_type or "image/png")
    return {
        "type": "input_image",
        "image_url": url,
        "detail": image.detail or "auto",
    }  # the schema requires `detail`


def _document(document: DocumentPart) -> JsonObject:
    if document.data is None:
        return {"type": "input_file", "file_url": document.url}
    data = _data_url(document.data, document.media_type)
    return {"type": "input_file", "filename": document.name or "document.pdf", "file_data": data}


def _data_url(data: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}"


def _result(part: ToolResultPart, *, is_custom: bool) -> JsonObject:
    # The wire format has no error flag, so the text has to say that the call failed.
    marked = part.is_error and not part.content.lower().startswith("error")
    text = f"Error: {part.content}" if marked else part.content
    output: JsonValue = text
    if part.images:
        words: list[JsonObject] = [{"type": "input_text", "text": text}] if text else []
        output = [*words, *map(_image, part.images)]
    # An item that is sent back unchanged has the id that the service gave to it, which is always valid.
    call_id = part.tool_call_id if is_custom else valid_call_id(part.tool_call_id)
    kind = "custom_tool_call_output" if is_custom else "function_call_output"
    return {"type": kind, "call_id": call_id, "output": output}


def _assistant(message: Message, model: str) -> list[JsonObject]:
    items: list[JsonObject] = []
    held: list[JsonObject] = []  # reasoning items that wait for the item after them
    has_lost_reasoning = False
    opaque = [part.origin.raw for part in message.parts if isinstance(part, OpaquePart)]
    answered = {text_at(raw, "call_id") for raw in opaque if text_at(raw, "type").endswith("_output")}
    for part in message.parts:
        own = _own(part, model, answered)
        if isinstance(part, ReasoningPart):
            has_lost_reasoning = has_lost_reasoning or own is None
            held += [own] if own is not None else []
            continue
        if own is not None and not has_lost_reasoning:
            items += [*held, own]
        else:
            items += _convert_part(part)
        held, has_lost_reasoning = [], False
    return items


def _own(part: ContentPart, model: str, answered: Collection[str]) -> JsonObject | None:
    """Return the item to send back unchanged; None if another provider or model created the item, or if it is a call
    without output. `answered` are the ids of calls with output.
    """
    kinds = TextPart | ReasoningPart | ToolCallPart | OpaquePart | SearchPart
    origin = part.origin if isinstance(part, kinds) else None
    if origin is None or origin.provider != NAME or origin.model != model:
        return None
    raw = origin.raw
    if not raw.get("id", True):  # servers that imitate the API; it refuses an empty id, and needs none
        raw = {key: value for key, value in raw.items() if key != "id"}
    if isinstance(part, OpaquePart) and text_at(raw, "type") in _NEED_OUTPUT:
        return raw if text_at(raw, "call_id") in answered else None
    if isinstance(part, ReasoningPart) and raw.get("content"):  # of another server; OpenAI's refuses it
        return {**raw, "content": []}
    if isinstance(part, ToolCallPart) and raw.get("type") == "function_call":
        return {**raw, "call_id": valid_call_id(part.id), "arguments": _arguments(part.arguments)}
    return raw


def _convert_part(part: ContentPart) -> Sequence[JsonObject]:
    match part:
        case TextPart(text, origin) if text:
            phase = text_at(origin.raw, "phase") if origin is not None and origin.provider == NAME else ""
            return [{"role": "assistant", "content": text, **({"phase": phase} if phase else {})}]
        case ToolCallPart(call_id, name, arguments):
            return [
                {
                    "type": "function_call",
                    "call_id": valid_call_id(call_id),
                    "name": valid_tool_name(name),
                    "arguments": _arguments(arguments),
                }
            ]
        case _:  # empty text, and parts of other roles or providers, are not sent
            return []


def _arguments(arguments: str) -> str:
    """Return the arguments as the model wrote them, or `{}` if they are not a JSON object.

    The model learns about invalid arguments from the call's result in the history.
    """
    return arguments if parse_object(arguments) is not None else "{}"
