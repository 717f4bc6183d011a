"""Profiles by provider name: one row for each family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.family import DEFAULT_OPTIONS, NO_FACTS, ModelFacts, ProfileOptions

Builder: TypeAlias = Callable[[str, ModelFacts, ProfileOptions], ProviderProfile]

WALKTHROUGH_WINDOW_TOKENS = 200_000


class UnknownProviderError(Exception):
    """No profile of that name."""

    def __init__(self, provider: str) -> None:
        super().__init__(f"Unknown provider {provider!r}. Known providers: {', '.join(PROFILES)}.")
        self.provider = provider


class ModelNeededError(Exception):
    """A provider that serves many models of many makers: one of them must be named."""

    def __init__(self, provider: str) -> None:
        super().__init__(f"No model of {provider} was chosen, and there is no usual one.")
        self.provider = provider


def create_profile(
    provider: str, model: str = "", *, facts: ModelFacts = NO_FACTS, options: ProfileOptions = DEFAULT_OPTIONS
) -> ProviderProfile:
    """A new profile with a registry of its own; `model` "" is the family's default.

    Raises:
        UnknownProviderError, ModelNeededError
    """
    builder = PROFILES.get(provider)
    if builder is None:
        raise UnknownProviderError(provider)
    profile = builder(model, facts, options)
    if options.plan:
        from agent_ls.tools.plan import PLAN  # as the families

        profile.registry.register(PLAN)
    if options.ask_user:
        from agent_ls.tools.ask_user import ASK_USER  # as the families

        profile.registry.register(ASK_USER)
    if options.think:
        from agent_ls.tools.think import THINK  # as the families

        profile.registry.register(THINK)
    if options.submit:
        from agent_ls.tools.submit import SUBMIT  # as the families

        profile.registry.register(SUBMIT)
    if options.subagents:
        from agent_ls.tools.subagents import SUBAGENT_TOOLS  # as the families

        for tool in SUBAGENT_TOOLS:
            profile.registry.register(tool)
    profile.registry.remove_kinds(options.without)
    if options.native_names:
        from agent_ls.profiles.native import with_native_names  # seldom wanted

        return with_native_names(profile)
    return profile


# A family is loaded by who asks for it: its tools are much of what an editor's first answer would wait for.


def anthropic_profile(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
    from agent_ls.profiles.anthropic import profile

    return profile.anthropic_profile(model, facts, options)


def openai_profile(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
    from agent_ls.profiles.openai import profile

    return profile.openai_profile(model, facts, options)


def gemini_profile(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
    from agent_ls.profiles.gemini import profile

    return profile.gemini_profile(model, facts, options)


def compatible_profile(provider: str) -> Builder:
    """The builder for one of COMPATIBLE."""

    def build(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
        from agent_ls.profiles.compatible import profile

        if not model:
            raise ModelNeededError(provider)
        return profile.compatible_profile(provider, model, facts, options)

    return build


def walkthrough_profile(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
    """The built-in walkthrough model (H14) speaks as Anthropic's models do, with none of their options."""
    return replace(
        anthropic_profile(model or "walkthrough", facts, options),
        id="walkthrough",
        context_window_tokens=facts.context_window_tokens or WALKTHROUGH_WINDOW_TOKENS,
        provider_options={},
        supports_reasoning=False,
        display_name=facts.display_name or "Walkthrough (built in, no AI)",
    )


# Providers that speak Chat Completions; one of them is any other server, by its address.
COMPATIBLE = (
    "openrouter", "deepseek", "groq", "mistral", "xai", "together", "moonshot", "zai", "cerebras",
    "ollama", "lmstudio", "llamacpp", "vllm", "compatible",
)  # fmt: skip

PROFILES: Mapping[str, Builder] = MappingProxyType(
    {
        "anthropic": anthropic_profile,
        "openai": openai_profile,
        "gemini": gemini_profile,
        **{provider: compatible_profile(provider) for provider in COMPATIBLE},
        "walkthrough": walkthrough_profile,
    }
)
