"""Send the nearest effort that a server accepts if it refuses one and lists the others."""

from __future__ import annotations

import re
from dataclasses import replace

from agent_ls.llm.errors import LlmError, is_refusal
from agent_ls.llm.providers.notices import LeftOutNotices
from agent_ls.llm.requests import Request
from agent_ls.patterns import regex

_EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
"""The efforts that have an order, from the least."""
_ABOUT = regex(r"effort|reasoning|thinking", re.IGNORECASE)
_VALUE = rf"[`'\"]?\b(?:none|default|{'|'.join(_EFFORTS)})\b[`'\"]?"
# SGLang: Input should be 'low', 'medium' or 'high' / OpenAI: Supported values are: 'low', 'medium', and 'high'.
_LISTED = regex(
    r"(?:must be|should be|expected|one of|(?:supported|valid|allowed|accepted)[\w ]{0,40}|supports|accepts|only)"
    rf"[\W]{{0,3}}(?:(?:are|is|one of|only|either|the values)\W{{1,3}}){{0,2}}"
    rf"({_VALUE}(?:(?:\s*[,/|]\s*|\s+)(?:(?:or|and)\s+)?{_VALUE})*)",
    re.IGNORECASE,
)
_WORD = regex(r"\w+")


class RefusedEfforts:
    """The efforts that are sent in place of refused ones, by model and effort. `notices` get a warning for each."""

    def __init__(self, notices: LeftOutNotices) -> None:
        self._notices = notices
        self._instead: dict[tuple[str, str], str] = {}

    def learn(self, request: Request, error: LlmError) -> bool:
        """Remember another effort if the server refuses that of `request` and lists others. Return whether it did."""
        effort = request.reasoning_effort
        if effort not in _EFFORTS or not is_refusal(error):
            return False
        text = f"{error.param} {error}"
        if not _ABOUT.search(text):
            return False
        found = (_WORD.findall(listed[1].lower()) for listed in _LISTED.finditer(text))
        known = next((values for values in found if effort not in values), [])
        nearest = _nearest(effort, [value for value in known if value in _EFFORTS])
        if nearest is None or (request.model, effort) in self._instead:
            return False
        self._instead[request.model, effort] = nearest
        self._notices.add(
            request.model,
            f"The server does not accept the effort {effort} for this model: {nearest} is used.",
        )
        return True

    def fit(self, request: Request) -> Request:
        """Return the request with an effort that the server accepts."""
        instead = self._instead.get((request.model, request.reasoning_effort or ""))
        return replace(request, reasoning_effort=instead) if instead else request


def _nearest(effort: str, known: list[str]) -> str | None:
    """Return the effort of `known` that is nearest to `effort`, and the lesser one of two."""
    place = _EFFORTS.index
    return min(known, key=lambda one: (abs(place(one) - place(effort)), place(one)), default=None)
