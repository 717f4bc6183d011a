"""Send POST requests over HTTP/1.1, with complete or streamed responses, and small GET requests.

Only this module imports the HTTP library. Proxies are read from the environment (HTTPS_PROXY, NO_PROXY, ...).
Redirects are not followed. No error text contains a header or a body.
"""

from __future__ import annotations

import os
import ssl
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

import anyio
import httpx

from agent_ls.llm.endpoint import Endpoint
from agent_ls.llm.errors import ConfigurationError, LlmError, NetworkError, RequestTimeoutError
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.error_mapping import PROXY_LOGIN
from agent_ls.text import strip_escapes, to_display_line

# httpcore imports `sniffio` for each request. If `sniffio` is not installed, each import searches sys.path several
# times. anyio has already tried the import; None in sys.modules marks the module as missing.
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]  # typeshed does not know of None

MAX_LIST_BYTES = 16 * 1024 * 1024  # OpenRouter's list of models has about one MB

_KEEPALIVE_S = 60.0  # long enough that the next call after a tool round needs no new TLS handshake
_DRAIN_S = 0.1  # short, because a correct server sends the last chunk together with its terminal event

_Kind: TypeAlias = type[NetworkError] | type[RequestTimeoutError] | type[ConfigurationError]


@dataclass(frozen=True, slots=True)
class _Row:
    """The LlmError for one exception class of the HTTP library.

    `is_telling`: the exception's text may be displayed, because it never contains a header.
    """

    kind: _Kind
    lead: str
    hint: str
    is_telling: bool = False


_NET = "Check the network, the proxy settings and the base URL."
_AGAIN = "Send again."
_SLOW = "Try again, or increase the setting silenceTimeoutMs."
_SETTING = "Check the provider's settings: base URL, headers and key."

ROWS: Mapping[type[Exception], _Row] = {
    # from here on: no connection was made
    httpx.ConnectError: _Row(NetworkError, "no connection to {host}", _NET, is_telling=True),
    httpx.ProxyError: _Row(NetworkError, "the proxy refused the connection to {host}", _NET, is_telling=True),
    httpx.ConnectTimeout: _Row(RequestTimeoutError, "no connection to {host} in time", _NET),
    httpx.PoolTimeout: _Row(RequestTimeoutError, "too many calls to {host} at once", _AGAIN),
    # from here on: the connection was lost
    httpx.ReadError: _Row(NetworkError, "the connection to {host} was lost", _AGAIN, is_telling=True),
    httpx.WriteError: _Row(NetworkError, "the connection to {host} was lost", _AGAIN, is_telling=True),
    httpx.CloseError: _Row(NetworkError, "the connection to {host} was lost", _AGAIN, is_telling=True),
    httpx.RemoteProtocolError: _Row(NetworkError, "{host} broke off its answer", _AGAIN),
    httpx.DecodingError: _Row(NetworkError, "the answer of {host} is damaged", _AGAIN),
    httpx.ReadTimeout: _Row(RequestTimeoutError, "{host} was silent for too long", _SLOW),
    httpx.WriteTimeout: _Row(RequestTimeoutError, "{host} did not take the request in time", _SLOW),
    # from here on: the request could not be made
    httpx.UnsupportedProtocol: _Row(ConfigurationError, "the base URL has no http:// or https://", _SETTING),
    httpx.InvalidURL: _Row(ConfigurationError, "the base URL is not a valid URL", _SETTING),
    httpx.LocalProtocolError: _Row(ConfigurationError, "a header or key for {host} cannot be sent", _SETTING),
    httpx.CookieConflict: _Row(ConfigurationError, "the cookies for {host} contradict each other", _SETTING),
    httpx.TooManyRedirects: _Row(ConfigurationError, "{host} redirects without end", _SETTING),
    UnicodeEncodeError: _Row(ConfigurationError, "a header or key for {host} is not plain ASCII", _SETTING),
    # for completeness: base classes of the exceptions above, and misuse of the library that never happens here
    httpx.TimeoutException: _Row(RequestTimeoutError, "{host} took too long", _SLOW),
    httpx.NetworkError: _Row(NetworkError, "the connection to {host} failed", _NET),
    httpx.ProtocolError: _Row(NetworkError, "{host} does not speak HTTP", _NET),
    httpx.TransportError: _Row(NetworkError, "the connection to {host} failed", _NET),
    httpx.RequestError: _Row(NetworkError, "the request to {host} failed", _NET),
    httpx.HTTPStatusError: _Row(NetworkError, "{host} answered with an error", _AGAIN),
    httpx.HTTPError: _Row(NetworkError, "the request to {host} failed", _NET),
    httpx.StreamConsumed: _Row(NetworkError, "the answer of {host} was read twice", _AGAIN),
    httpx.StreamClosed: _Row(NetworkError, "the answer of {host} was closed while it was read", _AGAIN),
    httpx.ResponseNotRead: _Row(NetworkError, "the answer of {host} was not read", _AGAIN),
    httpx.RequestNotRead: _Row(NetworkError, "the request to {host} was not read", _AGAIN),
    httpx.StreamError: _Row(NetworkError, "the answer of {host} could not be read", _AGAIN),
}
"""The LlmError for each exception class of the HTTP library (a test checks that none is missing)."""

_MAPPED = tuple(ROWS)

_CERTIFICATES = (
    (
        "certificate has expired",
        ("its certificate has expired", "Its owner must renew it; is this machine's clock right?"),
    ),
    (
        "not yet valid",
        ("its certificate is not valid yet", "Check the clock of this machine."),
    ),
    ("mismatch", ("its certificate is of another host", "Check that the base URL names the right host.")),
    ("", ("its certificate is not trusted", "Set the provider's CA file, or SSL_CERT_FILE.")),
)
"""Phrases in messages of OpenSSL, each with the message and hint to display. The first match is used."""


_FORBIDDEN = (
    "the proxy between this machine and {provider} does not allow the connection",
    "Ask the administrator of the proxy to allow this host, or add the host to NO_PROXY.",
)
_PROXY_REFUSALS: Mapping[str, tuple[str, str]] = {"403": _FORBIDDEN, "405": _FORBIDDEN, "407": PROXY_LOGIN}
"""HTTP statuses by which a proxy permanently refuses a tunnel, each with the message and hint to display."""


def to_llm_error(error: Exception, host: str) -> LlmError:
    """Convert an exception of the HTTP library to an LlmError. The message contains `host`."""
    row = next(ROWS[kind] for kind in type(error).__mro__ if kind in ROWS)
    lead, hint = row.lead.format(host=host), row.hint
    reason = to_display_line(strip_escapes(str(error))) if row.is_telling else ""
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        reason, hint = next(row for words, row in _CERTIFICATES if words in reason)
    if isinstance(error, httpx.ProxyError) and (refusal := _PROXY_REFUSALS.get(reason[:3])):
        problem, advice = refusal
        return ConfigurationError(f"{problem.format(provider=host)}: {reason}", hint=advice)
    return row.kind(f"{lead}: {reason}" if reason else lead, hint=hint)


class StreamedReply:
    """A response whose body has not been read yet; usable inside `Transport.open` only."""

    def __init__(self, response: httpx.Response) -> None:
        self.head = ReplyHead(
            response.status_code,
            {name.lower(): value for name, value in response.headers.items()},
            time.time(),
        )
        self.chunks: AsyncIterator[bytes] = response.aiter_bytes()
        """The body in chunks, decompressed; can be read once."""

    async def read(self) -> bytes:
        """Return the complete body of the response."""
        return b"".join([chunk async for chunk in self.chunks])

    async def drain(self) -> None:
        """Read the last bytes of a body for at most a short time, so that the connection can be reused."""
        with anyio.move_on_after(_DRAIN_S):
            try:
                async for _ in self.chunks:
                    pass
            except _MAPPED:
                return  # the answer is complete, so errors of the connection no longer matter


class Transport:
    """A pool of connections to one base URL. Creating it reads certificates from disk: do it in a thread.

    Raises:
        ConfigurationError: base URL, CA file or proxy settings cannot be used.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._base_url = endpoint.base_url.rstrip("/")
        self._host = _host(self._base_url)
        connect, silence = endpoint.connect_timeout_s, endpoint.silence_timeout_s
        try:
            self._client = httpx.AsyncClient(
                verify=_certificates(endpoint),
                timeout=httpx.Timeout(silence, connect=connect, pool=connect),
                limits=httpx.Limits(max_connections=None, keepalive_expiry=_KEEPALIVE_S),
                trust_env=not endpoint.is_direct,
                follow_redirects=False,
            )
        except (ImportError, ValueError, httpx.InvalidURL):
            raise ConfigurationError(
                "the proxy settings in the environment cannot be used",
                hint="Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY; SOCKS proxies are not supported.",
            ) from None

    @asynccontextmanager
    async def open(self, path: str, headers: Mapping[str, str], body: bytes) -> AsyncGenerator[StreamedReply]:
        """POST `body` and yield the response as soon as its headers have arrived.

        Leaving the `async with` block closes the connection, unless the body was read to its end.

        Raises:
            LlmError: one of ROWS; also raised inside the block if reading the body fails.
        """
        sent = {"content-type": "application/json", **headers}
        try:
            async with self._client.stream(
                "POST", _url(self._base_url, path), headers=sent, content=body
            ) as response:
                yield StreamedReply(response)
        except _MAPPED as error:
            raise to_llm_error(error, self._host) from None

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[ReplyHead, bytes]:
        """POST `body` and read the complete response, whatever its status.

        Raises:
            LlmError: one of ROWS.
        """
        async with self.open(path, headers, body) as reply:
            return reply.head, await reply.read()

    async def get(self, path: str, headers: Mapping[str, str]) -> tuple[ReplyHead, bytes]:
        """GET a small response, whatever its status.

        Raises:
            LlmError: one of ROWS; NetworkError if the response is longer than MAX_LIST_BYTES.
        """
        try:
            async with self._client.stream("GET", _url(self._base_url, path), headers=headers) as response:
                reply = StreamedReply(response)
                return reply.head, await self._read_bounded(reply)
        except _MAPPED as error:
            raise to_llm_error(error, self._host) from None

    async def close(self) -> None:
        await self._client.aclose()

    async def _read_bounded(self, reply: StreamedReply) -> bytes:
        body = bytearray()
        async for chunk in reply.chunks:
            body += chunk
            if len(body) > MAX_LIST_BYTES:
                raise NetworkError(f"the answer of {self._host} is too large", hint=_SETTING)
        return bytes(body)


def _url(base_url: str, path: str) -> str:
    """Join base URL and path without repeating a step: `.../v1` and `/v1/messages` become `.../v1/messages`."""
    return base_url.removesuffix("/" + path.split("/")[1]) + path


def _host(base_url: str) -> str:
    """Return host and port for messages, without user name and password of the URL."""
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL:
        return "the base URL"
    return f"{url.host}:{url.port}" if url.port else url.host or "the base URL"


def _certificates(endpoint: Endpoint) -> ssl.SSLContext:
    ca_file = endpoint.ca_file
    if not ca_file and _is_plain(endpoint.base_url):
        # This context trusts no certificate, which has no effect because no connection uses TLS.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    source = f"the CA file {ca_file}" if ca_file else "the file in SSL_CERT_FILE"
    try:
        context = httpx.create_ssl_context()
        if ca_file:
            context.load_verify_locations(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"{source} cannot be used: {error.strerror or 'it holds no certificate'}",
            hint="It must be a readable PEM file.",
        ) from None
    return context


def _is_plain(base_url: str) -> bool:
    """Return whether connections to this URL never use TLS, for example to a model on this machine.

    Certificates need not be read then.
    """
    proxies = (value for name, value in os.environ.items() if name.lower().endswith("_proxy"))
    return not any(url.lower().startswith("https:") for url in (base_url, *proxies))
