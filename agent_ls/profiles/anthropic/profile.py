"""The profile of Anthropic's models."""

from __future__ import annotations

from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.options import ModelFacts, ProfileOptions, load_base_prompt
from agent_ls.profiles.shared_tools import with_shared_tools
from agent_ls.tools.base import ShellLimits
from agent_ls.tools.edit_file import EDIT_FILE
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP
from agent_ls.tools.read_file import READ_FILE
from agent_ls.tools.registry import ToolRegistry
from agent_ls.tools.shell import shell_tool
from agent_ls.tools.write_file import WRITE_FILE

SHELL_TIMEOUT_MS = 120_000  # the default time limit of commands in Claude Code
DEFAULT_MODEL = "claude-sonnet-5-5"
CONTEXT_WINDOW_TOKENS = 200_000  # the smallest window of the family; newer models have more

INTERLEAVED_THINKING = "interleaved-thinking-2025-05-14"

# The models that think between tool calls only if a beta header is sent. Newer models need no header.
BETA_HEADERS = (
    ("claude-opus-4-5", INTERLEAVED_THINKING),
    ("claude-sonnet-4-5", INTERLEAVED_THINKING),
    ("claude-haiku-4-5", INTERLEAVED_THINKING),
)


def anthropic_profile(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
    model = model or DEFAULT_MODEL
    betas = beta_headers(model, options.beta_headers)
    return ProviderProfile(
        id="anthropic",
        model=model,
        base_prompt=options.base_prompt or load_base_prompt("anthropic"),
        registry=build_toolset(background=options.background_processes),
        context_window_tokens=facts.context_window_tokens or CONTEXT_WINDOW_TOKENS,
        project_documents=("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"),
        provider_options={"anthropic": {"beta_headers": betas}} if betas else {},
        shell_limits=ShellLimits(default_timeout_ms=SHELL_TIMEOUT_MS),
    )


def beta_headers(model: str, chosen: tuple[str, ...]) -> tuple[str, ...]:
    """Return the beta headers that the model needs, then the headers `chosen` by the host, without repetitions."""
    needed = tuple(beta for prefix, beta in BETA_HEADERS if model.startswith(prefix))
    return tuple(dict.fromkeys((*needed, *chosen)))


def build_toolset(*, background: bool) -> ToolRegistry:
    """Return the tools. `background`: add background commands, and a tool to monitor them."""
    shell = shell_tool(default_timeout_ms=SHELL_TIMEOUT_MS, background=background)
    own = ToolRegistry((READ_FILE, WRITE_FILE, EDIT_FILE, shell, GREP, GLOB))
    return with_shared_tools(own, background=background)
