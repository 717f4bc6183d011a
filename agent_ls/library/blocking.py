"""Call coroutines without `await`. All coroutines run on one event loop in a separate thread."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import CancelledError, Future
from functools import cache, partial
from typing import Any, Generic, ParamSpec, TypeVar

import anyio
from anyio.from_thread import BlockingPortal

from agent_ls.argument_types import find_misuse, typed
from agent_ls.library.owner import FORKED

P = ParamSpec("P")
T = TypeVar("T")


def run_sync(function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a coroutine function and wait for its result: `run_sync(agent_ls.generate, request)`.

    If waiting is interrupted (KeyboardInterrupt), the coroutine is cancelled.

    Raises:
        RuntimeError: an event loop runs in this thread; use `await` instead of this function.
    """
    if misuse := find_misuse("function", function, Callable):
        raise TypeError(": ".join(misuse))
    return _loop_of_process().call(partial(function, *args, **kwargs))


@typed
def iterate_sync(items: AsyncIterable[T]) -> Iterator[T]:
    """Iterate an async iterable, such as `agent_ls.stream(request)`, without `async for`."""
    loop, iterator = _loop_of_process(), aiter(items)
    ended = object()
    try:
        while (item := loop.call(partial(_pull_next, iterator, ended))) is not ended:
            yield item
    finally:
        close = getattr(iterator, "aclose", None)
        if close and loop.is_running:
            loop.call(close)


async def _pull_next(iterator: AsyncIterator[Any], ended: object) -> Any:
    return await anext(iterator, ended)


class _Work(Generic[T]):
    """A call on the event loop. What it raises, for example SystemExit, does not end the loop."""

    def __init__(self, function: Callable[[], Awaitable[T]]) -> None:
        self._function = function
        self._ended: anyio.Event | None = None
        self._error: BaseException | None = None

    async def run(self) -> None:
        self._ended = anyio.Event()
        try:
            self._result = await self._function()
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:  # raised by `result`, in the thread that waits
            self._error = error
        finally:
            self._ended.set()

    async def ended(self) -> None:
        if self._ended:  # else it was cancelled before it began
            await self._ended.wait()

    def result(self) -> T:
        if self._error:
            raise self._error
        return self._result


class LoopThread:
    """The event loop in a separate thread of this process."""

    def __init__(self, portal: BlockingPortal) -> None:
        self._portal = portal
        self._process = os.getpid()
        self._has_stopped = False

    @property
    def is_running(self) -> bool:
        return self.is_here and not self._has_stopped

    @property
    def is_here(self) -> bool:
        """Whether the thread exists: a forked process does not have it."""
        return self._process == os.getpid()

    def call(self, function: Callable[[], Awaitable[T]]) -> T:
        """Call a function on the event loop, and wait for its result. An interrupted caller cancels the call, and
        waits until it has ended.

        Raises:
            RuntimeError: the process was forked. Waiting for the thread would then last for ever.
            SystemExit: the program ends, and its other threads with it.
        """
        if not self.is_here:
            raise RuntimeError(FORKED)
        if self._has_stopped:
            raise _ending()
        work = _Work(function)
        future = self._portal.start_task_soon(work.run)
        try:
            future.result()
        except CancelledError:
            raise (_ending() if self._has_stopped else CancelledError()) from None
        except BaseException:
            future.cancel()
            # Ctrl+C: what is cancelled, such as a turn, ends before the program goes on.
            self._portal.call(work.ended)
            raise
        return work.result()

    def stop(self) -> None:
        """End the loop, and cancel calls that run: nobody waits for them any more."""
        self._has_stopped = True
        self._portal.call(self._portal.stop, True)


def _ending() -> BaseException:
    """A thread that reads events ends without a traceback when the program does."""
    if threading.current_thread() is threading.main_thread():
        return RuntimeError("the program ends, so its sessions are closed: close what uses them before")
    return SystemExit()


def _loop_of_process() -> LoopThread:
    try:
        anyio.get_current_task()
    except RuntimeError:
        return _start_loop()
    raise RuntimeError("an event loop runs in this thread: use `await` and the functions without `_sync`")


@cache
def _start_loop() -> LoopThread:
    """Start an event loop in a thread, if none runs yet.

    All sessions use the same loop, because a provider connection belongs to the loop that opened it.
    """
    # Not start_blocking_portal of anyio: a forked process inherits its generator, and when it deletes the generator, it
    # waits for a thread that it does not have.
    started: Future[BlockingPortal] = Future()

    async def serve() -> None:
        async with BlockingPortal() as portal:
            started.set_result(portal)
            await portal.sleep_until_stopped()

    def run() -> None:
        try:
            anyio.run(serve)
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = threading.Thread(target=run, name="agent-ls event loop", daemon=True)
    thread.start()
    loop = LoopThread(started.result())

    def stop() -> None:
        if loop.is_here:
            loop.stop()
            thread.join()

    atexit.register(stop)
    return loop


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_loop.cache_clear)
