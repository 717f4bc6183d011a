"""Read rate limits from headers; shared by APIs with OpenAI's header names."""

from __future__ import annotations

from collections.abc import Iterable

from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import RateLimit
from agent_ls.patterns import regex

_DURATION = regex(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def openai_rate_limit(head: ReplyHead) -> RateLimit | None:
    """Read the `x-ratelimit-*` headers; None if there are none. Reset times have the form `6m0s`."""
    prefix = "x-ratelimit-"
    limits = {
        key.removeprefix(prefix): value for key, value in head.headers.items() if key.startswith(prefix)
    }
    if not limits:
        return None
    resets = [duration_s(limits[key]) for key in ("reset-tokens", "reset-requests") if key in limits]
    return RateLimit(
        remaining_requests=parse_count(limits.get("remaining-requests", "")),
        remaining_tokens=parse_count(limits.get("remaining-tokens", "")),
        reset_s=_latest(resets),
        limit_requests=parse_count(limits.get("limit-requests", "")),
        limit_tokens=parse_count(limits.get("limit-tokens", "")),
    )


def parse_count(text: str) -> int | None:
    """Parse a header with a count; None if it is not a number."""
    return int(text) if text.isdecimal() else None


def duration_s(text: str) -> float | None:
    """Parse a time such as `6m0s`; None if it is no such time."""
    found = _DURATION.findall(text)
    return sum(float(number) * _UNIT_S[unit] for number, unit in found) if found else None


def _latest(seconds: Iterable[float | None]) -> float | None:
    return max((value for value in seconds if value is not None), default=None)
