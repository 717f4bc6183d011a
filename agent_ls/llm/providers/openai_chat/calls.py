"""Assemble tool calls from the pieces in a stream. The fields `index` and `id` of a piece are not reliable."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from agent_ls.llm.messages import JsonObject, JsonValue, Origin, ToolCallPart
from agent_ls.llm.providers.wire_json import (
    PieceJoiner,
    encode_json,
    int_at,
    object_at,
    parse_object,
    repair_object,
    text_at,
    valid_text,
)

# Keys of a call that every server sends. Values of other keys (Gemini's signature) are sent back unchanged.
_PLAIN_KEYS = {"id", "type", "index", "function"}


_STRUCTURE = re.compile(r'\\.|["{}\[\]]', re.DOTALL)


class JsonEnd:
    """Detects when a JSON object that arrives in pieces may be complete, in linear time."""

    def __init__(self) -> None:
        self._depth = 0
        self._is_text = False
        self._held = ""  # a backslash that ended the last piece, else ""

    def feed(self, piece: str) -> bool:
        """Add a piece of JSON text. Return whether a bracket in the piece closes the outermost bracket."""
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
    """A call that is being received. `at` is the index of the call's part in the answer."""

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
        """Whether the arguments are a complete JSON object. False without arguments, because they may still arrive."""
        return parse_object(self.arguments.text) is not None

    def part(self, provider: str, model: str) -> ToolCallPart:
        origin = Origin(provider, model, self.extra) if self.extra else None
        return ToolCallPart(self.id, self.name, self.arguments.text.strip() or "{}", origin)


class OpenCalls:
    """The tool calls of one answer, while the answer arrives."""

    def __init__(self) -> None:
        self.calls: list[OpenCall] = []
        self._by_index: dict[int, OpenCall] = {}
        self._ended = 0  # the number of leading calls that have ended

    @property
    def open(self) -> OpenCall | None:
        """The first call that has not ended. Only this call's arguments are emitted as soon as they arrive."""
        while self._ended < len(self.calls) and self.calls[self._ended].has_ended:
            self._ended += 1
        return self.calls[self._ended] if self._ended < len(self.calls) else None

    def find_call(self, raw: JsonObject) -> OpenCall | None:
        """Return the call that a piece belongs to; None if the piece starts a new call."""
        index, call_id = int_at(raw, "index"), text_at(raw, "id")
        last = self.calls[-1] if self.calls else None
        found = last if index is None else self._by_index.get(index)
        if found is None:
            return None
        # Some servers use index 0 for every call. In that case, a new id together with a name starts a call.
        is_new = call_id not in ("", found.id) and bool(text_at(object_at(raw, "function"), "name"))
        return None if is_new else found

    def begin(self, raw: JsonObject, at: int, made_id: str) -> OpenCall:
        """Start a call. `made_id` becomes the call's id if the server sends no id."""
        call = OpenCall(at, valid_text(text_at(raw, "id")) or made_id)
        self.calls.append(call)
        index = int_at(raw, "index")
        if index is not None:
            self._by_index[index] = call
        return call


def add_piece(call: OpenCall, raw: JsonObject) -> tuple[str, bool]:
    """Add a piece to `call`. Return the arguments text to emit now, and whether the arguments are complete."""
    function = object_at(raw, "function")
    call.name = call.name or valid_text(text_at(function, "name"))
    extra = {key: value for key, value in raw.items() if key not in _PLAIN_KEYS and value is not None}
    call.extra.update(repair_object(extra))
    arguments = function.get("arguments")
    if isinstance(arguments, dict):  # the API requires a string, but some servers send an object
        arguments = encode_json(arguments).decode()
    ready = call.arguments.add(arguments) if isinstance(arguments, str) else ""
    return ready, call.end.feed(ready) and call.is_whole
