"""Pure: parse JSON as editors write it: with comments and with a comma after the last entry."""

from __future__ import annotations

import json
import re
from typing import Any

from agent_ls.patterns import regex

_SKIP = regex(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_COMMA = regex(r'"(?:[^"\\]|\\.)*"|,(?=\s*[\]}])', re.DOTALL)


def parse_jsonc(text: str) -> Any:
    """Parse JSON with comments and trailing commas.

    Raises:
        ValueError: the text is not valid JSON even without comments and trailing commas.
    """
    plain = _SKIP.sub(_without_comment, text.removeprefix("\ufeff"))
    plain = _COMMA.sub(lambda found: found[0] if found[0].startswith('"') else "", plain)
    try:
        return json.loads(plain)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _without_comment(found: re.Match[str]) -> str:
    """Replace a comment by its line ends, so that an error message has the right line number."""
    return found[0] if found[0].startswith('"') else " " + "\n" * found[0].count("\n")
