"""Start short tasks that nobody waits for."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

log = logging.getLogger(__name__)

TaskStarter: TypeAlias = Callable[[Callable[[], Awaitable[None]]], None]
"""Starts a task next to the caller, and returns at once."""


def task_starter(tasks: TaskGroup, failure: str) -> TaskStarter:
    """Return a function that starts work in the group. An exception is logged as `failure`, and cancels nothing."""

    async def guarded(work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception:  # last resort: nobody awaits a background task
            log.exception(failure)

    def start(work: Callable[[], Awaitable[None]]) -> None:
        tasks.start_soon(guarded, work)

    return start
