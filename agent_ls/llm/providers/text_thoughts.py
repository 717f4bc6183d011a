"""Turn reasoning in tags in the text of an answer into reasoning, on the APIs of Anthropic and OpenAI.

Some of their compatible servers do not separate what their models write. An answer counts as such if its first text
begins with a tag.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent_ls.llm.messages import ContentPart, Message, ReasoningPart, TextPart
from agent_ls.llm.providers.base import StreamDecoder
from agent_ls.llm.providers.think_tags import Piece, ThinkTags
from agent_ls.llm.requests import Response
from agent_ls.llm.sse import Frame
from agent_ls.llm.stream import (
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
)


class TextThoughtsDecoder:
    """A StreamDecoder that finds reasoning in the first text of another one; see StreamDecoder for the contract."""

    def __init__(self, inner: StreamDecoder) -> None:
        self._inner = inner
        self._tags: ThinkTags | None = None  # while the first text arrives
        self._has_text = False
        self._shift = 0  # the number of parts that were added before later ones
        self._parts: list[tuple[str, list[str]]] = []  # kind and pieces of the parts made of the first text

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        return [out for event in self._inner.feed(frame) for out in self._one(event)]

    def close(self) -> Sequence[StreamEvent]:
        return [out for event in self._inner.close() for out in self._one(event)]

    def _one(self, event: StreamEvent) -> Sequence[StreamEvent]:
        match event:
            case StreamStart() | StreamFinish() | ProviderEvent():
                return (event,)
            case TextStart() if not self._has_text:
                self._has_text, self._tags = True, ThinkTags(is_strict=True)
                return ()
            case TextDelta(index, text) if self._tags:
                out = self._pieces(index, self._tags.feed(text))
                if self._tags.is_plain:
                    self._tags = None  # the rest of the text passes unread
                return out
            case TextEnd(index, part) if self._tags:
                out = self._pieces(index, self._tags.close())
                self._tags = None
                return (*out, *self._last(index, part))
            case _ if not self._shift:
                return (event,)
        return (replace(event, index=event.index + self._shift),)

    def _pieces(self, index: int, pieces: Sequence[Piece]) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        for kind, text in pieces:
            if not self._parts or self._parts[-1][0] != kind:
                if self._parts:
                    out.append(self._end(index))
                    self._shift += 1
                at = index + self._shift
                out.append(TextStart(at) if kind == "text" else ReasoningStart(at))
                self._parts.append((kind, []))
            self._parts[-1][1].append(text)
            at = index + self._shift
            out.append(TextDelta(at, text) if kind == "text" else ReasoningDelta(at, text))
        return out

    def _last(self, index: int, part: TextPart) -> list[StreamEvent]:
        """End the text. It is the part of the inner decoder if it has no reasoning."""
        at = index + self._shift
        if not self._parts:
            return [TextStart(at), TextEnd(at, part)]
        kind, pieces = self._parts[0]
        return [TextEnd(at, part)] if (kind, "".join(pieces)) == ("text", part.text) else [self._end(index)]

    def _end(self, index: int) -> StreamEvent:
        (kind, pieces), at = self._parts[-1], index + self._shift
        text = "".join(pieces)
        return TextEnd(at, TextPart(text)) if kind == "text" else ReasoningEnd(at, ReasoningPart(text))


def with_text_thoughts(response: Response) -> Response:
    """Return a complete answer with the reasoning of its first text as reasoning; the answer itself if it has none."""
    parts = response.message.parts
    found = next(((at, part) for at, part in enumerate(parts) if isinstance(part, TextPart)), None)
    if found is None:
        return response
    at, first = found
    tags = ThinkTags(is_strict=True)
    pieces = [*tags.feed(first.text), *tags.close()]
    if not any(kind == "reasoning" for kind, _ in pieces):
        return response
    made: list[ContentPart] = [
        TextPart(text) if kind == "text" else ReasoningPart(text) for kind, text in pieces
    ]
    return replace(response, message=Message(response.message.role, (*parts[:at], *made, *parts[at + 1 :])))
