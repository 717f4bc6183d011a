"""The models of this process: which there are, who has a key, and a profile for each from what the catalogue knows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from agent_ls.app.choice import Choice, remember, remembered
from agent_ls.app.errors import BadChoiceError
from agent_ls.app.settings import ProviderSettings, Settings
from agent_ls.environments.local.environ import without_secrets
from agent_ls.llm.adapter import ProviderAdapter
from agent_ls.llm.catalog import cost_usd, default_model, known_models, model_info
from agent_ls.llm.client import build_client, reconnect, spoken_providers
from agent_ls.llm.credentials import KEYLESS, Credentials, key_variable
from agent_ls.llm.endpoint import ProviderSettings as EndpointSettings
from agent_ls.llm.messages import JsonObject
from agent_ls.llm.providers.options import string_list
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.create import ModelNeededError, UnknownProviderError, create_profile
from agent_ls.profiles.family import DEFAULT_OPTIONS, ModelFacts, ProfileOptions
from agent_ls.tools.base import Tool

WALKTHROUGH = "walkthrough"
BETAS = "beta_headers"

_PROVIDER_NAMES = {
    "anthropic": "Anthropic",
    "openai": "OpenAI",
    "gemini": "Google Gemini",
    "openrouter": "OpenRouter",
    "deepseek": "DeepSeek",
    "groq": "Groq",
    "mistral": "Mistral",
    "xai": "xAI",
    "together": "Together",
    "moonshot": "Moonshot",
    "zai": "Z.ai",
    "cerebras": "Cerebras",
    "ollama": "Ollama (this machine)",
    "lmstudio": "LM Studio (this machine)",
    "llamacpp": "llama.cpp (this machine)",
    "vllm": "vLLM (this machine)",
    "compatible": "Another server that speaks Chat Completions",
    WALKTHROUGH: "Walkthrough (built in, no AI)",
}


def provider_title(provider: str) -> str:
    """Its name for people."""
    return _PROVIDER_NAMES.get(provider, provider)


@dataclass(frozen=True, slots=True)
class ProviderChoice:
    """A provider that a session may use. `problem` "": it can be asked now, perhaps without a key.

    `key_variable` "": it takes no key.
    """

    id: str
    name: str
    has_key: bool
    key_variable: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model of the catalogue. Prices are US dollars per million tokens; None is "not known".

    `is_default`: it is the one that a session gets when only its provider is chosen. `address` is where a server
    without a key has just named it, "" for any other.
    """

    provider: str
    id: str
    name: str
    efforts: tuple[str, ...]
    is_default: bool
    images: bool
    context_tokens: int | None = None
    max_output_tokens: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    address: str = ""


class Models:
    """`adapters` are providers of the host's own, by name; they stand before those that have a key. `options` hold for

    each profile, with what the settings say of it.

    `child_environ` is what commands inherit: this process's variables but those that hold a key (X5).
    """

    def __init__(
        self,
        settings: Settings,
        credentials: Credentials,
        adapters: Mapping[str, ProviderAdapter],
        state_dir: Path | None = None,
        tools: Sequence[Tool[Any]] = (),
        options: ProfileOptions = DEFAULT_OPTIONS,
    ) -> None:
        self.settings = settings
        self._options = options
        self._credentials = credentials
        self._own = adapters
        self._tools = tools
        self._endpoints: dict[str, EndpointSettings] = {}
        self._take(settings.providers)
        self._state_dir = state_dir
        self._chosen = remembered(state_dir)
        self._told: dict[tuple[str, str], int] = {}
        self.client = build_client(credentials, self._endpoints, adapters)
        self.child_environ = without_secrets(os.environ, credentials.known_secrets())

    def change(self, settings: Settings) -> None:
        """Calls of a model that run end as they began; from the next one on what was changed holds."""
        before, self.settings = self.settings.providers, settings
        now = settings.providers
        self._take(now)
        for name in spoken_providers():
            if before.get(name) != now.get(name) and name not in self._own:
                reconnect(self.client, name, self._credentials, self._endpoints)

    def _take(self, providers: Mapping[str, ProviderSettings]) -> None:
        # In place: the client looks there for servers that need no key, once they are asked.
        self._endpoints.clear()
        self._endpoints |= {name: entry.endpoint() for name, entry in providers.items()}
        self._provider_options = {name: entry.options for name, entry in providers.items()}
        self._sizes = {name: entry.context_tokens for name, entry in providers.items()}

    def choose(self, provider: str | None, model: str | None) -> tuple[str, str]:
        """Never a guess between providers: what was named, else the settings', else what the user had remembered, else
        the first with a key.

        A key for a provider that we do not speak to yet counts as none.
        """
        settings = self.settings
        named = provider or settings.provider
        if named:
            usual = self._chosen.model if named == self._chosen.provider else ""
            return named, model or (settings.model if named == settings.provider else "") or usual
        if self._chosen.provider:
            return self._chosen.provider, model or settings.model or self._chosen.model
        # Without any key the session is made all the same, and its first input says what to do.
        return self.client.default or "anthropic", model or settings.model

    def profile(self, provider: str, model: str) -> ProviderProfile:
        """As make_profile, with the size of the context that the user set, or that the chosen server told.

        Raises:
            BadChoiceError
        """
        options, settings = self._options, self.settings
        options = replace(
            options,
            native_names=options.native_names or settings.native_tool_names,
            think=options.think or settings.think_tool,
            submit=options.submit or settings.submit_tool,
        )
        profile, chosen = make_profile(provider, model, options), self._chosen
        for tool in self._tools:
            profile.registry.register(tool)
        profile = _with_options(profile, self._provider_options.get(provider, {}))
        told = chosen.context_tokens if (provider, model) == (chosen.provider, chosen.model) else 0
        size = self._sizes.get(provider) or told
        return replace(profile, context_window_tokens=size) if size else profile

    def set_credential(self, provider: str, secret: str | None) -> None:
        """From the next call of the model on; None or blank forgets it. It is held in memory and nowhere else.

        Raises:
            BadChoiceError: no such provider, or what cannot be a key. The words never repeat it.
        """
        if provider not in spoken_providers():
            known = ", ".join(spoken_providers())
            raise BadChoiceError(f"no provider named {provider!r} takes a key", f"choose one of {known}")
        key = (secret or "").strip()
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise BadChoiceError(
                "this is no key: it holds blanks or characters that no key has",
                "copy it once more, without what stands around it",
            )
        self._credentials.set(provider, key)
        # Sessions share the mapping, so that their next command has it no more either.
        for name in self.child_environ.keys() - without_secrets(self.child_environ, {key} - {""}).keys():
            del self.child_environ[name]
        if provider not in self._own:
            reconnect(self.client, provider, self._credentials, self._endpoints)

    def providers(self) -> tuple[ProviderChoice, ...]:
        """All that a session may use, those without a key as well."""
        return tuple(map(self._provider, dict.fromkeys((*spoken_providers(), *self._own))))

    def _provider(self, provider: str) -> ProviderChoice:
        name = _PROVIDER_NAMES.get(provider, provider)
        if provider in self._own:
            return ProviderChoice(provider, name, has_key=True, key_variable="")
        variable = key_variable(provider)
        has_key = bool(self._credentials.secret(provider))
        problem = (
            ""
            if has_key or provider in KEYLESS
            else f"there is no key: enter one, or set {variable} and start agent-ls again"
        )
        return ProviderChoice(provider, name, has_key, variable, problem)

    def models(self) -> tuple[ModelChoice, ...]:
        """The models of the catalogue, newest first within a provider. A provider may know more."""
        choices = []
        for provider in (choice.id for choice in self.providers() if choice.id != WALKTHROUGH):
            default = self._default(provider)
            known = [info.id for info in known_models(provider)]
            unlisted = [default] if default and default not in known else []
            choices += [_choice(provider, model, default) for model in (*unlisted, *known)]
        if WALKTHROUGH in self._own:
            choices.append(
                ModelChoice(WALKTHROUGH, WALKTHROUGH, _PROVIDER_NAMES[WALKTHROUGH], (), True, False)
            )
        return tuple(choices)

    async def look(self) -> tuple[ModelChoice, ...]:
        """The models of servers that need no key and answer now: on this machine, or where the user has set one up.

        Nothing is looked for unless this is called; what is found is used only once it is chosen. Never raises.
        """
        from agent_ls.app.reachable import look_around  # an editor asks for this when its picker opens

        found = await look_around(self._credentials, self._endpoints)
        self._told = {
            (reached.provider, model.id): model.context_window_tokens or 0
            for reached in found
            for model in reached.models
        }
        return tuple(
            replace(
                _choice(reached.provider, model.id, self._default(reached.provider)),
                name=model.display_name or model.id,
                context_tokens=model.context_window_tokens,
                max_output_tokens=model.max_output_tokens,
                address=reached.address,
            )
            for reached in found
            for model in reached.models
        )

    def remember(self, provider: str, model: str) -> None:
        """New sessions begin with it where nothing else is named, after this process too. Blocks.

        Raises:
            AppError: it cannot be written.
        """
        choice = Choice(provider, model, self._told.get((provider, model), 0))
        remember(choice, self._state_dir)
        self._chosen = choice

    def _default(self, provider: str) -> str:
        return self.choose(provider, None)[1] or default_model(provider)


def _with_options(profile: ProviderProfile, options: JsonObject) -> ProviderProfile:
    """Beta headers are added to those that the model needs, all else stands in place of what the family has."""
    if not options:
        return profile
    known = profile.provider_options.get(profile.id, {})
    added = (
        {BETAS: [*string_list(known.get(BETAS)), *string_list(options[BETAS])]} if BETAS in options else {}
    )
    return replace(
        profile, provider_options={**profile.provider_options, profile.id: {**known, **options, **added}}
    )


def _choice(provider: str, model: str, default: str) -> ModelChoice:
    info = model_info(provider, model)
    return ModelChoice(
        provider=provider,
        id=model,
        name=info.display_name,
        efforts=info.efforts,
        is_default=model == default,
        images="images" in info.abilities,
        context_tokens=info.context_window_tokens,
        max_output_tokens=info.max_output_tokens,
        input_price=info.price.input if info.price else None,
        output_price=info.price.output if info.price else None,
    )


def make_profile(provider: str, model: str, options: ProfileOptions = DEFAULT_OPTIONS) -> ProviderProfile:
    """`model` "" is the provider's default.

    Raises:
        BadChoiceError: no such provider, or one without a usual model and none was named.
    """
    try:
        if provider == WALKTHROUGH:
            return create_profile(provider, options=options)
        name = model or default_model(provider)
        info = model_info(provider, name)
        facts = ModelFacts(info.display_name, info.context_window_tokens, info.knowledge_cutoff)
        profile = create_profile(provider, name, facts=facts, options=options)
    except UnknownProviderError as error:
        raise BadChoiceError(str(error), "choose one of those named") from None
    except ModelNeededError as error:
        raise BadChoiceError(str(error), "name one; `agent-ls models` lists those that are there") from None
    return replace(profile, cost_usd=partial(cost_usd, provider, name))
