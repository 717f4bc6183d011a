"""Routes requests to providers through a chain of middleware. It holds no state between requests and never retries."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from agent_ls.llm.adapter import ProviderAdapter
from agent_ls.llm.catalog import facts_lookup
from agent_ls.llm.credentials import KEYLESS, VARIABLES, Credentials, key_variable
from agent_ls.llm.endpoint import Endpoint, ProviderSettings
from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.http_adapter import HttpAdapter
from agent_ls.llm.middleware import Middleware
from agent_ls.llm.providers.base import Codec
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.stream import StreamEvent

LOOK_S = 0.3  # a server on this machine answers at once, or is not there


class Client:
    """`default` serves requests that name no provider; "" is none, and such a request is an error: the client
    never guesses (C section 2.2)."""

    def __init__(
        self,
        adapters: Mapping[str, ProviderAdapter],
        default: str = "",
        middleware: Sequence[Middleware] = (),
        keyless: Callable[[str], ProviderAdapter] | None = None,
    ) -> None:
        self._adapters = dict(adapters)
        self._default = default
        self._middleware = tuple(middleware)
        self._keyless = keyless
        self._retired: list[ProviderAdapter] = []

    @classmethod
    def from_env(
        cls,
        environ: Mapping[str, str] | None = None,
        settings: Mapping[str, ProviderSettings] | None = None,
        middleware: Sequence[Middleware] = (),
    ) -> Client:
        """Every provider whose key is set in `environ` (None: this process's); the first one is the default.

        Raises:
            ConfigurationError: no key is set.
        """
        client = build_client(Credentials.from_environment(environ), settings, middleware=middleware)
        if not client.providers:
            raise _nothing_configured()
        return client

    @property
    def providers(self) -> tuple[str, ...]:
        return tuple(self._adapters)

    @property
    def default(self) -> str:
        """The provider of requests that name none, "" when there is none."""
        return self._default

    async def complete(self, request: Request) -> Response:
        """
        Raises:
            LlmError: see the seam; ConfigurationError when the provider is not there.
        """
        adapter, request = self._routed(request)
        proceed = adapter.complete
        for layer in reversed(self._middleware):
            proceed = partial(layer.complete, proceed=proceed)
        return await proceed(request)

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """The events of one answer. Read it to its end or close it (`contextlib.aclosing`), else the connection
        stays open.

        Raises:
            LlmError: as complete(); ConfigurationError at once, the rest from the iteration.
        """
        adapter, request = self._routed(request)
        proceed = adapter.stream
        for layer in reversed(self._middleware):
            proceed = partial(layer.stream, proceed=proceed)
        return proceed(request)

    async def prepare(self, provider: str) -> None:
        """Makes a provider ready to be asked, as far as that is possible without asking it. Never raises."""
        adapter = self._adapters.get(provider or self._default)
        if isinstance(adapter, HttpAdapter):
            await adapter.prepare()

    def replace(self, name: str, adapter: ProviderAdapter | None, default: str) -> None:
        """From the next call on `adapter` serves `name`; None: nobody does. Calls that run end as they began."""
        if former := self._adapters.pop(name, None):
            self._retired.append(former)
        if adapter:
            self._adapters[name] = adapter
        self._default = default

    async def close(self) -> None:
        for adapter in (*self._adapters.values(), *self._retired):
            await adapter.close()

    def _routed(self, request: Request) -> tuple[ProviderAdapter, Request]:
        name = request.provider or self._default
        if not name:
            raise _nothing_configured()
        adapter = self._adapters.get(name)
        if adapter is None and name in KEYLESS and self._keyless:
            adapter = self._adapters[name] = self._keyless(name)
        if adapter is None:
            raise _not_there(name, self.providers)
        return adapter, replace(request, provider=name)


def build_client(
    credentials: Credentials,
    settings: Mapping[str, ProviderSettings] | None = None,
    extra: Mapping[str, ProviderAdapter] | None = None,
    default: str = "",
    middleware: Sequence[Middleware] = (),
) -> Client:
    """A client for every provider that `credentials` has a key for and that we speak the wire of.

    `extra` adds ready adapters (the walkthrough), which never become the default by themselves. `default` "" is the
    first provider with a key. Opens no connection.
    """
    told = {} if settings is None else settings  # the caller's own: what changes in it holds

    def adapter(name: str) -> ProviderAdapter:
        return _http_adapter(name, credentials, told.get(name, ProviderSettings()))

    real = {name: adapter(name) for name in _configured(credentials, told)}
    return Client({**real, **(extra or {})}, default or next(iter(real), ""), middleware, adapter)


def reconnect(
    client: Client,
    name: str,
    credentials: Credentials,
    settings: Mapping[str, ProviderSettings] | None = None,
) -> None:
    """Serves `name` with the key that `credentials` has for it now (agent/setCredential); without one nobody does."""
    told = (settings or {}).get(name, ProviderSettings())
    adapter = _http_adapter(name, credentials, told) if credentials.secret(name) else None
    client.replace(name, adapter, next(iter(_configured(credentials, settings or {})), ""))


def _configured(credentials: Credentials, settings: Mapping[str, ProviderSettings]) -> list[str]:
    """Providers with a key, then servers that take any and were set up. Others of those are there once a request
    names them: to name one is to choose it."""
    set_up = [name for name in KEYLESS if name in settings or credentials.base_url(name)]
    return [name for name in dict.fromkeys([*credentials.providers, *set_up]) if name in _CODECS]


def spoken_providers() -> tuple[str, ...]:
    """The providers whose wire we speak, in the order in which one becomes the default."""
    return tuple(name for name in VARIABLES if name in _CODECS)


# A codec is loaded by who has a key for it: an editor waits for all that is imported before its first answer.


def _anthropic(settings: ProviderSettings) -> Codec:
    from agent_ls.llm.providers.anthropic import AnthropicCodec

    return AnthropicCodec(facts_lookup("anthropic"), settings.version, settings.betas)


def _openai(settings: ProviderSettings) -> Codec:
    from agent_ls.llm.providers.openai_responses import OpenAIResponsesCodec

    return OpenAIResponsesCodec(facts_lookup("openai"))


def _gemini(settings: ProviderSettings) -> Codec:
    from agent_ls.llm.providers.gemini import GeminiCodec

    return GeminiCodec(facts_lookup("gemini"))


def _chat(name: str) -> Callable[[ProviderSettings], Codec]:
    def codec(settings: ProviderSettings) -> Codec:
        from agent_ls.llm.providers.openai_chat import ChatCodec

        return ChatCodec(name, facts_lookup(name), text_tools=settings.text_tools)

    return codec


_NATIVE: Mapping[str, Callable[[ProviderSettings], Codec]] = {
    "anthropic": _anthropic,
    "openai": _openai,
    "gemini": _gemini,
}
_CODECS: Mapping[str, Callable[[ProviderSettings], Codec]] = {
    **_NATIVE,
    **{name: _chat(name) for name in VARIABLES if name not in _NATIVE},
}


def _http_adapter(name: str, credentials: Credentials, settings: ProviderSettings) -> HttpAdapter:
    codec = _CODECS[name](settings)
    endpoint = Endpoint(
        base_url=settings.base_url or credentials.base_url(name) or codec.default_base_url,
        secret=credentials.secret(name),
        headers={**credentials.headers(name), **settings.headers},
        ca_file=settings.ca_file,
        connect_timeout_s=settings.connect_timeout_s,
        silence_timeout_s=settings.silence_timeout_s,
        total_timeout_s=settings.total_timeout_s,
    )
    return HttpAdapter(codec, endpoint)


def provider_adapter(
    name: str, credentials: Credentials, settings: Mapping[str, ProviderSettings] | None = None
) -> HttpAdapter:
    """One provider by itself, to ask for its models. Close it.

    Raises:
        KeyError: we do not speak its wire.
    """
    return _http_adapter(name, credentials, (settings or {}).get(name, ProviderSettings()))


def looking_adapter(name: str) -> HttpAdapter:
    """A server on this machine at its usual port, only looked for: no key, no proxy, LOOK_S at most."""
    codec = _CODECS[name](ProviderSettings())
    endpoint = Endpoint(
        codec.default_base_url,
        "",
        connect_timeout_s=LOOK_S,
        silence_timeout_s=LOOK_S,
        total_timeout_s=LOOK_S,
        is_direct=True,
    )
    return HttpAdapter(codec, endpoint)


_WALKTHROUGH = "`agent-ls demo` plays the walkthrough on a sample project."


def _nothing_configured() -> ConfigurationError:
    variables = ", ".join(map(key_variable, _NATIVE))
    return ConfigurationError(
        f"no model provider is set up: enter a key in the editor or with `agent-ls keys set`, set {variables} or "
        "another's, or choose a server of your own or the provider walkthrough, which need none",
        hint=_WALKTHROUGH,
    )


def _not_there(name: str, there: Sequence[str]) -> ConfigurationError:
    if name in _CODECS and not set(there) & set(_CODECS):
        return _nothing_configured()
    if name in _CODECS:
        message = (
            f"there is no key for {name}: enter one in the editor, or set {key_variable(name)} and start agent-ls "
            "again, or choose the provider walkthrough, which needs none"
        )
    else:
        known = ", ".join(sorted({*_CODECS, *there}))
        message = f"there is no provider named {name}; known are {known}"
    return ConfigurationError(message, provider=name, hint=_WALKTHROUGH)
