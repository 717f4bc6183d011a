"""A session's title where the user gave none: how its first input begins, as plain text. Pure."""

from __future__ import annotations

import re

from agent_ls.text import without_escapes

TITLE_CHARS = 60  # of one that is made here
GIVEN_TITLE_CHARS = 200

# What would hide or turn text in a list: control characters, and marks of the reading direction.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")

# Marks of headings, quotes and lists before the words of a line.
_MARKS = re.compile(r"[#>*+\-\s`]*")


def title_of(text: str) -> str:
    """The first line that has words, cut; "" when there is none."""
    for line in without_escapes(text[: TITLE_CHARS * 100]).splitlines():
        words = plain(_MARKS.sub("", line, count=1), TITLE_CHARS)
        if any(character.isalnum() for character in words):
            return words
    return ""


def plain(title: str, max_chars: int = GIVEN_TITLE_CHARS) -> str:
    """One line without anything that is not seen, cut with an ellipsis."""
    words = " ".join(_UNSEEN.sub(" ", title).split())
    return words if len(words) <= max_chars else f"{words[: max_chars - 1].rstrip()}…"
