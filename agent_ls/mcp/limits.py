"""Limit HTTP connections to an MCP server: the size of responses, and the hosts contacted in a login."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2

JudgeAddress = Callable[[str], Awaitable[str]]
"""Returns why requests to a host are not allowed (the host is in a private network), "" if they are allowed.
"""


class HttpLimits:
    """Hooks that limit the requests and responses of an HTTP client for one server.

    Requests to the host of `url`, the address of the server, are always allowed.
    """

    def __init__(self, url: str, limit: int, judge: JudgeAddress) -> None:
        self._own = httpx2.URL(url)
        self._limit = limit
        self._judge = judge

    def hooks(self) -> dict[str, list[Callable[..., Awaitable[None]]]]:
        return {"request": [self.check], "response": [self.limit]}

    async def check(self, request: httpx2.Request) -> None:
        """Check the address of a request before it is sent.

        Raises:
            httpx2.RequestError: the request goes to a host other than the server's, and it is unencrypted or
            the host is in a private network. Such requests are allowed if the server itself is in a private
            network.
        """
        url = request.url
        if url.host == self._own.host:
            return
        if url.scheme != "https" and not await self._is_near():
            raise httpx2.RequestError(f"the request to {url.host} would not be encrypted", request=request)
        if (why := await self._judge(url.host)) and not await self._is_near():
            raise httpx2.RequestError(f"no request is sent to {url.host}: {why}", request=request)

    async def _is_near(self) -> bool:
        """Return whether the server itself is in a private network."""
        return bool(await self._judge(self._own.host))

    async def limit(self, response: httpx2.Response) -> None:
        """Limit the size of a response. The total size of an event stream is unlimited, but the size of each
        event is limited.
        """
        kind = response.headers.get("content-type", "")
        if not kind.startswith("text/event-stream") and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Limited(response.stream, self._limit)


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, limit: int) -> None:
        self._stream = stream
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for data in self._stream:
            size += len(data)
            if size > self._limit:
                raise httpx2.ReadError(f"the answer is larger than {self._limit // 1024 // 1024} MiB")
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()
