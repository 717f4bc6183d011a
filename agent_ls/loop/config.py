"""SessionConfig: limits and behaviour of one session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent_ls.llm.requests import CHARS_PER_TOKEN
from agent_ls.llm.retry import RetryPolicy
from agent_ls.loop.budget import UseLimits
from agent_ls.tools.base import ReadFirst

KEEP_MIN, KEEP_MAX = 6, 10
"""Minimum and maximum of `keep_messages`. Every compaction keeps at least KEEP_MIN of the last messages
unchanged.
"""


@dataclass(frozen=True, slots=True)
class ContextConfig:
    """Settings for shortening a conversation that fills the context window.

    `compaction`: `auto` compacts when the window is filled to `compact_at_percent`, `request` compacts only
    when the user asks, `off` never compacts. `strategy`: `summarize` keeps the last `keep_messages` messages
    and replaces all earlier messages by a summary; `dropOldest` drops the oldest messages until half of the
    window is free; `slidingWindow` keeps the newest `window_messages`; `full` drops nothing.
    `chars_per_token` is the number of code points per estimated token.
    """

    compaction: Literal["auto", "request", "off"] = "auto"
    strategy: Literal["summarize", "dropOldest", "slidingWindow", "full"] = "summarize"
    compact_at_percent: int = 85
    keep_messages: int = 8
    window_messages: int = 40
    chars_per_token: int = CHARS_PER_TOKEN

    @property
    def may_compact(self) -> bool:
        return self.compaction != "off" and self.strategy != "full"


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """Limits and settings of a session. For optional limits, 0 means "no limit".

    `max_turns` counts model calls over the whole session, or if `is_subagent` those of one subagent.
    `tool_output_limits` (characters) and `tool_line_limits` (lines, 0: none) override the default output limits by tool
    name. `max_subagents` is the number of subagents of one parent that may run at the same time, `max_subagent_turns`
    the number of model calls of one subagent, `max_subagent_cost_usd` their cost, as far as their price is known.
    `refuse_ambiguous_edits`: refuse an edit that matches loosely at several positions. `read_first` says which changes
    require that the model has read the file (see ToolContext). A change of the config during a turn applies from the
    next model call (Session.configure).
    """

    max_turns: int = 0
    is_subagent: bool = False
    max_tool_rounds_per_input: int = 0
    default_command_timeout_ms: int = 10_000
    max_command_timeout_ms: int = 600_000
    reasoning_effort: str | None = None
    tool_output_limits: Mapping[str, int] = field(default_factory=dict)
    tool_line_limits: Mapping[str, int] = field(default_factory=dict)
    enable_loop_detection: bool = True
    loop_detection_window: int = 10
    max_subagent_depth: int = 1
    max_subagents: int = 8
    max_subagent_turns: int = 0
    max_subagent_cost_usd: float = 0.0
    user_instructions: str = ""
    refuse_ambiguous_edits: bool = False
    read_first: ReadFirst = "edit"
    limits: UseLimits = field(default_factory=UseLimits)
    context: ContextConfig = ContextConfig()
    retry: RetryPolicy = field(default_factory=RetryPolicy)
