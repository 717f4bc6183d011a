"""The profile of Gemini's models (000 section 3.6).

Search grounding and safety settings are options of the provider (`provider_options["gemini"]`): `tools` with
`{"googleSearch": {}}` and `safetySettings` reach the request unchanged (U13).
"""

from __future__ import annotations

from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.family import ModelFacts, ProfileOptions, base_prompt
from agent_ls.profiles.gemini.toolset import toolset

DEFAULT_MODEL = "gemini-4-argon"
CONTEXT_WINDOW_TOKENS = 1_048_576  # of every current model


def gemini_profile(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
    return ProviderProfile(
        id="gemini",
        model=model or DEFAULT_MODEL,
        base_prompt=options.base_prompt or base_prompt("gemini"),
        registry=toolset(background=options.background_processes),
        context_window_tokens=facts.context_window_tokens or CONTEXT_WINDOW_TOKENS,
        project_documents=("GEMINI.md",),
        supports_reasoning=facts.supports_reasoning,
        display_name=facts.display_name,
        knowledge_cutoff=facts.knowledge_cutoff,
    )
