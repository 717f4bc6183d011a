"""Turn calls that stand in the text of an answer into calls, for APIs whose compatible servers leave them there.

MiniMax, Kimi, GLM and others are served by the APIs of Anthropic and OpenAI. Some of these servers do not parse what
their models write.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from agent_ls.llm.messages import ContentPart, Message, TextPart, ToolCallPart
from agent_ls.llm.providers.base import StreamDecoder
from agent_ls.llm.providers.call_dialects import PrintedCall, is_mark
from agent_ls.llm.providers.printed_calls import PrintedCalls
from agent_ls.llm.requests import FinishReason, Request, Response
from agent_ls.llm.sse import Frame
from agent_ls.llm.stream import (
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


def offered_names(request: Request) -> tuple[str, ...]:
    """Return the names of the tools that the model may call."""
    return tuple(tool.name for tool in request.tools) if request.tool_choice != "none" else ()


class TextCallsDecoder:
    """A StreamDecoder that finds calls in the text of another one; see StreamDecoder for the contract.

    `lenient`: the model was asked to write calls as text (text_tools.py).
    """

    def __init__(self, inner: StreamDecoder, offered: Collection[str], *, lenient: bool = False) -> None:
        self._lenient = lenient
        self._inner = inner
        self._offered = offered
        self._printed: PrintedCalls | None = None
        self._held: TextEnd | None = None  # the end of a text part whose last lines may be calls
        self._next = 0
        self._id = ""
        self._has_calls = False

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        return self._filtered(self._inner.feed(frame))

    def close(self) -> Sequence[StreamEvent]:
        return self._filtered(self._inner.close())

    def _filtered(self, events: Sequence[StreamEvent]) -> Sequence[StreamEvent]:
        if not self._offered:
            return events
        return [out for event in events for out in self._one(event)]

    def _one(self, event: StreamEvent) -> Sequence[StreamEvent]:
        self._has_calls = self._has_calls or isinstance(event, ToolCallStart)
        before = self._flush() if not isinstance(event, StreamFinish) else ()
        self._next = max(self._next, getattr(event, "index", -1) + 1)
        match event:
            case StreamStart(response_id):
                self._id = response_id
            case TextStart():
                self._printed = PrintedCalls(self._offered, bare=False, lenient=self._lenient)
            case TextDelta(index, text) if self._printed:
                shown = self._printed.feed(text)
                return (*before, TextDelta(index, shown)) if shown else before
            case TextEnd() if self._printed:
                self._held = event
                return before
            case StreamFinish():
                return self._finish(event)
        return (*before, event)

    def _flush(self) -> Sequence[StreamEvent]:
        """End the held part with its whole text, but without a tag beside a call that the server has read."""
        held, self._held = self._held, None
        if held is None or self._printed is None:
            return ()
        rest = self._printed.held
        if self._has_calls and rest and is_mark(rest):
            return (TextEnd(held.index, replace(held.part, text=held.part.text.removesuffix(rest))),)
        return (TextDelta(held.index, rest), held) if rest else (held,)

    def _finish(self, event: StreamFinish) -> Sequence[StreamEvent]:
        held = self._held
        if held is None or self._printed is None or self._has_calls:
            return (*self._flush(), event)
        whole = self._printed.held
        rest, calls, _ = self._printed.close()
        if not calls:
            return (*self._flush(), event)
        self._held = None
        said = held.part.text.removesuffix(whole) + rest
        out: list[StreamEvent] = [TextEnd(held.index, replace(held.part, text=said))]
        for part in _parts(calls, self._id):
            out += [
                ToolCallStart(self._next, part.id, part.name),
                ToolCallDelta(self._next, part.arguments),
                ToolCallEnd(self._next, part),
            ]
            self._next += 1
        return (*out, replace(event, finish_reason=FinishReason("tool_calls", event.finish_reason.raw)))


def with_text_calls(response: Response, offered: Collection[str]) -> Response:
    """Return a complete answer with the calls that end its last text; the answer itself if there are none."""
    parts = response.message.parts
    last = parts[-1] if parts else None
    if offered and response.tool_calls:
        return replace(response, message=replace(response.message, parts=tuple(map(_without_mark, parts))))
    if not offered or not isinstance(last, TextPart):
        return response
    printed = PrintedCalls(offered, bare=False)
    said = printed.feed(last.text)
    rest, calls, _ = printed.close()
    if not calls:
        return response
    kept: list[ContentPart] = [*parts[:-1], replace(last, text=said + rest), *_parts(calls, response.id)]
    reason = FinishReason("tool_calls", response.finish_reason.raw)
    return replace(response, message=Message(response.message.role, tuple(kept)), finish_reason=reason)


def _without_mark(part: ContentPart) -> ContentPart:
    """Return a part of an answer with calls, without a tag around calls as its last line."""
    if not isinstance(part, TextPart):
        return part
    head, end, last = part.text.rstrip().rpartition("\n")
    return replace(part, text=head + end) if last and is_mark(last) else part


def _parts(calls: Sequence[PrintedCall], response_id: str) -> list[ToolCallPart]:
    return [
        ToolCallPart(f"call_{response_id}_{number}", call.name, call.arguments)
        for number, call in enumerate(calls)
    ]
