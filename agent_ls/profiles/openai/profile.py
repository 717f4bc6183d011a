"""The profile of OpenAI's models with the Responses API.

The reasoning effort needs no provider option, because it is a field of the request.
"""

from __future__ import annotations

from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.openai.toolset import build_toolset
from agent_ls.profiles.options import ModelFacts, ProfileOptions, load_base_prompt

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
