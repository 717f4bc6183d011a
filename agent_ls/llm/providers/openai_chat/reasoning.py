"""Read reasoning from Chat Completions. Servers use three different fields; some fields have to be sent back."""

from __future__ import annotations

from agent_ls.llm.messages import JsonObject, JsonValue
from agent_ls.llm.providers.wire_json import int_at, objects_at, repair_object, text_at

# In these fields, pieces are joined. In all other fields, a later value replaces the earlier value.
_JOINED = ("text", "summary", "data")


def reasoning_piece(delta: JsonObject) -> str:
    """Return the reasoning text in a delta. If two fields have text, it is the same text."""
    for key in ("reasoning_content", "reasoning", "reasoning_text", "thinking"):
        if piece := text_at(delta, key):
            return piece
    details = objects_at(delta, "reasoning_details")
    return "".join(text_at(item, "text") or text_at(item, "summary") for item in details)


class ReasoningDetails:
    """Joins the streamed pieces of OpenRouter's `reasoning_details`. Type, index and id identify an item."""

    def __init__(self) -> None:
        self._items: list[dict[str, JsonValue]] = []
        self._pieces: list[dict[str, list[str]]] = []
        self._places: dict[tuple[str, int | None, str], int] = {}

    def add(self, delta: JsonObject) -> None:
        for item in objects_at(delta, "reasoning_details"):
            key = (text_at(item, "type"), int_at(item, "index"), text_at(item, "id"))
            at = self._places.setdefault(key, len(self._items))
            if at == len(self._items):
                self._items.append({})
                self._pieces.append({})
            self._join(at, item)

    def _join(self, at: int, item: JsonObject) -> None:
        for key, value in item.items():
            if key in _JOINED and isinstance(value, str):
                self._pieces[at].setdefault(key, []).append(value)
            elif value not in (None, "") or key not in self._items[at]:
                self._items[at][key] = value

    @property
    def joined_items(self) -> list[JsonValue]:
        """The joined items, in the form of a complete answer; empty if there were no items."""
        joined = [
            {**item, **{key: "".join(texts) for key, texts in pieces.items()}}
            for item, pieces in zip(self._items, self._pieces, strict=True)
        ]
        return [repair_object(item) for item in joined]
