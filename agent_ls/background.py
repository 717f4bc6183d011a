"""Start short background tasks without waiting for their results."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

log = logging.getLogger(__name__)

TaskStarter: TypeAlias = Callable[[Callable[[], Awaitable[None]]], None]
"""A function that starts its argument as a background task, and returns at once."""


def task_starter(tasks: TaskGroup, failure: str) -> TaskStarter:
    """Return a function that starts tasks in the task group `tasks`.

    An exception in a task is logged with the message `failure`, and does not cancel the group.
    """

    async def guarded(work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception:  # last resort: nobody awaits a background task
            log.exception(failure)

    def start(work: Callable[[], Awaitable[None]]) -> None:
        tasks.start_soon(guarded, work)

    return start
