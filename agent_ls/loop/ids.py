"""A separate type for each kind of id, so that a type checker reports an id that is passed as another kind."""

from __future__ import annotations

import uuid
from typing import NewType

SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
ToolCallId = NewType("ToolCallId", str)
SteerId = NewType("SteerId", str)
QueuedId = NewType("QueuedId", str)


def new_id(prefix: str) -> str:
    """Return a globally unique id; `prefix` names its kind, for example `s` for a session and `t` for a turn."""
    return f"{prefix}-{uuid.uuid4().hex[:16]}"
