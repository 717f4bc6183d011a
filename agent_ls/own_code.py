"""Code of the program that uses agent-ls: tell what it raised, and where.

Such code may raise anything, for example a `CancelledError` of another task, which must not end a session.
"""

from __future__ import annotations

import asyncio
import logging

from agent_ls.text import to_display_line

MESSAGE_CHARS = 500
SHOWN_ERRORS = 3  # of an ExceptionGroup

log = logging.getLogger(__name__)


class WrongValueError(TypeError):
    """The code of a program returned a value of a wrong type."""


def is_cancelled() -> bool:
    """Return whether a CancelledError is meant for the running task, and not for a task that its code waits for."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def describe_failure(owner: object, name: str, error: BaseException) -> str:
    """Return which method `name` raised what. In `owner`, which may wrap others, it is the innermost one."""
    place, step = f"{type(owner).__name__}.{name}", error.__traceback__
    while step:
        frame, step = step.tb_frame, step.tb_next
        is_ours = frame.f_globals.get("__name__", "").startswith("agent_ls.")
        if frame.f_code.co_name == name and not is_ours:
            place = frame.f_code.co_qualname.rpartition("<locals>.")[2]
    if isinstance(error, WrongValueError):
        return f"{place}: {error}"
    return f"{place} raised {error_words(error)}"


def error_words(error: BaseException) -> str:
    """Return the class and the text of an error as one line; of a group, those of its first errors."""
    words = "; ".join(
        f"{type(it).__name__}: {_text(it)}".removesuffix(": ") for it in _leaves(error)[:SHOWN_ERRORS]
    )
    return to_display_line(words, MESSAGE_CHARS)


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
