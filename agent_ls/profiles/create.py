"""Create profiles by provider name. The table PROFILES has one row for each provider."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from agent_ls.argument_types import typed
from agent_ls.llm.catalog import Price, cost_usd, default_model, find_entry
from agent_ls.llm.requests import Usage
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.options import (
    DEFAULT_OPTIONS,
    NO_FACTS,
    ModelFacts,
    ProfileBuilder,
    ProfileOptions,
    apply_facts,
)

if TYPE_CHECKING:
    from agent_ls.profiles.tool_presentation import FamilyPresentation
    from agent_ls.tools.base import Tool

WALKTHROUGH_WINDOW_TOKENS = 200_000


class UnknownProviderError(Exception):
    """There is no profile for this provider."""

    hint = (
        'for a provider of your own, begin with a family: profiles={"NAME": create_profile("compatible", MODEL, '
        "price=Price.of([INPUT, OUTPUT]))}"
    )

    def __init__(self, provider: str, own: Iterable[str] = ()) -> None:
        """`own` are the names of a program's own providers."""
        known = ", ".join(dict.fromkeys((*PROFILES, *own)))
        super().__init__(f"Unknown provider {provider!r}. Known providers: {known}")
        self.add_note(self.hint)  # the traceback of a program shows it
        self.provider = provider


class ModelNeededError(Exception):
    """The provider has no default model, so a model has to be chosen."""

    hint = "pass the name of a model"

    def __init__(self, provider: str) -> None:
        super().__init__(f"Choose a model of {provider}, because this provider has no default model.")
        self.add_note(self.hint)
        self.provider = provider


@typed
def create_profile(
    provider: str,
    model: str = "",
    *,
    facts: ModelFacts | None = None,
    options: ProfileOptions = DEFAULT_OPTIONS,
    price: Price | None = None,
) -> ProviderProfile:
    """Return a new profile with its own registry. `model` "" selects the provider's default model.

    Context window, price, knowledge cut-off, display name and abilities come from the model catalogue; `facts`
    replaces all of them except the price, and `price` the price. For a provider of a program, pass the family whose
    tools and prompt its models shall have, such as "compatible".

    Raises:
        UnknownProviderError, ModelNeededError
    """
    if (builder := PROFILES.get(provider)) is None:
        raise UnknownProviderError(provider)
    name = model or default_model(provider)
    facts = facts or (NO_FACTS if provider == "walkthrough" else catalogue_facts(provider, name))
    profile = with_optional_tools(apply_facts(builder(name, facts, options), facts), options)
    profile = replace(profile, cost_usd=OwnPrice(price) if price else CataloguePrice(provider, profile.model))
    return _present_tools(profile, provider, options)


@dataclass(frozen=True, slots=True)
class CataloguePrice:
    """The price of a call by the rates of the catalogue. Equal for the same model."""

    provider: str
    model: str

    def __call__(self, usage: Usage) -> float | None:
        return cost_usd(self.provider, self.model, usage)


@dataclass(frozen=True, slots=True)
class OwnPrice:
    """The price of a call as the provider reported it, or else by the rates of a program."""

    price: Price

    def __call__(self, usage: Usage) -> float | None:
        return self.price.cost_usd(usage) if usage.reported_cost_usd is None else usage.reported_cost_usd


def catalogue_facts(provider: str, model: str) -> ModelFacts:
    """Return what the catalogue knows of a model. An unknown model has the facts of its family."""
    info = find_entry(provider, model)
    return ModelFacts(
        info.display_name,
        info.context_window_tokens,
        info.knowledge_cutoff,
        supports_reasoning=info.reasons,
        supports_streaming=info.streams,
        supports_parallel_tool_calls=info.calls_in_parallel,
        supports_images="images" in info.abilities or not info.has_known_family,
        supports_custom_tools="custom_tools" in info.abilities,
    )


def with_model(profile: ProviderProfile, model: str) -> ProviderProfile:
    """Return the profile for another model of its provider.

    Facts that the profile has from the catalogue become those of `model`. Facts that a host set itself stay.
    """
    if model == profile.model or profile.id not in PROFILES or profile.id == "walkthrough":
        return replace(profile, model=model)
    old, new = (create_profile(profile.id, name) for name in (profile.model, model))
    changed = {
        name: getattr(new, name) for name in _FACT_FIELDS if getattr(profile, name) == getattr(old, name)
    }
    return replace(profile, model=model, **changed)


_FACT_FIELDS = (
    "context_window_tokens", "provider_options", "supports_reasoning", "supports_streaming",
    "supports_parallel_tool_calls", "supports_images", "supports_custom_tools", "display_name", "knowledge_cutoff",
    "cost_usd",
)  # fmt: skip


def with_optional_tools(profile: ProviderProfile, options: ProfileOptions) -> ProviderProfile:
    """Add the optional tools that `options` enable to the profile's registry."""
    if options.plan:
        from agent_ls.tools.plan import PLAN  # imported only if enabled, to keep the start fast

        profile.registry.register(PLAN)
    if options.ask_user:
        from agent_ls.tools.ask_user import ASK_USER  # imported only if enabled, to keep the start fast

        profile.registry.register(ASK_USER)
    if options.think:
        from agent_ls.tools.think import THINK  # imported only if enabled, to keep the start fast

        profile.registry.register(THINK)
    if options.submit:
        from agent_ls.tools.submit import SUBMIT  # imported only if enabled, to keep the start fast

        profile.registry.register(SUBMIT)
    if options.subagents:
        # imported only if enabled, to keep the start fast
        from agent_ls.tools.subagents import SUBAGENT_TOOLS

        for tool in SUBAGENT_TOOLS:
            profile.registry.register(tool)
    profile.registry.remove_kinds(options.without)
    return profile


def _present_tools(profile: ProviderProfile, provider: str, options: ProfileOptions) -> ProviderProfile:
    """Return the profile with tool names and descriptions that the provider's models know."""
    from agent_ls.profiles.tool_presentation import present_tools  # imported here, to keep the start fast

    is_native = options.native_names and provider in NATIVE
    return present_tools(profile, family_presentation(provider), native=is_native)


def family_tools(tool: Tool[Any], provider: str, *, native_names: bool) -> Sequence[Tool[Any]]:
    """Return one of our tools with the names and parameters that the provider's models know.

    Used for a tool that is added after the profile was created. It may become several tools.
    """
    if provider not in PROFILES:
        return (tool,)
    return tuple(family_presentation(provider).present(tool, native=native_names and provider in NATIVE))


def family_presentation(provider: str) -> FamilyPresentation:
    """Return the names, parameters and descriptions of our tools for a provider of PROFILES."""
    family = (
        "compatible" if provider in COMPATIBLE else "anthropic" if provider == "walkthrough" else provider
    )
    shapes: FamilyPresentation = import_module(f"agent_ls.profiles.{family}.presentation").PRESENTATION
    return shapes


def family_builder(family: str) -> ProfileBuilder:
    """Return the profile builder of a family. It imports the family, because start-up time depends on imports."""

    def build(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
        builder: ProfileBuilder = import_module(f"agent_ls.profiles.{family}.profile").build_profile
        return builder(model, facts, options)

    return build


def compatible_builder(provider: str) -> ProfileBuilder:
    """Return the profile builder for `provider`, which is one of COMPATIBLE."""

    def build(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
        if not model:
            raise ModelNeededError(provider)
        return replace(family_builder("compatible")(model, facts, options), id=provider)

    return build


def walkthrough_profile(model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
    """Build the profile of the built-in provider `walkthrough`, which plays a script and calls no model.

    It has Anthropic's tools and prompt, but no provider options.
    """
    return replace(
        family_builder("anthropic")(model or "walkthrough", facts, options),
        id="walkthrough",
        context_window_tokens=facts.context_window_tokens or WALKTHROUGH_WINDOW_TOKENS,
        provider_options={},
        supports_reasoning=False,
        display_name=facts.display_name or "Walkthrough (built in, no AI)",
    )


NATIVE = (
    "anthropic",
    "openai",
    "gemini",
)  # the companies of these models have agents of their own, and the models know the tool names of these agents

# Providers with the Chat Completions API. `compatible` is any other server, given by its base URL.
COMPATIBLE = (
    "openrouter", "deepseek", "groq", "mistral", "xai", "together", "moonshot", "zai", "cerebras",
    "ollama", "lmstudio", "llamacpp", "vllm", "compatible",
)  # fmt: skip

PROFILES: Mapping[str, ProfileBuilder] = MappingProxyType(
    {
        **{family: family_builder(family) for family in NATIVE},
        **{provider: compatible_builder(provider) for provider in COMPATIBLE},
        "walkthrough": walkthrough_profile,
    }
)
