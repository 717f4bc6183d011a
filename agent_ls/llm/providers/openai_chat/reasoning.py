"""Read reasoning from Chat Completions. Servers use different fields; some fields have to be sent back."""

from __future__ import annotations

from agent_ls.llm.messages import JsonObject, JsonValue
from agent_ls.llm.providers.wire_json import int_at, object_at, objects_at, repair_object, text_at

# In these fields, pieces are joined. In all other fields, a later value replaces the earlier value.
_JOINED = ("text", "summary", "data")


def reasoning_piece(delta: JsonObject) -> str:
    """Return the reasoning text in a delta. If two fields have text, it is the same text."""
    for key in ("reasoning_content", "reasoning", "reasoning_text", "thinking", "cot_summary"):
        if piece := text_at(delta, key) or text_at(object_at(delta, key), "text"):  # an object: Envoy
            return piece
    details = objects_at(delta, "reasoning_details")
    said = "".join(text_at(item, "text") or text_at(item, "summary") for item in details)
    return said or "".join(text_at(block, "thinking") for block in _blocks_in(delta))


def _blocks_in(delta: JsonObject) -> list[JsonObject]:
    # Asked of each delta, nearly none of which has one.
    if "thinking_blocks" in delta and (found := list(objects_at(delta, "thinking_blocks"))):
        return found
    if "content_blocks" in delta:  # Portkey
        return [object_at(block, "delta") or block for block in objects_at(delta, "content_blocks")]
    if "provider_specific_fields" in delta:
        return list(objects_at(object_at(delta, "provider_specific_fields"), "thinking_blocks"))
    return []


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


class ThinkingBlocks:
    """Joins the streamed pieces of LiteLLM's `thinking_blocks`. A signature ends a block."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, JsonValue]] = []
        self._texts: list[list[str]] = []

    def add(self, delta: JsonObject) -> None:
        for piece in _blocks_in(delta):
            last = self._blocks[-1] if self._blocks else None
            kind = text_at(piece, "type") or "thinking"
            if last is None or _is_signed(last) or last["type"] != kind:
                self._blocks.append({"type": kind})
                self._texts.append([])
            text = text_at(piece, "thinking")
            # Some versions state the whole text again with the signature.
            if not (_is_signed(piece) and text == "".join(self._texts[-1])):
                self._texts[-1].append(text)
            kept = {key: value for key, value in piece.items() if key not in ("type", "thinking") and value}
            self._blocks[-1].update(repair_object(kept))

    @property
    def signed_blocks(self) -> list[JsonValue]:
        """The blocks that can be sent back, in the form of a complete answer."""
        whole = [
            {**block, "thinking": "".join(texts)} if block["type"] == "thinking" else block
            for block, texts in zip(self._blocks, self._texts, strict=True)
            if _is_signed(block)
        ]
        return [repair_object(block) for block in whole]


def _is_signed(block: JsonObject) -> bool:
    return bool(text_at(block, "signature") or text_at(block, "data"))
