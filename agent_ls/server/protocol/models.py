"""API keys, providers and models."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from agent_ls.server.protocol.base import Mode, Params, Wire


class SetCredential(Params):
    """Keeps a provider's API key in memory until the process ends; null removes it. It is never sent back."""

    method: ClassVar[str] = "agent/setCredential"
    client_key: str
    provider: str
    secret: str | None = Field(repr=False)


class CredentialResult(Wire):
    ok: Literal[True] = True


class Models(Params):
    """Lists the providers, with or without a key, and the known models of each.

    `look`: also asks model servers that need no key which models they have. Set it when the user opens a list
    of models.
    """

    method: ClassVar[str] = "agent/models"

    look: bool = False


class ProviderInfo(Wire):
    """A provider of models. `problem` tells the user why the provider cannot be used now. `keyVariable` is
    the environment variable of the API key, "" if the provider needs no key.
    """

    id: str
    name: str
    has_key: bool
    key_variable: str
    problem: str | None = None


class ModelInfo(Wire):
    """A model. Prices are US dollars per million tokens. `isDefault`: the default if only the provider is
    chosen.

    `address`: the address of the server that has just listed this model, if that server needs no key.
    """

    provider: str
    id: str
    name: str
    context_tokens: int | None = None
    max_output_tokens: int | None = None
    efforts: tuple[str, ...]
    is_default: bool
    input_price: float | None = None
    output_price: float | None = None
    images: bool
    address: str | None = None


class ModelsResult(Wire):
    """Providers and models. A session without a chosen provider and model has `defaultProvider`, one without a
    chosen mode `defaultMode`.
    """

    default_provider: str
    default_mode: Mode
    providers: tuple[ProviderInfo, ...]
    models: tuple[ModelInfo, ...]
