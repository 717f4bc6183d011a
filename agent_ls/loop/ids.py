"""Distinct types for the ids in the loop, so that a type checker reports swapped ids."""

from __future__ import annotations

import uuid
from typing import NewType

SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
ToolCallId = NewType("ToolCallId", str)
SteerId = NewType("SteerId", str)
QueuedId = NewType("QueuedId", str)


def new_id(prefix: str) -> str:
    """Return a globally unique id; `prefix` names its kind (`s`, `t`, `p`, `st`, `q`, `a`)."""
    return f"{prefix}-{uuid.uuid4().hex[:16]}"
