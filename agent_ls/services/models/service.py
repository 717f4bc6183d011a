"""The models of this process: list them, choose one, and create its profile from the catalogue."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio.from_thread
import anyio.lowlevel

from agent_ls.environments.local.environ import is_secret_name, without_secrets
from agent_ls.llm.adapter import ProviderAdapter
from agent_ls.llm.catalog import default_model, find_entry, known_models
from agent_ls.llm.client import build_client, reconnect, supported_providers
from agent_ls.llm.credentials import KEYLESS, OTHER_PROVIDER_NAMES, VARIABLES, Credentials, key_variable
from agent_ls.llm.endpoint import ConnectionSettings as EndpointSettings
from agent_ls.llm.messages import JsonObject
from agent_ls.llm.providers.base import ListedModel
from agent_ls.llm.providers.options import string_list
from agent_ls.near_names import nearest
from agent_ls.profiles.base import ProviderProfile, unknown_cost
from agent_ls.profiles.create import (
    PROFILES,
    CataloguePrice,
    ModelNeededError,
    UnknownProviderError,
    catalogue_facts,
    create_profile,
    with_model,
    with_optional_tools,
)
from agent_ls.profiles.options import DEFAULT_OPTIONS, ProfileOptions
from agent_ls.services.errors import BadChoiceError, UnknownProviderChoiceError
from agent_ls.services.models.default_model import DefaultModel, read_default_model, store_default_model
from agent_ls.services.models.key_store import StoredCredentials
from agent_ls.services.settings.model import ProviderSettings, Settings
from agent_ls.services.turn_reads import require_thread
from agent_ls.tools.base import Tool

if TYPE_CHECKING:
    from agent_ls.services.models.probe import ReachedProvider

OwnProfile: TypeAlias = ProviderProfile | Callable[[str], ProviderProfile]
"""A host's own profile, or a function that creates one for the name of a model ("": the default model)."""

WALKTHROUGH = "walkthrough"

SMALL_WINDOW_TOKENS = 16_384
"""Below this context size, a model gets no tools for subagents and background processes: their descriptions fill it."""

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
    """Return the display name of a provider."""
    return _PROVIDER_NAMES.get(provider, provider)


@dataclass(frozen=True, slots=True)
class ProviderChoice:
    """A provider that a session may use. `problem` "": the provider can be used now, with or without a key.

    `key_variable` "": the provider takes no key.
    """

    id: str
    name: str
    has_key: bool
    key_variable: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model of the catalogue. Prices are US dollars per million tokens; None if unknown.

    `is_default`: a session uses this model if only the provider is chosen. `address` is the address of the local
    server that listed the model, "" for other models.
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


class ModelService:
    """The models and providers of this process.

    `adapters` are the host's own providers, by name, and `profiles` the profiles of their models; an adapter
    without a profile gets the profile for Chat Completions servers. `options` and the settings apply to every
    profile. `child_environ` is the environment of commands: the variables of this process except API keys.
    """

    def __init__(
        self,
        settings: Settings,
        credentials: Credentials,
        adapters: Mapping[str, ProviderAdapter],
        state_dir: Path | None = None,
        tools: Sequence[Tool[Any]] = (),
        options: ProfileOptions = DEFAULT_OPTIONS,
        profiles: Mapping[str, OwnProfile] | None = None,
    ) -> None:
        self.settings = settings
        self._options = options
        self._own_profiles = profiles or {}
        self._credentials = credentials
        self._own = adapters
        self._tools = tools
        self._endpoints: dict[str, EndpointSettings] = {}
        self._take(settings.providers)
        self._state_dir = state_dir
        self._chosen = read_default_model(state_dir)
        self._reported_sizes: dict[tuple[str, str], int] = {}
        self.on_keys: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint
        """Awaited when stored keys have changed, before the turn that noticed it calls a model."""
        self.client = build_client(credentials, self._endpoints, adapters)
        self.child_environ = without_secrets(os.environ, credentials.withheld_secrets())

    def change(self, settings: Settings) -> None:
        """Apply changed settings from the next model call on. Running calls are not affected."""
        before, self.settings = self.settings.providers, settings
        now = settings.providers
        self._take(now)
        for name in supported_providers():
            if before.get(name) != now.get(name) and name not in self._own:
                reconnect(self.client, name, self._credentials, self._endpoints)

    def _take(self, providers: Mapping[str, ProviderSettings]) -> None:
        # Change the mapping in place, because the client holds a reference to it and reads it for servers that
        # need no key.
        self._endpoints.clear()
        self._endpoints |= {name: entry.endpoint() for name, entry in providers.items()}
        for entry in providers.values():
            headers = [value for name, value in entry.headers.items() if is_secret_name(name)]
            self._credentials.hide(word for value in headers for word in (value, *value.split(" ")[1:]))
        self._provider_options = {name: entry.options for name, entry in providers.items()}
        self._sizes = {name: entry.context_tokens for name, entry in providers.items()}

    def choose(self, provider: str | None, model: str | None) -> tuple[str, str]:
        """Return the provider and model of a session.

        The first that exists is used: the given names, the settings, the user's stored choice, the first provider
        with a key. Keys of unsupported providers are ignored.
        """
        settings = self.settings
        named = provider or settings.provider
        if named:
            usual = self._chosen.model if named == self._chosen.provider else ""
            return named, model or (settings.model if named == settings.provider else "") or usual
        if self._chosen.provider:
            return self._chosen.provider, model or settings.model or self._chosen.model
        # Without any key the session is still created; its first message then returns an error with a hint.
        own = next((name for name in self._own if name != WALKTHROUGH), "anthropic")
        return self.client.default or own, model or settings.model

    async def choose_profile(self, provider: str | None, model: str | None) -> ProviderProfile:
        """Choose the model of a new session, and create its profile with the context size reported by the server.

        Raises:
            BadChoiceError
        """
        chosen = self.choose(provider, model)
        await self.learn_size(*chosen)
        return self.profile(*chosen)

    def profile(self, provider: str, model: str) -> ProviderProfile:
        """Create a profile, with the context size from the settings or from the server of the chosen model.

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
        chosen = self._chosen
        known = chosen.context_tokens if (provider, model) == (chosen.provider, chosen.model) else 0
        size = self._sizes.get(provider) or self._reported_sizes.get((provider, model)) or known
        if size and size < SMALL_WINDOW_TOKENS:
            options = replace(options, subagents=False, background_processes=False)
        profile = self._make_profile(provider, model, options)
        for tool in self._tools:
            profile.registry.register(tool)
        profile.registry.refuse_kinds(self._options.without)  # features add tools later
        profile = _with_options(profile, self._provider_options.get(provider, {}))
        return replace(profile, context_window_tokens=size) if size else profile

    def _make_profile(self, provider: str, model: str, options: ProfileOptions) -> ProviderProfile:
        if own := self._own_profiles.get(provider):
            if provider not in (*self.client.providers, *supported_providers()):
                raise BadChoiceError(
                    f"there is a profile but no adapter for {provider!r}",
                    f"give adapters={{{provider!r}: ...}}",
                )
            return _own_profile(provider, own, model, options)
        if provider in self._own and provider not in PROFILES:
            return chat_profile(provider, model or provider, options)
        return make_profile(provider, model, options, self._own)

    def set_credential(self, provider: str, secret: str | None) -> None:
        """Set a key in memory from the next model call on; a `secret` of None or blanks removes the key.

        Raises:
            BadChoiceError: unknown provider, or invalid key. The message never contains the key.
        """
        if provider not in supported_providers():
            known = ", ".join(supported_providers())
            raise BadChoiceError(
                f"there is no provider {provider!r} for which a key can be set", f"choose one of {known}"
            )
        key = (secret or "").strip()
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise BadChoiceError(
                "this is not an API key: the text contains spaces or other invalid characters",
                "copy the key again, without quotes or spaces around it",
            )
        self._credentials.set(provider, key)
        # Sessions share this mapping. Deleting variables here hides the key from their next
        # commands.
        for name in self.child_environ.keys() - without_secrets(self.child_environ, {key} - {""}).keys():
            del self.child_environ[name]
        if provider not in self._own:
            reconnect(self.client, provider, self._credentials, self._endpoints)

    def take_stored_keys(self) -> None:
        """Use the keys that another process stored or removed since the last call. Blocks: call in a thread."""
        if isinstance(self._credentials, StoredCredentials) and self._credentials.may_have_changed():
            require_thread()
            if changed := self._credentials.read_changed():
                anyio.from_thread.run(self._take_keys, changed)

    def key_files(self) -> Sequence[str]:
        """Return the files at which `take_stored_keys` looks."""
        return self._credentials.files() if isinstance(self._credentials, StoredCredentials) else ()

    async def _take_keys(self, changed: Mapping[str, str | None]) -> None:
        for provider, secret in changed.items():
            if provider in supported_providers():
                self.set_credential(provider, secret)
        await self.on_keys()

    def providers(self) -> tuple[ProviderChoice, ...]:
        """Return all providers that a session may use, including those without a key."""
        return tuple(map(self._provider, dict.fromkeys((*supported_providers(), *self._own))))

    def problem_of(self, provider: str) -> str:
        """Return why a provider cannot be used now; "" for a usable or unknown provider."""
        is_known = provider in self._own or provider in supported_providers()
        return self._provider(provider).problem if is_known else ""

    def _provider(self, provider: str) -> ProviderChoice:
        name = _PROVIDER_NAMES.get(provider, provider)
        if provider in self._own:
            return ProviderChoice(provider, name, has_key=True, key_variable="")
        variable = key_variable(provider)
        has_key = bool(self._credentials.secret(provider))
        problem = (
            ""
            if has_key or provider in KEYLESS
            else f"there is no API key: enter one, or set {variable} and start agent-ls again"
        )
        return ProviderChoice(provider, name, has_key, variable, problem)

    def has_model(self, provider: str, model: str) -> bool:
        """Return whether the list of models contains this model of the provider."""
        return any((choice.provider, choice.id) == (provider, model) for choice in self.models())

    def models(self) -> tuple[ModelChoice, ...]:
        """Return the models of the catalogue, which may lack some models of a provider.

        Sorted by provider (usable providers first), then newest first.
        """
        choices = []
        usable_first = sorted(self.providers(), key=lambda choice: bool(choice.problem))
        for provider in (choice.id for choice in usable_first if choice.id != WALKTHROUGH):
            default = self._default(provider)
            known = [info.id for info in known_models(provider)]
            unlisted = [default] if default and default not in known else []
            choices += [_choice(provider, model, default) for model in (*unlisted, *known)]
        if WALKTHROUGH in self._own:
            choices.append(
                ModelChoice(WALKTHROUGH, WALKTHROUGH, _PROVIDER_NAMES[WALKTHROUGH], (), True, False)
            )
        return tuple(choices)

    async def find_server_models(self) -> tuple[ModelChoice, ...]:
        """Return the models of reachable servers that need no key, on this machine or at a configured address.

        This call only searches for servers; a server is used only if the user chooses it. Never raises.
        """
        from agent_ls.services.models.probe import (
            find_servers,  # imported late: needed only for a model picker
        )

        found = await find_servers(self._credentials, self._endpoints)
        for reached in found:
            self._note_sizes(reached.provider, reached.models)
        return tuple(
            replace(
                _choice(reached.provider, model.id, self._default(reached.provider)),
                name=f"{model.display_name or model.id}{_other_server(reached)}{_in_brackets(model)}",
                context_tokens=model.context_window_tokens,
                max_output_tokens=model.max_output_tokens,
                address=reached.address,
            )
            for reached in found
            for model in reached.models
        )

    async def learn_size(self, provider: str, model: str) -> None:
        """Request the context size of `model` from a server that needs no key, if the size is unknown. Never raises.

        If the server does not reply within a second, the next session repeats the request.
        """
        is_known = self._sizes.get(provider) or (provider, model) in self._reported_sizes
        if is_known or provider not in KEYLESS or provider in self._own:
            return
        from agent_ls.services.models.probe import ask_server  # imported late: only for local servers

        self._note_sizes(provider, await ask_server(provider, model, self._credentials, self._endpoints))

    def _note_sizes(self, provider: str, models: Sequence[ListedModel]) -> None:
        sizes = ((model.id, model.context_window_tokens) for model in models)
        self._reported_sizes |= {(provider, name): size for name, size in sizes if size}

    def remember(self, provider: str, model: str) -> None:
        """Store this model as the default of new sessions. The default survives a restart. Blocks.

        Raises:
            AppError: the file cannot be written.
        """
        choice = DefaultModel(provider, model, self._reported_sizes.get((provider, model), 0))
        store_default_model(choice, self._state_dir)
        self._chosen = choice

    def _default(self, provider: str) -> str:
        return self.choose(provider, None)[1] or default_model(provider)


def _in_brackets(model: ListedModel) -> str:
    return f" ({model_words(model)})" if model.calls_tools is False else ""


def model_words(model: ListedModel) -> str:
    """Return what a local server says of its model, such as "no native tools: text protocol, 8k"; "" for nothing."""
    tools = {True: "tools", False: "no native tools: text protocol", None: ""}[model.calls_tools]
    size = model.context_window_tokens or 0
    window = f"{size // 1024}k" if size >= 1024 else ""
    return ", ".join(filter(None, (tools, window)))


def server_title(reached: ReachedProvider) -> str:
    """Return the display name of a reachable server.

    The display name contains the name that the server reports, and the provider that normally uses its address.
    A server that was found at a usual port and reports no name is called unidentified.
    """
    title = provider_title(reached.provider)
    if reached.reported_name:
        return (
            title
            if title.startswith(reached.reported_name)
            else f"{reached.reported_name}, at the usual address of {title}"
        )
    return f"an unidentified server at the usual port of {title}" if reached.is_guessed else title


def _other_server(reached: ReachedProvider) -> str:
    """Return a suffix such as " (vLLM)" if the server's own name differs from the name usual for its port."""
    title = provider_title(reached.provider)
    return (
        f" ({reached.reported_name})"
        if reached.reported_name and not title.startswith(reached.reported_name)
        else ""
    )


def _own_profile(name: str, own: OwnProfile, model: str, options: ProfileOptions) -> ProviderProfile:
    """Return a copy of a host's profile with the provider `name`, a separate tool registry, and `options`."""
    profile = with_model(own, model or own.model) if isinstance(own, ProviderProfile) else own(model)
    has_price = profile.cost_usd is not unknown_cost
    profile = replace(
        profile,
        id=name,
        cost_usd=profile.cost_usd if has_price else CataloguePrice(name, profile.model),
        registry=profile.registry.copy(),
        base_prompt=options.base_prompt or profile.base_prompt,
    )
    # The host chooses the profile's tools; a setting can only add tools that are off by default.
    added = replace(options, plan=False, ask_user=False, subagents=False)
    return with_optional_tools(profile, added)


def chat_profile(provider: str, model: str, options: ProfileOptions) -> ProviderProfile:
    """Return the profile of Chat Completions servers, for a provider that agent-ls does not know."""
    profile = create_profile("compatible", model, facts=catalogue_facts(provider, model), options=options)
    return replace(profile, id=provider, cost_usd=CataloguePrice(provider, model))


def _with_options(profile: ProviderProfile, options: JsonObject) -> ProviderProfile:
    """Add the user's provider options. Beta headers are appended; other options replace the profile's."""
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
    info = find_entry(provider, model)
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


def make_profile(
    provider: str, model: str, options: ProfileOptions = DEFAULT_OPTIONS, own: Iterable[str] = ()
) -> ProviderProfile:
    """Create a profile. `model` "" is the provider's default. `own` are the names of a program's own providers.

    Raises:
        BadChoiceError: the provider is unknown, or no model was given and the provider has no default model.
    """
    try:
        return create_profile(provider, "" if provider == WALKTHROUGH else model, options=options)
    except UnknownProviderError as error:
        near = nearest(error.provider, (*own, *VARIABLES), OTHER_PROVIDER_NAMES)
        message = str(UnknownProviderError(provider, own))
        if near:
            raise BadChoiceError(message, f"Did you mean {near}?") from None
        raise UnknownProviderChoiceError(message, "Choose one of the listed providers.") from None
    except ModelNeededError as error:
        raise BadChoiceError(
            str(error), "choose a model; `agent-ls models` lists the available models"
        ) from None


def profile_settings(settings: Settings) -> tuple[object, ...]:
    """Return the settings that determine a model's tools and requests."""
    names = (settings.native_tool_names, settings.think_tool, settings.submit_tool)
    return (*names, settings.web_fetch, settings.web_search, settings.providers)
