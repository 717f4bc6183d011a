"""Events about the model's context: its content, its cost, and compaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from agent_ls.llm.requests import Usage
from agent_ls.loop.events.origin import Emitted


@dataclass(frozen=True, slots=True)
class ContextParts:
    """Estimated tokens of the next model call by category.

    `documents` are the project's instructions, `tools` the tool definitions, `tool_output` the results
    of calls, `history` the rest of the conversation.
    """

    system: int = 0
    tools: int = 0
    documents: int = 0
    history: int = 0
    tool_output: int = 0

    @property
    def total(self) -> int:
        return self.system + self.tools + self.documents + self.history + self.tool_output


@dataclass(frozen=True, slots=True)
class UsageReport(Emitted):
    """The usage of one model call (`call`) and of the session so far (`total`). `context_tokens` estimates
    the next call.

    Costs use published prices. A cost is None if a price is unknown; then the total cost is None too.
    `calibration` is the moving average of the ratio of reported to estimated tokens; estimates are multiplied
    by it. `duration_ms` is the time from the successful request to the end of the answer; `first_output_ms` is
    the time to the first piece of a text, of reasoning, or of a call's arguments. None means not measured. If
    `estimated`, the call was cut before the provider reported its usage: `call` is an estimate of what was sent
    and received.
    """

    kind: ClassVar[Literal["usage"]] = "usage"
    call: Usage
    total: Usage
    context_tokens: int
    context_window_tokens: int
    call_cost_usd: float | None = None
    total_cost_usd: float | None = None
    context: ContextParts = ContextParts()
    calibration: float = 1.0
    duration_ms: int | None = None
    first_output_ms: int | None = None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Compaction(Emitted):
    """A compaction: one event (`started`) when it begins, and one event with the same id when it ends.

    After `done` the model receives less of the conversation. `trigger`: the window filled up, the user
    asked, or the provider refused the conversation as too long. `removed` messages are no longer sent,
    `kept` are sent unchanged. `summary` is "" if there is none. `message` describes the event for the
    user. Tokens are estimates, 0: unknown.
    """

    kind: ClassVar[Literal["compaction"]] = "compaction"
    compaction_id: str
    status: Literal["started", "done", "failed", "interrupted"]
    trigger: Literal["auto", "request", "overflow"]
    strategy: Literal["summarize", "dropOldest", "slidingWindow"]
    tokens_before: int
    tokens_after: int = 0
    removed: int = 0
    kept: int = 0
    summary: str = ""
    message: str = ""
    client_key: str = ""


@dataclass(frozen=True, slots=True)
class CacheLost(Emitted):
    """The provider cannot use its cache for the next request, so that about `tokens` tokens are processed
    uncached.

    `reason` "provider" means that the prefix is unchanged, but the provider dropped its cache.
    """

    kind: ClassVar[Literal["cache_lost"]] = "cache_lost"
    reason: Literal["model", "tools", "documents", "instructions", "compaction", "provider"]
    message: str
    tokens: int
