"""ADAPTER: POST over HTTP/1.1, whole or streamed, and small GETs. The only importer of the HTTP library.

Proxies come from the environment (HTTPS_PROXY, NO_PROXY, ...), redirects are not followed, and no error text
holds a header or a body.
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

# httpcore asks this module, where it is installed, what runs the event loop, and else searches all of sys.path for
# it, several times for each request. anyio, loaded by now, has looked already; None means "not there" to Python.
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]  # typeshed does not know of None

MAX_LIST_BYTES = 16 * 1024 * 1024  # OpenRouter's list of models is about one

_KEEPALIVE_S = 60.0  # a tool round between two calls should not cost a new TLS handshake
_DRAIN_S = 0.1  # a good server's last chunk comes with its terminal event

_Kind: TypeAlias = type[NetworkError] | type[RequestTimeoutError] | type[ConfigurationError]


@dataclass(frozen=True, slots=True)
class _Row:
    """What one of the library's exceptions means. `is_telling`: its own text may be shown (never a header)."""

    kind: _Kind
    lead: str
    hint: str
    is_telling: bool = False


_NET = "Check the network, the proxy settings and the base URL."
_AGAIN = "Send again."
_SLOW = "Try again; the limit is the setting for silence."
_SETTING = "Check the provider's settings: base URL, headers and key."

ROWS: Mapping[type[Exception], _Row] = {
    # not connected
    httpx.ConnectError: _Row(NetworkError, "no connection to {host}", _NET, is_telling=True),
    httpx.ProxyError: _Row(NetworkError, "the proxy refused the way to {host}", _NET, is_telling=True),
    httpx.ConnectTimeout: _Row(RequestTimeoutError, "no connection to {host} in time", _NET),
    httpx.PoolTimeout: _Row(RequestTimeoutError, "too many calls to {host} at once", _AGAIN),
    # connected, then lost
    httpx.ReadError: _Row(NetworkError, "the connection to {host} was lost", _AGAIN, is_telling=True),
    httpx.WriteError: _Row(NetworkError, "the connection to {host} was lost", _AGAIN, is_telling=True),
    httpx.CloseError: _Row(NetworkError, "the connection to {host} was lost", _AGAIN, is_telling=True),
    httpx.RemoteProtocolError: _Row(NetworkError, "{host} broke off its answer", _AGAIN),
    httpx.DecodingError: _Row(NetworkError, "the answer of {host} is damaged", _AGAIN),
    httpx.ReadTimeout: _Row(RequestTimeoutError, "{host} was silent for too long", _SLOW),
    httpx.WriteTimeout: _Row(RequestTimeoutError, "{host} did not take the request in time", _SLOW),
    # the request could not be made
    httpx.UnsupportedProtocol: _Row(ConfigurationError, "the base URL has no http:// or https://", _SETTING),
    httpx.InvalidURL: _Row(ConfigurationError, "the base URL is no URL", _SETTING),
    httpx.LocalProtocolError: _Row(ConfigurationError, "a header or key for {host} cannot be sent", _SETTING),
    httpx.CookieConflict: _Row(ConfigurationError, "the cookies for {host} contradict each other", _SETTING),
    httpx.TooManyRedirects: _Row(ConfigurationError, "{host} redirects without end", _SETTING),
    UnicodeEncodeError: _Row(ConfigurationError, "a header or key for {host} is not plain ASCII", _SETTING),
    # families of the above, and misuse that our own code does not commit: named, so that nothing slips through
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
"""Complete over the library's exception classes (a test proves it)."""

_MAPPED = tuple(ROWS)

_CERTIFICATES = (
    (
        "certificate has expired",
        ("its certificate has expired", "Its owner must renew it; is this machine's clock right?"),
    ),
    (
        "not yet valid",
        ("its certificate is not valid yet", "Look whether the clock of this machine is right."),
    ),
    ("mismatch", ("its certificate is of another host", "Look whether the base URL names the right one.")),
    ("", ("its certificate is not trusted", "Set the provider's CA file, or SSL_CERT_FILE.")),
)
"""Words of OpenSSL's, and what is told instead. The first that fit."""


def failure(error: Exception, host: str) -> LlmError:
    """Our error for one of the library's."""
    row = next(ROWS[kind] for kind in type(error).__mro__ if kind in ROWS)
    lead = row.lead.format(host=host)
    told = str(error) if row.is_telling else ""
    hint = row.hint
    if "CERTIFICATE_VERIFY_FAILED" in told:
        told, hint = next(row for words, row in _CERTIFICATES if words in told)
    return row.kind(f"{lead}: {told}" if told else lead, hint=hint)


class StreamedReply:
    """An answer whose body has not been read yet; usable inside `Transport.open` only."""

    def __init__(self, response: httpx.Response) -> None:
        self.head = ReplyHead(
            response.status_code,
            {name.lower(): value for name, value in response.headers.items()},
            time.time(),
        )
        self.chunks: AsyncIterator[bytes] = response.aiter_bytes()
        """The body as it comes, decoded where it was compressed; to be read once."""

    async def read(self) -> bytes:
        """The whole body."""
        return b"".join([chunk async for chunk in self.chunks])

    async def drain(self) -> None:
        """Reads the last bytes of a body whose end is due, so that the connection can be used again; a server that
        holds it open does not hold us."""
        with anyio.move_on_after(_DRAIN_S):
            try:
                async for _ in self.chunks:
                    pass
            except _MAPPED:
                return  # the answer is complete; how its connection ends is of no interest


class Transport:
    """One pool of connections to one base URL. Opening it reads certificates from disk: do it in a thread.

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
        """POSTs `body` and gives the answer as soon as its head is in. Leaving the block closes the connection,
        unless the body was read to its end.

        Raises:
            LlmError: one of ROWS; also from within the block, when reading fails there.
        """
        sent = {"content-type": "application/json", **headers}
        try:
            async with self._client.stream(
                "POST", _url(self._base_url, path), headers=sent, content=body
            ) as response:
                yield StreamedReply(response)
        except _MAPPED as error:
            raise failure(error, self._host) from None

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[ReplyHead, bytes]:
        """POSTs `body` and reads the whole answer, whatever its status.

        Raises:
            LlmError: one of ROWS.
        """
        async with self.open(path, headers, body) as reply:
            return reply.head, await reply.read()

    async def get(self, path: str, headers: Mapping[str, str]) -> tuple[ReplyHead, bytes]:
        """GETs a small answer, whatever its status.

        Raises:
            LlmError: one of ROWS; NetworkError when it is longer than MAX_LIST_BYTES.
        """
        try:
            async with self._client.stream("GET", _url(self._base_url, path), headers=headers) as response:
                reply = StreamedReply(response)
                return reply.head, await self._bounded(reply)
        except _MAPPED as error:
            raise failure(error, self._host) from None

    async def close(self) -> None:
        await self._client.aclose()

    async def _bounded(self, reply: StreamedReply) -> bytes:
        body = bytearray()
        async for chunk in reply.chunks:
            body += chunk
            if len(body) > MAX_LIST_BYTES:
                raise NetworkError(f"{self._host} answered with far too much", hint=_SETTING)
        return bytes(body)


def _url(base_url: str, path: str) -> str:
    """A base URL that already ends in the first step of `path` is taken as meant: `.../v1` with `/v1/messages`."""
    return base_url.removesuffix("/" + path.split("/")[1]) + path


def _host(base_url: str) -> str:
    """Host and port for messages: never user names or passwords of the URL."""
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL:
        return "the base URL"
    return f"{url.host}:{url.port}" if url.port else url.host or "the base URL"


def _certificates(endpoint: Endpoint) -> ssl.SSLContext:
    ca_file = endpoint.ca_file
    if not ca_file and _is_plain(endpoint.base_url):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody, and is never asked to
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
    """No TLS on the whole way, as to a model on this machine: then nobody waits for certificates to be read."""
    proxies = (value for name, value in os.environ.items() if name.lower().endswith("_proxy"))
    return not any(url.lower().startswith("https:") for url in (base_url, *proxies))
