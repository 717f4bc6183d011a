"""The profile of OpenAI's models with the Responses API.

The reasoning effort needs no provider option, because it is a field of the request.
"""

from __future__ import annotations

from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.options import ModelFacts, ProfileOptions, load_base_prompt
from agent_ls.profiles.shared_tools import with_shared_tools
from agent_ls.tools.apply_patch import APPLY_PATCH
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP
from agent_ls.tools.read_file import READ_FILE
from agent_ls.tools.registry import ToolRegistry
from agent_ls.tools.shell import shell_tool
from agent_ls.tools.write_file import WRITE_FILE

SHELL_TIMEOUT_MS = 10_000  # the default time limit of commands in all sessions
DEFAULT_MODEL = "gpt-6.1-sol"
CONTEXT_WINDOW_TOKENS = 272_000  # the smallest input window of the family; newer models have more


def openai_profile(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
    return ProviderProfile(
        id="openai",
        model=model or DEFAULT_MODEL,
        base_prompt=options.base_prompt or load_base_prompt("openai"),
        registry=build_toolset(background=options.background_processes),
        context_window_tokens=facts.context_window_tokens or CONTEXT_WINDOW_TOKENS,
        project_documents=(".codex/instructions.md",),
        supports_custom_tools=True,
    )


def build_toolset(*, background: bool) -> ToolRegistry:
    """Return the tools. `background`: add background commands, and a tool to monitor them."""
    shell = shell_tool(default_timeout_ms=SHELL_TIMEOUT_MS, background=background)
    own = ToolRegistry((READ_FILE, APPLY_PATCH, WRITE_FILE, shell, GREP, GLOB))
    return with_shared_tools(own, background=background)
