"""Call functions in a worker process, which can be killed at any time.

The worker does not import modules from the folder in which it is started (`-P`), because that folder may be a project
of somebody else. One idle worker is kept, until it has waited for IDLE_S.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, TypeVarTuple

import anyio.to_thread

IDLE_S = 60.0

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _Worker:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._idle: threading.Timer | None = None

    def call(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        """Return what the function returns, or raise what it raises. Blocks."""
        assert self._process.stdin and self._process.stdout
        pickle.dump((function, arguments), self._process.stdin)
        self._process.stdin.flush()
        is_returned, value = pickle.load(self._process.stdout)
        if not is_returned:
            raise value
        result: T = value
        return result

    def wait_idle(self) -> None:
        self._idle = threading.Timer(IDLE_S, _end_idle, (self,))
        self._idle.daemon = True
        self._idle.start()

    def resume(self) -> bool:
        """Stop waiting. Return False if the process no longer runs."""
        if self._idle:
            self._idle.cancel()
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe:
                    pipe.close()


_lock = threading.Lock()
_idle_workers: list[_Worker] = []


async def run_in_worker(function: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Call a function in a worker process. Function, arguments, result and errors must be picklable.

    Cancellation kills the worker.
    """
    worker = await anyio.to_thread.run_sync(_take)
    is_done = False
    try:
        result = await anyio.to_thread.run_sync(worker.call, function, arguments, abandon_on_cancel=True)
        is_done = True
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_put_back if is_done else _Worker.kill, worker)
    return result


def _take() -> _Worker:
    with _lock:
        found = _idle_workers.pop() if _idle_workers else None
    if found and found.resume():
        return found
    return _Worker()


def _put_back(worker: _Worker) -> None:
    with _lock:
        is_kept = not _idle_workers
        if is_kept:
            _idle_workers.append(worker)
            worker.wait_idle()
    if not is_kept:
        worker.kill()


def _end_idle(worker: _Worker) -> None:
    with _lock:
        if worker not in _idle_workers:
            return
        _idle_workers.remove(worker)
    worker.kill()


def _serve() -> None:
    """Answer calls until the parent process has closed its end."""
    calls, results = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            function, arguments = pickle.load(calls)
        except EOFError:
            return
        try:
            result = True, function(*arguments)
        except Exception as error:  # raised again in the parent process
            result = False, error
        pickle.dump(result, results)
        results.flush()


if __name__ == "__main__":
    _serve()
