"""Distinct types for the ids that travel through the loop, so that they cannot be swapped."""

from __future__ import annotations

import uuid
from typing import NewType

SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
ToolCallId = NewType("ToolCallId", str)
PartId = NewType("PartId", str)
SteerId = NewType("SteerId", str)
QueuedId = NewType("QueuedId", str)
RequestId = NewType("RequestId", str)


def new_id(prefix: str) -> str:
    """A fresh id: the prefix says what it names (`s`, `t`, `p`, `st`, `q`, `a`); unique for all time."""
    return f"{prefix}-{uuid.uuid4().hex[:16]}"
