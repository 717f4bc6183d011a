"""Code of the program that uses agent-ls: tell what it raised, and where.

Such code may raise anything, for example `SystemExit` or a `CancelledError` of another task, which must not end a
session. A KeyboardInterrupt of the main thread leaves the event loop, as in any program of asyncio.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import NoReturn

from agent_ls.text import to_display_line

MESSAGE_CHARS = 500
SHOWN_ERRORS = 3  # of an ExceptionGroup

log = logging.getLogger(__name__)


class ProgramExitError(RuntimeError):
    """Code of a program raised what is no `Exception`, such as SystemExit. The text names its class."""


class WrongValueError(TypeError):
    """The code of a program returned a value of a wrong type."""


def is_cancelled() -> bool:
    """Return whether a CancelledError is meant for the running task, and not for a task that its code waits for."""
    task = _running_task()
    return task is None or task.cancelling() > 0


@contextmanager
def exits_as_errors() -> Iterator[None]:
    """Raise a ProgramExitError for what else would end the loop or its tasks: SystemExit, GeneratorExit, a group.

    A KeyboardInterrupt becomes one too, and ends the running of the loop from there, where no task group
    wraps it. The `with` block awaits the code of the program, and must not contain a `yield`.
    """
    task = _running_task()
    try:
        yield
    except (SystemExit, GeneratorExit, KeyboardInterrupt) as error:
        if isinstance(error, GeneratorExit) and _running_task() is not task:
            raise  # the coroutine is discarded
        interrupts_program(error)
        raise as_exception(error) from error
    except BaseExceptionGroup as error:
        if isinstance(error, Exception) or (is_cancelled() and error.subgroup(asyncio.CancelledError)):
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
    """Return which method `name` raised what. In `owner`, which may wrap others, it is the innermost one."""
    place, step = f"{type(owner).__name__}.{name}", error.__traceback__
    while step:
        code = step.tb_frame.f_code
        if code.co_name == name and not _is_ours(step):
            place = code.co_qualname.rpartition("<locals>.")[2]
        step = step.tb_next
    if isinstance(error, WrongValueError):
        return f"{place}: {error}"
    return f"{place} raised {error_words(error)}"


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

    def __init__(self) -> None:
        self._logged: set[tuple[str, type[BaseException]]] = set()

    def write(self, name: str, message: str, error: BaseException) -> None:
        kind = (name, type(error))
        if kind not in self._logged:
            self._logged.add(kind)
            log.error("%s", message, exc_info=error)


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for one in error.exceptions for leaf in _leaves(one)]
