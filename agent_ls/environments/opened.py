"""SEAM: what is opened is looked at once more, by its descriptor: between a look at a path and its use it may change.

Whoever bounds an environment sets the check; an environment that opens files of a disk calls it. The two may have
others between them, which is why it is handed on by the context and not by a parameter. Threads get it too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Check: TypeAlias = Callable[[str, os.stat_result], None]
"""Gets the real path of what is open ("" where the system does not tell) and its facts. Raises EnvError to refuse."""

_check: ContextVar[Check | None] = ContextVar("agent_ls_opened", default=None)


@contextmanager
def checking(check: Check) -> Iterator[None]:
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def demand_opened(descriptor: int, facts: os.stat_result) -> None:
    """
    Raises:
        EnvError: what is open is not what may be.
    """
    if check := _check.get():
        check(real_path(descriptor), facts)


def real_path(descriptor: int) -> str:
    """Of what is open, at this moment. "" where the system does not tell it as other functions would."""
    if sys.platform != "linux":
        return ""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""
