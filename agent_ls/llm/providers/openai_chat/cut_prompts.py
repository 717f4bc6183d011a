"""Notice that a server has read only a part of a request: Ollama cuts what is too long, and reports success."""

from __future__ import annotations

from agent_ls.llm.messages import TextPart, ToolCallPart, ToolResultPart
from agent_ls.llm.requests import Request

_CHARS_PER_TOKEN = 8  # no text has so many: a request with more was cut
_LEAST_CHARS = 8_000
_NOTICE = (
    "Ollama has read only {read:,} tokens of this request, which is longer: the beginning of the conversation is "
    "missing. Start Ollama with a larger context, for example OLLAMA_CONTEXT_LENGTH=32768 ollama serve."
)


class CutPrompts:
    """Makes the notice once for each model."""

    def __init__(self) -> None:
        self._warned: set[str] = set()

    def notice(self, request: Request, read_tokens: int) -> str:
        """Return the notice if the server cannot have read the whole request; "" otherwise, and the next time."""
        if request.model in self._warned or not read_tokens:
            return ""
        if _chars(request) <= max(read_tokens * _CHARS_PER_TOKEN, _LEAST_CHARS):
            return ""
        self._warned.add(request.model)
        return _NOTICE.format(read=read_tokens)


def _chars(request: Request) -> int:
    """Return the characters of the texts of a request, without its tools."""
    count = 0
    for message in request.messages:
        for part in message.parts:
            match part:
                case TextPart(text) | ToolResultPart(content=text) | ToolCallPart(arguments=text):
                    count += len(text)
    return count
