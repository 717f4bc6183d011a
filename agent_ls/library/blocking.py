"""Use sessions and models without `await`. All coroutines run on one event loop in a separate thread."""

from __future__ import annotations

import atexit
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from functools import cache, partial, wraps
from inspect import isasyncgen
from typing import Any, ParamSpec, TypeVar

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

from agent_ls.library.session import AgentSession, Event, open_session
from agent_ls.llm.messages import ImagePart

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
        if isasyncgen(iterator):
            portal.call(iterator.aclose)


async def _pull_next(iterator: Any, ended: object) -> Any:
    return await anext(iterator, ended)


class BlockingSession:
    """An `AgentSession` without `await`. Its methods return their results; `run` and `events` return iterators."""

    def __init__(self, session: AgentSession) -> None:
        self._session = session

    def run(self, text: str, *, images: Sequence[ImagePart] = ()) -> Iterator[Event]:
        return iterate_sync(self._session.run(text, images=images))

    def ask(self, text: str) -> str:
        return run_sync(self._session.ask, text)

    def events(self) -> Iterator[Event]:
        return iterate_sync(self._session.events())

    def __getattr__(self, name: str) -> Any:
        """Return a property of the session, or a method of the session as a plain function."""
        found = getattr(self._session, name)
        if name.startswith("_") or not callable(found):
            return found

        @wraps(found)
        def call(*args: Any, **kwargs: Any) -> Any:
            return _portal().call(partial(found, *args, **kwargs))

        return call


def _blocking(
    function: Callable[P, AbstractAsyncContextManager[AgentSession]],
) -> Callable[P, AbstractContextManager[BlockingSession]]:
    @contextmanager
    @wraps(function)
    def opened(*args: P.args, **kwargs: P.kwargs) -> Iterator[BlockingSession]:
        with _portal().wrap_async_context_manager(function(*args, **kwargs)) as session:
            yield BlockingSession(session)

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
    running = start_blocking_portal("asyncio")
    portal = running.__enter__()
    atexit.register(running.__exit__, None, None, None)
    return portal
