"""Encode the conversation as Anthropic's messages. Consecutive messages of the same role are joined."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.image_data import IMAGE_TYPES
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
from agent_ls.llm.providers.anthropic.errors import NAME
from agent_ls.llm.providers.call_names import valid_call_id, valid_tool_name
from agent_ls.llm.providers.pairing import with_unique_ids
from agent_ls.llm.providers.refused_forms import NO_TEXT
from agent_ls.llm.providers.wire_json import arguments_object, encode_json, text_at

CACHE_MARK: JsonObject = {"type": "ephemeral"}

_REASONING_TYPES = ("thinking", "redacted_thinking")
_BLOCK_END = b"}]}"  # closes a message's last block, its list of blocks, and the message
_MARKED_END = b',"cache_control":' + encode_json(CACHE_MARK) + _BLOCK_END


class AnthropicHistory:
    """A WireHistory. `system` contains the system texts, which are sent outside the messages.

    `thoughtful`: each answer begins with thinking, also unsigned, as DeepSeek and Moonshot demand on this wire.
    `has_blanks`: blank texts of an answer are sent back, as they came. Some servers send and refuse them.
    """

    def __init__(self, model: str, *, thoughtful: bool = False, has_blanks: bool = True) -> None:
        self.system: list[str] = []
        self.forms: frozenset[str] = frozenset()
        """The forms of messages that the server needs (forms.py)."""
        self._model = model
        self._thoughtful = thoughtful
        self._has_blanks = has_blanks
        self._closed: list[bytes] = []
        self._seen: Counter[str] = Counter()  # the ids of calls; the service refuses one that occurs twice
        self._renamed: dict[str, str] = {}  # the new ids of the last answer's calls
        self._last_answer = 0  # index of the last assistant message, 0 for none
        self._first_type = ""  # type of the last closed message's first block
        self._role = ""
        self._blocks: list[JsonObject] = []  # blocks of the last message, to which further ones may be joined

    def copy(self) -> Self:
        other = type(self)(self._model, thoughtful=self._thoughtful, has_blanks=self._has_blanks)
        other.system = [*self.system]
        other._closed = [*self._closed]
        other._seen, other._renamed = self._seen.copy(), self._renamed
        other._last_answer = self._last_answer
        other._first_type = self._first_type
        other._role = self._role
        other._blocks = self._blocks  # shared by both histories, because the list is never changed in place
        return other

    def add(self, message: Message) -> None:
        if message.role in (Role.SYSTEM, Role.DEVELOPER):
            self.system += [message.text] if message.text.strip() else []
            return
        is_answer = message.role is Role.ASSISTANT
        message = self._with_unique_ids(message)
        blocks = _assistant(message, self._model, self._has_blanks) if is_answer else _user(message)
        if is_answer and blocks and self._thoughtful:
            blocks = _with_thinking(message, blocks)
        role = "assistant" if is_answer else "user"
        if not blocks:
            return
        if is_answer and not self._role:  # Bedrock refuses a conversation that begins with an answer
            self._role, self._blocks = "user", [{"type": "text", "text": NO_TEXT}]
        if role == self._role:
            self._blocks = [*self._blocks, *blocks]
            return
        self._close()
        self._role, self._blocks = role, blocks
        if is_answer:
            self._last_answer = len(self._closed)

    def _with_unique_ids(self, message: Message) -> Message:
        if message.role is Role.ASSISTANT:
            named = with_unique_ids(message, self._seen)
            pairs = zip(message.tool_calls, named.tool_calls, strict=True)
            self._renamed = {old.id: new.id for old, new in pairs if old.id != new.id}
            return named
        return _with_ids(message, self._renamed) if self._renamed else message

    def messages(self, *, marked: bool) -> Sequence[bytes]:
        """Return each message as JSON. `marked`: set a cache breakpoint where the previous request ended.

        The previous request ended with the user message before the last assistant message.
        """
        messages = [*self._closed, *([self._encode()] if self._blocks else [])]
        if not messages:  # there are only instructions
            return [encode_json({"role": "user", "content": [{"type": "text", "text": NO_TEXT}]})]
        if marked and self._last_answer:
            before = self._last_answer - 1
            messages[before] = messages[before].removesuffix(_BLOCK_END) + _MARKED_END
        return messages

    @property
    def is_in_loop_without_thinking(self) -> bool:
        """Return True if tool results answer an assistant message that did not begin with thinking."""
        if not self._closed or not any(block.get("type") == "tool_result" for block in self._blocks):
            return False
        return self._first_type not in _REASONING_TYPES

    def _close(self) -> None:
        if self._blocks:
            self._blocks = _without_open_searches(self._blocks)
            self._closed.append(self._encode())
            first = self._order_blocks()[0].get("type")
            self._first_type = first if isinstance(first, str) else ""

    def _encode(self) -> bytes:
        return encode_json({"role": self._role, "content": self._order_blocks()})

    def _order_blocks(self) -> list[JsonObject]:
        if self._role != "user":
            return self._blocks
        # Tool results must precede text in a message; the stable sort keeps their order.
        return sorted(self._blocks, key=lambda block: block.get("type") != "tool_result")


def _with_ids(message: Message, ids: Mapping[str, str]) -> Message:
    """Return the results with the ids that their calls have now."""
    parts = [
        replace(part, tool_call_id=ids.get(part.tool_call_id, part.tool_call_id))
        if isinstance(part, ToolResultPart)
        else part
        for part in message.parts
    ]
    return replace(message, parts=tuple(parts))


def _user(message: Message) -> list[JsonObject]:
    blocks: list[JsonObject] = []
    for part in message.parts:
        match part:
            case TextPart(text) if text.strip():  # the API refuses blank user text
                blocks.append({"type": "text", "text": text})
            case ImagePart():
                blocks.append(_image(part))
            case ToolResultPart():
                blocks.append(_result(part))
            case DocumentPart():
                blocks.append(_document(part))
            case AudioPart():
                raise ConfigurationError(
                    f"{NAME} does not accept audio",
                    provider=NAME,
                    hint="Attach a transcript of the audio instead.",
                )
            case _:
                pass  # other parts do not occur in a user's message
    return blocks


def _result(part: ToolResultPart) -> JsonObject:
    content: JsonValue = part.content
    if part.images:
        text: list[JsonObject] = [{"type": "text", "text": part.content}] if part.content.strip() else []
        content = [*text, *(_result_image(image) for image in part.images)]
    error = {"is_error": True} if part.is_error else {}
    return {
        "type": "tool_result",
        "tool_use_id": valid_call_id(part.tool_call_id),
        "content": content,
        **error,
    }


def _result_image(image: ImagePart) -> JsonObject:
    if _is_refused(image):
        # The image stays in the history, so raising an error here would make every later request fail. The model
        # can react to this text.
        return {
            "type": "text",
            "text": f"[image of type {image.media_type} left out: {NAME} does not accept this type]",
        }
    return _image(image)


def _image(image: ImagePart) -> JsonObject:
    if image.data is None:
        return {"type": "image", "source": {"type": "url", "url": image.url}}
    if _is_refused(image):
        raise ConfigurationError(
            f"{NAME} does not accept images of type {image.media_type}",
            provider=NAME,
            hint=f"Convert the image to one of {', '.join(IMAGE_TYPES)}.",
        )
    data = base64.b64encode(image.data).decode("ascii")
    media_type = image.media_type or "image/png"
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _document(document: DocumentPart) -> JsonObject:
    title = {"title": document.name} if document.name else {}
    source: JsonObject
    if document.data is None:
        source = {"type": "url", "url": document.url}
    elif document.media_type == "application/pdf":
        data = base64.b64encode(document.data).decode("ascii")
        source = {"type": "base64", "media_type": document.media_type, "data": data}
    elif document.media_type.startswith("text/"):
        text = document.data.decode("utf-8", "replace")
        source = {"type": "text", "media_type": "text/plain", "data": text}
    else:
        raise ConfigurationError(
            f"{NAME} does not accept documents of type {document.media_type}",
            provider=NAME,
            hint="Convert the document to PDF or plain text.",
        )
    return {"type": "document", "source": source, **title}


def _is_refused(image: ImagePart) -> bool:
    return image.data is not None and image.media_type not in ("", *IMAGE_TYPES)


def _assistant(message: Message, model: str, has_blanks: bool) -> list[JsonObject]:
    found = (_assistant_block(part, model) for part in message.parts)
    blocks = [block for block in found if block is not None and (has_blanks or not _is_blank(block))]
    while blocks and blocks[-1].get("type") in _REASONING_TYPES:
        # The API refuses a message that ends with thinking.
        blocks.pop()
    return [] if all(map(_is_blank, blocks)) else blocks  # no server accepts an answer of blank texts only


def _without_open_searches(blocks: list[JsonObject]) -> list[JsonObject]:
    """Leave out searches of the service without a result: the answer was paused within them.

    The service needs them to go on after the pause, and refuses them once a message of the user follows.
    """
    answered = {text_at(block, "tool_use_id") for block in blocks}
    kept = [it for it in blocks if it.get("type") != "server_tool_use" or text_at(it, "id") in answered]
    if len(kept) == len(blocks):
        return blocks
    while kept and kept[-1].get("type") in _REASONING_TYPES:
        kept.pop()
    return kept or [{"type": "text", "text": NO_TEXT}]


def _is_blank(block: JsonObject) -> bool:
    return block.get("type") == "text" and not text_at(block, "text").strip()


def _with_thinking(message: Message, blocks: list[JsonObject]) -> list[JsonObject]:
    if any(block.get("type") in _REASONING_TYPES for block in blocks):
        return blocks
    return [{"type": "thinking", "thinking": message.reasoning or NO_TEXT, "signature": ""}, *blocks]


def _assistant_block(part: ContentPart, model: str) -> JsonObject | None:
    match part:
        case TextPart(text, origin):
            own = _own(origin, model)
            return own or ({"type": "text", "text": text} if text else None)
        case ReasoningPart(_, origin):
            return _own(origin, model)
        case OpaquePart() | SearchPart():
            return _own(part.origin, model)
        case ToolCallPart(call_id, name, arguments, origin):
            if own := _own(origin, model):
                return {**own, "id": valid_call_id(call_id)}
            return {
                "type": "tool_use",
                "id": valid_call_id(call_id),
                "name": valid_tool_name(name),
                "input": arguments_object(arguments),
            }
    return None  # images and results do not occur in an assistant's message


def _own(origin: Origin | None, model: str) -> JsonObject | None:
    """Return the block to send back unchanged; None if another provider or model created the block."""
    is_own = origin is not None and origin.provider == NAME and origin.model == model
    return origin.raw if origin is not None and is_own else None
