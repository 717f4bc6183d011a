"""The ProviderAdapter of the walkthrough. It is selected only by its name, never as a fallback."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

from agent_ls.llm.accumulate import Accumulator
from agent_ls.llm.providers.walkthrough import NAME
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.stream import ReasoningDelta, StreamEvent, TextDelta


class WalkthroughAdapter:
    """The adapter of the walkthrough. It awaits `pause()` before each piece of text, for a readable speed."""

    def __init__(self, pause: Callable[[], Awaitable[None]]) -> None:
        self._pause = pause

    @property
    def name(self) -> str:
        return NAME

    async def complete(self, request: Request) -> Response:
        folded = Accumulator(NAME, request.model)
        for event in _answer(request):
            folded.feed(event)
        return folded.response()

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        for event in _answer(request):
            if isinstance(event, TextDelta | ReasoningDelta):
                await self._pause()
            yield event

    async def close(self) -> None:
        """Do nothing, because no connection is open."""


def _answer(request: Request) -> Iterator[StreamEvent]:
    from agent_ls.llm.providers.walkthrough.streaming import stream_answer

    return stream_answer(request)
