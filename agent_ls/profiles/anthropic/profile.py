"""The profile of Anthropic's models."""

from __future__ import annotations

from agent_ls.profiles.anthropic.toolset import SHELL_TIMEOUT_MS, build_toolset
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.options import ModelFacts, ProfileOptions, load_base_prompt
from agent_ls.tools.base import ShellLimits

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
