"""Assemble tool calls from the pieces in a stream. The fields `index` and `id` of a piece are not reliable."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_ls.llm.messages import JsonObject, JsonValue, Origin, ToolCallPart
from agent_ls.llm.providers.call_names import offered_name
from agent_ls.llm.providers.wire_json import (
    PieceJoiner,
    encode_json,
    int_at,
    json_text,
    object_at,
    parse_object,
    python_object,
    repair_object,
    text_at,
    unquoted_object,
    valid_text,
)
from agent_ls.patterns import regex

# Keys of a call that every server sends. Values of other keys (Gemini's signature) are sent back unchanged.
_PLAIN_KEYS = {"id", "type", "index", "function"}


_FIRST_KEY = regex(r'\{\s*"((?:[^"\\]|\\.)*)"\s*:')
_SEVERAL = regex(r"^\{[\s\S]*\}\s*\{")
_STRUCTURE = regex(r'\\.|["{}\[\]]', re.DOTALL)


class JsonEnd:
    """Detects when a JSON object that arrives in pieces may be complete, in linear time."""

    def __init__(self) -> None:
        self._depth = 0
        self._is_text = False
        self._held = ""  # a backslash that ended the last piece, else ""

    @property
    def is_in_text(self) -> bool:
        return self._is_text

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
    """A call that is being received. `at` is the index of the call's part in the answer.

    `has_empty`: the arguments began with `{}`, which some servers send before the real arguments.
    """

    at: int
    id: str
    name: str = ""
    arguments: PieceJoiner = field(default_factory=PieceJoiner)
    extra: dict[str, JsonValue] = field(default_factory=dict)
    end: JsonEnd = field(default_factory=JsonEnd)
    last_piece: str = ""
    is_cumulative: bool = False  # each piece so far has repeated the piece before it
    offered: frozenset[str] = frozenset()
    has_empty: bool = False
    is_shown: bool = False
    has_ended: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are a complete JSON object. False without arguments, because they may still arrive."""
        return parse_object(self.final_arguments) is not None

    @property
    def final_arguments(self) -> str:
        """The arguments as JSON text, "" if none have arrived.

        Some servers repeat the beginning in each piece. Their last piece is the complete text. Others add the complete
        text to pieces that lack their end, or write the object as a JSON text.
        """
        text = self.arguments.text.strip()
        if text.startswith('"') and (inner := unquoted_object(text)):
            return inner
        if parse_object(text) is None and parse_object(self.last_piece) is not None:
            if self.is_cumulative or self._is_restated(text):
                return self.last_piece
        return text or ("{}" if self.has_empty else "")

    def _is_restated(self, text: str) -> bool:
        """Return whether the last piece, a complete object, states the arguments again, and is no value in them."""
        before = text.removesuffix(self.last_piece.strip()).rstrip()
        end = JsonEnd()
        end.feed(before)
        keys = [found[1] for one in (before, self.last_piece.strip()) if (found := _FIRST_KEY.match(one))]
        is_value = end.is_in_text or before.endswith((":", ",", "["))
        return len(keys) == 2 and keys[0] == keys[1] and not is_value

    def repeats(self, raw: JsonObject) -> bool:
        """Return whether `raw` states this complete call once more, as some servers do in their last event."""
        said = _arguments_of(raw)
        return not said.strip() or said == self.arguments.text or said.strip() == "{}"

    def is_followed_by(self, raw: JsonObject) -> bool:
        """Return whether `raw` has the arguments of another call of this tool, and not these ones with more."""
        before, after = parse_object(self.final_arguments) or {}, parse_object(_arguments_of(raw)) or {}
        return bool(after) and not all(str(after.get(key)).startswith(str(it)) for key, it in before.items())

    def part(self, provider: str, model: str) -> ToolCallPart:
        origin = Origin(provider, model, self.extra) if self.extra else None
        arguments = self.final_arguments or "{}"
        if parse_object(arguments) is None and (meant := python_object(arguments)) is not None:
            arguments = json_text(meant)
        return ToolCallPart(self.id, self.name, arguments, origin)


class OpenCalls:
    """The tool calls of one answer, while the answer arrives. `offered` are the names of the tools."""

    def __init__(self, offered: Sequence[str] = ()) -> None:
        self.calls: list[OpenCall] = []
        self._offered = frozenset(offered)
        self._by_index: dict[int | str, OpenCall] = {}
        self._ended = 0  # the number of leading calls that have ended

    @property
    def open(self) -> OpenCall | None:
        """The first call that has not ended. Only this call's arguments are emitted as soon as they arrive."""
        while self._ended < len(self.calls) and self.calls[self._ended].has_ended:
            self._ended += 1
        return self.calls[self._ended] if self._ended < len(self.calls) else None

    def find_call(self, raw: JsonObject, place: int | None = None) -> OpenCall | None:
        """Return the call that a piece belongs to; None if the piece starts a new call.

        `place` is the position of the piece in a delta with several pieces, None if the piece is alone.
        """
        key = _key(raw, place)
        call_id, name = text_at(raw, "id"), _name_of(raw)
        last = self.calls[-1] if self.calls else None
        found = last if key is None else self._by_index.get(key)
        if key is None and call_id and not name:  # a later piece that names its call
            found = next((call for call in self.calls if call.id == call_id), found)
        if not name:
            # Some servers count the index up with each piece. A piece without a name never begins a call.
            return found or (last if not call_id else None)
        if found is None:
            return None
        return None if self._begins_another(found, raw, call_id, name) else found

    def _begins_another(self, found: OpenCall, raw: JsonObject, call_id: str, name: str) -> bool:
        """Return whether a piece with a name starts a call after `found`, whose index or place it has.

        Some servers use index 0 for every call, or send neither index nor id. Others repeat the name in each piece.
        """
        if call_id not in ("", found.id):
            return True
        if found.name and offered_name(name, self._offered) != found.name:
            is_fragment = found.name + name in self._offered and not found.arguments.text
            return not is_fragment
        if (call_id or int_at(raw, "index") is not None) and found.repeats(raw):
            return False
        said = _arguments_of(raw).strip()
        # A call without id and index is new if it has complete arguments of its own.
        return (
            found.is_whole and not (found.has_empty and not found.arguments.text and call_id) and bool(said)
        )

    def begin(self, raw: JsonObject, at: int, made_id: str, place: int | None = None) -> OpenCall:
        """Start a call. `made_id` becomes the call's id if the server sends none of its own."""
        call_id = valid_text(text_at(raw, "id"))
        is_used = any(
            call.id == call_id for call in self.calls
        )  # Mistral sends the text "null" for each call
        call = OpenCall(at, made_id if is_used or not call_id else call_id, offered=self._offered)
        self.calls.append(call)
        key = _key(raw, place)
        if key is not None:
            self._by_index[key] = call
        return call


def _key(raw: JsonObject, place: int | None) -> int | str | None:
    index = int_at(raw, "index")
    if index is None and text_at(raw, "index").isdigit():
        index = int(text_at(raw, "index"))
    if index is not None:
        return index
    return None if place is None else f"place {place}"


def _name_of(raw: JsonObject) -> str:
    name = valid_text(text_at(object_at(raw, "function"), "name"))
    return "" if name.lower() in ("null", "none", "undefined") else name  # a value that became a text


def _arguments_of(raw: JsonObject) -> str:
    """Return the arguments in a piece. The API requires a string, but some servers send an object or no `function`."""
    found = object_at(raw, "function").get("arguments", object_at(raw, "function").get("parameters"))
    if isinstance(found, dict | list):
        return encode_json(found).decode()
    return found if isinstance(found, str) else ""


def split_piece(raw: JsonObject) -> list[JsonObject]:
    """Return a piece for each object in the arguments of one: some servers put the arguments of several calls there."""
    text = _arguments_of(raw).strip()
    if not _SEVERAL.search(text):
        return [raw]
    decoder, at, found = json.JSONDecoder(), 0, []
    try:
        while at < len(text):
            value, end = decoder.raw_decode(text, at)
            found.append(text[at:end] if isinstance(value, dict) else "")
            at = end + len(text[end:]) - len(text[end:].lstrip())
    except (ValueError, RecursionError):
        return [raw]
    if len(found) < 2 or not all(found):
        return [raw]
    return [{**raw, "function": {**object_at(raw, "function"), "arguments": one}} for one in found]


def add_piece(call: OpenCall, raw: JsonObject) -> tuple[str, bool]:
    """Add a piece to `call`. Return the arguments text to emit now, and whether the arguments are complete."""
    name = offered_name(_name_of(raw), call.offered)
    if call.name and name and name != call.name and not call.arguments.text:
        call.name += name  # a name in several pieces; `find_call` has checked that the whole is a tool's name
    call.name = call.name or name
    extra = {key: value for key, value in raw.items() if key not in _PLAIN_KEYS and value is not None}
    call.extra.update(repair_object(extra))
    arguments = _arguments_of(raw)
    if not call.arguments.text and arguments.strip() == "{}":
        call.has_empty = True
        return "", False
    ready = call.arguments.add(arguments)
    if arguments:
        call.is_cumulative = (call.is_cumulative or not call.last_piece) and arguments.startswith(
            call.last_piece
        )
        call.last_piece = arguments
    return ready, call.end.feed(ready) and parse_object(call.arguments.text) is not None
