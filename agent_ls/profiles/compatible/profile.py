"""The profile of models behind Chat Completions: OpenRouter, Ollama, vLLM, llama.cpp, LM Studio and kin (P5)."""

from __future__ import annotations

from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.compatible.toolset import toolset
from agent_ls.profiles.family import ModelFacts, ProfileOptions, base_prompt

CONTEXT_WINDOW_TOKENS = 128_000  # a guess: servers are asked, and the user can set it


def compatible_profile(
    provider: str, model: str, facts: ModelFacts, options: ProfileOptions
) -> ProviderProfile:
    return ProviderProfile(
        id=provider,
        model=model,
        base_prompt=options.base_prompt or base_prompt("compatible"),
        registry=toolset(background=options.background_processes),
        context_window_tokens=facts.context_window_tokens or CONTEXT_WINDOW_TOKENS,
        supports_reasoning=facts.supports_reasoning,
        display_name=facts.display_name,
        knowledge_cutoff=facts.knowledge_cutoff,
    )
