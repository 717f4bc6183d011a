"""Send POST requests over HTTP/1.1, with complete or streamed responses, and small GET requests.

Proxies are read from the environment (HTTPS_PROXY, NO_PROXY, ...); httpx is imported only if there are any.
Redirects are not followed. No error text contains a header or a body.
"""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio

from agent_ls.llm.endpoint import Endpoint
from agent_ls.llm.errors import ConfigurationError, LlmError, NetworkError
from agent_ls.llm.http.address import Address, find_proxies, find_proxy, parse_address
from agent_ls.llm.http.direct import DirectConnections
from agent_ls.llm.http.exchange import Connections, Exchange
from agent_ls.llm.http.failures import CHECK_PROVIDER
from agent_ls.llm.providers.base import ReplyHead

MAX_LIST_BYTES = 16 * 1024 * 1024  # limit for a response to GET; OpenRouter's list of models has about one MB

_DRAIN_S = 0.1  # short, because a correct server sends the last chunk together with its terminal event


class StreamedReply:
    """A response whose body has not been read yet; usable inside `Transport.open` only."""

    def __init__(self, response: Exchange) -> None:
        self.head = ReplyHead(response.status, response.headers, time.time())
        self.chunks: AsyncIterator[bytes] = response.chunks
        """The body in chunks, decompressed; can be read once."""

    async def read(self) -> bytes:
        """Return the complete body of the response."""
        return b"".join([chunk async for chunk in self.chunks])

    async def drain(self) -> None:
        """Read the rest of the body, so that the connection can be reused. Give up after _DRAIN_S seconds."""
        with anyio.move_on_after(_DRAIN_S):
            try:
                async for _ in self.chunks:
                    pass
            except LlmError:
                return  # the answer is complete, so errors of the connection no longer matter


class Transport:
    """A pool of connections to one base URL. Creating it reads certificates from disk: do it in a thread.

    Raises:
        ConfigurationError: base URL, CA file or proxy settings cannot be used.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._base_url = endpoint.base_url.rstrip("/")
        self._connections = _make_connections(endpoint)

    @asynccontextmanager
    async def open(self, path: str, headers: Mapping[str, str], body: bytes) -> AsyncGenerator[StreamedReply]:
        """POST `body` and yield the response as soon as its headers have arrived.

        Leaving the `async with` block closes the connection, unless the body was read to its end.

        Raises:
            LlmError: one of `http.failures`; also raised inside the block if reading the body fails.
        """
        sent = {"content-type": "application/json", **headers}
        rest = _without_repetition(self._base_url, path)
        async with self._connections.open("POST", rest, list(sent.items()), body) as response:
            yield StreamedReply(response)

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[ReplyHead, bytes]:
        """POST `body` and read the complete response, whatever its status.

        Raises:
            LlmError: one of `http.failures`.
        """
        async with self.open(path, headers, body) as reply:
            return reply.head, await reply.read()

    async def get(self, path: str, headers: Mapping[str, str]) -> tuple[ReplyHead, bytes]:
        """GET a small response, whatever its status.

        Raises:
            LlmError: one of `http.failures`; NetworkError if the response is longer than MAX_LIST_BYTES.
        """
        rest = _without_repetition(self._base_url, path)
        async with self._connections.open("GET", rest, list(headers.items()), None) as response:
            reply = StreamedReply(response)
            return reply.head, await self._read_bounded(reply)

    async def close(self) -> None:
        await self._connections.close()

    async def _read_bounded(self, reply: StreamedReply) -> bytes:
        body = bytearray()
        async for chunk in reply.chunks:
            body += chunk
            if len(body) > MAX_LIST_BYTES:
                raise NetworkError(
                    f"the answer of {self._connections.host} is too large", hint=CHECK_PROVIDER
                )
        return bytes(body)


def _make_connections(endpoint: Endpoint) -> Connections:
    context = _certificates(endpoint)
    address = parse_address(endpoint.base_url)
    if address is not None and (endpoint.is_direct or not _proxy_for(address)):
        return DirectConnections(address, context, endpoint.connect_timeout_s, endpoint.silence_timeout_s)
    from agent_ls.llm.http.proxied import ProxiedConnections  # imports httpx

    return ProxiedConnections(endpoint, context)


def _proxy_for(address: Address) -> str | None:
    return find_proxy("https" if address.is_tls else "http", address.host, address.port)


def _without_repetition(base_url: str, path: str) -> str:
    """Return the path to append to the base URL, without `/v1` if the base URL ends with `/v1` already."""
    step = "/" + path.split("/")[1]
    return path.removeprefix(step) if base_url.endswith(step) else path


def _certificates(endpoint: Endpoint) -> ssl.SSLContext:
    ca_file = endpoint.ca_file
    if not ca_file and _is_plain(endpoint.base_url):
        # This context trusts no certificate, which has no effect because no connection uses TLS.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    source = f"the CA file {ca_file}" if ca_file else "the file in SSL_CERT_FILE"
    try:
        context = _default_context()
        if ca_file:
            context.load_verify_locations(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"{source} cannot be used: {error.strerror or 'it contains no certificate'}",
            hint="The file must be a readable PEM file.",
        ) from None
    context.set_alpn_protocols(["http/1.1"])
    return context


def _default_context() -> ssl.SSLContext:
    """Return a TLS context that trusts the certificates in SSL_CERT_FILE or SSL_CERT_DIR, else Mozilla's."""
    if file := os.environ.get("SSL_CERT_FILE"):
        return ssl.create_default_context(cafile=file)
    if folder := os.environ.get("SSL_CERT_DIR"):
        return ssl.create_default_context(capath=folder)
    import certifi  # a slow import, which no connection without TLS needs

    return ssl.create_default_context(cafile=certifi.where())


def _is_plain(base_url: str) -> bool:
    """Return whether connections to this URL never use TLS, for example to a model on this machine.

    If so, certificates need not be read.
    """
    return not any(url.lower().startswith("https:") for url in (base_url, *find_proxies().values()))
