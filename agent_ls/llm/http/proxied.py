"""A pool of httpx connections, for connections through a proxy and for base URLs that direct.py does not handle."""

from __future__ import annotations

import ssl
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import httpx

from agent_ls.llm.endpoint import Endpoint
from agent_ls.llm.errors import ConfigurationError, LlmError, NetworkError, RequestTimeoutError
from agent_ls.llm.http import failures
from agent_ls.llm.http.address import find_proxy
from agent_ls.llm.http.exchange import KEEPALIVE_S, Exchange
from agent_ls.llm.http.failures import HttpFailure, make_error

# httpcore imports `sniffio` for each request. If `sniffio` is not installed, each import searches sys.path several
# times. anyio has already tried the import; None in sys.modules marks the module as missing.
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]  # typeshed does not know of None

ROWS: Mapping[type[Exception], HttpFailure] = {
    # failures before a connection was made
    httpx.ConnectError: failures.NOT_CONNECTED,
    httpx.ProxyError: failures.PROXY_REFUSED,
    httpx.ConnectTimeout: failures.NOT_CONNECTED_IN_TIME,
    httpx.PoolTimeout: HttpFailure(
        RequestTimeoutError, "too many calls to {host} at once", failures.SEND_AGAIN
    ),
    # failures after the connection was made
    httpx.ReadError: failures.LOST,
    httpx.WriteError: failures.LOST,
    httpx.CloseError: failures.LOST,
    httpx.RemoteProtocolError: failures.BROKEN_OFF,
    httpx.DecodingError: failures.DAMAGED,
    httpx.ReadTimeout: failures.SILENT,
    httpx.WriteTimeout: failures.NOT_TAKEN_IN_TIME,
    # failures that only a change of the settings can fix
    httpx.UnsupportedProtocol: failures.NO_SCHEME,
    httpx.InvalidURL: failures.INVALID_URL,
    httpx.LocalProtocolError: failures.INVALID_HEADER,
    httpx.CookieConflict: HttpFailure(
        ConfigurationError, "the cookies for {host} conflict with each other", failures.CHECK_PROVIDER
    ),
    httpx.TooManyRedirects: HttpFailure(
        ConfigurationError, "{host} redirects too often", failures.CHECK_PROVIDER
    ),
    UnicodeEncodeError: failures.NOT_ASCII,
    # base classes of the exceptions above, and misuse of httpx, which never happens: listed for completeness
    httpx.TimeoutException: HttpFailure(RequestTimeoutError, "{host} took too long", failures.WAIT_LONGER),
    httpx.NetworkError: HttpFailure(NetworkError, "the connection to {host} failed", failures.CHECK_NETWORK),
    httpx.ProtocolError: HttpFailure(NetworkError, "{host} does not speak HTTP", failures.CHECK_NETWORK),
    httpx.TransportError: HttpFailure(
        NetworkError, "the connection to {host} failed", failures.CHECK_NETWORK
    ),
    httpx.RequestError: HttpFailure(NetworkError, "the request to {host} failed", failures.CHECK_NETWORK),
    httpx.HTTPStatusError: HttpFailure(NetworkError, "{host} answered with an error", failures.SEND_AGAIN),
    httpx.HTTPError: HttpFailure(NetworkError, "the request to {host} failed", failures.CHECK_NETWORK),
    httpx.StreamConsumed: HttpFailure(
        NetworkError, "the answer of {host} was read twice", failures.SEND_AGAIN
    ),
    httpx.StreamClosed: HttpFailure(
        NetworkError, "the answer of {host} was closed while it was read", failures.SEND_AGAIN
    ),
    httpx.ResponseNotRead: HttpFailure(
        NetworkError, "the answer of {host} was not read", failures.SEND_AGAIN
    ),
    httpx.RequestNotRead: HttpFailure(
        NetworkError, "the request to {host} was not read", failures.SEND_AGAIN
    ),
    httpx.StreamError: HttpFailure(
        NetworkError, "the answer of {host} could not be read", failures.SEND_AGAIN
    ),
}
"""The failure for each exception class of httpx. A test checks that no class is missing."""

_MAPPED = tuple(ROWS)


def to_llm_error(error: Exception, host: str) -> LlmError:
    """Convert an exception of httpx to an LlmError. The message contains `host`."""
    return make_error(next(ROWS[kind] for kind in type(error).__mro__ if kind in ROWS), host, str(error))


class ProxiedConnections:
    """A pool of connections that httpx makes.

    Raises:
        ConfigurationError: the proxy settings of the environment cannot be used.
    """

    def __init__(self, endpoint: Endpoint, context: ssl.SSLContext) -> None:
        self._base_url = endpoint.base_url.rstrip("/")
        self._host = _host(self._base_url)
        connect, silence = endpoint.connect_timeout_s, endpoint.silence_timeout_s
        try:
            self._client = httpx.AsyncClient(
                verify=context,
                timeout=httpx.Timeout(silence, connect=connect, pool=connect),
                limits=httpx.Limits(max_connections=None, keepalive_expiry=KEEPALIVE_S),
                proxy=None if endpoint.is_direct else _proxy(self._base_url),
                trust_env=False,  # httpx refuses networks and addresses of IPv6 in NO_PROXY
                follow_redirects=False,
            )
        except (ImportError, ValueError, httpx.InvalidURL):
            raise ConfigurationError(
                "the proxy settings in the environment cannot be used",
                hint="Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY; SOCKS proxies are not supported.",
            ) from None

    @property
    def host(self) -> str:
        return self._host

    @asynccontextmanager
    async def open(
        self, method: str, path: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> AsyncGenerator[Exchange]:
        """Send a request and yield the response; see `Connections`."""
        url = self._base_url + path
        try:
            async with self._client.stream(method, url, headers=list(headers), content=body) as response:
                yield Exchange(response.status_code, dict(response.headers.items()), response.aiter_bytes())
        except _MAPPED as error:
            raise to_llm_error(error, self._host) from None

    async def close(self) -> None:
        await self._client.aclose()


def _proxy(base_url: str) -> str | None:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL:
        return None  # each request will say so
    return find_proxy(url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80))


def _host(base_url: str) -> str:
    """Return host and port for messages, without user name and password of the URL."""
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL:
        return "the base URL"
    return f"{url.host}:{url.port}" if url.port else url.host or "the base URL"
