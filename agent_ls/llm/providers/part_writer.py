"""Write text and reasoning as stream events, one part at a time, for APIs that do not mark start and end of a
part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from agent_ls.llm.accumulate import Accumulator
from agent_ls.llm.messages import (
    Citation,
    JsonObject,
    OpaquePart,
    Origin,
    ReasoningPart,
    SearchPart,
    TextPart,
)
from agent_ls.llm.providers.wire_json import PieceJoiner
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.stream import (
    OpaqueItem,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
)

_Kind: TypeAlias = Literal["text", "reasoning"]


class PartWriter:
    """Creates the events of text and reasoning parts. `take` returns the collected events."""

    def __init__(self) -> None:
        self.out: list[StreamEvent] = []
        self._next_index = 0
        self._open: _Kind | None = None
        self._pieces = PieceJoiner()

    @property
    def open_kind(self) -> _Kind | None:
        """The kind of the open part, None if no part is open."""
        return self._open

    @property
    def count(self) -> int:
        """The number of parts that have begun."""
        return self._next_index

    def index(self) -> int:
        """Reserve the index of the next part, and return it."""
        self._next_index += 1
        return self._next_index - 1

    def begin(self, kind: _Kind) -> None:
        """Open a part of this kind, unless such a part is already open. An open part of another kind ends
        first.
        """
        if self._open == kind:
            return
        self.end()
        self._open, self._pieces = kind, PieceJoiner()
        at = self.index()
        self.out.append(TextStart(at) if kind == "text" else ReasoningStart(at))

    def write(self, kind: _Kind, piece: str) -> None:
        """Append to the open part of this kind, or to a new one. An empty piece opens no part."""
        if not piece:
            return
        self.begin(kind)
        if ready := self._pieces.add(piece):
            at = self._next_index - 1
            self.out.append(TextDelta(at, ready) if kind == "text" else ReasoningDelta(at, ready))

    @property
    def open_text(self) -> str:
        """The text of the open part so far, "" if none is open."""
        return self._pieces.text if self._open else ""

    def end(self, origin: Origin | None = None, citations: tuple[Citation, ...] = ()) -> None:
        """End the open part, if any.

        `origin` is the provider's original item, which later requests must send back. `citations` are used for
        a text part only.
        """
        kind, text, at = self._open, self._pieces.text, self._next_index - 1
        self._open = None
        if kind == "text":
            self.out.append(TextEnd(at, TextPart(text, origin, citations)))
        elif kind == "reasoning":
            self.out.append(ReasoningEnd(at, ReasoningPart(text, origin)))

    def item(self, part: OpaquePart | SearchPart) -> None:
        """Add a part that arrives complete."""
        self.end()
        self.out.append(OpaqueItem(self.index(), part))

    def take(self) -> list[StreamEvent]:
        """Return the collected events and remove them."""
        out, self.out = self.out, []
        return out


def to_response(provider: str, request: Request, events: Sequence[StreamEvent], raw: JsonObject) -> Response:
    """Return a complete answer from all events of its decoder."""
    answer = Accumulator(provider, request.model)
    for event in events:
        answer.feed(event)
    return replace(answer.response(), raw=raw)
