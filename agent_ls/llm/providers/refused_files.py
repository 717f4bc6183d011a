"""Send a text in place of a document or a sound that a server refuses: many take only texts and images."""

from __future__ import annotations

import re
from dataclasses import replace

from agent_ls.llm.errors import LlmError, is_refusal
from agent_ls.llm.messages import AudioPart, DocumentPart, Message, Role, TextPart
from agent_ls.llm.providers.notices import LeftOutNotices
from agent_ls.llm.requests import Request
from agent_ls.patterns import regex

# vLLM: Unknown part type: file / DeepSeek: unknown variant `file`, expected `text`
# LM Studio: 'content' objects must have a 'type' field that is either 'text' or 'image_url'
# Gemini: Unsupported MIME type: application/pdf / OpenRouter: No endpoints found that support file input
# Groq: 'messages.0' : for 'role:user' : content.1.type: value is not one of the allowed values
_REFUSED = regex(
    r"\b(input_?)?files?\b|file_(data|url|id)|\bdocuments?\b|\bpdf\b|mime.?type|\b(input_?)?audio\b|attachment"
    r"|content\b.{0,40}\btype|(part|content|'type'|\"type\") (type|part|field)|multimodal|modalit",
    re.IGNORECASE,
)


class RefusedFiles:
    """The files that the servers of models have refused."""

    def __init__(self, notices: LeftOutNotices) -> None:
        self._notices = notices
        self._refused: dict[str, set[int]] = {}

    def learn(self, request: Request, error: LlmError) -> bool:
        """Remember the files of a refused request. Return whether it can be sent once more without them."""
        if not is_refusal(error) or not _REFUSED.search(str(error)):
            return False
        known = self._refused.get(request.model, set())
        new = [part for part in _files(request) if hash(part) not in known]
        if not new:
            return False
        self._refused[request.model] = known | {hash(part) for part in new}
        for part in new:
            self._notices.add(
                request.model, f"The server refused {_name(part)}. The model gets only its name."
            )
        return True

    def fit(self, request: Request) -> Request:
        """Return the request with a text in place of each refused file."""
        refused = self._refused.get(request.model)
        if not refused:
            return request
        return replace(request, messages=tuple(_without(message, refused) for message in request.messages))


def _files(request: Request) -> list[DocumentPart | AudioPart]:
    return [part for message in request.messages for part in _files_of(message)]


def _without(message: Message, refused: set[int]) -> Message:
    if not any(hash(part) in refused for part in _files_of(message)):
        return message
    parts = tuple(
        TextPart(f"({_name(part)}, which this server does not accept)")
        if isinstance(part, DocumentPart | AudioPart) and hash(part) in refused
        else part
        for part in message.parts
    )
    return replace(message, parts=parts)


def _files_of(message: Message) -> list[DocumentPart | AudioPart]:
    if message.role is not Role.USER:
        return []
    return [part for part in message.parts if isinstance(part, DocumentPart | AudioPart)]


def _name(part: DocumentPart | AudioPart) -> str:
    """Return what a file is called in a sentence."""
    if isinstance(part, AudioPart):
        return f"the sound {part.url}" if part.url else "a sound"
    name = part.name or part.url
    return f"the file {name}" if name else "a file"
