"""Return freed memory to the system after the turns of a process's sessions have ended.

A long turn frees large requests and answers. The C library keeps this memory for later use, so the process
would stay as large as it was during the turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import anyio.to_thread

from agent_ls.loop.events.types import State
from agent_ls.loop.seams import Clock
from agent_ls.system import return_freed_memory

CHECK_S = 1.0


async def return_memory_after_turns(
    sessions: Callable[[], Iterable[tuple[State, int]]],
    clock: Clock,
    give_back: Callable[[], None] = return_freed_memory,
) -> None:
    """Call `give_back` in a thread when no session is working and there were events since the last call.

    `give_back` returns freed memory to the system. `sessions` returns the state and the last event number of
    each session. Runs until cancelled.
    """
    before = 0
    while True:
        await clock.sleep(CHECK_S)
        found = list(sessions())
        events = sum(number for _, number in found)
        if events != before and not any(state == "PROCESSING" for state, _ in found):
            before = events
            await anyio.to_thread.run_sync(give_back)
