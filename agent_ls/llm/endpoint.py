"""Connection settings of a provider. This module does not import the HTTP library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent_ls.llm.errors import check_amounts


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """User settings of one provider; "" means unset.

    `version` (of the API) and `betas` (beta features) are for Anthropic. `text_tools` is for servers whose models
    cannot call tools: the request describes tools as text, and the model writes calls as text.

    `ca_file` is a PEM file of additional trusted certificates. `silence_timeout_s` limits the time without any
    data. `total_timeout_s` None sets no limit for a whole answer, because reasoning may take minutes.
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

    def __post_init__(self) -> None:
        check_amounts(self, "connect_timeout_s", "silence_timeout_s", "total_timeout_s")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The resolved address of a provider. `repr` shows neither `secret` nor `headers`."""

    base_url: str
    secret: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca_file: str = ""
    connect_timeout_s: float = 10.0
    silence_timeout_s: float = 300.0
    total_timeout_s: float | None = None
    is_direct: bool = False
    """Whether to ignore the proxies of the environment, as for probing servers on this machine."""
