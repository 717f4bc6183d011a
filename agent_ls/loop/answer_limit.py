"""How long a request to the user (an approval, a question) waits for an answer."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from agent_ls.loop.clock import Clock

BY_TIMEOUT = "timeout"
"""`decided_by` of a request that nobody answered in time."""


class AnswerLimit:
    """The time limit of the requests of one session. `ms` is in milliseconds, 0 for no limit.

    A new value of `ms` applies only to requests that start to wait afterwards.
    """

    def __init__(self, clock: Clock | None = None, ms: int = 0) -> None:
        self._clock = clock
        self.ms = ms

    async def wait(self, answered: anyio.Event, give_up: Callable[[float], object]) -> None:
        """Wait until `answered` is set. At the limit, call `give_up` with the limit in seconds; it sets `answered`."""
        clock, limit_s = self._clock, self.ms / 1000
        if not clock or not limit_s:
            await answered.wait()
            return

        async def watch(clock: Clock) -> None:
            await clock.sleep(limit_s)
            if not answered.is_set():
                give_up(limit_s)

        async with anyio.create_task_group() as group:
            group.start_soon(watch, clock)
            await answered.wait()
            group.cancel_scope.cancel()
