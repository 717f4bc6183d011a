"""Count the await points of a running program, so that a test can act at the n-th of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any


class Steps:
    """A counter. Once armed, `count` grows by one whenever a task that was started in the block awaits something."""

    def __init__(self) -> None:
        self.count = 0
        self._at = 0
        self._do: Callable[[], object] | None = None
        self._is_armed = False

    def arm(self, at: int, do: Callable[[], object]) -> None:
        """Start counting; at step `at` (0: never) call `do` before any other task continues."""
        self._at, self._do, self._is_armed = at, do, True

    def disarm(self) -> None:
        self._is_armed = False

    async def counted(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return await _Stepped(coroutine, self._step)

    def _step(self) -> None:
        if not self._is_armed:
            return
        self.count += 1
        if self.count == self._at and self._do:
            asyncio.get_running_loop().call_soon(self._do)


class _Stepped:
    """Runs a coroutine; `step` is called at each await."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], step: Callable[[], None]) -> None:
        self._coroutine = coroutine
        self._step = step

    def __await__(self) -> Generator[Any, Any, Any]:
        resume: Callable[[], Any] = partial(self._coroutine.send, None)
        while True:
            try:
                waits_for = resume()
            except StopIteration as done:
                return done.value
            self._step()
            try:
                resume = partial(self._coroutine.send, (yield waits_for))
            except BaseException as error:  # pass every exception from the event loop to the coroutine
                resume = partial(self._coroutine.throw, error)


@contextmanager
def counted_steps() -> Iterator[Steps]:
    loop = asyncio.get_running_loop()
    before, steps = loop.get_task_factory(), Steps()

    def factory(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        return asyncio.Task(steps.counted(coroutine), loop=loop, **options)

    loop.set_task_factory(factory)
    try:
        yield steps
    finally:
        loop.set_task_factory(before)
