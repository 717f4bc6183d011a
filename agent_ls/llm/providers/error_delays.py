"""Find the time to wait before another try, in the headers of a response or in the words of its error."""

from __future__ import annotations

import re

from agent_ls.llm.errors import valid_delay_s
from agent_ls.llm.providers.base import ReplyHead
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


def _number(text: str) -> float | None:
    try:
        return valid_delay_s(float(text))
    except ValueError:
        return None
