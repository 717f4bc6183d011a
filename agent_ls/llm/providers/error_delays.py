"""Find the time to wait before another try, in the headers of a response or in the words of its error."""

from __future__ import annotations

import re
from datetime import datetime

from agent_ls.llm.errors import valid_delay_s
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.rate_limits import duration_s
from agent_ls.patterns import regex

# examples: Please try again in 1.146s. / Please retry in 48.9s. / try again in 7m12.5s / Resets in 16 days.
_WORDED_DELAY = regex(
    r"(?:try again|retry|wait|reset)s?\s+(?:in|after|for)?\s*(?:about\s+)?((?:\d+(?:\.\d+)?\s*[a-z]+[\s,]*)+)"
    r"|((?:\b\d+(?:\.\d+)?[a-z]+)+) remaining\b",  # CLIProxyAPI: auth in short cooldown, 1m30s remaining
    re.IGNORECASE,
)
_WORDED_UNIT = regex(
    r"(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)\b",
    re.IGNORECASE,
)
_DIGITS = regex(r"[0-9]+(?:\.[0-9]+)?")
_COMPOUND = regex(r"(?<=[a-z])(?=\d)")


def worded_delay_s(message: str) -> float | None:
    """Return the seconds to wait that a message names, None if it names none."""
    found = _WORDED_DELAY.search(message)
    if not found:
        return None
    parts = _WORDED_UNIT.findall(_COMPOUND.sub(" ", (found[1] or found[2]).lower()))
    return sum(float(count) * _unit_s(unit) for count, unit in parts) if parts else None


def _unit_s(unit: str) -> float:
    if unit.startswith(("milli", "ms")):
        return 0.001
    return {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}[unit[0]]


def retry_after_s(head: ReplyHead) -> float | None:
    """Return the seconds to wait before a retry, from the headers; None without a valid header.

    `retry-after-ms` is used first, then `retry-after`, which has seconds or an HTTP date.
    """
    milliseconds = _number(head.headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    wait = head.headers.get("retry-after", "")
    seconds = _number(wait)
    if seconds is not None:
        return seconds
    from email.utils import (
        parsedate_to_datetime,  # imported here, to keep the start fast: few servers send a date
    )

    try:
        return max(0.0, parsedate_to_datetime(wait).timestamp() - head.received_at_s)
    except (ValueError, OverflowError):
        return None


_WAITS = ("x-retry-after", "x-retry-in", "x-ratelimit-retry-after")  # Traefik, Kong
_LISTED = regex(r"\br(?:emaining)?=(\d+).*?\b(?:t|reset)=(\d+)")
_LEAST_UNIX_S = 1e9  # larger numbers are times, not spans
_LEAST_UNIX_MS = 1e12


def reset_delay_s(head: ReplyHead) -> float | None:
    """Return the seconds until each exhausted limit is reset, from the headers; None if they do not say it.

    The headers are `x-ratelimit-reset`, `x-ratelimit-reset-tokens`, `ratelimit` (`"a";r=0;t=55`) and others.
    """
    headers, found = head.headers, []
    for name, value in headers.items():
        if name in _WAITS:
            return _span_s(value, head.received_at_s)
        if "limit" in name and "reset" in name:
            remaining = headers.get(name.replace("reset", "remaining"), "0")
            found.append(_span_s(value, head.received_at_s) if remaining.strip() == "0" else None)
    if (listed := _LISTED.search(headers.get("ratelimit", ""))) and listed[1] == "0":
        found.append(float(listed[2]))
    return max((span for span in found if span is not None and span > 0), default=None)


def _span_s(text: str, now_s: float) -> float | None:
    """Return the seconds that a header states: as a number, as a span such as 6m0s, or as a time."""
    seconds = _number(text)
    if seconds is not None and seconds >= _LEAST_UNIX_S:
        return (seconds / 1000 if seconds >= _LEAST_UNIX_MS else seconds) - now_s
    if seconds is not None or (seconds := duration_s(text)) is not None:
        return seconds
    try:
        return datetime.fromisoformat(text).timestamp() - now_s
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float | None:
    """Return a delay in digits. Other words for numbers, such as 1e3 and 1_000, are none in the standard of HTTP."""
    return valid_delay_s(float(text)) if _DIGITS.fullmatch(text.strip()) else None
