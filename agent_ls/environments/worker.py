"""Call functions in a worker process, which can be killed at any time, and ends at a limit of processor time.

The worker does not import modules from the folder in which it is started (`-P`), because that folder may be a project
of somebody else. One idle worker is kept, until it has waited for IDLE_S.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
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


class ProcessorTimeError(Exception):
    """The function computed for longer than it may."""


class _Worker:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._idle: threading.Timer | None = None

    def call(self, function: Callable[..., T], arguments: tuple[Any, ...], limit_s: float) -> T:
        """Return what the function returns, or raise what it raises. Blocks."""
        assert self._process.stdin and self._process.stdout
        pickle.dump((function, arguments, limit_s), self._process.stdin)
        self._process.stdin.flush()
        try:
            is_returned, value = pickle.load(self._process.stdout)
        except EOFError:
            if sys.platform != "win32" and self._process.wait() == -signal.SIGPROF:
                raise ProcessorTimeError from None
            raise
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


async def run_in_worker(function: Callable[[*Ts], T], *arguments: *Ts, limit_s: float) -> T:
    """Call a function in a worker process. Function, arguments, result and errors must be picklable.

    Cancellation kills the worker.

    Raises:
        ProcessorTimeError: the function used `limit_s` seconds of processor time. Windows has no such limit.
    """
    worker = await anyio.to_thread.run_sync(_take)
    is_done = False
    try:
        result = await anyio.to_thread.run_sync(
            worker.call, function, arguments, limit_s, abandon_on_cancel=True
        )
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


@atexit.register
def _end_idle_workers() -> None:
    """End them now: on Windows another child process may hold the pipe that would tell them."""
    with _lock:
        while _idle_workers:
            _idle_workers.pop().kill()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle_workers.clear)  # they answer the parent process


def _serve() -> None:
    """Answer calls until the parent process has closed its end."""
    calls, results = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            function, arguments, limit_s = pickle.load(calls)
        except EOFError:
            return
        _limit_computing(limit_s)
        try:
            result = True, function(*arguments)
        except Exception as error:  # raised again in the parent process
            result = False, error
        _limit_computing(0)
        pickle.dump(result, results)
        results.flush()


def _limit_computing(limit_s: float) -> None:
    """Have the kernel end this process after so many seconds of processor time. 0: no limit.

    A regular expression computes without returning to Python, so no handler and no thread could run.
    """
    if sys.platform != "win32":
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, limit_s)


if __name__ == "__main__":
    _serve()
