"""Use a stored login in a session: send its token, and renew the token when it expires. No page is ever opened."""

from __future__ import annotations

import base64
import logging
import math
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from urllib.parse import quote

import httpx2

from agent_ls.mcp.errors import LoginNeededError, RenewalError
from agent_ls.mcp.login_answers import bearer_challenge, document_of, refusal_in, tokens_in
from agent_ls.mcp.login_store import KeptLogin, LoginStore, union
from agent_ls.mcp.visible import visible

log = logging.getLogger(__name__)

SESSION = "mcp-session-id"
EARLY_S = 30
_RENEWAL_S = 20
"""The time limit of each step of a renewal, because other processes wait for it."""


class StoredLogin(httpx2.Auth):
    """Authenticates requests to one server. `headers` are those of the user; they are sent to the server's origin only.

    `failure` says why the last request was not authenticated: LoginNeededError, or RenewalError if the token could not
    be renewed now. Such a request gets an answer with the status of an error, so that the connection goes on.
    """

    def __init__(self, url: str, store: LoginStore, headers: Mapping[str, str]) -> None:
        self._url = httpx2.URL(url)
        self._store = store
        self._headers = headers
        self.failure: LoginNeededError | RenewalError | None = None
        self._current: KeptLogin | None = None
        self._is_stored = True
        self._ended: KeptLogin | None = None

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        # read once, because a keyring takes its time: if another process has renewed the login, the server refuses ours
        login = self._current = self._current or await self._store.read()
        if login is None or not login.is_due or login == self._ended:
            _authorize(request, login)
            response = yield request
            await self._note_scope(response)
            if not await _is_refused(response):
                self.failure = None
                return
        if login is None or not login.can_renew or login == self._ended:
            self.failure = LoginNeededError()
            return
        async with self._store.turn():
            newest = (await self._store.read() if self._is_stored else None) or login
            if newest.access == login.access:  # otherwise another process has renewed it
                answer = yield self._renewal(newest)
                try:
                    newest = renewed(newest, answer.status_code, await answer.aread())
                except (LoginNeededError, RenewalError) as error:
                    self.failure = error
                    self._ended = newest if isinstance(error, LoginNeededError) else None
                    return
                await self._keep(newest)
        self._current = newest
        _authorize(request, newest)
        response = yield request
        await self._note_scope(response)
        self.failure = LoginNeededError() if await _is_refused(response) else None

    async def _keep(self, login: KeptLogin) -> None:
        """Store a renewed login. If that fails, this session goes on with it: the former one has ended."""
        try:
            await self._store.keep(login)
            self._is_stored = True
        except Exception:  # whatever the store of secrets raises
            log.warning("a renewed login cannot be stored", exc_info=True)
            self._is_stored = False

    async def _note_scope(self, response: httpx2.Response) -> None:
        if scope := missing_scope(response):
            await self._store.want(scope)

    def _renewal(self, login: KeptLogin) -> httpx2.Request:
        data = {"grant_type": "refresh_token", "refresh_token": login.refresh, "client_id": login.client_id}
        if login.resource:
            data["resource"] = login.resource
        headers = {"Accept": "application/json"}
        address = httpx2.URL(login.endpoint)
        if is_same_origin(address, self._url):
            headers = {**self._headers, **headers}
        prove(login.client_id, login.client_secret, login.method, data, headers)
        return httpx2.Request(
            "POST",
            address,
            data=data,
            headers=headers,
            extensions={"timeout": httpx2.Timeout(_RENEWAL_S).as_dict()},
        )


def renewed(login: KeptLogin, status: int, body: bytes) -> KeptLogin:
    """Return the login with the tokens of an answer. A refresh token and permissions that it omits stay.

    Raises:
        LoginNeededError: the login has ended.
        RenewalError: the answer says nothing about the login.
    """
    found = document_of(body)
    if status < httpx2.codes.INTERNAL_SERVER_ERROR and refusal_in(found):
        raise LoginNeededError
    tokens = tokens_in(found)
    if status >= httpx2.codes.BAD_REQUEST or "access_token" not in tokens:
        raise RenewalError(status)
    return replace(
        login,
        access=tokens["access_token"],
        refresh=tokens.get("refresh_token", login.refresh),
        scope=tokens.get("scope", login.scope),
        due=due_at(tokens),
    )


def due_at(tokens: Mapping[str, object]) -> float:
    """Return the time from which a new token must be renewed: a little before it expires."""
    seconds = tokens.get("expires_in")
    return time.time() + seconds - min(EARLY_S, seconds / 2) if isinstance(seconds, int) else math.inf


async def _is_refused(response: httpx2.Response) -> bool:
    """Return whether a server refuses the token. Some say so with 400 or 403."""
    if response.status_code == httpx2.codes.UNAUTHORIZED:
        return not await names_lost_session(response)
    if response.status_code not in (httpx2.codes.BAD_REQUEST, httpx2.codes.FORBIDDEN):
        return False
    challenge = bearer_challenge(response.headers.get_list("www-authenticate"))
    said = (challenge.get("error"), document_of(await response.aread()).get("error"))
    return "invalid_token" in said


async def names_lost_session(response: httpx2.Response) -> bool:
    """Return whether a refusal, without asking for a token, says that the server does not know the session any more."""
    if SESSION not in response.request.headers or "www-authenticate" in response.headers:
        return False
    return b"session" in (await response.aread()).lower()


def missing_scope(response: httpx2.Response) -> str:
    """Return the permissions that a server misses in a login, "" for none."""
    if response.status_code != httpx2.codes.FORBIDDEN:
        return ""
    challenge = bearer_challenge(response.headers.get_list("www-authenticate"))
    return visible(union(challenge.get("scope"))) if challenge.get("error") == "insufficient_scope" else ""


def prove(client_id: str, secret: str, method: str, data: dict[str, str], headers: dict[str, str]) -> None:
    """Add what proves to a login server which client asks."""
    if secret and method == "client_secret_basic":
        words = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(words.encode()).decode()}"
    elif secret:
        data["client_secret"] = secret


def is_same_origin(one: httpx2.URL, other: httpx2.URL) -> bool:
    return (one.scheme, one.host, one.port) == (other.scheme, other.host, other.port)


def _authorize(request: httpx2.Request, login: KeptLogin | None) -> None:
    if login and login.access:
        request.headers["Authorization"] = f"Bearer {login.access}"
