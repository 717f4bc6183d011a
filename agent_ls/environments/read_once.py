"""Let an environment that gets all its files in one piece get them once for many reads.

When a message begins, many files are looked for, most of which do not exist.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import anyio

T = TypeVar("T")


class _Reading:
    """The result of one environment. `lock` lets the reads that begin together wait for the first."""

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.results: list[Any] = []


class _Readings(dict[int, _Reading]):
    """The results of all environments, by id. `is_over`: a task that was started in the `with` block reads again."""

    is_over = False


_current: ContextVar[_Readings | None] = ContextVar("files that are read once", default=None)


@contextmanager
def files_read_once() -> Iterator[None]:
    """Let `read_once` read once in the `with` block. Do not change files in it."""
    readings = _Readings()
    token = _current.set(readings)
    try:
        yield
    finally:
        readings.is_over = True
        _current.reset(token)


async def read_once(environment: object, read: Callable[[], Awaitable[T]]) -> T:
    """Return the result of `read()`, or the first one of this environment in `files_read_once`."""
    readings = _current.get()
    if readings is None or readings.is_over:
        return await read()
    reading = readings.setdefault(id(environment), _Reading())
    async with reading.lock:
        if not reading.results:
            reading.results.append(await read())
    result: T = reading.results[0]
    return result
