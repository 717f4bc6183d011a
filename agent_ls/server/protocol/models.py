"""API keys, providers and models."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from agent_ls.server.protocol.base import Params, Wire


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

    `look`: also asks servers that need no key (when a picker is opened).
    """

    method: ClassVar[str] = "agent/models"

    look: bool = False


class ProviderInfo(Wire):
    """`problem`: why the provider cannot be used now, for the user. `keyVariable` "": it needs no key."""

    id: str
    name: str
    has_key: bool
    key_variable: str
    problem: str | None = None


class ModelInfo(Wire):
    """A model. Prices are US dollars per million tokens. `isDefault`: used if only the provider is chosen.

    `address`: the server without a key that has just listed this model.
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
    """`defaultProvider`: used if nothing is chosen."""

    default_provider: str
    providers: tuple[ProviderInfo, ...]
    models: tuple[ModelInfo, ...]
