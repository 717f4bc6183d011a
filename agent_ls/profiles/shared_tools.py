"""Build the profile of a model family from its own tools, and add the tools that every family offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.options import ModelFacts, ProfileOptions, load_base_prompt
from agent_ls.tools.base import ShellLimits, Tool
from agent_ls.tools.processes import PROCESSES
from agent_ls.tools.registry import ToolRegistry
from agent_ls.tools.shell import shell_tool

SHELL_TIMEOUT_MS = 10_000  # the default time limit of commands in all sessions


def family_profile(
    family: str,
    model: str,
    facts: ModelFacts,
    options: ProfileOptions,
    tools: Callable[[Tool[Any]], tuple[Tool[Any], ...]],
    *,
    window_tokens: int,
    shell_limits: ShellLimits | None = None,
) -> ProviderProfile:
    """Return the profile of a family, whose base prompt is `<family>/system.md`.

    `tools` returns the family's own tools; its argument is the shell tool. `window_tokens` is the context window of
    models of which no facts are known.
    """
    timeout_ms = shell_limits.default_timeout_ms if shell_limits else SHELL_TIMEOUT_MS
    background = options.background_processes
    registry = ToolRegistry(tools(shell_tool(default_timeout_ms=timeout_ms, background=background)))
    if background:
        registry.register(PROCESSES)
    return ProviderProfile(
        id=family,
        model=model,
        base_prompt=options.base_prompt or load_base_prompt(family),
        registry=registry,
        context_window_tokens=facts.context_window_tokens or window_tokens,
        shell_limits=shell_limits,
    )
