"""Use sessions and models without `await`. All coroutines run on one event loop in a separate thread."""

from __future__ import annotations

import atexit
import os
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator, Sequence
from functools import cache, partial, wraps
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

from agent_ls.library.opening import SessionOpening, open_session
from agent_ls.library.owner import FORKED
from agent_ls.library.session import AgentSession
from agent_ls.library.streams import EventStream
from agent_ls.llm.messages import ImagePart
from agent_ls.loop.events.types import SessionEvent

P = ParamSpec("P")
T = TypeVar("T")


def run_sync(function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a coroutine function and wait for its result: `run_sync(agent_ls.generate, request)`.

    Raises:
        RuntimeError: an event loop runs in this thread; use `await` instead of this function.
    """
    return _portal().call(partial(function, *args, **kwargs))


def iterate_sync(items: AsyncIterable[T]) -> Iterator[T]:
    """Iterate an async iterable, such as `agent_ls.stream(request)`, without `async for`."""
    portal, iterator = _portal(), aiter(items)
    ended = object()
    try:
        while (item := portal.call(_pull_next, iterator, ended)) is not ended:
            yield item
    finally:
        if close := getattr(iterator, "aclose", None):
            portal.call(close)


async def _pull_next(iterator: Any, ended: object) -> Any:
    return await anext(iterator, ended)


class BlockingSession:
    """An `AgentSession` without `await`. Its methods return their results; `run` and `events` return iterators.

    The methods may be called from any thread.
    """

    def __init__(self, session: AgentSession) -> None:
        self._session = session
        self._process = os.getpid()

    def run(self, text: str, *, images: Sequence[ImagePart] = ()) -> Iterator[SessionEvent]:
        return self._iterate(self._session.run, text, images=images)

    def ask(self, text: str, *, images: Sequence[ImagePart] = ()) -> str:
        return str(self._call(self._session.ask, text, images=images))

    def events(self) -> Iterator[SessionEvent]:
        return self._iterate(self._session.events)

    def close(self) -> None:
        if self._process == os.getpid():
            run_sync(self._session.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        """Return a property of the session, or a method of the session as a plain function."""
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = self._call(getattr, self._session, name)
        if not callable(found):
            return found
        return wraps(found)(partial(self._call, found))

    def _call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self._process != os.getpid():  # the thread with the event loop exists only in the other process
            raise RuntimeError(FORKED)
        return _portal().call(partial(function, *args, **kwargs))

    def _iterate(
        self, begin: Callable[..., EventStream], *args: Any, **kwargs: Any
    ) -> Iterator[SessionEvent]:
        return iterate_sync(self._call(begin, *args, **kwargs))


def _blocking(function: Callable[P, SessionOpening]) -> Callable[P, BlockingSession]:
    @wraps(function)
    def opened(*args: P.args, **kwargs: P.kwargs) -> BlockingSession:
        return BlockingSession(run_sync(function(*args, **kwargs).open))

    return opened


open_session_sync = _blocking(open_session)
"""`open_session` for programs without an event loop: `with agent_ls.open_session_sync(...) as session:`."""


def _portal() -> BlockingPortal:
    try:
        anyio.get_current_task()
    except RuntimeError:
        return _start_portal()
    raise RuntimeError("an event loop runs in this thread: use `await` and the functions without `_sync`")


@cache
def _start_portal() -> BlockingPortal:
    """Start an event loop in a thread, if none runs yet. Return the portal that runs coroutines on it.

    All sessions use the same loop, because a provider connection belongs to the loop that opened it.
    """
    running, process = start_blocking_portal("asyncio"), os.getpid()
    portal = running.__enter__()

    def stop() -> None:
        if process == os.getpid():  # a forked process has no such thread
            running.__exit__(None, None, None)

    atexit.register(stop)
    return portal


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_portal.cache_clear)
