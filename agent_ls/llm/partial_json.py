"""Parse JSON text whose end is missing. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from agent_ls.patterns import regex

_STRUCTURE = regex(r'\\.|["{}\[\],:]', re.DOTALL)
_CLOSER = {"{": "}", "[": "]"}


def parse_partial(text: str) -> Any:
    """Return the value of an incomplete JSON text, None if the text has no value yet.

    The last string may be incomplete.
    """
    stack: list[str] = []
    is_text = False
    safe: list[
        tuple[int, str]
    ] = []  # positions at which the text may be cut, each with the brackets that then close the text
    for found in _STRUCTURE.finditer(text):
        mark, at = found[0], found.start()
        if mark == '"':
            is_text = not is_text
        elif is_text:
            continue
        elif mark in _CLOSER:
            stack.append(_CLOSER[mark])
            safe.append((at + 1, _closing(stack)))
        elif mark in "}]":
            if stack:
                stack.pop()
            safe.append((at + 1, _closing(stack)))
        elif mark == ",":
            safe.append((at, _closing(stack)))
    ends = [(len(text), ('"' if is_text else "") + _closing(stack)), *reversed(safe[-3:])]
    for end, closing in ends:
        try:
            return json.loads(text[:end] + closing)
        except (ValueError, RecursionError):
            continue
    return None


def _closing(stack: list[str]) -> str:
    return "".join(reversed(stack))
