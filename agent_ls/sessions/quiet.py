"""Find the time for work in the background: while no session of the process works.

Preloading runs in threads, and takes the interpreter from a turn that runs at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import anyio.to_thread

from agent_ls.loop.events.types import State
from agent_ls.loop.seams import Clock
from agent_ls.system import return_freed_memory

CHECK_S = 0.05
QUIET_MS = 300
MEMORY_S = 1.0
"""Time between two checks whether freed memory can be returned."""
PATIENCE_S = 30.0
"""How long all calls of `wait` together wait at most, so that a long first turn does not put off the work forever."""


class QuietTime:
    """Waits until the sessions rest. `sessions` returns the state and the last event number of each session.

    A turn that waits for the model, an approval or a command emits nothing, and counts as rest.
    """

    def __init__(self, sessions: Callable[[], Iterable[tuple[State, int]]], clock: Clock) -> None:
        self._sessions = sessions
        self._clock = clock
        self._events = 0
        self._worked_ms = clock.monotonic_ms() - QUIET_MS
        self._patience_s = PATIENCE_S

    async def wait(self) -> None:
        """Return when no session has worked for QUIET_MS, or when the patience is used up."""
        while self._patience_s > 0 and not self._is_quiet():
            self._patience_s -= CHECK_S
            await self._clock.sleep(CHECK_S)

    def _is_quiet(self) -> bool:
        events, now_ms = sum(number for _, number in self._sessions()), self._clock.monotonic_ms()
        if events != self._events:
            self._events, self._worked_ms = events, now_ms
        return now_ms - self._worked_ms >= QUIET_MS


async def return_memory_after_turns(
    sessions: Callable[[], Iterable[tuple[State, int]]],
    clock: Clock,
    give_back: Callable[[], None] = return_freed_memory,
) -> None:
    """Return freed memory to the system when no session is working and there were events since the last time.

    A long turn frees large requests and answers. The C library keeps this memory for later use, so the process would
    stay as large as it was during the turn. `give_back` is called in a thread. Runs until cancelled.
    """
    before = 0
    while True:
        await clock.sleep(MEMORY_S)
        found = list(sessions())
        events = sum(number for _, number in found)
        if events != before and not any(state == "PROCESSING" for state, _ in found):
            before = events
            await anyio.to_thread.run_sync(give_back)
