"""The items of a streamed answer, and the order in which their events are emitted: one part at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from agent_ls.llm.messages import JsonObject
from agent_ls.llm.providers.openai_responses.response import message_text
from agent_ls.llm.providers.wire_json import PieceJoiner, object_at, text_at
from agent_ls.llm.stream import StreamEvent

ItemKind: TypeAlias = Literal["text", "reasoning", "call", "opaque"]

KINDS: dict[str, ItemKind] = {
    "message": "text",
    "reasoning": "reasoning",
    "function_call": "call",
    "custom_tool_call": "call",
}
_PIECES: dict[str, ItemKind] = {
    "response.output_text": "text",
    "response.refusal": "text",
    "response.function_call_arguments": "call",
    "response.custom_tool_call_input": "call",
    "response.reasoning_summary_text": "reasoning",
    "response.reasoning_text": "reasoning",
}


@dataclass(slots=True)
class StreamedItem:
    """An item of the answer. `shown` is the text in the emitted events.

    For a custom call, `shown` is JSON that contains the item's free text, `text`. `has_rest`: some of the text was only
    in the event of its end.
    """

    kind: ItemKind
    name: str = ""
    call_id: str = ""
    text: PieceJoiner = field(default_factory=PieceJoiner)
    shown: PieceJoiner = field(default_factory=PieceJoiner)
    whole: str = ""
    """The arguments as an event states them that follows their pieces; later pieces are none."""
    section: tuple[str, int | None] | None = None
    has_opening: bool = False
    has_ended: bool = False
    has_rest: bool = False


class StreamedItems(dict[int, StreamedItem]):
    """The items by their index. Events of an item wait until the item before it has ended.

    `out` are the events that can be emitted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.out: list[StreamEvent] = []
        self.speaking: int | None = None
        self._waiting: dict[int, list[StreamEvent]] = {}

    def take(self) -> list[StreamEvent]:
        """Return the events since the last call."""
        out, self.out = self.out, []
        return out

    def say(self, index: int, event: StreamEvent) -> None:
        if self.speaking is None:
            self.speaking = index
        if self.speaking == index:
            self.out.append(event)
        else:
            self._waiting.setdefault(index, []).append(event)

    def end(self, index: int, event: StreamEvent | None = None) -> None:
        """End an item, with its last event. None: the item is dropped."""
        if event is not None:
            self.say(index, event)
        self[index].has_ended = True
        if self.speaking != index:
            return
        self.speaking = None
        while self._waiting and self.speaking is None:
            first = min(self._waiting)
            self.out += self._waiting.pop(first)
            self.speaking = None if self[first].has_ended else first


def raw_kind(raw: JsonObject) -> ItemKind:
    return KINDS.get(text_at(raw, "type"), "opaque")


def kind_of(event: JsonObject) -> ItemKind | None:
    """Return the kind of the item that an event belongs to; None if any item may have such an event."""
    if raw := object_at(event, "item"):
        return raw_kind(raw)
    return _PIECES.get(text_at(event, "type").rpartition(".")[0])


def call_id_of(raw: JsonObject) -> str:
    return text_at(raw, "call_id") or text_at(raw, "id")


def completed(raw: JsonObject, item: StreamedItem) -> JsonObject:
    """Return a finished item with what only its earlier events said: some proxies leave fields out at the end."""
    if (
        item.kind == "text"
        and item.shown.text
        and not message_text(raw)
        and text_at(raw, "type") == "message"
    ):
        return {**raw, "content": [{"type": "output_text", "text": item.shown.text, "annotations": []}]}
    if text_at(raw, "type") != "function_call":
        return raw
    said = {"name": item.name, "call_id": item.call_id, "arguments": item.whole or item.shown.text}
    return {**raw, **{key: value for key, value in said.items() if value and not text_at(raw, key)}}
