"""The one reader of key variables: which provider has which secret and address. Values go to adapters only."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Variables:
    """The environment variables of one provider. The first of `keys` that is set holds; `headers` maps header
    to variable. `needs_key` False: a server that mostly takes any key, as those on this machine do."""

    keys: tuple[str, ...]
    base_url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    needs_key: bool = True


VARIABLES: Mapping[str, Variables] = {
    "anthropic": Variables(("ANTHROPIC_API_KEY",), "ANTHROPIC_BASE_URL"),
    "openai": Variables(
        ("OPENAI_API_KEY",),
        "OPENAI_BASE_URL",
        {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"},
    ),
    "gemini": Variables(("GEMINI_API_KEY", "GOOGLE_API_KEY"), "GEMINI_BASE_URL"),
    "openrouter": Variables(("OPENROUTER_API_KEY",), "OPENROUTER_BASE_URL"),
    "deepseek": Variables(("DEEPSEEK_API_KEY",), "DEEPSEEK_BASE_URL"),
    "groq": Variables(("GROQ_API_KEY",), "GROQ_BASE_URL"),
    "mistral": Variables(("MISTRAL_API_KEY",), "MISTRAL_BASE_URL"),
    "xai": Variables(("XAI_API_KEY",), "XAI_BASE_URL"),
    "together": Variables(("TOGETHER_API_KEY",), "TOGETHER_BASE_URL"),
    "moonshot": Variables(("MOONSHOT_API_KEY",), "MOONSHOT_BASE_URL"),
    "zai": Variables(("ZAI_API_KEY",), "ZAI_BASE_URL"),
    "cerebras": Variables(("CEREBRAS_API_KEY",), "CEREBRAS_BASE_URL"),
    # servers on this machine: a key is only for those that were told to want one
    "ollama": Variables(("OLLAMA_API_KEY",), "OLLAMA_BASE_URL", needs_key=False),
    "lmstudio": Variables(("LMSTUDIO_API_KEY",), "LMSTUDIO_BASE_URL", needs_key=False),
    "llamacpp": Variables(("LLAMACPP_API_KEY",), "LLAMACPP_BASE_URL", needs_key=False),
    "vllm": Variables(("VLLM_API_KEY",), "VLLM_BASE_URL", needs_key=False),
    "compatible": Variables(("COMPATIBLE_API_KEY",), "COMPATIBLE_BASE_URL", needs_key=False),
}
"""In the order in which a provider becomes the default (C section 2.2)."""


_LIKE_A_KEY = re.compile(r"([A-Z]+?)_?(?:API|AUTH|SECRET)?_?(?:KEY|TOKEN)")
KEYLESS: tuple[str, ...] = tuple(name for name, row in VARIABLES.items() if not row.needs_key)


def key_variable(provider: str) -> str:
    """The variable to set for `provider`, "" when it has none."""
    variables = VARIABLES.get(provider)
    return variables.keys[0] if variables else ""


def misnamed(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Variables that look as if they were meant to hold a key, each with the one that would be read."""
    aliases = {**{name: name for name in VARIABLES}, "claude": "anthropic", "google": "gemini"}
    known = {key for row in VARIABLES.values() for key in row.keys}
    for name in names:
        found = _LIKE_A_KEY.fullmatch(name.upper())
        provider = aliases.get(found[1].lower()) if found and name not in known else None
        if provider and (variable := key_variable(provider)):
            yield name, variable


class Credentials:
    """Secrets by provider, in memory only: never logged, echoed or stored. `repr` names providers, no secret."""

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

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Credentials:
        """What `environ` (None: this process's environment) holds. Blank values are unset; white space around
        a value, as a copied line end, is dropped."""
        values = {name: value.strip() for name, value in (os.environ if environ is None else environ).items()}
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
        """Providers with a secret: those of VARIABLES in that order, then others in order of setting."""
        known = [name for name in VARIABLES if name in self._secrets]
        return (*known, *(name for name in self._secrets if name not in VARIABLES))

    def secret(self, provider: str) -> str:
        """The secret of `provider`, "" when there is none."""
        return self._secrets.get(provider, "")

    def base_url(self, provider: str) -> str:
        """The address told by the environment, "" for the provider's own."""
        return self._base_urls.get(provider, "")

    def headers(self, provider: str) -> Mapping[str, str]:
        """Headers told by the environment (organisation, project)."""
        return self._headers.get(provider, {})

    def set(self, provider: str, secret: str | None) -> None:
        """Holds `secret` for `provider` until the process ends; None or blank forgets it (agent/setCredential)."""
        stripped = (secret or "").strip()
        if not stripped:
            self._secrets.pop(provider, None)
            return
        self._secrets[provider] = stripped
        self._seen.add(stripped)

    def known_secrets(self) -> frozenset[str]:
        """Every secret ever held, forgotten ones too: what must not be in a log, an event or a child process."""
        return frozenset(self._seen)

    def __repr__(self) -> str:
        return f"Credentials(providers={list(self.providers)})"
