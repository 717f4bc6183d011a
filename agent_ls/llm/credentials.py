"""API keys and base URLs by provider, read from environment variables. Keys are passed to adapters only."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from agent_ls.patterns import regex


@dataclass(frozen=True, slots=True)
class ProviderVariables:
    """The environment variables of one provider. The first variable in `keys` that is set has the API key.

    `headers` maps HTTP header names to the variables that contain the values. `needs_key` False: requests
    usually succeed without a key, for example to a server on this machine.
    """

    keys: tuple[str, ...]
    base_url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    needs_key: bool = True


VARIABLES: Mapping[str, ProviderVariables] = {
    "anthropic": ProviderVariables(("ANTHROPIC_API_KEY",), "ANTHROPIC_BASE_URL"),
    "openai": ProviderVariables(
        ("OPENAI_API_KEY",),
        "OPENAI_BASE_URL",
        {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"},
    ),
    "gemini": ProviderVariables(("GEMINI_API_KEY", "GOOGLE_API_KEY"), "GEMINI_BASE_URL"),
    "openrouter": ProviderVariables(("OPENROUTER_API_KEY",), "OPENROUTER_BASE_URL"),
    "deepseek": ProviderVariables(("DEEPSEEK_API_KEY",), "DEEPSEEK_BASE_URL"),
    "groq": ProviderVariables(("GROQ_API_KEY",), "GROQ_BASE_URL"),
    "mistral": ProviderVariables(("MISTRAL_API_KEY",), "MISTRAL_BASE_URL"),
    "xai": ProviderVariables(("XAI_API_KEY",), "XAI_BASE_URL"),
    "together": ProviderVariables(("TOGETHER_API_KEY",), "TOGETHER_BASE_URL"),
    "moonshot": ProviderVariables(("MOONSHOT_API_KEY",), "MOONSHOT_BASE_URL"),
    "zai": ProviderVariables(("ZAI_API_KEY",), "ZAI_BASE_URL"),
    "cerebras": ProviderVariables(("CEREBRAS_API_KEY",), "CEREBRAS_BASE_URL"),
    # servers on this machine: a key is only needed if the server was configured to require one
    "ollama": ProviderVariables(("OLLAMA_API_KEY",), "OLLAMA_BASE_URL", needs_key=False),
    "lmstudio": ProviderVariables(("LMSTUDIO_API_KEY",), "LMSTUDIO_BASE_URL", needs_key=False),
    "llamacpp": ProviderVariables(("LLAMACPP_API_KEY",), "LLAMACPP_BASE_URL", needs_key=False),
    "vllm": ProviderVariables(("VLLM_API_KEY",), "VLLM_BASE_URL", needs_key=False),
    "compatible": ProviderVariables(("COMPATIBLE_API_KEY",), "COMPATIBLE_BASE_URL", needs_key=False),
}
"""The variables by provider, in the order in which a provider becomes the default."""

OTHER_PROVIDER_NAMES: Mapping[str, str] = {
    "chatgpt": "openai",
    "claude": "anthropic",
    "codex": "openai",
    "google": "gemini",
    "gpt": "openai",
    "grok": "xai",
    "kimi": "moonshot",
    "zhipu": "zai",
}
"""What people call a provider, by its models or its company. For hints only: a key is never sent by such a name."""

_LIKE_A_KEY = regex(r"([A-Z]+?)_?(?:API|AUTH|SECRET)?_?(?:KEY|TOKEN)")
KEYLESS: tuple[str, ...] = tuple(name for name, row in VARIABLES.items() if not row.needs_key)


def key_variable(provider: str) -> str:
    """Return the name of the environment variable for the API key of `provider`, "" for an unknown provider."""
    variables = VARIABLES.get(provider)
    return variables.keys[0] if variables else ""


def find_misnamed_keys(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each of `names` that looks like a misspelt variable for an API key, with the correct name."""
    aliases = {**{name: name for name in VARIABLES}, **OTHER_PROVIDER_NAMES}
    known = {key for row in VARIABLES.values() for key in row.keys}
    for name in names:
        found = _LIKE_A_KEY.fullmatch(name.upper())
        provider = aliases.get(found[1].lower()) if found and name not in known else None
        if provider and (variable := key_variable(provider)):
            yield name, variable


_taken: dict[str, str] = {}


def take_keys_from_environment() -> tuple[str, ...]:
    """Store the keys of this process's environment for `Credentials.from_environment`.

    Returns the names of the variables with keys, so that the caller can remove them.
    """
    names = tuple(key for row in VARIABLES.values() for key in row.keys if os.environ.get(key))
    _taken.update({name: os.environ[name] for name in names})
    return names


class Credentials:
    """Secrets by provider, in memory only: never logged, stored or sent to a client.

    `repr` shows provider names only.
    """

    def __init__(
        self,
        secrets: Mapping[str, str] | None = None,
        base_urls: Mapping[str, str] | None = None,
        headers: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self._secrets = {name: secret for name, secret in (secrets or {}).items() if secret}
        self._base_urls = dict(base_urls or {})
        self._headers = {name: dict(values) for name, values in (headers or {}).items()}
        self._seen = set(self._secrets.values())
        self._redacted: set[str] = set()

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Self:
        """Create credentials from the environment variables `environ`.

        None means the environment of this process, including the keys stored by `take_keys_from_environment`. Blank
        values count as unset. White space around a key, such as a copied line ending, is removed.
        """
        given = {**_taken, **os.environ} if environ is None else environ
        values = {name: value.strip() for name, value in given.items()}
        return cls(
            secrets={
                name: next((values[key] for key in row.keys if values.get(key)), "")
                for name, row in VARIABLES.items()
            },
            base_urls={
                name: values[row.base_url] for name, row in VARIABLES.items() if values.get(row.base_url)
            },
            headers={
                name: {header: values[key] for header, key in row.headers.items() if values.get(key)}
                for name, row in VARIABLES.items()
            },
        )

    @property
    def providers(self) -> tuple[str, ...]:
        """The providers with a secret: first the providers of VARIABLES in the order of that table.

        Other providers follow in the order in which their secrets were set.
        """
        known = [name for name in VARIABLES if name in self._secrets]
        return (*known, *(name for name in self._secrets if name not in VARIABLES))

    def secret(self, provider: str) -> str:
        """Return the secret of `provider`, "" if there is none."""
        return self._secrets.get(provider, "")

    def base_url(self, provider: str) -> str:
        """Return the base URL from the environment, "" for the provider's default URL."""
        return self._base_urls.get(provider, "")

    def headers(self, provider: str) -> Mapping[str, str]:
        """Return the HTTP headers that environment variables set, for example the user's organisation and project."""
        return self._headers.get(provider, {})

    def set(self, provider: str, secret: str | None) -> None:
        """Store `secret` for `provider` until the process ends; None or a blank string removes the stored secret."""
        stripped = (secret or "").strip()
        if not stripped:
            self._secrets.pop(provider, None)
            return
        self._secrets[provider] = stripped
        self._seen.add(stripped)

    def known_secrets(self) -> frozenset[str]:
        """Return every secret that was ever stored, including removed secrets.

        No secret may appear in a log or an event.
        """
        return frozenset(self._seen | self._redacted)

    def withheld_secrets(self) -> frozenset[str]:
        """Return the known secrets that no child process may get: all but those of `redact`."""
        return frozenset(self._seen)

    def redact(self, secrets: Iterable[str]) -> None:
        """Add secrets that child processes may get, for example variables that the user keeps for commands."""
        self._redacted.update(secret for secret in secrets if secret)

    def hide(self, secrets: Iterable[str]) -> None:
        """Add secrets other than provider keys to `known_secrets`, for example those of MCP servers. "" is ignored."""
        self._seen.update(secret for secret in secrets if secret)

    def __repr__(self) -> str:
        return f"Credentials(providers={list(self.providers)})"
