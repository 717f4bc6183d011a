"""Detect YAML that would take too long to parse: PyYAML needs quadratic time for nested brackets."""

from __future__ import annotations

from agent_ls.patterns import regex

MAX_BRACKETS = 100
"""Maximum number of open brackets at any position.

Brackets in strings count too, but files rarely have so many.
"""

_BRACKET = regex(r"[\[{\]}]")


def is_too_deep(text: str) -> bool:
    """Return whether more than MAX_BRACKETS brackets are open at some position."""
    depth = 0
    for found in _BRACKET.finditer(text):
        depth += 1 if found[0] in "[{" else -1
        if depth > MAX_BRACKETS:
            return True
        depth = max(depth, 0)
    return False
