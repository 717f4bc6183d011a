"""Middleware around model calls, for complete and streamed answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeAlias

from agent_ls.llm.requests import Request, Response
from agent_ls.llm.stream import StreamEvent

Complete: TypeAlias = Callable[[Request], Awaitable[Response]]
Stream: TypeAlias = Callable[[Request], AsyncGenerator[StreamEvent]]


class Middleware:
    """Base class of middleware. Its methods only call `proceed`; override one or both.

    The middleware that was registered first gets the request first and the answer last. Exceptions of a middleware
    reach the caller of the client, so raise LlmError.
    """

    async def complete(self, request: Request, proceed: Complete) -> Response:
        return await proceed(request)

    def stream(self, request: Request, proceed: Stream) -> AsyncGenerator[StreamEvent]:
        """Stream an answer. An override is usually an async generator that iterates over `proceed(request)`.

        If the override is closed early, it must close the generator of `proceed` too.
        """
        return proceed(request)
