"""Read and write the JSON of providers: values of wrong types count as absent, and surrogates are repaired."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from pydantic_core import from_json, to_json

from agent_ls.llm.messages import JsonObject, JsonValue
from agent_ls.llm.requests import is_amount
from agent_ls.memo import Memo
from agent_ls.patterns import regex

_EMPTY: JsonObject = {}
_OBJECTS = (dict, Mapping)  # the exact class first: asking for an abstract class takes ten times as long

MAX_LITERAL_CHARS = 200_000
MAX_MEMBERS = 1_000  # a body with more members is encoded without the cache


# Only `\u` escapes produce lone surrogates. Few events have such escapes, so most events need no repair.
_SURROGATE = regex(r"\\u[dD][89a-fA-F]")

_COUNT = regex(r"[0-9]{1,20}")


def parse_object(text: str | bytes) -> JsonObject | None:
    """Parse a JSON object and repair its surrogates. Return None if `text` is not a JSON object."""
    return _parse(text, unmended="")


def parse_event(text: str, unmended: str = "delta") -> JsonObject | None:
    """Parse an event and repair its surrogates, except in the member `unmended`.

    That member is left as it is, because a surrogate pair may be split between two events. Returns None if
    `text` is not a JSON object.
    """
    return _parse(text, unmended=unmended)


def _parse(text: str | bytes, unmended: str) -> JsonObject | None:
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig", "replace")
    try:
        value = from_json(text)  # several times faster than json.loads, and refuses lone surrogates
    except ValueError:
        return _parse_with_repair(text, unmended)
    return value if isinstance(value, dict) else None


def _parse_with_repair(text: str, unmended: str) -> JsonObject | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # RecursionError: "[[[[..." from a hostile server
        return None
    if not isinstance(value, dict):
        return None
    if not _SURROGATE.search(text):
        return value
    return {valid_text(key): item if key == unmended else repair_value(item) for key, item in value.items()}


def repair_object(value: JsonObject) -> JsonObject:
    return {valid_text(key): repair_value(item) for key, item in value.items()}


def repair_value(value: JsonValue) -> JsonValue:
    """Apply valid_text to every string in `value`."""
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, Mapping):
        return repair_object(value)
    return [repair_value(item) for item in value] if isinstance(value, list) else value


def arguments_object(arguments: str) -> JsonObject:
    """Return a tool call's arguments as an object, or `{}` if they are not a JSON object.

    The model learns about invalid arguments from the call's result in the history.
    """
    return parse_object(arguments) or _EMPTY


def python_object(text: str) -> JsonObject | None:
    """Return the object that a literal of Python states, as some models write arguments; None if it states none."""
    if not text.lstrip().startswith("{") or len(text) > MAX_LITERAL_CHARS:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):  # about the escapes in it
            return parse_object(json.dumps(ast.literal_eval(text.strip()), allow_nan=False))
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def unquoted_object(text: str) -> str:
    """Return the JSON object that a JSON text contains as its value; "" if it contains none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return value if isinstance(value, str) and parse_object(value) is not None else ""


def json_text(value: JsonValue) -> str:
    """Write JSON as models do: blanks after separators, no escapes."""
    return valid_text(json.dumps(value, ensure_ascii=False))


def encode_json(value: JsonValue) -> bytes:
    """Encode `value` as UTF-8. Lone surrogates, which file contents may contain, are replaced by U+FFFD, because
    providers refuse them.
    """
    try:
        return to_json(value)  # several times faster than json.dumps, and refuses lone surrogates
    except ValueError:
        return valid_text(json.dumps(value, ensure_ascii=False, separators=(",", ":"))).encode()


def encode_body(body: JsonObject, name: str, items: Sequence[bytes]) -> bytes:
    """Encode `body`, and add the already encoded `items` as its list `name`. If `body` already has this member,
    ignore `items`.

    `body` must not be changed later, because its encoding is cached: most requests differ in their items only.
    """
    encoded = _encode_object(body)
    if name in body:
        return encoded
    comma = b"," if body else b""
    pieces = [*items] or [b""]
    pieces[0] = b'%b%b"%b":[%b' % (encoded.removesuffix(b"}"), comma, name.encode(), pieces[0])
    pieces[-1] += b"]}"
    return b",".join(pieces)  # joined once, because the items may have megabytes


def is_same_json(one: JsonValue, other: JsonValue) -> bool:
    """Compare two JSON values. Unlike `==`, this distinguishes 1, 1.0 and true, and the order of members.

    Unchanged parts of a request are usually the same objects, so the comparison is fast.
    """
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return [*one] == [*other] and all(map(is_same_json, one.values(), other.values()))
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(is_same_json, one, other))
    return one == other


_encode_object: Memo[JsonObject, bytes] = Memo(encode_json, least=1, most=MAX_MEMBERS, alike=is_same_json)


def valid_text(text: str) -> str:
    """Join surrogate pairs, and replace lone surrogates by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def object_at(value: JsonObject, *path: str) -> JsonObject:
    """Return the object at `path`, or an empty object if `path` leads to no object."""
    found: JsonValue = value
    for key in path:
        found = found.get(key) if isinstance(found, _OBJECTS) else None
    return found if isinstance(found, _OBJECTS) else _EMPTY


def text_at(value: JsonObject, key: str) -> str:
    """Return the string at `key`, "" if there is none."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def int_at(value: JsonObject, key: str) -> int | None:
    """Return the number at `key`, None if there is none."""
    found = value.get(key)
    if isinstance(found, float):
        return int(found) if isfinite(found) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def count_at(value: JsonObject, *keys: str) -> int | None:
    """Return the first possible count at one of the keys, None if there is none. Some servers write it as text."""
    found = (
        int(written) if _COUNT.fullmatch(written := text_at(value, key)) else int_at(value, key)
        for key in keys
    )
    return next((count for count in found if count is not None and is_amount(count)), None)


def arguments_at(value: JsonObject, key: str) -> JsonObject:
    """Return the object at `key`. Some servers send it as JSON text."""
    found = value.get(key)
    return (parse_object(found) if isinstance(found, str) else None) or object_at(value, key)


def objects_at(value: JsonObject, key: str) -> Iterator[JsonObject]:
    """Yield the objects of the list at `key`; other items are skipped."""
    found = value.get(key)
    if isinstance(found, list):
        yield from (item for item in found if isinstance(item, dict))


class PieceJoiner:
    """Joins pieces of text; half a surrogate pair is held back until the next piece completes it."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._held = ""

    def add(self, piece: str) -> str:
        """Add a piece, and return the text that is complete now."""
        if not self._held and piece.isascii():  # nearly always: no surrogates to repair
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
        """The text that `add` has returned so far, joined."""
        return "".join(self._pieces)
