"""The profile of models with the Chat Completions API: OpenRouter, Ollama, vLLM, llama.cpp, LM Studio and others."""

from __future__ import annotations

from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.options import ModelFacts, ProfileOptions, load_base_prompt
from agent_ls.profiles.shared_tools import with_shared_tools
from agent_ls.tools.edit_file import EDIT_OCCURRENCE
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP
from agent_ls.tools.list_dir import LIST_DIR
from agent_ls.tools.read_file import READ_FILE
from agent_ls.tools.registry import ToolRegistry
from agent_ls.tools.shell import shell_tool
from agent_ls.tools.write_file import WRITE_FILE

SHELL_TIMEOUT_MS = 10_000  # the default time limit of commands in all sessions
CONTEXT_WINDOW_TOKENS = 128_000  # a guess for servers that do not report the window; the user can set it


def compatible_profile(
    provider: str, model: str, facts: ModelFacts, options: ProfileOptions
) -> ProviderProfile:
    return ProviderProfile(
        id=provider,
        model=model,
        base_prompt=options.base_prompt or load_base_prompt("compatible"),
        registry=build_toolset(background=options.background_processes),
        context_window_tokens=facts.context_window_tokens or CONTEXT_WINDOW_TOKENS,
    )


def build_toolset(*, background: bool) -> ToolRegistry:
    """Return the tools. `background`: add background commands, and a tool to monitor them."""
    shell = shell_tool(default_timeout_ms=SHELL_TIMEOUT_MS, background=background)
    own = ToolRegistry((READ_FILE, WRITE_FILE, EDIT_OCCURRENCE, shell, GREP, GLOB, LIST_DIR))
    return with_shared_tools(own, background=background)
