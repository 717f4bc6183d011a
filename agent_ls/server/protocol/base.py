"""Base classes of all messages, and types that several of them use."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

VERSION = 1
EVENT_METHOD = "agent/event"
MOVED_METHOD = "agent/hunksMoved"


class Wire(BaseModel):
    # Validators are built on first use: an editor uses few of these messages, and building all would delay its
    # first response.
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True, defer_build=True
    )

    @classmethod
    def of(cls, value: object, **others: Any) -> Self:
        """Return the message with the fields of `value`, and with `others` in place of those that differ.

        Raises:
            AttributeError: neither has a field of the message.
        """
        return cls(
            **{name: getattr(value, name) for name in cls.model_fields.keys() - others.keys()}, **others
        )


class Params(Wire):
    """Parameters of a request. `method` is its name on the wire."""

    method: ClassVar[str]


class Empty(Wire):
    pass


Mode: TypeAlias = Literal["plan", "ask", "edits", "full"]
ReviewSetting: TypeAlias = Literal["after", "before"]
Access: TypeAlias = Literal["owner", "readOnly"]
State: TypeAlias = Literal["IDLE", "PROCESSING", "AWAITING_INPUT", "CLOSED"]
Activity: TypeAlias = Literal["closed", "idle", "working", "waiting"]
