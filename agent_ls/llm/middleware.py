"""Middleware around model calls, for complete and streamed answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeAlias

from agent_ls.llm.requests import Request, Response
from agent_ls.llm.stream import StreamEvent

Complete: TypeAlias = Callable[[Request], Awaitable[Response]]
Stream: TypeAlias = Callable[[Request], AsyncGenerator[StreamEvent]]


class Middleware:
    """Base class of middleware, which changes nothing. Override one method or both.

    The first middleware registered sees the request first and the answer last. Its exceptions reach the
    caller, so raise LlmError.
    """

    async def complete(self, request: Request, proceed: Complete) -> Response:
        return await proceed(request)

    def stream(self, request: Request, proceed: Stream) -> AsyncGenerator[StreamEvent]:
        """Stream an answer. An override is usually an async generator over `proceed(request)`; it must close
        that generator if it is stopped early.
        """
        return proceed(request)
