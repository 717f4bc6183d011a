"""ADAPTER WebPages: GET over HTTP, to the very address that was judged; no cookies, no keys, no proxy."""

from __future__ import annotations

import codecs
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias
from urllib.parse import urljoin, urlsplit

import anyio
import httpx

from agent_ls._version import __version__
from agent_ls.app.web.addresses import is_public, literal_address
from agent_ls.environments.errors import PageError
from agent_ls.loop.redaction import Known
from agent_ls.tools.web_fetch import Page

MAX_BYTES = 5 * 1024 * 1024
DEADLINE_S = 30.0
MAX_REDIRECTS = 5
HEADERS = {
    "user-agent": f"agent-ls/{__version__}",
    "accept": "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
    "accept-language": "en, *;q=0.5",
}
_TEXTS = ("text/", "application/json", "application/xml", "application/xhtml", "application/javascript")
_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset=[\"']?([\w-]{2,40})", re.IGNORECASE)

Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, in the order to try them. Raises OSError."""


async def looked_up(host: str, port: int) -> Sequence[str]:
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in found))


class HttpPages:
    """`secrets` are texts that no address may hold. What a name leads to is looked up when it is asked, not before."""

    def __init__(self, secrets: Known, resolve: Resolve = looked_up) -> None:
        self._secrets = secrets
        self._resolve = resolve
        self._private: dict[str, str] = {}

    def private_address(self, url: str) -> str:
        host = urlsplit(url).hostname or ""
        address = literal_address(host)
        if address and not is_public(address):
            return address
        return self._private.get(host, "")

    async def fetch(self, url: str, private_address: str) -> Page:
        if any(secret and secret in url for secret in self._secrets()):
            raise PageError("This address holds a key of the user's; it is not sent anywhere.")
        try:
            with anyio.fail_after(DEADLINE_S):
                return await self._follow(url, private_address)
        except TimeoutError:
            raise PageError(f"{url} did not answer within {DEADLINE_S:g} seconds.") from None
        except httpx.HTTPError as error:
            raise PageError(f"{url} cannot be fetched: {str(error) or type(error).__name__}") from None
        except httpx.InvalidURL as error:
            raise PageError(f"{url} is no address: {error}") from None

    async def _follow(self, url: str, private_address: str) -> Page:
        """A server may send on within its own host, and from http to https; where else it leads is only told."""
        first = urlsplit(url)
        for _ in range(MAX_REDIRECTS + 1):
            page = await self._get(url, private_address)
            if not page.leads_to:
                return page
            target = urlsplit(page.leads_to)
            is_same = (
                target.username is None
                and target.hostname == first.hostname
                and _port(page.leads_to) in (_port(url), 443)
            )
            if not is_same or target.scheme not in ("https", urlsplit(url).scheme):
                return page
            url = page.leads_to
        raise PageError(f"{url} sends on again and again.")

    async def _get(self, url: str, private_address: str) -> Page:
        host, port = urlsplit(url).hostname or "", _port(url)
        last: httpx.ConnectError | None = None
        for address in await self._allowed(host, port, private_address):
            # The address that was judged is the one that is asked: a name may lead elsewhere a moment later.
            target = httpx.URL(url).copy_with(host=address)
            named = f"[{host}]" if ":" in host else host
            shown = named if port == (443 if target.scheme == "https" else 80) else f"{named}:{port}"
            headers, sni = {**HEADERS, "host": shown}, {"sni_hostname": host}
            # Nothing is kept between requests, so that no server can tell one from another by a cookie.
            async with httpx.AsyncClient(
                trust_env=False, timeout=DEADLINE_S, follow_redirects=False
            ) as client:
                try:
                    async with client.stream("GET", target, headers=headers, extensions=sni) as answer:
                        return await _page(url, answer)
                except httpx.ConnectError as error:
                    last = error
        raise last or PageError(f"{host} has no address.")

    async def _allowed(self, host: str, port: int, private_address: str) -> Sequence[str]:
        literal = literal_address(host)
        try:
            addresses = [literal] if literal else await self._resolve(host, port)
        except OSError as error:
            raise PageError(f"{host} is not known: {error.strerror or error}") from None
        private = next((address for address in addresses if not is_public(address)), "")
        if private and private != private_address:
            self._private[host] = private
            raise PageError(
                f"{host} leads to {private}, in a private network. Nothing was asked of it. "
                "Call again if it is needed: then the user is asked about exactly that."
            )
        return [private] if private else addresses


async def _page(url: str, answer: httpx.Response) -> Page:
    if answer.is_redirect and (where := answer.headers.get("location")):
        return Page(url, answer.status_code, leads_to=urljoin(url, where))
    kind, _, parameters = answer.headers.get("content-type", "").partition(";")
    kind = kind.strip().lower()
    is_text = not kind or kind.startswith(_TEXTS) or kind.endswith(("+json", "+xml", "+yaml"))
    if not is_text:
        raise PageError(f"{url} is no text ({kind}). Only text can be fetched.")
    data, is_cut = bytearray(), False
    async for chunk in answer.aiter_bytes():
        data += chunk
        if len(data) > MAX_BYTES:
            is_cut = True
            break
    return Page(url, answer.status_code, kind, _decoded(bytes(data[:MAX_BYTES]), parameters), is_cut)


def _decoded(data: bytes, parameters: str) -> str:
    """By what the server says, else what the page says, else as UTF-8."""
    named = parameters.lower().partition("charset=")[2].split(";")[0].strip(" \"'")
    if not named and (found := _DECLARED.search(data[:2048])):
        named = found[1].decode("ascii", "replace")
    try:
        codec = codecs.lookup(named or "utf-8")
    except LookupError:
        codec = codecs.lookup("utf-8")
    # Some codecs make bytes of bytes; only those of text are meant.
    name = codec.name if getattr(codec, "_is_text_encoding", True) else "utf-8"
    return data.decode(name, "replace").removeprefix("\ufeff")


def _port(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)
