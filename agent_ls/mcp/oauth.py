"""Log in to an MCP server over HTTP in the user's browser, by OAuth with PKCE, which the SDK implements.

The SDK reads answers strictly, so they are brought into the form of the standard before it gets them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, parse_qsl

import anyio
import httpx2
from anyio.abc import ByteStream, SocketAttribute
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from agent_ls.addresses import split_address
from agent_ls.mcp import login_answers
from agent_ls.mcp.config import OAuthClient
from agent_ls.mcp.errors import LoginRefusedError
from agent_ls.mcp.login_store import KeptLogin, LoginStore, union
from agent_ls.mcp.stored_login import due_at, is_same_origin, missing_scope, prove

LOGIN_S = 300
_PAGE = (
    "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n"
    "Content-Length: {length}\r\n\r\n{page}"
)
DONE = "<!doctype html><title>agent-ls</title><p>You are logged in. You can close this page."
FAILED = "<!doctype html><title>agent-ls</title><p>The login failed. You can close this page."
_RESOURCE = "/.well-known/oauth-protected-resource"
NOT_REGISTERED = (
    "its login server accepts only programs that are registered there: register agent-ls, and write the id into "
    "`oauthClientId` of the server's configuration"
)


class _Metadata(OAuthClientMetadata):
    """The registration of agent-ls. Whatever permissions the SDK chooses, those of the user replace them."""

    fixed: str = ""
    wanted: str = ""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "scope":
            value = self.fixed or union(value, self.wanted) or None
        super().__setattr__(name, value)


class _Memory:
    """The SDK's token storage for one login: nothing is stored before the login has succeeded."""

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self.client = client

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """The tokens are stored with all that is needed to renew them."""

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Login(httpx2.Auth):
    """A login in the user's browser. `show` displays the address that the user opens.

    `headers` are those of the user; they are sent to the server's origin only. Requests raise LoginRefusedError.
    """

    def __init__(
        self,
        url: str,
        configured: OAuthClient,
        store: LoginStore,
        show: Callable[[str], Awaitable[None]],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._url = url
        self._configured = configured
        self._store = store
        self._show = show
        self._headers = headers or {}
        self._answered = anyio.Event()
        self._answer: Mapping[str, str] = {}
        self._state = ""
        self._path = split_address(configured.redirect).path or "/callback"
        self._can_register = True
        self._servers: list[str] = []
        self._tried = 0
        self._turn = anyio.Lock()
        self._methods: list[str] = []
        self._redirect = ""
        self._provider: OAuthClientProvider

    async def listen(self) -> Any:
        """Open the port to which the browser will be redirected, and return its listener.

        Raises:
            LoginRefusedError: the port is in use.
        """
        redirect = split_address(self._configured.redirect or "http://127.0.0.1:0")
        host = redirect.hostname or "127.0.0.1"
        try:
            listener = await anyio.create_tcp_listener(local_host=host, local_port=redirect.port or 0)
        except OSError as error:
            raise LoginRefusedError(
                f"port {redirect.port}, to which the login redirects, is in use by another program: end it first"
            ) from error
        port = int(listener.extra(SocketAttribute.local_port))
        address = f"[{host}]" if ":" in host else host
        self._redirect = f"http://{address}:{port}{self._path}"
        self._provider = await self._make_provider(self._redirect)
        return listener

    async def try_next_server(self) -> bool:
        """Begin again with the next of the login servers that the server names, unless the user has seen a page of this
        one. Returns False if there is none.
        """
        if self._state or self._tried + 1 >= len(self._servers):
            return False
        self._tried += 1
        self._provider = await self._make_provider(self._redirect)
        return True

    async def serve(self, listener: Any) -> None:
        """Answer the browser's request to the redirect address, until cancelled."""
        async with listener:
            await listener.serve(self._take)

    async def _make_provider(self, redirect: str) -> OAuthClientProvider:
        known = await self._store.read()
        if known and known.wanted:  # asked for once: a login server may know none of them
            await self._store.keep(replace(known, wanted=""))
        metadata = _Metadata.model_validate(
            {
                "client_name": "agent-ls",
                "redirect_uris": [redirect],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
                "fixed": self._configured.scopes,
                "wanted": union(known.scope, known.wanted) if known and known.wanted else "",
            }
        )
        client_id, client = self._configured.client_id, None
        document = client_id if client_id.startswith("https://") else None
        if client_id and not document:
            secret = self._configured.client_secret
            client = OAuthClientInformationFull.model_validate(
                {
                    "client_id": client_id,
                    "client_secret": secret or None,
                    "redirect_uris": [redirect],
                    "token_endpoint_auth_method": "client_secret_basic" if secret else "none",
                }
            )
        return OAuthClientProvider(
            self._url, metadata, _Memory(client), self._open, self._wait, client_metadata_url=document
        )

    # --- the browser

    async def _open(self, address: str) -> None:
        self._state = parse_qs(split_address(address).query).get("state", [""])[0]
        await self._show(address)

    async def _wait(self) -> AuthorizationCodeResult:
        with anyio.move_on_after(LOGIN_S):
            await self._answered.wait()
        given = self._answer
        if not given:
            raise LoginRefusedError("nobody has logged in: log in again when you have time for it")
        if not given.get("code"):
            raise LoginRefusedError(
                f"the login was refused: {login_answers.refusal_in(given) or 'no reason'}"
            )
        issuer = given.get("iss")
        context = self._provider.context
        expected = str(context.oauth_metadata.issuer) if context.oauth_metadata else ""
        if issuer and issuer.rstrip("/") == expected.rstrip("/"):
            issuer = expected
        return AuthorizationCodeResult(code=given["code"], state=given.get("state"), iss=issuer)

    async def _take(self, stream: ByteStream) -> None:
        async with stream:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                head = (await stream.receive(16 * 1024)).split(b"\r\n", 1)[0].decode("latin-1").split(" ")
                target = split_address(head[1] if len(head) > 1 else "")
                given = {name: values[0] for name, values in parse_qs(target.query).items()}
                if target.path != self._path or not self._is_of_this_login(given):
                    await stream.send(_page("404 Not Found", FAILED))
                    return
                await stream.send(_page("200 OK", DONE if given.get("code") else FAILED))
                self._answer = given
                self._answered.set()

    def _is_of_this_login(self, given: Mapping[str, str]) -> bool:
        """Return whether a redirect belongs to this login, and not to a page of an earlier one. Servers may leave the
        state out of a refusal.
        """
        state = given.get("state", "" if given.get("code") else self._state)
        return bool(self._state) and state == self._state and bool(given.get("code") or given.get("error"))

    # --- the requests of the login

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        context = self._provider.context
        tokens = context.current_tokens
        _authorize(request, tokens)
        response = yield request
        if response.status_code != httpx2.codes.UNAUTHORIZED and not missing_scope(response):
            return
        async with self._turn:
            if context.current_tokens is not tokens:  # another request has logged in during the wait
                _authorize(request, context.current_tokens)
                yield request
                return
            flow = self._provider.async_auth_flow(request)
            try:
                await flow.__anext__()  # the request itself, which has been answered
                parameters = login_answers.bearer_challenge(response.headers.get_list("www-authenticate"))
                response.headers["www-authenticate"] = login_answers.as_challenge(parameters)
                outgoing = await flow.asend(response)
                while True:
                    if outgoing is not request:
                        self._prepare(outgoing)
                    response = yield outgoing
                    if outgoing is not request and not response.has_redirect_location:
                        await response.aread()
                        if (again := self._asked_otherwise(outgoing, response)) is not None:
                            outgoing, response = again, (yield again)
                            await response.aread()
                        response = await self._mended(outgoing, response)
                    outgoing = await flow.asend(response)
            except StopAsyncIteration:
                return
            finally:
                await flow.aclose()

    def _prepare(self, request: httpx2.Request) -> None:
        request.headers["Accept"] = "application/json"
        if is_same_origin(request.url, httpx2.URL(self._url)):
            for name, value in self._headers.items():
                request.headers.setdefault(name, value)

    def _asked_otherwise(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Request | None:
        """Return a request that is made once more in another way, None if there is none."""
        if not response.is_error:
            return None
        if request.method == "GET" and request.url.path == _RESOURCE:  # the last place where the SDK looks
            path = split_address(self._url).path.rstrip("/")
            again = httpx2.Request("GET", request.url.copy_with(path=path + _RESOURCE)) if path else None
        elif _is_registration(request):
            again = _without_scopes(request, response)
        else:
            return self._proven_otherwise(request, response)
        if again:
            self._prepare(again)
        return again

    def _proven_otherwise(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Request | None:
        """Return a refused token request with the client's secret in its body: many servers know only that."""
        client = self._provider.context.client_info
        if client is None or not request.headers.get("authorization", "").startswith("Basic "):
            return None
        if login_answers.refusal_in(login_answers.document_of(response.content)).startswith("invalid_grant"):
            return None
        client.token_endpoint_auth_method = "client_secret_post"
        data = dict(parse_qsl(request.content.decode()))
        prove(client.client_id, client.client_secret or "", "client_secret_post", data, {})
        again = httpx2.Request("POST", request.url, data=data)
        self._prepare(again)
        return again

    async def _mended(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """Return an answer in the form that the SDK reads.

        Raises:
            LoginRefusedError: the login server has refused the request.
        """
        found = login_answers.document_of(response.content)
        context = self._provider.context
        if request.method == "GET":
            is_found = response.status_code == httpx2.codes.OK
            if is_found and "token_endpoint" in found:
                kept = login_answers.metadata_in(found, context.auth_server_url or "")
                self._note_metadata(kept)
                return _answer(response, kept)
            if not is_found and not (self._configured.server and _RESOURCE in request.url.path):
                return response
            kept = login_answers.resource_in(found if is_found else {"resource": self._url})
            self._choose_server(kept)
            return _answer(response, kept, httpx2.codes.OK)
        if response.is_error or login_answers.refusal_in(found):
            raise LoginRefusedError(self._why_refused(request, response, found))
        if _is_registration(request):
            return _answer(response, login_answers.client_in(found, self._methods))
        tokens = login_answers.tokens_in(found)
        if "access_token" not in tokens:
            raise LoginRefusedError("the login server has sent no token")
        await self._keep(request, tokens)
        return _answer(response, tokens)

    def _choose_server(self, kept: dict[str, Any]) -> None:
        """Let the login use the configured login server, or the next one that was not tried."""
        if self._configured.server:
            kept["authorization_servers"] = [self._configured.server]
        self._servers = kept.get("authorization_servers") or []
        if self._servers:
            kept["authorization_servers"] = self._servers[self._tried :]

    def _note_metadata(self, kept: Mapping[str, Any]) -> None:
        self._can_register = "registration_endpoint" in kept
        self._methods = kept.get("token_endpoint_auth_methods_supported", [])
        usable = [it for it in self._methods if it in ("client_secret_post", "client_secret_basic")]
        if usable and "none" not in self._methods:
            self._provider.context.client_metadata.token_endpoint_auth_method = usable[0]  # type: ignore[assignment]

    def _why_refused(
        self, request: httpx2.Request, response: httpx2.Response, found: Mapping[str, Any]
    ) -> str:
        is_registration = _is_registration(request)
        if is_registration and not self._can_register:
            return NOT_REGISTERED
        what = "the registration of agent-ls" if is_registration else "the login"
        reason = login_answers.refusal_in(found) or f"HTTP status {response.status_code}"
        return f"the login server has refused {what}: {reason}"

    async def _keep(self, request: httpx2.Request, tokens: Mapping[str, Any]) -> None:
        client = self._provider.context.client_info
        sent = dict(parse_qsl(request.content.decode()))
        login = KeptLogin(
            access=tokens["access_token"],
            refresh=tokens.get("refresh_token", ""),
            due=due_at(tokens),
            scope=tokens.get("scope") or self._provider.context.client_metadata.scope or "",
            endpoint=str(request.url),
            resource=sent.get("resource", ""),
            client_id=client.client_id if client else "",
            client_secret=(client.client_secret or "") if client else "",
            method=(client.token_endpoint_auth_method or "") if client else "",
        )
        try:
            async with self._store.turn():
                await self._store.keep(login)
        except Exception as error:  # whatever the store of secrets raises
            raise LoginRefusedError(f"the login cannot be stored: {error}") from error


def _is_registration(request: httpx2.Request) -> bool:
    return request.headers.get("content-type", "").startswith("application/json")


def _without_scopes(request: httpx2.Request, response: httpx2.Response) -> httpx2.Request | None:
    """Return a registration that was refused for its scopes without them: the login asks for them itself."""
    given = login_answers.document_of(request.content)
    if "scope" not in given or "scope" not in response.text.lower():
        return None
    del given["scope"]
    return httpx2.Request("POST", request.url, json=given)


def _authorize(request: httpx2.Request, tokens: OAuthToken | None) -> None:
    if tokens:
        request.headers["Authorization"] = f"Bearer {tokens.access_token}"


def _answer(response: httpx2.Response, found: Mapping[str, Any], status: int = 0) -> httpx2.Response:
    content = json.dumps(found).encode()
    return httpx2.Response(status or response.status_code, content=content, request=response.request)


def _page(status: str, page: str) -> bytes:
    return _PAGE.format(status=status, length=len(page), page=page).encode()
