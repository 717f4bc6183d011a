"""Providers and profiles of a program: what their code raises becomes the error of the model call, which names it."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

import anyio.lowlevel
from anyio import get_cancelled_exc_class

from agent_ls.argument_types import find_misuse
from agent_ls.library.event_order import EventOrder, check_amounts
from agent_ls.llm.adapter import ProviderAdapter
from agent_ls.llm.errors import LlmError, NetworkError, RequestTimeoutError
from agent_ls.llm.requests import Request, Response, Usage
from agent_ls.llm.stream import StreamEvent
from agent_ls.own_code import (
    FailureLog,
    WrongValueError,
    describe_failure,
    error_words,
    exits_as_errors,
    is_cancelled,
)
from agent_ls.profiles.base import ProviderProfile
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.models.service import OwnProfile

_END = object()
HINT = "Correct this code of the program, then send the message again. The conversation is kept."


_users: Counter[int] = Counter()  # open sessions of each adapter of the program, by its id


class OwnAdapter:
    """Forwards requests to the adapter of a program, which several sessions may share."""

    def __init__(self, name: str, inner: ProviderAdapter) -> None:
        self.name = name
        self._inner = inner
        self._failures = FailureLog()

    def hold(self) -> None:
        """Keep the adapter open until `close` was called as often."""
        _users[id(self._inner)] += 1

    async def complete(self, request: Request) -> Response:
        try:
            with exits_as_errors():
                response = await self._inner.complete(request)
            if misuse := find_misuse("the result", response, Response):
                raise WrongValueError(misuse[0])
            check_amounts(response.usage)
        except (Exception, get_cancelled_exc_class()) as error:
            await self._raise("complete", error)
            raise
        return response

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        try:
            events: Any = self._inner.stream(request)
            if not isinstance(events, AsyncGenerator):
                if inspect.iscoroutine(events):
                    events.close()
                raise WrongValueError("it is no async generator: write it as `async def` with `yield`")
            order = EventOrder()
            async with aclosing(events):
                while (event := await _pull_next(events)) is not _END:
                    order.check(event)
                    yield event
        except (Exception, get_cancelled_exc_class()) as error:
            await self._raise("stream", error)
            raise

    async def close(self) -> None:
        """Close the adapter if no other session has it. Never raises: an open connection harms nothing."""
        _users[id(self._inner)] -= 1
        if _users[id(self._inner)] > 0:
            return
        del _users[id(self._inner)]
        try:
            with exits_as_errors():
                await self._inner.close()
        except (Exception, get_cancelled_exc_class()) as error:
            self._failures.write("close", describe_failure(self._inner, "close", error), error)

    async def _raise(self, name: str, error: BaseException) -> None:
        """Raise the error of the model call. An LlmError and a cancellation of this task stay as they are."""
        if isinstance(error, LlmError) or (not isinstance(error, Exception) and is_cancelled()):
            return
        await (
            anyio.lowlevel.checkpoint()
        )  # raises if the error came of a cancellation, such as in a `finally`
        message = describe_failure(self._inner, name, error)
        self._failures.write(name, message, error)
        if isinstance(error, ConnectionError | TimeoutError):  # repeated, as such errors of other providers
            kind = RequestTimeoutError if isinstance(error, TimeoutError) else NetworkError
            raise kind(message, provider=self.name) from error
        raise LlmError(message, provider=self.name, hint=HINT) from error


async def _pull_next(events: AsyncGenerator[Any]) -> Any:
    with exits_as_errors():
        return await anext(events, _END)


def guarded_profile(name: str, own: OwnProfile) -> OwnProfile:
    """Return the profile, or the function that makes it, with its functions guarded."""
    if isinstance(own, ProviderProfile):
        return _guard(own)
    return partial(_make, name, own)


def _make(name: str, make: Callable[[str], ProviderProfile], model: str) -> ProviderProfile:
    where = f"profiles[{name!r}]"
    try:
        made = make(model)
    except Exception as error:
        raise BadChoiceError(f"{where} raised {error_words(error)}", "correct the function") from error
    if misuse := find_misuse(f"the result of {where}", made, ProviderProfile):
        raise BadChoiceError(*misuse)
    return _guard(made)


def _guard(profile: ProviderProfile) -> ProviderProfile:
    failures, cost, build = FailureLog(), profile.cost_usd, profile.prompt_builder

    def cost_usd(usage: Usage) -> float | None:
        try:
            return cost(usage)
        except Exception as error:  # the price is then unknown
            failures.write("cost_usd", describe_failure(profile, "cost_usd", error), error)
            return None

    def prompt_builder(*args: Any, **kwargs: Any) -> str:
        try:
            return build(*args, **kwargs)
        except Exception as error:
            message = describe_failure(profile, "prompt_builder", error)
            failures.write("prompt_builder", message, error)
            raise LlmError(message, provider=profile.id, hint=HINT) from error

    return replace(
        profile,
        cost_usd=cost if _is_ours(cost) else cost_usd,
        prompt_builder=build if _is_ours(build) else prompt_builder,
    )


def _is_ours(function: Callable[..., object]) -> bool:
    """Return whether a function is that of a profile of agent-ls, which knows it by its identity."""
    place = getattr(function, "__module__", None) or type(function).__module__
    return place.split(".")[0] == "agent_ls"
