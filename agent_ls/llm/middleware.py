"""What may stand around every model call: seen on the way in and out, for whole answers and streams alike."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeAlias

from agent_ls.llm.requests import Request, Response
from agent_ls.llm.stream import StreamEvent

Complete: TypeAlias = Callable[[Request], Awaitable[Response]]
Stream: TypeAlias = Callable[[Request], AsyncGenerator[StreamEvent]]


class Middleware:
    """Override one method or both; as it stands it changes nothing.

    The first one registered sees the request first and the answer last. What it raises reaches the caller, so raise
    LlmError.
    """

    async def complete(self, request: Request, proceed: Complete) -> Response:
        return await proceed(request)

    def stream(self, request: Request, proceed: Stream) -> AsyncGenerator[StreamEvent]:
        """An override is usually an async generator over `proceed(request)`; close that one when it is left early."""
        return proceed(request)
