"""Find the ranges of values in a JSON text, one level of an object or array at a time.

Nested values are parsed by the standard library's decoder, which is written in C.
"""

from __future__ import annotations

from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from typing import Any

from agent_ls.patterns import regex

_BLANK = regex(r"[ \t\n\r]*")
_DECODER = JSONDecoder()


@dataclass(frozen=True, slots=True)
class Value:
    """A value and its range: `text[start:end]`."""

    start: int
    end: int
    data: Any


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object; `start` is the start of its key."""

    key: str
    start: int
    value: Value


def parse_whole(text: str) -> Value:
    """Parse the whole text as one JSON value.

    Raises:
        JSONDecodeError: the text is not one JSON value. RecursionError: the value is nested too deeply.
    """
    found = value_at(text, skip_blank(text, 0))
    if skip_blank(text, found.end) != len(text):
        raise JSONDecodeError("there is text after the JSON value", text, found.end)
    return found


def value_at(text: str, start: int) -> Value:
    data, end = _DECODER.raw_decode(text, start)
    return Value(start, end, data)


def members(text: str, value: Value) -> tuple[Member, ...]:
    """Return the members of an object that was parsed by `value_at`."""
    found: list[Member] = []
    at = skip_blank(text, value.start + 1)
    while text[at] != "}":
        key = value_at(text, at)
        colon = skip_blank(text, key.end)
        member = Member(key.data, at, value_at(text, skip_blank(text, colon + 1)))
        found.append(member)
        at = _find_next(text, member.value.end)
    return tuple(found)


def items(text: str, value: Value) -> tuple[Value, ...]:
    """Return the items of an array that was parsed by `value_at`."""
    found: list[Value] = []
    at = skip_blank(text, value.start + 1)
    while text[at] != "]":
        found.append(value_at(text, at))
        at = _find_next(text, found[-1].end)
    return tuple(found)


def skip_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _find_next(text: str, at: int) -> int:
    """Return the position after the next comma, or the position of the closing bracket if no comma follows."""
    at = skip_blank(text, at)
    return skip_blank(text, at + 1) if text[at] == "," else at
