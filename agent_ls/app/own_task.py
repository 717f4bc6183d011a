"""Work that goes on to its end, whoever waits for it: a client may take back its request at any point."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from agent_ls.app.errors import NotRunningError

T = TypeVar("T")


async def in_own_task(
    start: Callable[[Callable[[], Awaitable[None]]], None], work: Callable[[], Awaitable[T]]
) -> T:
    """What `work` gives or raises; it runs in a task of its own, by `start`.

    Raises:
        NotRunningError: all tasks are ended.
    """
    results: list[T] = []
    errors: list[Exception] = []
    is_done = anyio.Event()

    async def run() -> None:
        try:
            results.append(await work())
        except Exception as error:  # raised by who waits
            errors.append(error)
        finally:
            is_done.set()

    start(run)
    await is_done.wait()
    if errors:
        raise errors[0]
    if not results:
        raise NotRunningError
    return results[0]
