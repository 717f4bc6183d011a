"""Keys, providers and models."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from agent_ls.server.protocol.base import Params, Wire


class SetCredential(Params):
    """Holds a provider's key in memory until the process ends; null forgets it. Nothing ever repeats it."""

    method: ClassVar[str] = "agent/setCredential"
    client_key: str
    provider: str
    secret: str | None = Field(repr=False)


class CredentialResult(Wire):
    ok: Literal[True] = True


class Models(Params):
    """The providers, with or without a key, and the models that are known of each.

    `look`: servers that need no key are asked for theirs as well (a picker was opened).
    """

    method: ClassVar[str] = "agent/models"

    look: bool = False


class ProviderInfo(Wire):
    """`problem`: why it cannot be asked now, in words for the user. `keyVariable` "": it needs no key."""

    id: str
    name: str
    has_key: bool
    key_variable: str
    problem: str | None = None


class ModelInfo(Wire):
    """Prices are US dollars per million tokens. `isDefault`: used where only the provider is chosen.

    `address`: of a server without a key that has named this model just now.
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
    """`defaultProvider`: used where nothing is chosen."""

    default_provider: str
    providers: tuple[ProviderInfo, ...]
    models: tuple[ModelInfo, ...]
