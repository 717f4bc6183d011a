"""The interface between the client and a provider."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from typing import Protocol

from agent_ls.llm.accumulate import collect
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.stream import StreamEvent


class ProviderAdapter(Protocol):
    """One provider, ready for requests.

    For external failures, `complete` and `stream` raise only LlmError; they never retry. Cancelling the awaiting
    task, or closing the generator, closes the connection at once.
    """

    @property
    def name(self) -> str:
        """The provider's name as in Request.provider."""
        ...

    async def complete(self, request: Request) -> Response:
        """Return the whole answer. A subclass has this method; another class may raise NotImplementedError."""
        return await collect(self.stream(request), self.name, request.model)

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Yield the events of one answer, ending with StreamFinish.

        Raises:
            LlmError: before the first event (the request was refused) or later (the stream broke).
        """
        ...

    async def close(self) -> None: ...


class BlockingAdapter(Protocol):
    """A ProviderAdapter of a program whose `stream` is a plain generator. It may block: sessions run it in threads."""

    @property
    def name(self) -> str:
        """The provider's name as in Request.provider."""
        ...

    async def complete(self, request: Request) -> Response: ...

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        """Yield the events of one answer, ending with StreamFinish."""
        ...

    async def close(self) -> None: ...
