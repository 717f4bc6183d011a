"""Detect placeholder lines such as `... rest of the code`. Writing such a line would delete the omitted code."""

from __future__ import annotations

import re
from collections.abc import Sequence

_COMMENT = re.compile(r"(?://+|#+|/\*+|<!--|--+|;+|%+|\{/\*+)\s*(?P<body>.*?)\s*(?:\*+/\}?|-->)?")
_DOTS = re.compile(
    r"(?P<before>\.{3,}|…)?[\s(\[]*(?P<words>[\w][\w\s',/-]*?)?[\s)\]]*(?P<after>\.{3,}|…)?[\s)\]]*"
)
_SAYS_LEFT_OUT = re.compile(
    r"\b(?:rest|remaining|remainder|existing|unchanged|previous|omitted|other|same|keep|as before)\b", re.I
)
_NAMES_THE_REST = re.compile(
    r"(?:the\s+)?(?:rest|remainder)\s+of\s+(?:(?:the|this|your)\s+)?"
    r"(?:code|file|class|function|method|module|component|implementation|body|imports|logic)"
    r"(?:\s+(?:remains?|stays?|is|are|goes|follows?|here|unchanged|omitted|the|same|as|before))*",
    re.I,
)


def omission_marker(new_lines: Sequence[str], old_lines: Sequence[str]) -> str:
    """Return the first line of the new text that is a placeholder for omitted code, "" for none.

    A line that also occurs in the old text is part of the file and does not count.
    """
    kept = {line.strip() for line in old_lines}
    return next((line for line in new_lines if is_marker(line) and line.strip() not in kept), "")


def is_marker(line: str) -> bool:
    """Return True for `// ... existing code ...` and `# rest of the file unchanged`; not for a bare `...`,
    which is code.
    """
    comment = _COMMENT.fullmatch(line.strip())
    body = comment["body"] if comment else line.strip()
    found = _DOTS.fullmatch(body)
    words = found["words"] if found else None
    if not found or not words:
        return False
    if not (found["before"] or found["after"]):
        return comment is not None and _NAMES_THE_REST.fullmatch(words) is not None
    # Without a comment sign, one word after dots is a spread (`...rest,`); several words are prose.
    if not comment and len(words.replace(",", " ").split()) < 2:
        return False
    return _SAYS_LEFT_OUT.search(words) is not None
