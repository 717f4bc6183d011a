"""Providers of a program: what their code raises becomes the error of the model call, which names it."""

from __future__ import annotations

import inspect
import logging
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import Any

import anyio.lowlevel
from anyio import get_cancelled_exc_class

from agent_ls.argument_types import find_misuse
from agent_ls.llm.accumulate import collect
from agent_ls.llm.adapter import BlockingAdapter, ProviderAdapter
from agent_ls.llm.errors import LlmError, StreamError
from agent_ls.llm.event_order import EventOrder, check_amounts
from agent_ls.llm.network_errors import network_error_kind
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.stream import StreamEvent, StreamFinish
from agent_ls.llm.time_limit import ResponseTimeLimit
from agent_ls.own_code import (
    FailureLog,
    Watched,
    WrongValueError,
    describe_failure,
    exits_as_errors,
    is_cancelled,
)
from agent_ls.program_calls import call_program

_END = object()
NO_GENERATOR = (
    "it is no generator: write it as `async def` with `yield`, or as `def` with `yield` if it blocks"
)
HINT = "Correct this code of the program, then call the model again."

log = logging.getLogger(__name__)

_users: Counter[int] = Counter()  # open sessions of each adapter of the program, by its id


class OwnAdapter:
    """Forwards requests to the adapter of a program, which several sessions may share."""

    def __init__(self, name: str, inner: ProviderAdapter | BlockingAdapter, hint: str = HINT) -> None:
        self.name = name
        self._inner = inner
        self._hint = hint
        self._is_held = False
        self._failures = FailureLog()
        self.total_timeout_s: Callable[[], float | None] = lambda: None
        """Returns the time limit for one complete answer, None for no limit."""

    def hold(self) -> None:
        """Keep the adapter open until `close` was called as often."""
        self._is_held = True
        _users[id(self._inner)] += 1

    async def complete(self, request: Request) -> Response:
        limit = ResponseTimeLimit(self.name, self.total_timeout_s())
        try:
            with limit.within(), exits_as_errors():
                response = await Watched(self._place("complete"), self._inner.complete(request))
        except NotImplementedError:
            return await collect(self.stream(request), self.name, request.model)
        except (Exception, get_cancelled_exc_class()) as error:
            await self._raise("complete", error)
            raise
        try:
            if misuse := find_misuse("the result", response, Response):
                raise WrongValueError(misuse[0])
            check_amounts(response.usage)
        except (Exception, get_cancelled_exc_class()) as error:
            await self._raise("complete", error)
            raise
        return response

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        limit = ResponseTimeLimit(self.name, self.total_timeout_s())
        try:
            events: Any = self._inner.stream(request)
            if isinstance(events, Iterator):
                events = _in_threads(events)
            if not isinstance(events, AsyncGenerator):
                if inspect.iscoroutine(events):
                    events.close()
                raise WrongValueError(NO_GENERATOR)
            order, has_ended = EventOrder(), False
            async with aclosing(events):
                place = self._place("stream")
                while (event := await _pull_next(place, events, limit)) is not _END:
                    order.check(event)
                    has_ended = has_ended or isinstance(event, StreamFinish)
                    yield event
            if not has_ended:
                raise StreamError(
                    f"{place} ended without a StreamFinish",
                    provider=self.name,
                    model=request.model,
                    hint="Yield StreamFinish as the last event of each answer.",
                )
        except (Exception, get_cancelled_exc_class()) as error:
            await self._raise("stream", error)
            raise

    async def close(self) -> None:
        """Close the adapter if no other session has it. Never raises: an open connection harms nothing."""
        if self._is_held:
            _users[id(self._inner)] -= 1
            if _users[id(self._inner)] > 0:
                return
            del _users[id(self._inner)]
        try:
            with exits_as_errors():
                await Watched(self._place("close"), self._inner.close())
        except (Exception, get_cancelled_exc_class()) as error:
            if not isinstance(error, Exception) and is_cancelled():
                log.warning("%s did not end in time, and was left", self._place("close"))
            else:
                self._failures.write("close", describe_failure(self._inner, "close", error), error)

    def _place(self, method: str) -> str:
        return f"{type(self._inner).__name__}.{method}"

    async def _raise(self, name: str, error: BaseException) -> None:
        """Raise the error of the model call. An LlmError and a cancellation of this task stay as they are."""
        if isinstance(error, LlmError) or (not isinstance(error, Exception) and is_cancelled()):
            return
        # Raises if the error came of a cancellation, such as in a `finally`.
        await anyio.lowlevel.checkpoint()
        message = describe_failure(self._inner, name, error)
        self._failures.write(name, message, error)
        if kind := network_error_kind(error):  # repeated, as such errors of other providers
            raise kind(message, provider=self.name) from error
        raise LlmError(message, provider=self.name, hint=self._hint) from error


async def _pull_next(place: str, events: AsyncGenerator[Any], limit: ResponseTimeLimit) -> Any:
    with limit.within(), exits_as_errors():
        return await Watched(place, anext(events, _END))


async def _in_threads(events: Iterator[Any]) -> AsyncGenerator[Any]:
    """Yield the events of a plain generator, which may block: each step runs in a thread.

    A cancellation leaves a step that blocks to its thread. The generator is closed after the step.
    """
    lock = threading.Lock()

    def pull() -> Any:
        with lock:
            return next(events, _END)

    def close() -> None:
        with lock:
            getattr(events, "close", _nothing)()

    try:
        while (event := await call_program(pull)) is not _END:
            yield event
    finally:
        threading.Thread(target=close, name="agent-ls: end of a provider's stream", daemon=True).start()


def _nothing() -> None:
    return None
