"""Code of the program that uses agent-ls: tell what it raised, and where.

Such code may raise anything, for example `SystemExit` or a `CancelledError` of another task, which must not end a
session. A KeyboardInterrupt of the main thread leaves the event loop, as in any program of asyncio.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Any, Generic, NoReturn, TypeVar

from agent_ls.text import to_display_line

MESSAGE_CHARS = 500
SHOWN_ERRORS = 3  # of an ExceptionGroup
BLOCKED_S = 1.0
CANCEL_S = 5.0
"""How long code of a program may go on after a cancellation, to clean up. Then it is left."""
BLOCKED_HINT = (
    "Await instead of blocking, or move the blocking part into a plain function, called by asyncio.to_thread."
)
LEFT_HINT = "Raise a CancelledError again after its `except`, and do not catch BaseException around an await."

T = TypeVar("T")

log = logging.getLogger(__name__)
_blocking: set[str] = set()
_left: set[str] = set()
"""Names of the functions that blocked the loop, or were left after a cancellation, and are in the log."""


class ProgramExitError(RuntimeError):
    """Code of a program raised what is no `Exception`, such as SystemExit. The text names its class."""


class WrongValueError(TypeError):
    """The code of a program returned a value of a wrong type. `place` is the method, "" for the one that was called."""

    def __init__(self, text: str, place: str = "") -> None:
        super().__init__(text)
        self.place = place


def is_cancelled() -> bool:
    """Return whether a CancelledError is meant for the running task, and not for a task that its code waits for."""
    task = _running_task()
    return task is None or task.cancelling() > 0


@contextmanager
def exits_as_errors() -> Iterator[None]:
    """Raise a ProgramExitError for what else would end the loop or its tasks: SystemExit, GeneratorExit, a group, or a
    BaseException of the program, such as that of `pytest.fail`. Only a cancellation passes.

    A KeyboardInterrupt becomes one too, and ends the running of the loop from there, where no task group
    wraps it. The `with` block awaits the code of the program, and must not contain a `yield`.
    """
    task = _running_task()
    try:
        yield
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as error:
        if isinstance(error, GeneratorExit) and _running_task() is not task:
            raise  # the coroutine is discarded
        if (
            isinstance(error, BaseExceptionGroup)
            and is_cancelled()
            and error.subgroup(asyncio.CancelledError)
        ):
            raise
        interrupts_program(error)
        raise as_exception(error) from error


def interrupts_program(error: BaseException) -> bool:
    """Let a KeyboardInterrupt, alone or in a group, leave the event loop. Return whether there is one.

    Ctrl+C reaches only the main thread: in other threads, a KeyboardInterrupt is an error like others.
    """
    found = next((leaf for leaf in _leaves(error) if isinstance(leaf, KeyboardInterrupt)), None)
    if found is None or threading.current_thread() is not threading.main_thread():
        return False
    asyncio.get_running_loop().call_soon(_raise, found.with_traceback(_own_part(found.__traceback__)))
    return True


def _raise(error: BaseException) -> NoReturn:
    raise error


def _own_part(step: TracebackType | None) -> TracebackType | None:
    """Return the part of a traceback that begins with the code of the program."""
    while step and step.tb_next and _is_ours(step):
        step = step.tb_next
    return step


def _is_ours(step: TracebackType) -> bool:
    return str(step.tb_frame.f_globals.get("__name__", "")).startswith("agent_ls.")


def as_exception(error: BaseException) -> ProgramExitError:
    return ProgramExitError(error_words(error)).with_traceback(error.__traceback__)


def _running_task() -> asyncio.Task[object] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs
        return None


def describe_failure(owner: object, name: str, error: BaseException) -> str:
    """Return which method of the program raised what, when agent-ls called the method `name` of `owner`."""
    place = failure_place(owner, name, error)
    if isinstance(error, WrongValueError):
        return f"{place}: {error}"
    return f"{place} raised {error_words(error)}"


def failure_place(owner: object, name: str, error: BaseException) -> str:
    """Return the method of the program that failed.

    In `owner`, which may wrap others, it is the innermost one called `name`. If that is of agent-ls, it is the method
    that a class of the program gave to it, such as `save`.
    """
    if isinstance(error, WrongValueError) and error.place:
        return error.place
    called, given, step = "", "", error.__traceback__
    while step:
        code = step.tb_frame.f_code
        if not _is_ours(step):
            qualified = code.co_qualname.rpartition("<locals>.")[2]
            called = qualified if code.co_name == name else called
            given = given or (qualified if _is_method(step) else "")
        step = step.tb_next
    return called or given or f"{type(owner).__name__}.{name}"


def _is_method(step: TracebackType) -> bool:
    """Return whether a step is in a public method of a class derived from one of agent-ls that has it too."""
    name, owner = step.tb_frame.f_code.co_name, step.tb_frame.f_locals.get("self")
    ours = (it for it in type(owner).__mro__ if it.__module__.startswith("agent_ls."))
    return not name.startswith("_") and any(name in vars(it) for it in ours)


def error_words(error: BaseException) -> str:
    """Return the class and the text of an error as one line; of a group, those of its first errors."""
    return to_display_line("; ".join(_words(it) for it in _leaves(error)[:SHOWN_ERRORS]), MESSAGE_CHARS)


def _words(error: BaseException) -> str:
    if isinstance(error, ProgramExitError):
        return str(error)
    return f"{type(error).__name__}: {_text(error)}".removesuffix(": ")


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # the program's own code too
        return ""


class FailureLog:
    """Logs each kind of failure of one object once, with its traceback: a broken method may be called often."""

    def __init__(self, level: int = logging.ERROR) -> None:
        self._level = level
        self._logged: set[tuple[str, type[BaseException], int]] = set()

    def write(self, name: str, message: str, error: BaseException) -> None:
        own = _own_part(error.__traceback__)
        kind = (name, type(error), own.tb_lineno if own else 0)
        if kind not in self._logged:
            self._logged.add(kind)
            log.log(self._level, "%s", message, exc_info=error)


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for one in error.exceptions for leaf in _leaves(one)]


class Watched(Generic[T]):
    """Awaits code of the program, and logs a warning if a step blocks the loop for over BLOCKED_S, once for `name`.

    Code that catches each cancellation for longer than CANCEL_S is left where it is, with a warning.
    """

    def __init__(self, name: str, awaited: Awaitable[T]) -> None:
        self._name = name
        self._awaited = awaited
        self._cancelled_s: float | None = None

    def __await__(self) -> Generator[Any, Any, T]:
        steps: Any = self._awaited.__await__()
        resume: Callable[[], Any] = partial(next, steps)
        while True:
            begun_s = time.monotonic()
            try:
                waits_for = resume()
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                self._report(time.monotonic() - begun_s)
            if not is_cancelled():  # or not any more, after a time limit of the code itself
                self._cancelled_s = None
            try:
                value = yield waits_for
            except GeneratorExit:
                steps.close()
                raise
            except BaseException as error:  # such as a cancellation, which the code of the program may handle
                if isinstance(error, asyncio.CancelledError) and self._ignores_cancellation():
                    self._leave(steps)
                    raise
                resume = partial(steps.throw, error)
            else:
                resume = partial(steps.send, value)

    def _ignores_cancellation(self) -> bool:
        """Return whether the task has been cancelled for longer than CANCEL_S. Called at each cancellation."""
        now_s = time.monotonic()
        if self._cancelled_s is None:
            self._cancelled_s = now_s
        return is_cancelled() and now_s - self._cancelled_s > CANCEL_S

    def _leave(self, steps: Any) -> None:
        if self._name not in _left:
            _left.add(self._name)
            log.warning(
                "%s catches each cancellation, and was left after %g s. %s", self._name, CANCEL_S, LEFT_HINT
            )
        # Not `close`, which leaves an async generator running. What the code raises now says nothing more.
        with suppress(Exception, asyncio.CancelledError, GeneratorExit):
            steps.throw(GeneratorExit())

    def _report(self, took_s: float) -> None:
        if took_s > BLOCKED_S and self._name not in _blocking:
            _blocking.add(self._name)
            log.warning(
                "%s blocked the event loop for %.1f s, and with it all sessions. %s",
                self._name,
                took_s,
                BLOCKED_HINT,
            )
