"""Log in to an MCP server over HTTP by OAuth with PKCE, which the SDK implements. Tokens are stored for each
server separately.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.to_thread
import httpx2
from anyio.abc import ByteStream, SocketAttribute
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from agent_ls.mcp.errors import LoginNeededError

NO_REDIRECT = "http://127.0.0.1/callback"
LOGIN_S = 300
EARLY_S = 30
"""A token is renewed this many seconds before it expires."""
_PAGE = (
    "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n"
    "Content-Length: {length}\r\n\r\n{page}"
)
DONE = "<!doctype html><title>agent-ls</title><p>You are logged in. You can close this page."
FAILED = "<!doctype html><title>agent-ls</title><p>The login failed. You can close this page."


class Secrets(Protocol):
    """Interface that stores tokens by name. Its methods block."""

    def secret(self, name: str) -> str: ...

    def put(self, name: str, secret: str) -> object: ...

    def remove(self, name: str) -> bool: ...


class OAuthTokenStore:
    """Implements the SDK's token storage for one URL, so that tokens never reach another server."""

    def __init__(self, url: str, secrets: Secrets, hide: Callable[[list[str]], object]) -> None:
        self._url = url
        self._name = name_of(url)
        self._secrets = secrets
        self._hide = hide

    async def get_tokens(self) -> OAuthToken | None:
        kept = await self._read()
        raw = kept.get("tokens")
        tokens = OAuthToken.model_validate(raw) if raw else None
        if tokens:
            self._hide(list(filter(None, (tokens.access_token, tokens.refresh_token))))
        if tokens and tokens.refresh_token and kept.get("expires", math.inf) < time.time() + EARLY_S:
            return tokens.model_copy(
                update={"access_token": ""}
            )  # an empty access token makes the SDK renew the token before a request
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._hide(list(filter(None, (tokens.access_token, tokens.refresh_token))))
        expires = {"expires": time.time() + tokens.expires_in} if tokens.expires_in else {}
        await self._write(tokens=tokens.model_dump(mode="json", exclude_none=True), **expires)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        raw = (await self._read()).get("client")
        return OAuthClientInformationFull.model_validate(raw) if raw else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        if client_info.client_secret:
            self._hide([client_info.client_secret])
        await self._write(client=client_info.model_dump(mode="json", exclude_none=True))

    async def forget(self) -> None:
        await anyio.to_thread.run_sync(self._secrets.remove, self._name)

    async def _read(self) -> Mapping[str, Any]:
        """Return the stored values; {} if there are none, or if they are damaged or belong to another URL."""
        text = await anyio.to_thread.run_sync(self._secrets.secret, self._name)
        with suppress(ValueError):
            found = json.loads(text) if text else {}
            if isinstance(found, dict) and found.get("url") == self._url:
                return found
        return {}

    async def _write(self, **changes: Any) -> None:
        text = json.dumps({**await self._read(), "url": self._url, **changes})
        await anyio.to_thread.run_sync(self._secrets.put, self._name, text)


def name_of(url: str) -> str:
    """Return the name under which the tokens of a URL are stored."""
    return f"mcp {url}"


def quiet_login(url: str, client_id: str, tokens: OAuthTokenStore) -> OAuthClientProvider:
    """Return an OAuth object that uses and renews stored tokens. It never opens a login page: if the user
    must log in, requests fail.

    Raises (later, when a request is made):
        LoginNeededError
    """

    async def refuse(address: str) -> None:
        raise LoginNeededError

    async def never() -> AuthorizationCodeResult:
        raise LoginNeededError

    return _provider(url, client_id, tokens, NO_REDIRECT, refuse, never)


async def refuse_login(response: httpx2.Response) -> None:
    """Raise LoginNeededError if a response asks for a login. A response hook for HTTP clients that never open
    a login page.

    Raises:
        LoginNeededError: the server requires a login, or a new login.
    """
    if response.status_code == 401:
        raise LoginNeededError


def _provider(
    url: str,
    client_id: str,
    tokens: OAuthTokenStore,
    redirect: str,
    show: Callable[[str], Awaitable[None]],
    answer: Callable[[], Awaitable[AuthorizationCodeResult]],
) -> OAuthClientProvider:
    metadata = OAuthClientMetadata.model_validate(
        {
            "client_name": "agent-ls",
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }
    )
    document = client_id if client_id.startswith("https://") else None
    return OAuthClientProvider(url, metadata, tokens, show, answer, client_metadata_url=document)


class Login:
    """A login in the user's browser. `show` displays the URL that the user opens. `client_id` is a client
    registered beforehand, or the https address of a client's metadata document; "" registers a new client.
    """

    def __init__(
        self,
        url: str,
        client_id: str,
        tokens: OAuthTokenStore,
        show: Callable[[str], Awaitable[None]],
        *,
        client_secret: str = "",
    ) -> None:
        self._client_secret = client_secret
        self._url = url
        self._client_id = client_id
        self._tokens = tokens
        self._show = show
        self._answered = anyio.Event()
        self._result = AuthorizationCodeResult(code="", state=None)

    async def provider(self, port: int) -> OAuthClientProvider:
        """Return an OAuth object that redirects the browser to this port of the loopback interface."""
        redirect = f"http://127.0.0.1:{port}/callback"
        if self._client_id and not self._client_id.startswith("https://"):
            method = "client_secret_basic" if self._client_secret else "none"
            known = OAuthClientInformationFull.model_validate(
                {
                    "client_id": self._client_id,
                    "client_secret": self._client_secret or None,
                    "redirect_uris": [redirect],
                    "token_endpoint_auth_method": method,
                }
            )
            await self._tokens.set_client_info(known)
        return _provider(self._url, self._client_id, self._tokens, redirect, self._show, self._wait)

    async def _wait(self) -> AuthorizationCodeResult:
        with anyio.fail_after(LOGIN_S):
            await self._answered.wait()
        return self._result

    async def serve(self, listener: Any) -> None:
        """Answer the browser's request to the redirect URL, until cancelled."""
        await listener.serve(self._take)

    async def _take(self, stream: ByteStream) -> None:
        async with stream:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                head = (await stream.receive(16 * 1024)).split(b"\r\n", 1)[0].decode("latin-1").split(" ")
                target = urlsplit(head[1] if len(head) > 1 else "")
                if target.path != "/callback":
                    await stream.send(_page("404 Not Found", FAILED))
                    return
                given = {name: values[0] for name, values in parse_qs(target.query).items()}
                await stream.send(_page("200 OK", DONE if given.get("code") else FAILED))
                self._result = AuthorizationCodeResult(
                    code=given.get("code", ""), state=given.get("state"), iss=given.get("iss")
                )
                self._answered.set()


def _page(status: str, page: str) -> bytes:
    return _PAGE.format(status=status, length=len(page), page=page).encode()


async def open_listener() -> tuple[Any, int]:
    """Return a listener on a free port of the loopback interface, and the port."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    return listener, int(listener.extra(SocketAttribute.local_port))
