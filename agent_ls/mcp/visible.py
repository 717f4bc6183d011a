"""Pure: make control and invisible characters in texts of servers visible to the user."""

from __future__ import annotations

import difflib
import json
import unicodedata
from typing import Any

_HIDDEN = ("Cc", "Cf", "Co", "Cn", "Zl", "Zp", "Cs")
_TAGS = range(0xE0000, 0xE0080)
_SELECTORS = (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))


def visible(text: str) -> str:
    """Replace each invisible character, except line ends and tabs, by `<U+XXXX>`."""
    return "".join(_sign(char) if _is_hidden(char) else char for char in text)


def without_hidden(text: str) -> str:
    """Remove invisible characters from a text that is sent to the model."""
    return "".join(char for char in text if not _is_hidden(char))


def _is_hidden(char: str) -> bool:
    if char in "\n\t" or " " <= char <= "~":
        return False
    return unicodedata.category(char) in _HIDDEN or ord(char) in _TAGS or ord(char) in _SELECTORS


def _sign(char: str) -> str:
    return f"<U+{ord(char):04X}>"


def definition_diff(before: Any, after: Any) -> str:
    """Return the changes of a tool's definition as a line diff."""
    lines = difflib.unified_diff(_lines(before), _lines(after), "approved", "now", lineterm="", n=1)
    return visible("\n".join(lines))


def _lines(definition: Any) -> list[str]:
    rest = {key: value for key, value in definition.items() if key != "description"}
    text = json.dumps(rest, indent=1, sort_keys=True, ensure_ascii=False)
    return [*str(definition.get("description", "")).split("\n"), *text.split("\n")]
