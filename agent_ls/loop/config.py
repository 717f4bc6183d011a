"""SessionConfig (000 section 2.2, REQUIREMENTS L2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent_ls.llm.retry import RetryPolicy
from agent_ls.loop.budget import UseLimits
from agent_ls.tools.base import ReadFirst

KEEP_MIN, KEEP_MAX = 6, 10
"""Messages that a summary leaves as they are: the last words of the user, the model and its tools (001 section 1.5)."""


@dataclass(frozen=True, slots=True)
class ContextConfig:
    """What becomes of a conversation that fills the context window (L12 to L14; 002 section 5.2).

    `compaction`: by itself when the window is full to `compact_at_percent` (`auto`), only when the user asks for it
    (`request`), or never (`off`). `strategy`: the earlier part becomes a summary, with `keep_messages` kept
    (`summarize`); the oldest messages go until half of the window is free (`dropOldest`); the newest
    `window_messages` stay (`slidingWindow`); nothing ever goes (`full`). `chars_per_token` is what the estimate of
    tokens divides code points by.
    """

    compaction: Literal["auto", "request", "off"] = "auto"
    strategy: Literal["summarize", "dropOldest", "slidingWindow", "full"] = "summarize"
    compact_at_percent: int = 85
    keep_messages: int = 8
    window_messages: int = 40
    chars_per_token: int = 4

    @property
    def may_compact(self) -> bool:
        return self.compaction != "off" and self.strategy != "full"


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """UseLimits and settings of a session. 0 is "no limit" where a limit may be absent.

    `max_turns` counts model calls over the whole session. `tool_output_limits` (characters) and
    `tool_line_limits` (lines, 0: none) override the tables of 000 section 5 by tool name.
    `refuse_ambiguous_edits` and `read_first` as in ToolContext.
    A changed config holds from the next round (Session.configure).
    """

    max_turns: int = 0
    max_tool_rounds_per_input: int = 0
    default_command_timeout_ms: int = 10_000
    max_command_timeout_ms: int = 600_000
    reasoning_effort: str | None = None
    tool_output_limits: Mapping[str, int] = field(default_factory=dict)
    tool_line_limits: Mapping[str, int] = field(default_factory=dict)
    enable_loop_detection: bool = True
    loop_detection_window: int = 10
    max_subagent_depth: int = 1
    user_instructions: str = ""
    refuse_ambiguous_edits: bool = False
    read_first: ReadFirst = "edit"
    limits: UseLimits = field(default_factory=UseLimits)
    context: ContextConfig = ContextConfig()
    retry: RetryPolicy = field(default_factory=RetryPolicy)
