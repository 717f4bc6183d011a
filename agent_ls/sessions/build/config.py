"""Pure: convert the settings to the configuration of a session's loop."""

from __future__ import annotations

from collections.abc import Callable

from agent_ls.loop.budget import UseLimits
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.turn_facts import JudgeCheck, Judgement
from agent_ls.services.settings.model import Settings


def session_config(settings: Settings, effort: str | None) -> SessionConfig:
    """Return the session configuration for these settings. `effort` None or "": use the model's default."""
    return SessionConfig(
        max_turns=settings.max_turns,
        max_tool_rounds_per_input=settings.max_tool_rounds_per_input,
        default_command_timeout_ms=settings.default_command_timeout_ms,
        max_command_timeout_ms=settings.max_command_timeout_ms,
        reasoning_effort=effort or None,
        tool_output_limits=settings.tool_output_limits,
        tool_line_limits=settings.tool_line_limits,
        enable_loop_detection=settings.loop_detection.enabled,
        loop_detection_window=settings.loop_detection.window,
        max_subagent_depth=settings.subagents.max_depth,
        max_subagents=settings.subagents.max_running,
        max_subagent_turns=settings.subagents.max_turns,
        max_subagent_cost_usd=settings.subagents.max_cost_usd,
        retry=settings.retry.policy(),
        user_instructions=settings.user_instructions,
        refuse_ambiguous_edits=settings.edits.ambiguous == "refuse",
        read_first=settings.edits.read_first,
        limits=UseLimits(**settings.limits.model_dump()),
        context=settings.context.config(),
    )


def check_judge(now: Callable[[], Settings]) -> JudgeCheck:
    """Return the function that says which commands check the project; the grammar is loaded at the first command."""

    def judge(command: str) -> Judgement:
        from agent_ls.policy.shell.checks import judge_check

        return judge_check(command, now().checks)

    return judge
