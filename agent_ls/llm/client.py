"""Route requests to providers through a chain of middleware. The client never retries a request."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import cast

from agent_ls.llm.accumulate import collect
from agent_ls.llm.adapter import BlockingAdapter, ProviderAdapter
from agent_ls.llm.attachments import has_files, with_files
from agent_ls.llm.catalog import capabilities_lookup, resolve_alias
from agent_ls.llm.credentials import KEYLESS, VARIABLES, Credentials, key_variable
from agent_ls.llm.endpoint import ConnectionSettings, Endpoint
from agent_ls.llm.errors import ConfigurationError, MissingKeyError, typed
from agent_ls.llm.http_adapter import HttpAdapter
from agent_ls.llm.middleware import Middleware
from agent_ls.llm.providers.base import Codec
from agent_ls.llm.request_check import check_request
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.stream import StreamEvent
from agent_ls.patterns import regex

PROBE_TIMEOUT_S = 0.3  # a server on this machine responds at once, or is not running


class Client:
    """A client for several providers. `default` is the provider of requests without a provider, "" for none."""

    def __init__(
        self,
        adapters: Mapping[str, ProviderAdapter | BlockingAdapter],
        default: str = "",
        middleware: Sequence[Middleware] = (),
        keyless: Callable[[str], ProviderAdapter] | None = None,
    ) -> None:
        self._adapters = {name: _guarded(name, adapter) for name, adapter in adapters.items()}
        self._default = default
        self._middleware = tuple(middleware)
        self._keyless = keyless
        self._retired: list[ProviderAdapter] = []

    @classmethod
    @typed
    def from_env(
        cls,
        environ: Mapping[str, str] | None = None,
        settings: Mapping[str, ConnectionSettings] | None = None,
        middleware: Sequence[Middleware] = (),
    ) -> Client:
        """Create a client with every provider that has a key in `environ`. The first provider is the default.

        `environ` None means the environment of this process.

        Raises:
            ConfigurationError: no key is set.
        """
        client = build_client(Credentials.from_environment(environ), settings, middleware=middleware)
        if not client.providers:
            raise _no_provider_error()
        return client

    @property
    def providers(self) -> tuple[str, ...]:
        return tuple(self._adapters)

    @property
    def default(self) -> str:
        """The provider of requests that do not name a provider, "" if there is no default."""
        return self._default

    async def complete(self, request: Request) -> Response:
        """Return the complete answer.

        Raises:
            LlmError: the call failed. ConfigurationError: the provider of the request does not exist.
        """
        adapter, request = self._route(request)
        request = replace(request, messages=await with_files(request.messages))
        proceed = partial(_complete, adapter)
        for layer in reversed(self._middleware):
            proceed = partial(layer.complete, proceed=proceed)
        return await proceed(request)

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Yield the events of one answer. Iterate to the end or close the generator (`contextlib.aclosing`).
        Otherwise the connection stays open.

        Raises:
            LlmError: the same errors as complete(). Calling stream() raises ConfigurationError; iterating
            raises the other errors.
        """
        adapter, request = self._route(request)
        proceed = adapter.stream
        for layer in reversed(self._middleware):
            proceed = partial(layer.stream, proceed=proceed)
        return _stream_with_files(request, proceed) if has_files(request.messages) else proceed(request)

    async def prepare(self, provider: str) -> None:
        """Load libraries and certificates of a provider in advance, without contacting it. Never raises."""
        adapter = self._adapters.get(provider or self._default)
        if isinstance(adapter, HttpAdapter):
            await adapter.prepare()

    def replace(self, name: str, adapter: ProviderAdapter | BlockingAdapter | None, default: str) -> None:
        """Use `adapter` for the provider `name` from the next call on; None removes the provider.

        `default` becomes the default provider. Running calls are not affected.
        """
        if former := self._adapters.pop(name, None):
            self._retired.append(former)
        if adapter:
            self._adapters[name] = _guarded(name, adapter)
        self._default = default

    def add_middleware(self, layer: Middleware) -> None:
        """Add `layer` as the innermost middleware. It gets each later request after all existing layers."""
        self._middleware = (*self._middleware, layer)

    async def close(self) -> None:
        for adapter in (*self._adapters.values(), *self._retired):
            await adapter.close()

    def _route(self, request: Request) -> tuple[ProviderAdapter, Request]:
        check_request(request)
        name = request.provider or self._default
        if not name:
            raise _no_provider_error()
        adapter = self._adapters.get(name)
        if adapter is None and name in KEYLESS and self._keyless:
            adapter = self._adapters[name] = self._keyless(name)
        if adapter is None:
            raise _unknown_provider_error(name, self.providers)
        return adapter, replace(request, provider=name, model=resolve_alias(name, request.model))


def _guarded(name: str, adapter: ProviderAdapter | BlockingAdapter) -> ProviderAdapter:
    """Return the adapter; that of a program with its failures as errors of the model call."""
    if isinstance(adapter, HttpAdapter) or type(adapter).__module__.startswith(f"{__package__}."):
        return cast(ProviderAdapter, adapter)
    from agent_ls.llm.own_adapter import OwnAdapter  # only a program needs it

    return OwnAdapter(name, adapter)


async def _complete(adapter: ProviderAdapter, request: Request) -> Response:
    """Return the answer of an adapter, also of one that only streams."""
    try:
        return await adapter.complete(request)
    except NotImplementedError:
        return await collect(adapter.stream(request), adapter.name, request.model)


async def _stream_with_files(
    request: Request, proceed: Callable[[Request], AsyncGenerator[StreamEvent]]
) -> AsyncGenerator[StreamEvent]:
    request = replace(request, messages=await with_files(request.messages))
    async with aclosing(proceed(request)) as events:
        async for event in events:
            yield event


def build_client(
    credentials: Credentials,
    settings: Mapping[str, ConnectionSettings] | None = None,
    extra: Mapping[str, ProviderAdapter] | None = None,
    default: str = "",
    middleware: Sequence[Middleware] = (),
) -> Client:
    """Create a client with every supported provider that has a key in `credentials`. Opens no connection.

    `extra` are additional adapters by provider name, for example the walkthrough. An extra adapter becomes the default
    only if `default` names it. `default` "" selects the first provider with a key.
    """
    # Not copied, so that later changes of `settings` take effect.
    chosen = {} if settings is None else settings

    def adapter(name: str) -> ProviderAdapter:
        return _http_adapter(name, credentials, chosen.get(name, ConnectionSettings()))

    real = {name: adapter(name) for name in _find_configured(credentials, chosen)}
    return Client({**real, **(extra or {})}, default or next(iter(real), ""), middleware, adapter)


def reconnect(
    client: Client,
    name: str,
    credentials: Credentials,
    settings: Mapping[str, ConnectionSettings] | None = None,
) -> None:
    """Replace the adapter of the provider `name`, because its key in `credentials` has changed.

    Without a key, remove the provider from the client.
    """
    chosen = (settings or {}).get(name, ConnectionSettings())
    adapter = _http_adapter(name, credentials, chosen) if credentials.secret(name) else None
    client.replace(name, adapter, next(iter(_find_configured(credentials, settings or {})), ""))


def _find_configured(credentials: Credentials, settings: Mapping[str, ConnectionSettings]) -> list[str]:
    """Return the providers with a key, then the providers that need no key and have settings.

    Other providers that need no key are added by the first request that names them.
    """
    set_up = [name for name in KEYLESS if name in settings or credentials.base_url(name)]
    return [name for name in dict.fromkeys([*credentials.providers, *set_up]) if name in _CODECS]


def supported_providers() -> tuple[str, ...]:
    """Return the providers with a codec. The first provider in this order that has a key becomes the default."""
    return tuple(name for name in VARIABLES if name in _CODECS)


# The codec of a provider is imported only if the provider is configured, because imports slow down the start
# of the editor.


def _anthropic(settings: ConnectionSettings) -> Codec:
    from agent_ls.llm.providers.anthropic import AnthropicCodec

    return AnthropicCodec(
        capabilities_lookup("anthropic"), settings.version, settings.betas, text_tools=settings.text_tools
    )


def _openai(settings: ConnectionSettings) -> Codec:
    from agent_ls.llm.providers.openai_responses import OpenAIResponsesCodec

    return OpenAIResponsesCodec(capabilities_lookup("openai"), text_tools=settings.text_tools)


def _gemini(settings: ConnectionSettings) -> Codec:
    from agent_ls.llm.providers.gemini import GeminiCodec

    return GeminiCodec(capabilities_lookup("gemini"), text_tools=settings.text_tools)


def _chat(name: str) -> Callable[[ConnectionSettings], Codec]:
    def codec(settings: ConnectionSettings) -> Codec:
        from agent_ls.llm.providers.openai_chat import ChatCodec

        return ChatCodec(name, capabilities_lookup(name), text_tools=settings.text_tools)

    return codec


_NATIVE: Mapping[str, Callable[[ConnectionSettings], Codec]] = {
    "anthropic": _anthropic,
    "openai": _openai,
    "gemini": _gemini,
}
_CODECS: Mapping[str, Callable[[ConnectionSettings], Codec]] = {
    **_NATIVE,
    **{name: _chat(name) for name in VARIABLES if name not in _NATIVE},
}


_OWN_PATH = regex(r"/(chat/completions|responses|(?<=/v1/)messages)/*$")
"""The path of an endpoint, which users copy together with its address."""


def _http_adapter(name: str, credentials: Credentials, settings: ConnectionSettings) -> HttpAdapter:
    codec = _CODECS[name](settings)
    base_url = settings.base_url or credentials.base_url(name) or codec.default_base_url
    endpoint = Endpoint(
        base_url=_OWN_PATH.sub("", base_url),
        secret=credentials.secret(name),
        headers={**credentials.headers(name), **settings.headers},
        ca_file=settings.ca_file,
        connect_timeout_s=settings.connect_timeout_s,
        silence_timeout_s=settings.silence_timeout_s,
        total_timeout_s=settings.total_timeout_s,
    )
    return HttpAdapter(codec, endpoint)


def provider_adapter(
    name: str, credentials: Credentials, settings: Mapping[str, ConnectionSettings] | None = None
) -> HttpAdapter:
    """Return the adapter of one provider, to list its models. The caller closes it.

    Raises:
        KeyError: there is no codec for this provider.
    """
    return _http_adapter(name, credentials, (settings or {}).get(name, ConnectionSettings()))


def probe_adapter(name: str) -> HttpAdapter:
    """Return an adapter that checks whether a server runs on this machine.

    It uses no key and no proxy, and waits at most PROBE_TIMEOUT_S.
    """
    codec = _CODECS[name](ConnectionSettings())
    endpoint = Endpoint(
        codec.default_base_url,
        "",
        connect_timeout_s=PROBE_TIMEOUT_S,
        silence_timeout_s=PROBE_TIMEOUT_S,
        total_timeout_s=PROBE_TIMEOUT_S,
        is_direct=True,
    )
    return HttpAdapter(codec, endpoint)


_WALKTHROUGH = "`agent-ls demo` plays the walkthrough on a sample project."


def _no_provider_error() -> ConfigurationError:
    variables = ", ".join(map(key_variable, _NATIVE))
    return MissingKeyError(
        f"no model provider is set up: there is no key in {variables} or another provider's variable",
        hint="Set one of these variables, or enter a key, for example with `agent-ls keys set`. A local model "
        f"server needs no key, nor does the scripted demonstration: {_WALKTHROUGH}",
    )


def _unknown_provider_error(name: str, there: Sequence[str]) -> ConfigurationError:
    if name in _CODECS and not set(there) & set(_CODECS):
        return _no_provider_error()
    if name in _CODECS:
        return MissingKeyError(
            f"there is no key for {name}: {key_variable(name)} is not set",
            provider=name,
            hint=f"Set this variable, or enter the key, for example with `agent-ls keys set {name}`. The scripted "
            f"demonstration needs no key: {_WALKTHROUGH}",
        )
    known = ", ".join(sorted({*_CODECS, *there}))
    message = f"there is no provider named {name}; known are {known}"
    hint = f"use one of these names, or pass a provider of your program: Client({{{name!r}: adapter}})"
    return ConfigurationError(message, provider=name, hint=hint)
