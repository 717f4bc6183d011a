"""Where a provider is reached and how long we wait for it: values only, so that nobody needs the HTTP library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """What a user may set for one provider; "" is unset. `version` and `betas` are Anthropic's, `text_tools` is for
    compatible servers whose models cannot call tools.

    `ca_file` is a PEM file of certificates trusted besides the usual ones (U11). `total_timeout_s` None: the whole of
    one answer may take as long as it likes; reasoning takes minutes, so only connecting and silence are limited (U8).
    """

    base_url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca_file: str = ""
    connect_timeout_s: float = 10.0
    silence_timeout_s: float = 300.0
    total_timeout_s: float | None = None
    version: str = ""
    betas: Sequence[str] = ()
    text_tools: bool = False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One provider's address, resolved. Neither `secret` nor `headers` are ever shown."""

    base_url: str
    secret: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca_file: str = ""
    connect_timeout_s: float = 10.0
    silence_timeout_s: float = 300.0
    total_timeout_s: float | None = None
    is_direct: bool = False
    """No proxy of the environment on the way: for servers on this machine that are only looked for."""
