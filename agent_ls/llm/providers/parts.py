"""Writes the text and reasoning of an answer as stream events, one part at a time; for wires that only send pieces."""

from __future__ import annotations

from typing import Literal, TypeAlias

from agent_ls.llm.messages import (
    Citation,
    ContentPart,
    OpaquePart,
    Origin,
    ReasoningPart,
    SearchPart,
    TextPart,
)
from agent_ls.llm.providers.wire_json import PieceJoiner
from agent_ls.llm.stream import (
    OpaqueItem,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallEnd,
)

_Kind: TypeAlias = Literal["text", "reasoning"]


class PartWriter:
    """`out` grows by the events; who feeds it takes them from there."""

    def __init__(self) -> None:
        self.out: list[StreamEvent] = []
        self._next_index = 0
        self._open: _Kind | None = None
        self._pieces = PieceJoiner()

    @property
    def open_kind(self) -> _Kind | None:
        """What is being written just now."""
        return self._open

    def index(self) -> int:
        """The place of the next part; it is taken by asking."""
        self._next_index += 1
        return self._next_index - 1

    def begin(self, kind: _Kind) -> None:
        """Opens a part of that kind, unless the open one is."""
        if self._open == kind:
            return
        self.end()
        self._open, self._pieces = kind, PieceJoiner()
        at = self.index()
        self.out.append(TextStart(at) if kind == "text" else ReasoningStart(at))

    def write(self, kind: _Kind, piece: str) -> None:
        """Adds to the open part of that kind, or to a new one; nothing opens nothing."""
        if not piece:
            return
        self.begin(kind)
        if ready := self._pieces.add(piece):
            at = self._next_index - 1
            self.out.append(TextDelta(at, ready) if kind == "text" else ReasoningDelta(at, ready))

    @property
    def open_text(self) -> str:
        """What the open part holds so far, "" when none is open."""
        return self._pieces.text if self._open else ""

    def end(self, origin: Origin | None = None, citations: tuple[Citation, ...] = ()) -> None:
        """Ends the open part, if there is one. `origin` is what is sent back in its place; `citations` are a text's."""
        kind, text, at = self._open, self._pieces.text, self._next_index - 1
        self._open = None
        if kind == "text":
            self.out.append(TextEnd(at, TextPart(text, origin, citations)))
        elif kind == "reasoning":
            self.out.append(ReasoningEnd(at, ReasoningPart(text, origin)))

    def item(self, part: OpaquePart | SearchPart) -> None:
        """A part that comes whole."""
        self.end()
        self.out.append(OpaqueItem(self.index(), part))

    def take(self) -> list[StreamEvent]:
        """The events since the last time."""
        out, self.out = self.out, []
        return out


def ended_parts(events: list[StreamEvent]) -> tuple[ContentPart, ...]:
    """The parts of a whole answer, in order, from all its events."""
    ends = [e for e in events if isinstance(e, TextEnd | ReasoningEnd | ToolCallEnd | OpaqueItem)]
    return tuple(event.part for event in sorted(ends, key=lambda event: event.index))
