"""Lower the output limit of a request that is refused only because the server counts this limit as used."""

from __future__ import annotations

import re

from agent_ls.llm.errors import ContextLengthError, LlmError, QuotaExceededError
from agent_ls.llm.requests import Request

_NUMBER = r"~?(\d[\d,]*)"
# vLLM: maximum context length is 8192 tokens. However, you requested 10000 tokens (1808 in the messages, …
# Groq: tokens per minute (TPM): Limit 8000, Requested 9500
_LIMIT = re.compile(rf"(?:context (?:length|window|size) (?:is|of)|\blimit:?)\s+{_NUMBER}", re.IGNORECASE)
_PROMPT = re.compile(
    rf"{_NUMBER} (?:in the (?:messages|prompt|input)|(?:prompt|input) tokens)", re.IGNORECASE
)
_WHOLE = re.compile(rf"\brequested:?\s+{_NUMBER}", re.IGNORECASE)
# OpenRouter, also without a limit: You requested up to 65536 tokens, but can only afford 30104.
_AFFORDABLE = re.compile(rf"can only afford {_NUMBER}", re.IGNORECASE)
_LEAST = 512  # a limit below it is of no use: the prompt itself is too long
_SPARE = 1.05
_MOST_TRIES = 3


class OutputRoom:
    """The limits of servers by model, and how many tokens a byte of a request has there."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, float]] = {}
        self._affordable: dict[str, int] = {}
        self._tries: dict[str, int] = {}

    def learn(self, request: Request, error: LlmError, size: int) -> bool:
        """Learn from the refusal of a request of `size` bytes. Return whether a lower output limit may help."""
        wanted = request.max_output_tokens
        if isinstance(error, QuotaExceededError) and (most := _number(_AFFORDABLE, str(error))) >= _LEAST:
            is_new = most < self._affordable.get(request.model, most + 1)
            self._affordable[request.model] = most
            return is_new
        if wanted is None or not isinstance(error, ContextLengthError):
            return False
        text, tries = str(error), self._tries.get(request.model, 0)
        limit, prompt, whole = (_number(found, text) for found in (_LIMIT, _PROMPT, _WHOLE))
        used = prompt or whole - wanted
        if not limit or used <= 0 or tries >= _MOST_TRIES:
            return False
        before = self._known.get(request.model)
        self._known[request.model] = (limit, max(used / size, before[1] if before else 0.0))
        self._tries[request.model] = tries + 1
        return self.fit(request, size) is not None

    def fit(self, request: Request, size: int) -> int | None:
        """Return the output limit for a request of `size` bytes, if it has to be lower than the one that is set."""
        wanted, most = request.max_output_tokens, self._affordable.get(request.model)
        if most is not None and (wanted is None or most < wanted):
            return most
        limit, per_byte = self._known.get(request.model, (0, 0.0))
        if not limit or wanted is None:
            return None
        room = int(limit - size * per_byte * _SPARE)
        return room if _LEAST <= room < wanted else None


def _number(words: re.Pattern[str], text: str) -> int:
    found = words.search(text)
    return int(found[1].replace(",", "")) if found else 0
