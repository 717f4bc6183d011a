"""Regular expressions that are compiled at their first use: a program needs few of the hundreds that it imports."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, cast, overload


class _LazyPattern:
    """Has the attributes of the compiled pattern."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self.pattern = source
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[Any]:
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._compiled, name)
        setattr(self, name, found)
        return found


@overload
def regex(source: str, flags: int = 0) -> re.Pattern[str]: ...


@overload
def regex(source: bytes, flags: int = 0) -> re.Pattern[bytes]: ...


def regex(source: str | bytes, flags: int = 0) -> re.Pattern[Any]:
    """Return a pattern that is compiled when its first attribute is used.

    Functions of `re` do not accept it: write `pattern.sub(…)`, not `re.sub(pattern, …)`.
    """
    return cast("re.Pattern[Any]", _LazyPattern(source, flags))
