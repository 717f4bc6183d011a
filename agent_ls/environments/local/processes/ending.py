"""Start and end asyncio child processes without collecting the exit status, because asyncio has to collect it.

`Process.kill` and `Process.terminate` poll the child first. If the child has just exited, the poll collects its
exit status. asyncio's child watcher then finds no exit status, and prints a warning on stderr. Closing the
`Process` of a running child has the same effect.

asyncio connects the pipes of a child in a task of its own, and a start whose task is cancelled never returns. At Ctrl+C
`asyncio.run` cancels every task, so the task that connects the pipes cannot be cancelled here.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Coroutine, Generator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar

import anyio
from anyio.abc import ByteReceiveStream, Process

T = TypeVar("T")


@asynccontextmanager
async def run_process(
    argv: Sequence[str],
    folder: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[Process]:
    """Run a program in `folder` with pipes for its output. Leaving the `with` block kills the program."""
    with anyio.CancelScope(shield=True):  # a cancelled start would leave a process that nobody ends
        starting = anyio.open_process(argv, stdin=subprocess.DEVNULL, cwd=folder, env=environ)
        process = await _WithLastingTasks(starting)
    async with process:
        try:
            yield process
        finally:
            await kill_and_wait(process)


class _LastingTask(asyncio.Task[T]):
    """A task that cannot be cancelled."""

    def cancel(self, msg: Any | None = None) -> bool:
        return False


class _WithLastingTasks(Awaitable[T]):
    """Awaits a coroutine; the tasks that it creates itself cannot be cancelled."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, T]:
        failure: BaseException | None = None
        while True:
            try:
                with _lasting_tasks():
                    waited = self._coroutine.throw(failure) if failure else self._coroutine.send(None)
            except StopIteration as end:
                result: T = end.value
                return result
            try:
                failure = yield waited
            except BaseException as error:
                failure = error


@contextmanager
def _lasting_tasks() -> Iterator[None]:
    loop = asyncio.get_running_loop()
    usual = loop.get_task_factory()
    loop.set_task_factory(lambda loop, coroutine, **options: _LastingTask(coroutine, loop=loop, **options))
    try:
        yield
    finally:
        loop.set_task_factory(usual)


async def run_program(
    argv: Sequence[str],
    folder: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program until it exits, and return its output. Cancellation kills the program.

    Raises:
        OSError: the program cannot be started.
    """

    async def read(stream: ByteReceiveStream | None) -> bytes:
        assert stream, "it is started with pipes"
        return b"".join([chunk async for chunk in stream])

    async with run_process(argv, folder, environ) as process:
        # A task of an anyio group that is cancelled before its first step leaves a warning, for example at Ctrl-C.
        stdout, stderr = await asyncio.gather(read(process.stdout), read(process.stderr))
        code = await process.wait()
    return subprocess.CompletedProcess(argv, code, stdout, stderr)


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
