"""Freed memory is returned to the operating system once after each turn."""

from __future__ import annotations

import sys

import anyio
import pytest

from agent_ls.loop.events.types import State
from agent_ls.sessions.quiet import MEMORY_S, return_memory_after_turns
from agent_ls.system import return_freed_memory
from tests.support.fake_clock import FakeClock

BLOCKS, BLOCK_BYTES = 20_000, 4_000


async def test_freed_memory_is_returned_to_the_system_once_after_each_turn() -> None:
    clock = FakeClock()
    session: tuple[State, int] = ("IDLE", 0)
    calls: list[int] = []

    async def check(state: State, number: int) -> int:
        nonlocal session
        session = state, number
        checks = len(clock.slept_s)
        clock.advance(MEMORY_S)
        while len(clock.slept_s) == checks:
            await anyio.lowlevel.checkpoint()
        return len(calls)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(
            return_memory_after_turns, lambda: [session], clock, lambda: calls.append(session[1])
        )
        await anyio.wait_all_tasks_blocked()
        assert await check("IDLE", 0) == 0
        assert await check("PROCESSING", 20) == 0
        assert await check("IDLE", 30) == 1
        assert await check("IDLE", 30) == 1
        assert await check("PROCESSING", 40) == 1
        assert await check("AWAITING_INPUT", 50) == 2
        tasks.cancel_scope.cancel()
    assert calls == [30, 50]


@pytest.mark.skipif(sys.platform != "linux", reason="reads the size of the process from /proc")
def test_returning_freed_memory_reduces_the_resident_size_of_the_process() -> None:
    def resident_bytes() -> int:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    blocks = [bytes(BLOCK_BYTES) for _ in range(BLOCKS)]
    last = blocks[-1]  # stays allocated, so shrinking the heap cannot return the blocks below it
    large = resident_bytes()
    del blocks
    return_freed_memory()

    assert large - resident_bytes() > BLOCKS * BLOCK_BYTES / 2
    assert len(last) == BLOCK_BYTES
