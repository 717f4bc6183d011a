"""The profile of Anthropic's models."""

from __future__ import annotations

from dataclasses import replace

from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.options import ModelFacts, ProfileOptions
from agent_ls.profiles.shared_tools import family_profile
from agent_ls.tools.base import ShellLimits
from agent_ls.tools.edit_file import EDIT_FILE
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP
from agent_ls.tools.read_file import READ_FILE
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


def build_profile(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
    model = model or DEFAULT_MODEL
    betas = beta_headers(model, options.beta_headers)
    profile = family_profile(
        "anthropic",
        model,
        facts,
        options,
        lambda shell: (READ_FILE, WRITE_FILE, EDIT_FILE, shell, GREP, GLOB),
        window_tokens=CONTEXT_WINDOW_TOKENS,
        shell_limits=ShellLimits(default_timeout_ms=SHELL_TIMEOUT_MS),
    )
    return replace(
        profile,
        project_documents=("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"),
        provider_options={"anthropic": {"beta_headers": betas}} if betas else {},
    )


def beta_headers(model: str, chosen: tuple[str, ...]) -> tuple[str, ...]:
    """Return the beta headers that the model needs, then the headers `chosen` by the host, without repetitions."""
    needed = tuple(beta for prefix, beta in BETA_HEADERS if model.startswith(prefix))
    return tuple(dict.fromkeys((*needed, *chosen)))
