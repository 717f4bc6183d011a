"""JSON of a wire, read without trust and written without fault: wrong types read as absent, surrogates mended."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from pydantic_core import from_json

from agent_ls.llm.messages import JsonObject, JsonValue

_EMPTY: JsonObject = {}


# Lone surrogates can only come from escapes, and nearly no event holds one: looking for them first is cheap.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse_object(text: str | bytes) -> JsonObject | None:
    """The JSON object in `text`, its surrogates mended; None when `text` holds anything else."""
    return _parsed(text, unmended="")


def parse_event(text: str, unmended: str = "delta") -> JsonObject | None:
    """As parse_object, but one member is as it came: a surrogate pair may be cut between two of them (PieceJoiner)."""
    return _parsed(text, unmended=unmended)


def _parsed(text: str | bytes, unmended: str) -> JsonObject | None:
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig", "replace")
    try:
        value = from_json(text)  # several times as fast as the next one, and refuses lone surrogates
    except ValueError:
        return _mended(text, unmended)
    return value if isinstance(value, dict) else None


def _mended(text: str, unmended: str) -> JsonObject | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # RecursionError: "[[[[..." from a hostile server
        return None
    if not isinstance(value, dict):
        return None
    if not _SURROGATE.search(text):
        return value
    return {valid_text(key): item if key == unmended else mended(item) for key, item in value.items()}


def mended_object(value: JsonObject) -> JsonObject:
    return {valid_text(key): mended(item) for key, item in value.items()}


def mended(value: JsonValue) -> JsonValue:
    """`value` with valid_text applied to every string in it."""
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, Mapping):
        return mended_object(value)
    return [mended(item) for item in value] if isinstance(value, list) else value


def arguments_object(arguments: str) -> JsonObject:
    """A tool call's arguments as the object that a history must hold; `{}` for what is no object (the model has
    been told so in the call's result)."""
    return parse_object(arguments) or _EMPTY


def json_text(value: JsonValue) -> str:
    """JSON as models write it: blanks after separators, no escapes."""
    return valid_text(json.dumps(value, ensure_ascii=False))


def encode_json(value: JsonValue) -> bytes:
    """UTF-8. Lone surrogates become U+FFFD: every provider refuses them, and file contents may hold them."""
    return valid_text(json.dumps(value, ensure_ascii=False, separators=(",", ":"))).encode()


def encode_body(body: JsonObject, name: str, items: Sequence[bytes]) -> bytes:
    """As encode_json, with one more member: a list `name` of items that are encoded already. The body may have that
    member itself, and then keeps it."""
    encoded = encode_json(body)
    if name in body:
        return encoded
    comma = b"," if body else b""
    return b'%b%b"%b":[%b]}' % (encoded.removesuffix(b"}"), comma, name.encode(), b",".join(items))


def valid_text(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def object_at(value: JsonObject, *path: str) -> JsonObject:
    """The object at `path`, empty when there is none."""
    found: JsonValue = value
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else _EMPTY


def text_at(value: JsonObject, key: str) -> str:
    """The string at `key`, "" when there is none."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def int_at(value: JsonObject, key: str) -> int | None:
    """The number at `key`, None when there is none."""
    found = value.get(key)
    if isinstance(found, float):
        return int(found) if isfinite(found) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def objects_at(value: JsonObject, key: str) -> Iterator[JsonObject]:
    """The objects of the list at `key`; other items are skipped."""
    found = value.get(key)
    if isinstance(found, list):
        yield from (item for item in found if isinstance(item, dict))


class PieceJoiner:
    """Joins pieces of text; a surrogate pair cut between two pieces is held back until it is whole."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._held = ""

    def add(self, piece: str) -> str:
        """What can be shown now."""
        if not self._held and piece.isascii():  # nearly always: no surrogates, nothing to mend
            if piece:
                self._pieces.append(piece)
            return piece
        piece = self._held + piece
        self._held = piece[-1] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        ready = valid_text(piece[: len(piece) - len(self._held)])
        if ready:
            self._pieces.append(ready)
        return ready

    @property
    def text(self) -> str:
        """All that was shown, joined."""
        return "".join(self._pieces)
