"""Detect YAML that would take long to parse: PyYAML's time for brackets within brackets grows with their square."""

from __future__ import annotations

import re

MAX_BRACKETS = 100
"""A file may open this many more brackets than it closes. Brackets in texts count too, and are rarely as many."""

_BRACKET = re.compile(r"[\[{\]}]")


def is_too_deep(text: str) -> bool:
    """Return whether more than MAX_BRACKETS brackets are open at some position."""
    depth = 0
    for found in _BRACKET.finditer(text):
        depth += 1 if found[0] in "[{" else -1
        if depth > MAX_BRACKETS:
            return True
        depth = max(depth, 0)
    return False
