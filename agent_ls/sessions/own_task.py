"""Run work in its own task, so that cancelling the request does not cancel the work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from agent_ls.background import TaskStarter
from agent_ls.services.errors import NotRunningError

T = TypeVar("T")


async def in_own_task(start: TaskStarter, work: Callable[[], Awaitable[T]]) -> T:
    """Run `work` in a separate task, created by `start`. Return the result of `work` or raise its error.

    Raises:
        NotRunningError: the task group has ended.
    """
    results: list[T] = []
    errors: list[Exception] = []
    is_done = anyio.Event()

    async def run() -> None:
        try:
            results.append(await work())
        except Exception as error:  # raised again below, in the caller's task
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
