"""Pure: recognize calls of `go list` that only print facts of packages and modules."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LISTS = re.compile(
    r"(?:-(?:m|json|e|deps|test|find)\n|-json=[\w,]+\n|-f(?:=|\n)[^\n]*\n|(?!-)[\w./@-]*[\w.]\n)*"
)


def only_lists(arguments: Sequence[str]) -> bool:
    """Return whether `go list` runs and writes nothing. Its options that run a compiler are not known here."""
    return _LISTS.fullmatch("".join(f"{word}\n" for word in arguments)) is not None
