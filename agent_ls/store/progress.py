"""Read the current activity of a session from the end of its log, without opening the session. Blocks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from agent_ls.patterns import regex
from agent_ls.store.layout import PEEK_BYTES

Activity: TypeAlias = Literal["closed", "idle", "working", "waiting"]
"""The activity of a session.

`closed`: no process has the session open. `waiting`: the session waits for an approval or for the answer to a
question.
"""

# This cannot match text inside a JSON string, because quotes in strings have a backslash before them.
_KIND = regex(rb'^\{"event":\{"sessionId":"[^"]*","seq":\d+,"kind":"(\w+)"')
_STATE = regex(rb'"data":\{"state":"(\w+)"')
_ID = regex(rb'"(?:requestId|questionId)":"([^"]+)"')
_COST = regex(rb'"totalCostUsd":([0-9.eE+-]+)')
_OPENS, _CLOSES = (b"approval_requested", b"question_asked"), (b"approval_resolved", b"question_answered")


@dataclass(frozen=True, slots=True)
class StoredProgress:
    """The current activity of a session and its cost. `cost_usd` is None if unknown."""

    activity: Activity = "closed"
    cost_usd: float | None = None


def read_progress(log: Path) -> StoredProgress:
    """Return the progress of a session that a process has open. A log that cannot be read counts as idle."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - PEEK_BYTES))
            tail = file.read(PEEK_BYTES)
    except OSError:
        return StoredProgress("idle")
    state, cost = b"IDLE", None
    asked: set[bytes] = set()
    for line in tail.split(b"\n"):
        kind = found[1] if (found := _KIND.match(line)) else b""
        if kind == b"state" and (named := _STATE.search(line)):
            state = named[1]
        elif kind == b"processing_end":
            state = b"IDLE"
            asked.clear()
        elif kind == b"usage" and (amount := _COST.search(line)):
            cost = float(amount[1])
        elif kind in (*_OPENS, *_CLOSES) and (named := _ID.search(line)):
            (asked.add if kind in _OPENS else asked.discard)(named[1])
    if asked or state == b"AWAITING_INPUT":
        return StoredProgress("waiting", cost)
    return StoredProgress("working" if state == b"PROCESSING" else "idle", cost)
