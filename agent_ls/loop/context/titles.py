"""Pure: make a session's title from the beginning of the user's first message, as plain text."""

from __future__ import annotations

import re

from agent_ls.patterns import regex
from agent_ls.text import strip_escapes, to_display_line

TITLE_CHARS = 60  # maximum length of a generated title

_ATTACHED = regex(r"(?:(?:File|Folder): [^\n]*|[^\n]+:\n(`{3,})\n.*?\n\1)(?:\n\s*|\Z)", re.DOTALL)
"""An attachment that a client puts before the user's message: a path, or a heading with a block of text."""

# Characters that mark headings, quotes and lists at the start of a line.
_MARKS = regex(r"[#>*+\-\s`]*")


def title_of(text: str, max_chars: int = TITLE_CHARS) -> str:
    """Return the first line that contains words, truncated; "" if no line contains words. Attachments before
    the message are skipped.
    """
    rest = text
    while (found := _ATTACHED.match(rest)) and found.end() < len(rest):
        rest = rest[found.end() :]
    text = rest
    for line in strip_escapes(text[: max_chars * 100]).splitlines():
        words = to_display_line(_MARKS.sub("", line, count=1), max_chars)
        if any(character.isalnum() for character in words):
            return words
    return ""
