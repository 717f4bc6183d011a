"""Repeat HTTP requests that a server has refused because there were too many, after the time that it asks for."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator

import anyio
import httpx2

from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.error_delays import retry_after_s

MAX_WAIT_S = 30
"""A server that asks for more is not asked again: the model and the user read how long it asks to wait."""
WAITS_S = (1, 2, 4)
"""The waits for a server that names none."""
_BUSY = (httpx2.codes.TOO_MANY_REQUESTS, httpx2.codes.SERVICE_UNAVAILABLE)


class Patient(httpx2.Auth):
    """Authenticates requests by `auth`, and repeats those that the server was too busy for. It has done nothing."""

    def __init__(self, auth: httpx2.Auth | None) -> None:
        self._auth = auth

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        url = request.url
        named = httpx2.BasicAuth(url.username, url.password) if url.username or url.password else None
        flow = (self._auth or named or httpx2.Auth()).async_auth_flow(request)
        waits = [*map(float, WAITS_S)]
        try:
            outgoing = await flow.__anext__()
            while True:
                response = yield outgoing
                if (seconds := next_wait(response, waits)) is not None:
                    await response.aread()
                    await anyio.sleep(seconds)
                    continue
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()


def next_wait(response: httpx2.Response, waits: list[float]) -> float | None:
    """Return the seconds after which a request is repeated, None for no repetition. Takes a wait from `waits`."""
    asked = asked_wait(response)
    is_busy = response.status_code == httpx2.codes.TOO_MANY_REQUESTS or asked is not None
    if response.status_code not in _BUSY or not is_busy or not waits or (asked or 0) > MAX_WAIT_S:
        return None
    usual = waits.pop(0)
    return usual if asked is None else asked


def asked_wait(response: httpx2.Response) -> float | None:
    """Return the seconds that a refusal asks to wait, None if it names no time."""
    if response.status_code not in _BUSY:
        return None
    return retry_after_s(ReplyHead(response.status_code, response.headers, time.time()))
