"""The records of a conversation. Timestamps are ISO 8601, UTC."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from agent_ls.llm.messages import ImagePart, Message, ToolCallPart, ToolResultPart
from agent_ls.llm.requests import FinishReason, Usage


@dataclass(frozen=True, slots=True)
class UserTurn:
    """A message of the user. `context` is text about the editor that is added for the model, "" for none."""

    content: str
    timestamp: str
    images: tuple[ImagePart, ...] = ()
    context: str = ""
    type: Literal["user"] = "user"


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """An answer of the model.

    `message` contains the provider's parts in order, including the parts that must be sent back unchanged.
    """

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
    """An instruction from agent-ls itself; the model receives it with the developer role."""

    content: str
    timestamp: str
    type: Literal["system"] = "system"


@dataclass(frozen=True, slots=True)
class SteeringTurn:
    """A message inserted into a running turn. The model receives it with the user role.

    Sources are: the user's steers, loop warnings, decisions about hunks, recoveries, subagents' reports and
    hooks, and ends of background processes.
    """

    content: str
    timestamp: str
    source: Literal["user", "loop_detection", "review", "recovery", "subagent", "hook", "process"] = "user"
    images: tuple[ImagePart, ...] = field(default=())
    type: Literal["steering"] = "steering"


@dataclass(frozen=True, slots=True)
class CompactionTurn:
    """A compaction: after this turn the model receives `content` instead of all earlier turns except the last
    `kept_turns`.

    Compaction turns are not counted in `kept_turns`. `summary` is the part of `content` that a model wrote,
    "" for none; `usage` is the usage of that model call. The earlier turns stay in the list, so that the log
    and searches contain the whole conversation.
    """

    content: str
    kept_turns: int
    timestamp: str
    summary: str = ""
    usage: Usage = field(default_factory=Usage)
    compaction_id: str = ""
    type: Literal["compaction"] = "compaction"


Turn: TypeAlias = UserTurn | AssistantTurn | ToolResultsTurn | SystemTurn | SteeringTurn | CompactionTurn
