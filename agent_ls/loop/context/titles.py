"""Pure: make a session's title from the beginning of its first input, as plain text."""

from __future__ import annotations

import re

from agent_ls.text import strip_escapes, to_display_line

TITLE_CHARS = 60  # maximum length of a generated title

# Marks of headings, quotes and lists at the start of a line.
_MARKS = re.compile(r"[#>*+\-\s`]*")


def title_of(text: str) -> str:
    """Return the first line that has words, truncated; "" if there is none."""
    for line in strip_escapes(text[: TITLE_CHARS * 100]).splitlines():
        words = to_display_line(_MARKS.sub("", line, count=1), TITLE_CHARS)
        if any(character.isalnum() for character in words):
            return words
    return ""
