"""`asyncio.run` cancels every task at its end, also those in which asyncio itself starts a program."""

from __future__ import annotations

import asyncio
import sys

import pytest

from agent_ls.environments.local.processes.ending import run_program


@pytest.mark.req("H13")
@pytest.mark.filterwarnings("ignore:.*was never awaited", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("steps", range(10))
def test_a_program_that_is_being_started_does_not_keep_the_loop_open(steps: int) -> None:
    async def start() -> None:
        started = asyncio.create_task(run_program([sys.executable, "-c", "input()"]))
        for _ in range(steps):
            await asyncio.sleep(0)
        assert not started.done()

    asyncio.run(start())
