"""Lower the output limit of a request that is refused only because this limit is too high."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from agent_ls.llm.errors import (
    ContextLengthError,
    InvalidRequestError,
    LlmError,
    QuotaExceededError,
    ServerError,
)
from agent_ls.llm.providers.base import WireRequest
from agent_ls.llm.requests import Request
from agent_ls.patterns import regex

_NUMBER = r"~?(\d[\d,]*)"
# vLLM: maximum context length is 8192 tokens. However, you requested 10000 tokens (1808 in the messages, …
# Groq: tokens per minute (TPM): Limit 8000, Requested 9500
_LIMIT = regex(
    rf"(?:context (?:length|window|size) (?:is|of)|must be <=|\blimit:?|max_seq_len)\s+\(?{_NUMBER}",
    re.IGNORECASE,
)
_PROMPT = regex(
    rf"{_NUMBER} (?:in the (?:messages|prompt|input)|`?(?:prompt|inputs?)`? tokens|tokens from the input)",
    re.IGNORECASE,
)
# SiliconFlow: max_total_tokens (33802) must be less than or equal to max_seq_len (32768)
_WHOLE = regex(
    rf"\b(?:requested:?\s+(?:a total of |about |approximately )?|\w*total_tokens\s+\(){_NUMBER}",
    re.IGNORECASE,
)
# Anthropic: input length and `max_tokens` exceed context limit: 143653 + 64000 > 200000
_SUM = regex(r"context limit: (\d+) \+ \d+ > (\d+)", re.IGNORECASE)
# OpenRouter, also without a limit: You requested up to 65536 tokens, but can only afford 30104.
# or: max_tokens limit exceeded: 100000 > 9577
_AFFORDABLE = regex(rf"(?:can only afford|max_tokens limit exceeded: \d+ >) {_NUMBER}", re.IGNORECASE)

# The most tokens that a model writes. examples: max_tokens: 64000 > 8192, which is the maximum allowed number of
# output tokens / This model supports at most 4096 completion tokens / valid range of max_tokens is [1, 8192]
_OF_OUTPUT = regex(
    r"max[_ ]?((completion|new|output)[_ ]?)?tokens|(output|completion) tokens|maximum tokens you requested",
    re.IGNORECASE,
)
_OF_EXCESS = regex(
    r"exceed|at most|up to|less than|maximum|range|between|too (large|many|high)|limit|should be|must be|<=| > |范围",
    re.IGNORECASE,
)
_OF_PROMPT = regex(
    r"\b(inputs?(?! (should be|validation))|prompt|messages|context (length|limit|size))\b", re.IGNORECASE
)
_SIZE = regex(r"(?<![\w.-])\d+(?:,\d{3})*(?![\w-]|\.\d)")
_REQUEST_ID = regex(r"\brequest[_ ]?id\b\W{0,3}\w+", re.IGNORECASE)
_EXCLUSIVE = regex(r"\bto (\d+) \(exclusive\)", re.IGNORECASE)  # Vertex AI

_LEAST = 512  # a limit below it is of no use: the prompt itself is too long
_SPARE = 1.05
_MOST_TRIES = 3


class OutputRoom:
    """The limits of servers by model, and how many tokens a byte of a request has there."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, float]] = {}
        self._affordable: dict[str, int] = {}
        self._allowed: dict[str, int] = {}
        self._tries: dict[str, int] = {}

    def fitted(
        self, request: Request, encode: Callable[[Request], WireRequest], default: int | None = None
    ) -> WireRequest:
        """Encode a request with an output limit that the server accepts. `default`: the limit if none is set."""
        wanted, is_of_window = request.max_output_tokens or default, request.model in self._known
        # Only what the window leaves depends on the size of the request.
        sent = encode(request) if is_of_window else None
        most = self._fit(request.model, wanted, len(sent.content) if sent else 0)
        fitting = request if most is None else replace(request, max_output_tokens=most)
        return sent if sent and fitting is request else encode(fitting)

    def learn(self, request: Request, error: LlmError, size: int, default: int | None = None) -> bool:
        """Learn from the refusal of a request of `size` bytes. Return whether a lower output limit may help."""
        model, wanted, text = request.model, request.max_output_tokens or default, str(error)
        if isinstance(error, QuotaExceededError) and (most := _number(_AFFORDABLE, text)) >= _LEAST:
            return _lower(self._affordable, model, most)
        if wanted is None:
            return False
        if isinstance(error, InvalidRequestError | ContextLengthError | ServerError) and (
            most := _allowed(text, min(wanted, self._allowed.get(model, wanted)))
        ):
            return _lower(self._allowed, model, most)
        if not isinstance(error, ContextLengthError):
            return False
        tries = self._tries.get(model, 0)
        limit, prompt, whole = (_number(found, text) for found in (_LIMIT, _PROMPT, _WHOLE))
        if match := _SUM.search(text):
            prompt, limit = int(match[1]), int(match[2])
        used = prompt or whole - wanted
        if not limit or used <= 0 or tries >= _MOST_TRIES:
            return False
        before = self._known.get(model)
        self._known[model] = (limit, max(used / size, before[1] if before else 0.0))
        self._tries[model] = tries + 1
        return self._fit(model, wanted, size) is not None

    def _fit(self, model: str, wanted: int | None, size: int) -> int | None:
        """Return the output limit for a request of `size` bytes, if it has to be lower than the one that is set."""
        affordable, limit = self._affordable.get(model), self._known.get(model)
        if wanted is None:
            return affordable
        most = min(wanted, self._allowed.get(model, wanted), affordable or wanted)
        room = int(limit[0] - size * limit[1] * _SPARE) if limit else most
        most = room if _LEAST <= room < most else most
        return most if most < wanted else None


def _lower(limits: dict[str, int], model: str, most: int) -> bool:
    """Set a limit. Return whether it is lower than before."""
    is_new = most < limits.get(model, most + 1)
    limits[model] = most
    return is_new


def _allowed(text: str, wanted: int) -> int:
    """Return the most tokens that the model writes, as a refusal of a higher limit says; 0 if it says none."""
    text = _REQUEST_ID.sub("", text)
    if not (_OF_OUTPUT.search(text) and _OF_EXCESS.search(text)) or _OF_PROMPT.search(text):
        return 0
    if match := _EXCLUSIVE.search(text):
        return int(match[1]) - 1 if _LEAST < int(match[1]) <= wanted else 0
    sizes = {int(found.replace(",", "")) for found in _SIZE.findall(text)}
    smaller = [size for size in sizes if _LEAST <= size < wanted]
    return smaller[0] if len(smaller) == 1 else 0


def _number(words: re.Pattern[str], text: str) -> int:
    found = words.search(text)
    return int(found[1].replace(",", "")) if found else 0
