"""Check an opened file again by its descriptor, which closes the race between check and use of a path.

A wrapper that limits an environment sets the check; an environment that opens files on disk calls it. The
check is passed in a context variable, because other wrappers may be in between. Threads receive it too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Check: TypeAlias = Callable[[str, os.stat_result], None]
"""Called with the real path of the open file ("" if the system does not tell) and its facts.

Raises EnvError to refuse.
"""

_check: ContextVar[Check | None] = ContextVar("agent_ls_opened", default=None)


@contextmanager
def checking(check: Check) -> Iterator[None]:
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def current_check() -> Check | None:
    """Return the check in this context, for an environment whose files are opened elsewhere."""
    return _check.get()


def demand_opened(descriptor: int, facts: os.stat_result) -> None:
    """Run the current check on an open file.

    Raises:
        EnvError: the opened file is not allowed.
    """
    if check := _check.get():
        check(real_path(descriptor), facts)


def real_path(descriptor: int) -> str:
    """Return the current real path of an open file; "" if the system does not provide it."""
    if sys.platform != "linux":
        return ""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""
