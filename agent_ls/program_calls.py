"""Call functions of the program: callbacks, and functions that are tools."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from agent_ls.own_code import Watched, as_exception, exits_as_errors, is_cancelled


async def call_program(function: Callable[..., Any], *args: object) -> Any:
    """Call a function of the program and return its result.

    An async function runs on the event loop, a plain function in a thread, so that `input()` does not block sessions.

    Raises:
        Exception: what the function raised. What is no `Exception` is wrapped in a ProgramExitError: `sys.exit()`, or a
            CancelledError of another task that the function waited for.
    """
    if not inspect.iscoroutinefunction(function):
        result = await _call_in_thread(function, *args)
        if not inspect.isawaitable(result):
            return result
    else:
        result = function(*args)
    named = function.func if isinstance(function, partial) else function
    try:
        with exits_as_errors():
            return await Watched(getattr(named, "__qualname__", type(named).__name__), result)
    except asyncio.CancelledError as error:
        if is_cancelled():  # this call itself
            raise
        raise as_exception(error) from error


async def _call_in_thread(function: Callable[..., Any], *args: object) -> Any:
    """Call a plain function in a daemon thread of its own.

    A function that never returns then delays neither the threads of agent-ls nor the end of the program.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            report = partial(_set, answer, context.run(function, *args))
        except BaseException as error:
            report = partial(_fail, answer, error)
        with suppress(RuntimeError):  # the event loop has ended
            loop.call_soon_threadsafe(report)

    threading.Thread(target=run, name="agent-ls: function of the program", daemon=True).start()
    return await answer


def _set(answer: asyncio.Future[Any], result: object) -> None:
    if not answer.done():
        answer.set_result(result)


def _fail(answer: asyncio.Future[Any], error: BaseException) -> None:
    if not answer.done():
        is_plain = isinstance(error, Exception) and not isinstance(error, StopIteration)
        answer.set_exception(error if is_plain else as_exception(error))
