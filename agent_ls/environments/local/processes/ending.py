"""Start and end asyncio child processes without collecting the exit status, because asyncio has to collect it.

`Process.kill` and `Process.terminate` poll the child first. If the child has just exited, the poll collects its
exit status. asyncio's child watcher then finds no exit status, and prints a warning on stderr. Closing the
`Process` of a running child has the same effect.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import ByteReceiveStream, Process


@asynccontextmanager
async def run_process(
    argv: Sequence[str],
    folder: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[Process]:
    """Run a program in `folder` with pipes for its output. Leaving the `with` block kills the program."""
    with anyio.CancelScope(shield=True):  # a cancelled start would leave a process that nobody ends
        process = await anyio.open_process(argv, stdin=subprocess.DEVNULL, cwd=folder, env=environ)
    async with process:
        try:
            yield process
        finally:
            await kill_and_wait(process)


async def run_program(
    argv: Sequence[str],
    folder: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program until it exits, and return its output. Cancellation kills the program.

    Raises:
        OSError: the program cannot be started.
    """
    output: dict[str, bytes] = {}

    async def read(name: str, stream: ByteReceiveStream | None) -> None:
        assert stream, "it is started with pipes"
        output[name] = b"".join([chunk async for chunk in stream])

    async with run_process(argv, folder, environ) as process:
        async with anyio.create_task_group() as group:
            group.start_soon(read, "stdout", process.stdout)
            group.start_soon(read, "stderr", process.stderr)
        code = await process.wait()
    return subprocess.CompletedProcess(argv, code, output["stdout"], output["stderr"])


def terminate(process: Process) -> None:
    """Ask the process to end if it still runs."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        if os.name == "nt":
            process.terminate()
        else:
            os.kill(process.pid, signal.SIGTERM)


async def kill_and_wait(process: Process) -> None:
    """Kill the process if it still runs, and wait until it has exited. Cancellation does not stop the wait."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        if os.name == "nt":
            process.kill()
        else:
            os.kill(process.pid, signal.SIGKILL)
    with anyio.CancelScope(shield=True):
        await process.wait()
