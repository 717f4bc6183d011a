"""The error messages and hints for failed HTTP calls. No message contains a header or a body."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from agent_ls.llm.errors import ConfigurationError, LlmError, NetworkError, RequestTimeoutError
from agent_ls.llm.providers.error_leads import PROXY_LOGIN
from agent_ls.text import strip_escapes, to_display_line

_Kind: TypeAlias = type[NetworkError] | type[RequestTimeoutError] | type[ConfigurationError]


@dataclass(frozen=True, slots=True)
class HttpFailure:
    """A kind of failure of an HTTP call. `lead` is the message, in which `{host}` is replaced by the host.

    `has_reason`: the text of the exception is added to the message. This is safe only for exceptions whose text
    never contains a header.
    """

    kind: _Kind
    lead: str
    hint: str
    has_reason: bool = False


CHECK_NETWORK = "Check the network, the proxy settings and the base URL."
START_SERVER = (
    "Start the server, or correct the base URL. It is in the provider's variable that ends in _BASE_URL, "
    "or in the setting `baseUrl`."
)
SEND_AGAIN = "Send again."
WAIT_LONGER = "Try again, or increase the setting silenceTimeoutMs."
CHECK_PROVIDER = "Check the provider's settings: base URL, headers and key."

# Failures before a connection was made.
NOT_CONNECTED = HttpFailure(NetworkError, "no connection to {host}", CHECK_NETWORK, has_reason=True)
NOT_CONNECTED_IN_TIME = HttpFailure(RequestTimeoutError, "no connection to {host} in time", CHECK_NETWORK)
PROXY_REFUSED = HttpFailure(
    NetworkError, "the proxy refused the connection to {host}", CHECK_NETWORK, has_reason=True
)
# Failures after the connection was made.
LOST = HttpFailure(NetworkError, "the connection to {host} was lost", SEND_AGAIN, has_reason=True)
BROKEN_OFF = HttpFailure(NetworkError, "{host} ended its answer too early", SEND_AGAIN)
DAMAGED = HttpFailure(NetworkError, "the answer of {host} is damaged", SEND_AGAIN)
SILENT = HttpFailure(RequestTimeoutError, "{host} was silent for too long", WAIT_LONGER)
NOT_TAKEN_IN_TIME = HttpFailure(RequestTimeoutError, "{host} did not accept the request in time", WAIT_LONGER)
# Failures that only a change of the settings can fix.
NO_SCHEME = HttpFailure(ConfigurationError, "the base URL has no http:// or https://", CHECK_PROVIDER)
INVALID_URL = HttpFailure(ConfigurationError, "the base URL is not a valid URL", CHECK_PROVIDER)
INVALID_HEADER = HttpFailure(ConfigurationError, "a header or key for {host} cannot be sent", CHECK_PROVIDER)
NOT_ASCII = HttpFailure(ConfigurationError, "a header or key for {host} is not plain ASCII", CHECK_PROVIDER)

_CERTIFICATES = (
    (
        "certificate has expired",
        (
            "its certificate has expired",
            "The owner of the server must renew the certificate. Also check the clock of this machine.",
        ),
    ),
    (
        "not yet valid",
        ("its certificate is not valid yet", "Check the clock of this machine."),
    ),
    (
        "mismatch",
        ("its certificate was issued for another host", "Check that the base URL names the right host."),
    ),
    ("", ("its certificate is not trusted", "Set the provider's CA file, or SSL_CERT_FILE.")),
)
"""Phrases in messages of OpenSSL, each with the message and hint to display. The first match is used."""

_FORBIDDEN = (
    "the proxy between this machine and {provider} does not allow the connection",
    "Ask the administrator of the proxy to allow this host, or add the host to NO_PROXY.",
)
_PROXY_REFUSALS: Mapping[str, tuple[str, str]] = {"403": _FORBIDDEN, "405": _FORBIDDEN, "407": PROXY_LOGIN}
"""HTTP statuses by which a proxy permanently refuses a tunnel, each with the message and hint to display."""


def make_error(failure: HttpFailure, host: str, reason: str = "") -> LlmError:
    """Return the error of a failed call to `host`. `reason` is the text of the exception, which is untrusted."""
    lead, hint = failure.lead.format(host=host), failure.hint
    if failure in (NOT_CONNECTED, NOT_CONNECTED_IN_TIME) and _is_this_machine(host):
        hint = START_SERVER
    reason = to_display_line(strip_escapes(reason)) if failure.has_reason else ""
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        reason, hint = next(row for words, row in _CERTIFICATES if words in reason)
    if failure is PROXY_REFUSED and (refusal := _PROXY_REFUSALS.get(reason[:3])):
        problem, advice = refusal
        return ConfigurationError(f"{problem.format(provider=host)}: {reason}", hint=advice)
    return failure.kind(f"{lead}: {reason}" if reason else lead, hint=hint)


def _is_this_machine(host: str) -> bool:
    """Return whether a host with its port names this machine, which is reached without network and proxy."""
    name = re.sub(r":\d+\Z", "", host)
    return name in ("localhost", "[::1]") or name.endswith(".localhost") or name.startswith("127.")
