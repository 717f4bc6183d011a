"""Encode the conversation as Chat Completions messages.

Reasoning is sent back if the server requires it. `reasoning_details` are always sent back unchanged.
`reasoning_content` and signed `thinking_blocks` are sent back only with calls of the current turn, which begins at the
user's last message.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.messages import (
    AudioPart,
    DocumentPart,
    ImagePart,
    JsonObject,
    Message,
    OpaquePart,
    Origin,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agent_ls.llm.providers.call_names import short_call_id, valid_call_id, valid_tool_name
from agent_ls.llm.providers.openai_chat.servers import Server
from agent_ls.llm.providers.text_tools import render_call, render_result
from agent_ls.llm.providers.wire_json import arguments_object, encode_json, parse_object


@dataclass(frozen=True, slots=True)
class _Sent:
    """A message as JSON, without the model's reasoning and with it; b"" if there is none to send back.

    `is_signed`: every server that sends such reasoning needs it in the current turn.
    """

    plain: bytes
    with_thoughts: bytes = b""
    is_signed: bool = False


class ChatHistory:
    """A WireHistory. `system` contains the system texts. `textual`: write calls as text (text_tools.py)."""

    def __init__(self, provider: str, server: Server, model: str, *, textual: bool) -> None:
        self.system: list[str] = []
        self.keeps_thoughts = False  # whether reasoning is sent back in all later turns, too
        self._provider = provider
        self._server = server
        self._model = model
        self._textual = textual
        self._sent: list[_Sent] = []
        self._turn = 0  # index at which the current turn begins

    def copy(self) -> Self:
        other = type(self)(self._provider, self._server, self._model, textual=self._textual)
        other.system = [*self.system]
        other._sent = [*self._sent]
        other._turn = self._turn
        return other

    def add(self, message: Message) -> None:
        match message.role:
            case Role.SYSTEM | Role.DEVELOPER if not self._sent:
                self.system += [message.text] if message.text else []
            case Role.SYSTEM | Role.DEVELOPER:
                self._append({"role": self._server.system_role, "content": message.text})
            case Role.USER:
                content = self._content(message)
                if content:
                    self._turn = len(self._sent)
                    self._append({"role": "user", "content": content})
            case Role.ASSISTANT:
                self._answer(message)
            case Role.TOOL:
                self._results([part for part in message.parts if isinstance(part, ToolResultPart)])

    @property
    def messages(self) -> Sequence[bytes]:
        replay = self._server.replay
        if self.keeps_thoughts or replay == "details":
            first = 0
        else:
            first = self._turn if replay == "content" else len(self._sent)
        return [
            sent.with_thoughts or sent.plain
            if at >= first or (sent.is_signed and at >= self._turn)
            else sent.plain
            for at, sent in enumerate(self._sent)
        ]

    def _append(self, message: JsonObject, thoughts: JsonObject | None = None) -> None:
        more = encode_json({**message, **thoughts}) if thoughts else b""
        self._sent.append(_Sent(encode_json(message), more, "thinking_blocks" in (thoughts or {})))

    # --- the user's messages

    def _content(self, message: Message) -> str | list[JsonObject]:
        """Return the content; a plain string if there is only text, because older servers accept nothing else."""
        parts = [part for part in map(self._part, message.parts) if part is not None]
        if all(part["type"] == "text" for part in parts):
            return "\n\n".join(str(part["text"]) for part in parts)
        return parts

    def _part(self, part: object) -> JsonObject | None:
        match part:
            case TextPart(text) if text.strip():
                return {"type": "text", "text": text}
            case ImagePart():
                return _image(part)
            case DocumentPart(data) if data is not None:
                name = part.name or "document.pdf"
                return {
                    "type": "file",
                    "file": {"filename": name, "file_data": _data_url(data, part.media_type)},
                }
            case AudioPart(data) if data is not None:
                sound = {"data": _base64(data), "format": _audio_format(part.media_type)}
                return {"type": "input_audio", "input_audio": sound}
            case DocumentPart() | AudioPart():
                raise ConfigurationError(
                    f"{self._server.title} accepts documents and audio only as data, not by URL",
                    provider=self._provider,
                    hint="Load the file and attach its bytes.",
                )
        return None  # other parts do not occur in a user's message

    # --- the model's messages

    def _answer(self, message: Message) -> None:
        calls = message.tool_calls
        text = message.text
        if self._textual:
            text = "\n".join([*([text] if text else []), *map(render_call, calls)])
            calls = ()
        body: dict[str, Any] = {"role": "assistant", "content": text}
        if calls:
            body["tool_calls"] = [self._call(call) for call in calls]
        for part in message.parts:
            if isinstance(part, OpaquePart) and (own := self._own(part.origin)) and "extra_content" in own:
                body["extra_content"] = own["extra_content"]
        thoughts = self._thoughts(message)
        if not (text or calls):
            return  # servers refuse reasoning without text or calls
        is_needed = self._server.replay == "details" or calls
        self._append(body, thoughts if is_needed else None)

    def _call(self, call: ToolCallPart) -> JsonObject:
        own = {} if call.origin is None else self._own(call.origin)
        function = {"name": valid_tool_name(call.name), "arguments": _arguments(call.arguments)}
        return {**own, "id": self._id(call.id), "type": "function", "function": function}

    def _thoughts(self, message: Message) -> dict[str, Any]:
        raws = [
            self._own(part.origin)
            for part in message.parts
            if isinstance(part, ReasoningPart) and part.origin
        ]
        if self._server.replay == "details":
            details = [item for raw in raws for item in _items(raw.get("reasoning_details"))]
            return {"reasoning_details": details} if details else {}
        if blocks := [item for raw in raws for item in _items(raw.get("thinking_blocks"))]:
            return {"thinking_blocks": blocks}
        texts = [str(raw["reasoning_content"]) for raw in raws if "reasoning_content" in raw]
        return {"reasoning_content": "".join(texts)} if texts else {}

    def _own(self, origin: Origin) -> JsonObject:
        """Return the item to send back; empty if another provider or model created the item."""
        is_own = origin.provider == self._provider and origin.model == self._model
        return origin.raw if is_own else {}

    # --- results

    def _results(self, results: Sequence[ToolResultPart]) -> None:
        if self._textual:
            text = "\n".join(map(render_result, results))
            self._append({"role": "user", "content": _with_images(text, results)})
            return
        for result in results:
            # The wire format has no error flag, so the text has to say that the call failed.
            is_unmarked = result.is_error and not result.content.lower().startswith("error")
            content = f"Error: {result.content}" if is_unmarked else result.content
            self._append({"role": "tool", "tool_call_id": self._id(result.tool_call_id), "content": content})
        if any(result.images for result in results):  # a tool result can contain only text in this API
            self._append(
                {"role": "user", "content": _with_images("The images of the results above:", results)}
            )

    def _id(self, call_id: str) -> str:
        if self._server.short_ids:
            return short_call_id(call_id)
        return call_id or valid_call_id(call_id)  # servers refuse an empty id


def _with_images(text: str, results: Sequence[ToolResultPart]) -> str | list[JsonObject]:
    images = [_image(image) for result in results for image in result.images]
    return [{"type": "text", "text": text}, *images] if images else text


def _image(image: ImagePart) -> JsonObject:
    url = image.url if image.data is None else _data_url(image.data, image.media_type or "image/png")
    detail = {"detail": image.detail} if image.detail else {}
    return {"type": "image_url", "image_url": {"url": url, **detail}}


def _data_url(data: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{_base64(data)}"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _audio_format(media_type: str) -> str:
    return {"audio/mpeg": "mp3", "audio/x-wav": "wav"}.get(media_type, media_type.removeprefix("audio/"))


def _arguments(arguments: str) -> str:
    """Return the arguments as the model wrote them, or `{}` if they are not a JSON object.

    The model learns about invalid arguments from the call's result in the history.
    """
    return (
        arguments
        if parse_object(arguments) is not None
        else encode_json(arguments_object(arguments)).decode()
    )


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
