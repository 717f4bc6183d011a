"""Ending a child of asyncio leaves its exit status to asyncio's child watcher, which would otherwise log a warning."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import pytest
from anyio.abc import Process

from agent_ls.batch.starting import SpawnedAttempt
from agent_ls.environments.local.processes.ending import kill_and_wait, run_process, terminate

pytestmark = [
    pytest.mark.req("T6", "X12"),
    pytest.mark.skipif(
        not hasattr(os, "pidfd_open"), reason="needs a child watcher that the event loop calls"
    ),
]

EXIT_CODE = 7
STOPS_FIRST = ("sh", "-c", f"kill -STOP $$; exit {EXIT_CODE}")


def end_unnoticed(process: Process) -> None:
    """Let the child end, and return before the event loop can notice the end."""
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)
    os.kill(process.pid, signal.SIGCONT)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


@pytest.fixture
async def watcher() -> AsyncIterator[None]:
    """A child watcher that collects exit statuses in the event loop, as by default since Python 3.12."""
    if sys.version_info >= (3, 12):
        yield
        return
    before = asyncio.get_child_watcher()
    watcher = asyncio.PidfdChildWatcher()
    asyncio.set_child_watcher(watcher)
    watcher.attach_loop(asyncio.get_running_loop())
    yield
    asyncio.set_child_watcher(before)


async def _terminate_and_wait(process: Process) -> None:
    terminate(process)
    await process.wait()


@pytest.mark.parametrize(
    "end",
    [kill_and_wait, _terminate_and_wait, lambda process: SpawnedAttempt(process).kill()],
    ids=["kill", "terminate", "batch"],
)
async def test_a_child_process_that_ended_just_before_its_kill_keeps_its_exit_code(
    end: Callable[[Process], Awaitable[None]], watcher: None, caplog: pytest.LogCaptureFixture
) -> None:
    process = await anyio.open_process(STOPS_FIRST)
    end_unnoticed(process)
    await end(process)
    assert process.returncode == EXIT_CODE
    assert not caplog.records


async def test_leaving_run_process_just_after_the_program_ended_logs_no_warning(
    watcher: None, caplog: pytest.LogCaptureFixture
) -> None:
    async with run_process(STOPS_FIRST) as process:
        end_unnoticed(process)
    assert process.returncode == EXIT_CODE
    assert not caplog.records
