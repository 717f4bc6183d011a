"""Pure: recognize calls of `go list` that only print facts of packages and modules."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.patterns import regex
from agent_ls.policy.shell.arguments import one_a_line

_LISTS = regex(r"(?:-(?:m|json|e|deps|test|find)\n|-json=[\w,]+\n|-f(?:=|\n)[^\n]*\n|(?!-)[\w./@-]*[\w.]\n)*")


def only_lists(arguments: Sequence[str]) -> bool:
    """Return whether `go list` runs and writes nothing. Its options that run a compiler are not known here."""
    return _LISTS.fullmatch(one_a_line(arguments)) is not None
