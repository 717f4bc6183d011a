"""Combine the events of a stream into the same Response that complete() returns, for any provider."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeAlias

from agent_ls.llm.errors import StreamError
from agent_ls.llm.messages import (
    ContentPart,
    Message,
    OpaquePart,
    ReasoningPart,
    Role,
    SearchPart,
    TextPart,
    ToolCallPart,
)
from agent_ls.llm.requests import Response
from agent_ls.llm.stream import (
    OpaqueItem,
    ProviderEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    StreamFinish,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)

_Open: TypeAlias = tuple[type[TextPart] | type[ReasoningPart], list[str]]


async def collect(events: AsyncGenerator[StreamEvent], provider: str = "", model: str = "") -> Response:
    """Return the answer that a stream has, and close the stream.

    Raises:
        LlmError: the errors of the stream. StreamError: it ended without StreamFinish.
    """
    answer = Accumulator(provider, model)
    async with aclosing(events):
        async for event in events:
            answer.feed(event)
    return answer.response()


class Accumulator:
    """Builds a Response from stream events; call `feed` with each event in order.

    `provider` and `model` are defaults for streams that do not contain these names.
    """

    def __init__(self, provider: str = "", model: str = "") -> None:
        self._provider = provider
        self._model = model
        self._response_id = ""
        self._open: dict[int, _Open] = {}
        self._parts: dict[int, ContentPart] = {}
        self._cut: dict[int, tuple[ToolCallStart, list[str]]] = {}  # calls that have not ended
        self._finish: StreamFinish | None = None

    def feed(self, event: StreamEvent) -> None:
        match event:
            # This case is first for speed, because nearly all events are deltas.
            case TextDelta(index, text) | ReasoningDelta(index, text):
                if index in self._open:
                    self._open[index][1].append(text)
            case StreamStart(response_id, model):
                self._response_id = response_id
                self._model = model or self._model
            case TextStart(index):
                self._open[index] = (TextPart, [])
            case ReasoningStart(index):
                self._open[index] = (ReasoningPart, [])
            case (
                TextEnd(index, part)
                | ReasoningEnd(index, part)
                | ToolCallEnd(index, part)
                | OpaqueItem(index, part)
            ):
                self._end(index, part)
            case ToolCallStart(index):
                self._cut[index] = (event, [])
            case ToolCallDelta(index, text):
                if index in self._cut:
                    self._cut[index][1].append(text)
            case StreamFinish():
                self._finish = event
            case ProviderEvent():
                pass  # has no content of the answer

    @property
    def message(self) -> Message:
        """The answer so far: ended parts, and the text and reasoning of open parts.

        Tool calls that have not ended are left out. This message is recorded if the stream breaks.
        """
        partial = {index: kind("".join(pieces)) for index, (kind, pieces) in self._open.items() if pieces}
        found: dict[int, ContentPart] = {**self._parts, **partial}
        return Message(Role.ASSISTANT, tuple(found[index] for index in sorted(found)))

    def response(self) -> Response:
        """Return the complete answer.

        Raises:
            StreamError: `feed` has not received StreamFinish, the last event of a stream.
        """
        if self._finish is None:
            raise StreamError("the stream has not finished", provider=self._provider, model=self._model)
        return Response(
            id=self._response_id,
            provider=self._provider,
            model=self._model,
            message=self.message,
            finish_reason=self._finish.finish_reason,
            usage=self._finish.usage,
            warnings=self._finish.warnings,
            rate_limit=self._finish.rate_limit,
            raw=self._finish.raw,
            cut_calls=self._cut_calls,
        )

    def _end(
        self, index: int, part: TextPart | ReasoningPart | ToolCallPart | OpaquePart | SearchPart
    ) -> None:
        self._open.pop(index, None)
        self._cut.pop(index, None)
        self._parts[index] = part

    @property
    def _cut_calls(self) -> tuple[ToolCallPart, ...]:
        begun = ((start, "".join(pieces)) for start, pieces in self._cut.values() if start.name)
        return tuple(ToolCallPart(start.id, start.name, text) for start, text in begun)
