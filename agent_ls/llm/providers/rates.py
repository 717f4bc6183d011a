"""What headers tell of the limits on the rate of calls; shared by the wires that have OpenAI's headers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import RateLimit

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def openai_rate_limit(head: ReplyHead) -> RateLimit | None:
    """From the `x-ratelimit-*` headers; None when there are none. Resets are told as `6m0s`."""
    prefix = "x-ratelimit-"
    told = {key.removeprefix(prefix): value for key, value in head.headers.items() if key.startswith(prefix)}
    if not told:
        return None
    resets = [_duration_s(told[key]) for key in ("reset-tokens", "reset-requests") if key in told]
    return RateLimit(
        remaining_requests=_count(told.get("remaining-requests", "")),
        remaining_tokens=_count(told.get("remaining-tokens", "")),
        reset_s=_latest(resets),
    )


def _count(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _duration_s(text: str) -> float | None:
    found = _DURATION.findall(text)
    return sum(float(number) * _UNIT_S[unit] for number, unit in found) if found else None


def _latest(seconds: Iterable[float | None]) -> float | None:
    return max((value for value in seconds if value is not None), default=None)
