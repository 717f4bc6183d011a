"""The profile of OpenAI's models over the Responses API (000 section 3.4).

Reasoning effort is a field of the request (L7), so there is no provider option to set for it.
"""

from __future__ import annotations

from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.family import ModelFacts, ProfileOptions, base_prompt
from agent_ls.profiles.openai.toolset import toolset

DEFAULT_MODEL = "gpt-6.1-sol"
CONTEXT_WINDOW_TOKENS = 272_000  # the smallest input window of the family; newer models have more


def openai_profile(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
    return ProviderProfile(
        id="openai",
        model=model or DEFAULT_MODEL,
        base_prompt=options.base_prompt or base_prompt("openai"),
        registry=toolset(background=options.background_processes),
        context_window_tokens=facts.context_window_tokens or CONTEXT_WINDOW_TOKENS,
        project_documents=(".codex/instructions.md",),
        supports_reasoning=facts.supports_reasoning,
        display_name=facts.display_name,
        knowledge_cutoff=facts.knowledge_cutoff,
    )
