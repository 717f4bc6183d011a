"""The records of a conversation (000 section 2.4). Timestamps are ISO 8601, UTC."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from agent_ls.llm.messages import ImagePart, Message, ToolCallPart, ToolResultPart
from agent_ls.llm.requests import FinishReason, Usage


@dataclass(frozen=True, slots=True)
class UserTurn:
    """`context` is not the user's words: what the model is told of the editor beside them, "" for nothing."""

    content: str
    timestamp: str
    images: tuple[ImagePart, ...] = ()
    context: str = ""
    type: Literal["user"] = "user"


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """`message` keeps the provider's parts in order, with what must be replayed."""

    message: Message
    usage: Usage
    response_id: str
    provider: str
    model: str
    finish_reason: FinishReason
    timestamp: str
    type: Literal["assistant"] = "assistant"

    @property
    def content(self) -> str:
        return self.message.text

    @property
    def reasoning(self) -> str:
        return self.message.reasoning

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        return self.message.tool_calls


@dataclass(frozen=True, slots=True)
class ToolResultsTurn:
    """One result for each call of the assistant turn before it, in the order of the calls."""

    results: tuple[ToolResultPart, ...]
    timestamp: str
    type: Literal["tool_results"] = "tool_results"


@dataclass(frozen=True, slots=True)
class SystemTurn:
    content: str
    timestamp: str
    type: Literal["system"] = "system"


@dataclass(frozen=True, slots=True)
class SteeringTurn:
    """An injected message: a user's steer, a loop warning, verdicts on hunks, what a subagent said.

    User role to the model (L6).
    """

    content: str
    timestamp: str
    source: Literal["user", "loop_detection", "review", "recovery", "subagent"] = "user"
    images: tuple[ImagePart, ...] = field(default=())
    type: Literal["steering"] = "steering"


@dataclass(frozen=True, slots=True)
class CompactionTurn:
    """From here on the model is sent `content` in place of all turns before, but for the last `kept_turns` (L13).

    Turns of this type are not counted among those. `summary` is the part of `content` that a model wrote, "" for none,
    `usage` what that cost. The turns before stay in the list: the log, and searches, have the whole conversation.
    """

    content: str
    kept_turns: int
    timestamp: str
    summary: str = ""
    usage: Usage = field(default_factory=Usage)
    compaction_id: str = ""
    type: Literal["compaction"] = "compaction"


Turn: TypeAlias = UserTurn | AssistantTurn | ToolResultsTurn | SystemTurn | SteeringTurn | CompactionTurn
