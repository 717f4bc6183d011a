"""Fetch pages over HTTP from exactly the address that the policy checked, without cookies, keys or a proxy."""

from __future__ import annotations

import codecs
import re
import socket
import zlib
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import anyio
import anyio.to_thread
import httpx

from agent_ls._version import __version__
from agent_ls.addresses import join_address, split_address
from agent_ls.environments.errors import PageError
from agent_ls.features.web.addresses import is_public, literal_address
from agent_ls.loop.calls.redaction import Known
from agent_ls.patterns import regex
from agent_ls.tools.web_fetch import WebPage

MAX_BYTES = 5 * 1024 * 1024  # maximum size of a page after decompression
MAX_RECEIVED = 20 * 1024 * 1024
DEADLINE_S = 30.0
MAX_REDIRECTS = 5
HEADERS = {
    "user-agent": f"agent-ls/{__version__}",
    "accept": "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
    "accept-encoding": "gzip, deflate",
    "accept-language": "en, *;q=0.5",
}
_TEXTS = ("text/", "application/json", "application/xml", "application/xhtml", "application/javascript")
_DECLARED = regex(rb"<meta[^>]{0,200}?charset=[\"']?([\w-]{2,40})", re.IGNORECASE)

Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host, in the order to try them. Raises OSError."""


async def looked_up(host: str, port: int) -> Sequence[str]:
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in found))


class HttpPages:
    """Implements WebFetcher. `secrets` returns the user's keys; a URL that contains one of them is refused.

    Host names are resolved at the time of the request.
    """

    def __init__(self, secrets: Known, resolve: Resolve = looked_up) -> None:
        self._secrets = secrets
        self._resolve = resolve
        self._private: dict[str, str] = {}

    def private_address(self, url: str) -> str:
        host = split_address(url).hostname or ""
        address = literal_address(host)
        if address and not is_public(address):
            return address
        return self._private.get(host, "")

    async def fetch(self, url: str, private_address: str) -> WebPage:
        if any(secret and secret in url for secret in self._secrets()):
            raise PageError("The address contains an API key of the user, so nothing was requested.")
        try:
            with anyio.fail_after(DEADLINE_S):
                return await self._follow(url, private_address)
        except TimeoutError:
            raise PageError(f"{url} did not answer within {DEADLINE_S:g} seconds.") from None
        except httpx.HTTPError as error:
            raise PageError(f"{url} cannot be fetched: {str(error) or type(error).__name__}") from None
        except httpx.InvalidURL as error:
            raise PageError(f"{url} is not a valid address: {error}") from None

    async def _follow(self, url: str, private_address: str) -> WebPage:
        """Fetch a page. Fetch `url`; follow redirects within the same host and from http to https, and report
        other redirects in the result.
        """
        first = split_address(url)
        for _ in range(MAX_REDIRECTS + 1):
            page = await self._get(url, private_address)
            if not page.leads_to:
                return page
            target = split_address(page.leads_to)
            is_same = (
                target.username is None
                and target.hostname == first.hostname
                and _port(page.leads_to) in (_port(url), 443)
            )
            if not is_same or target.scheme not in ("https", split_address(url).scheme):
                return page
            url = page.leads_to
        raise PageError(f"{url} redirects too often.")

    async def _get(self, url: str, private_address: str) -> WebPage:
        host, port = split_address(url).hostname or "", _port(url)
        last: httpx.ConnectError | None = None
        for address in await self._resolve_allowed(host, port, private_address):
            # Connect to the address that the policy checked, because the name may resolve to another address now.
            target = httpx.URL(url).copy_with(host=address)
            named = f"[{host}]" if ":" in host else host
            shown = named if port == (443 if target.scheme == "https" else 80) else f"{named}:{port}"
            headers, sni = {**HEADERS, "host": shown}, {"sni_hostname": host}
            # Nothing is stored between requests, so that a server cannot recognise a session by a cookie.
            async with httpx.AsyncClient(
                trust_env=False, timeout=DEADLINE_S, follow_redirects=False
            ) as client:
                try:
                    async with client.stream("GET", target, headers=headers, extensions=sni) as answer:
                        return await _page(url, answer)
                except httpx.ConnectError as error:
                    last = error
        raise last or PageError(f"{host} has no IP address.")

    async def _resolve_allowed(self, host: str, port: int, private_address: str) -> Sequence[str]:
        literal = literal_address(host)
        try:
            addresses = [literal] if literal else await self._resolve(host, port)
        except OSError as error:
            raise PageError(f"the host {host} was not found: {error.strerror or error}") from None
        private = next((address for address in addresses if not is_public(address)), "")
        if private and private != private_address:
            self._private[host] = private
            raise PageError(
                f"{host} resolves to {private}, an address of a private network. Nothing was requested. Call "
                "again if you need this page: the user is then asked to approve this address."
            )
        return [private] if private else addresses


async def _page(url: str, answer: httpx.Response) -> WebPage:
    if answer.is_redirect and (where := answer.headers.get("location")):
        return WebPage(url, answer.status_code, leads_to=join_address(url, where))
    kind, _, parameters = answer.headers.get("content-type", "").partition(";")
    kind = kind.strip().lower()
    is_text = not kind or kind.startswith(_TEXTS) or kind.endswith(("+json", "+xml", "+yaml"))
    if not is_text:
        raise PageError(f"{url} is not text ({kind}). Only text can be fetched.")
    data, is_cut = await _body(url, answer)
    text = await anyio.to_thread.run_sync(_decode, data, parameters)
    return WebPage(url, answer.status_code, kind, text, is_cut)


async def _body(url: str, answer: httpx.Response) -> tuple[bytes, bool]:
    """Return the first MAX_BYTES of a decompressed body, and whether the body is longer.

    Never decompresses more than MAX_BYTES, because a few kilobytes may expand to gigabytes.
    """
    inflate = _inflater(url, answer.headers.get("content-encoding", ""))
    data, received = bytearray(), 0
    async for chunk in answer.aiter_raw():
        received += len(chunk)
        try:
            data += inflate.decompress(chunk, MAX_BYTES + 1 - len(data)) if inflate else chunk
        except zlib.error as error:
            raise PageError(f"{url} sent a body that cannot be decompressed: {error}") from None
        if len(data) > MAX_BYTES or received > MAX_RECEIVED:
            return bytes(data[:MAX_BYTES]), True
    return bytes(data), False


class _Inflater:
    """Decompresses gzip, zlib or raw deflate streams, recognised by their first bytes."""

    def __init__(self, is_gzip: bool) -> None:
        self._window = zlib.MAX_WBITS | 16 if is_gzip else zlib.MAX_WBITS
        self._stream = zlib.decompressobj(self._window)
        self._is_new = True

    def decompress(self, chunk: bytes, limit: int) -> bytes:
        """Return at most `limit` bytes of the decompressed `chunk`; drop the rest.

        Raises: zlib.error
        """
        try:
            found = self._stream.decompress(chunk, limit)
        except zlib.error:
            if not self._is_new or self._window != zlib.MAX_WBITS:
                raise
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)  # some servers send raw deflate as "deflate"
            found = self._stream.decompress(chunk, limit)
        self._is_new = False
        return found


def _inflater(url: str, encoding: str) -> _Inflater | None:
    """Return the decompressor for a content encoding; None for an uncompressed body.

    Raises: PageError: the encoding was not requested, or several encodings are combined.
    """
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip":
            return _Inflater(is_gzip=True)
        case "deflate":
            return _Inflater(is_gzip=False)
        case other:
            raise PageError(f"{url} is compressed in a format that was not requested ({other[:80]}).")


def _decode(data: bytes, parameters: str) -> str:
    """Decode a page with the charset in the response header, else with the charset in the page, else as UTF-8."""
    named = parameters.lower().partition("charset=")[2].split(";")[0].strip(" \"'")
    if not named and (found := _DECLARED.search(data[:2048])):
        named = found[1].decode("ascii", "replace")
    try:
        codec = codecs.lookup(named or "utf-8")
    except LookupError:
        codec = codecs.lookup("utf-8")
    # Some codecs convert bytes to bytes; only text codecs are allowed.
    name = codec.name if getattr(codec, "_is_text_encoding", True) else "utf-8"
    return data.decode(name, "replace").removeprefix("\ufeff")


def _port(url: str) -> int:
    parts = split_address(url)
    return parts.port or (443 if parts.scheme == "https" else 80)
