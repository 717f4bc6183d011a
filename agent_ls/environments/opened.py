"""Check a path directly before it is opened, and check the opened file again by its descriptor.

The second check closes the race between check and use. `BoundedEnvironment` sets the checks, and
the environment that opens files on disk runs them. The checks are passed in context variables, because other
wrappers may lie between these two. Worker threads get a copy of the context variables.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Check: TypeAlias = Callable[[str, os.stat_result], None]
"""A check of an open file, called with its real path ("" if the system does not provide it) and its stat
result.

Raises EnvError to refuse.
"""

_check: ContextVar[Check | None] = ContextVar("agent_ls_opened", default=None)
_path_check: ContextVar[PathCheck | None] = ContextVar("agent_ls_path_check", default=None)


class PathCheck:
    """A check of one or more paths. Once the check has succeeded, `run` does not repeat it.

    `run` is called in the thread that opens or writes the files. It blocks, and raises EnvError on refusal.
    """

    def __init__(self, check: Callable[[], object]) -> None:
        self._check = check
        self.is_done = False

    def run(self) -> None:
        if not self.is_done:
            self._check()
            self.is_done = True


@contextmanager
def deferred_path_check(check: Callable[[], object]) -> Iterator[PathCheck]:
    """Register a check of paths. The first `run_path_check` in the `with` block runs the check."""
    pending = PathCheck(check)
    token = _path_check.set(pending)
    try:
        yield pending
    finally:
        _path_check.reset(token)


def run_path_check() -> None:
    """Run the pending check of the paths that are about to be opened or changed. Blocks.

    Raises:
        EnvError: the path is not allowed.
    """
    if pending := _path_check.get():
        pending.run()


@contextmanager
def opening_check(check: Check) -> Iterator[None]:
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def current_check() -> Check | None:
    """Return the check of opened files that is set in this context; None if no check is set.

    An environment that opens files on another machine calls the check itself.
    """
    return _check.get()


def check_opened(descriptor: int, facts: os.stat_result) -> None:
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
