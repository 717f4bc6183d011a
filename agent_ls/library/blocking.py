"""Call coroutines without `await`. All coroutines run on one event loop in a separate thread."""

from __future__ import annotations

import atexit
import inspect
import os
import threading
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar, cast

import anyio
from anyio.from_thread import BlockingPortal

from agent_ls.argument_types import find_misuse, typed
from agent_ls.library.owner import FORKED

LOOK_S = 0.1
QUIET_LOOKS = 3
"""A reader that has just got an event may act on it, so that one look is not enough."""

_next_look = threading.Event()  # is never set

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

    def call() -> Awaitable[T]:
        result: Any = function(*args, **kwargs)
        if inspect.isawaitable(result):
            return cast("Awaitable[T]", result)
        name = getattr(function, "__name__", type(function).__name__)
        raise TypeError(f"run_sync: {name} is no async function: call it without run_sync")

    return _loop_of_process().call(call)


@typed
def iterate_sync(items: AsyncIterable[T]) -> Iterator[T]:
    """Iterate an async iterable, such as `agent_ls.stream(request)`, without `async for`."""
    return BlockingIterator(items)


class BlockingIterator(Iterator[T]):
    """The items of an async iterable, which a thread waits for. A second reader gets the error of the iterable.

    `is_idle` says, on the event loop, whether nothing more comes of what runs: a thread that only waits for these
    items then does not keep the program from ending.
    """

    _has_ended = True  # until it has begun

    def __init__(self, items: AsyncIterable[T], is_idle: Callable[[], bool] | None = None) -> None:
        self._loop = _loop_of_process()
        self._iterator = aiter(items)
        self._is_idle = is_idle
        self._has_ended = False

    def __iter__(self) -> Iterator[T]:
        aiter(self._iterator)  # refuses what was read already
        return self

    def __next__(self) -> T:
        if self._has_ended:
            raise StopIteration
        ended = object()
        with self._loop.reading(self._is_idle):
            item = self._loop.call(partial(_pull_next, self._iterator, ended))
        if item is ended:
            self._has_ended = True
            raise StopIteration
        return cast("T", item)

    def close(self) -> None:
        """Stop reading."""
        self._has_ended = True
        close = getattr(self._iterator, "aclose", None)
        if close and self._loop.is_running:
            self._loop.call(close)

    def __del__(self) -> None:
        if not self._has_ended:
            with suppress(
                RuntimeError
            ):  # in the thread of the event loop, which ends what nobody holds itself
                self.close()


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
        self._readers: dict[threading.Thread, Callable[[], bool]] = {}

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

    @contextmanager
    def reading(self, is_idle: Callable[[], bool] | None) -> Iterator[None]:
        """Mark the thread as one that waits for items, if there is an `is_idle`."""
        thread = threading.current_thread()
        if is_idle:
            self._readers[thread] = is_idle
        try:
            yield
        finally:
            self._readers.pop(thread, None)

    def watch_end_of_program(self) -> None:
        """End the loop when the main thread has ended, and each other thread waits for what will never come.

        Python waits for all threads before it calls the functions of `atexit`.
        """
        threading.main_thread().join()
        quiet = 0
        while quiet < QUIET_LOOKS and (others := _threads_of_program()):
            readers = dict(self._readers)
            quiet = quiet + 1 if readers.keys() >= others and self._is_idle(readers) else 0
            _next_look.wait(LOOK_S)
        if quiet:
            self.stop()

    def _is_idle(self, readers: dict[threading.Thread, Callable[[], bool]]) -> bool:
        async def look() -> bool:
            with suppress(Exception):  # a session that has ended refuses to say more
                return all(is_idle() for is_idle in readers.values())
            return True

        return self.call(look)

    def stop(self) -> None:
        """End the loop, and cancel calls that run: nobody waits for them any more."""
        if self._has_stopped:
            return
        self._has_stopped = True
        self._portal.call(self._portal.stop, True)


def _threads_of_program() -> set[threading.Thread]:
    """Return the threads that Python waits for at the end, without the main thread and this one."""
    ours = (threading.main_thread(), threading.current_thread())
    return {it for it in threading.enumerate() if not it.daemon and it not in ours}


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


class _Process:
    """The event loop of this process, once it is needed. The lock makes it one, also for threads that begin at once."""

    lock: threading.Lock
    loop: LoopThread | None

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.lock = threading.Lock()
        self.loop = None


def _start_loop() -> LoopThread:
    """Return the event loop of this process, which is started in a thread if none runs yet."""
    with _process.lock:
        if _process.loop is None:
            _process.loop = _new_loop()
        return _process.loop


def _new_loop() -> LoopThread:
    """Start an event loop in a thread.

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
    threading.Thread(target=loop.watch_end_of_program, name="agent-ls: end of the readers").start()
    return loop


_process = _Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.forget)
