"""Puts the calls of a stream together from their pieces; `index` and `id` are hints only (FORMATS section 4)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from agent_ls.llm.messages import JsonObject, JsonValue, Origin, ToolCallPart
from agent_ls.llm.providers.wire_json import (
    PieceJoiner,
    encode_json,
    int_at,
    mended_object,
    object_at,
    parse_object,
    text_at,
    valid_text,
)

# What a call of every server has; more than that (Gemini's signature) goes back as it came.
_PLAIN_KEYS = {"id", "type", "index", "function"}


_STRUCTURE = re.compile(r'\\.|["{}\[\]]', re.DOTALL)


class JsonEnd:
    """Tells when a JSON object that comes in pieces may be whole, in time linear in their length."""

    def __init__(self) -> None:
        self._depth = 0
        self._is_text = False
        self._held = ""  # a backslash at the end of a piece

    def feed(self, piece: str) -> bool:
        """True when a brace closes the outermost one."""
        piece, self._held = self._held + piece, ""
        if piece.endswith("\\") and (len(piece) - len(piece.rstrip("\\"))) % 2:
            piece, self._held = piece[:-1], "\\"
        has_closed = False
        for found in _STRUCTURE.finditer(piece):
            mark = found[0]
            if mark == '"':
                self._is_text = not self._is_text
            elif not self._is_text and mark in "{[":
                self._depth += 1
            elif not self._is_text and mark in "}]":
                self._depth -= 1
                has_closed = has_closed or not self._depth
        return has_closed


@dataclass(slots=True)
class OpenCall:
    """`at` is its place in the answer."""

    at: int
    id: str
    name: str = ""
    arguments: PieceJoiner = field(default_factory=PieceJoiner)
    extra: dict[str, JsonValue] = field(default_factory=dict)
    end: JsonEnd = field(default_factory=JsonEnd)
    is_shown: bool = False
    has_ended: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are a JSON object. None at all are one, too, but may only be late."""
        return parse_object(self.arguments.text) is not None

    def part(self, provider: str, model: str) -> ToolCallPart:
        origin = Origin(provider, model, self.extra) if self.extra else None
        return ToolCallPart(self.id, self.name, self.arguments.text.strip() or "{}", origin)


class OpenCalls:
    """All calls of one answer."""

    def __init__(self) -> None:
        self.calls: list[OpenCall] = []
        self._by_index: dict[int, OpenCall] = {}
        self._ended = 0  # of the first ones

    @property
    def open(self) -> OpenCall | None:
        """The first one that has not ended: what it says is shown while it streams."""
        while self._ended < len(self.calls) and self.calls[self._ended].has_ended:
            self._ended += 1
        return self.calls[self._ended] if self._ended < len(self.calls) else None

    def known(self, raw: JsonObject) -> OpenCall | None:
        """The call that a piece belongs to; None: it begins a new one."""
        index, call_id = int_at(raw, "index"), text_at(raw, "id")
        last = self.calls[-1] if self.calls else None
        found = last if index is None else self._by_index.get(index)
        if found is None:
            return None
        # Some servers count every call as the first one: then a new id together with a name tells.
        is_new = call_id not in ("", found.id) and bool(text_at(object_at(raw, "function"), "name"))
        return None if is_new else found

    def begin(self, raw: JsonObject, at: int, made_id: str) -> OpenCall:
        """A new call. `made_id` is its id where the server gives none."""
        call = OpenCall(at, valid_text(text_at(raw, "id")) or made_id)
        self.calls.append(call)
        index = int_at(raw, "index")
        if index is not None:
            self._by_index[index] = call
        return call


def add_piece(call: OpenCall, raw: JsonObject) -> tuple[str, bool]:
    """Adds a piece to `call`: the arguments that can be shown now, and whether they are whole with it."""
    function = object_at(raw, "function")
    call.name = call.name or valid_text(text_at(function, "name"))
    extra = {key: value for key, value in raw.items() if key not in _PLAIN_KEYS and value is not None}
    call.extra.update(mended_object(extra))
    arguments = function.get("arguments")
    if isinstance(arguments, dict):  # against the rule, but what is meant is clear
        arguments = encode_json(arguments).decode()
    ready = call.arguments.add(arguments) if isinstance(arguments, str) else ""
    return ready, call.end.feed(ready) and call.is_whole
