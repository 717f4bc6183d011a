"""The profile of models with the Chat Completions API: OpenRouter, Ollama, vLLM, llama.cpp, LM Studio and others."""

from __future__ import annotations

from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.compatible.toolset import build_toolset
from agent_ls.profiles.options import ModelFacts, ProfileOptions, load_base_prompt

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
