"""Hints for programs: errors of sessions are the same for all front ends, and their hints speak to a user."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

from agent_ls.loop.calls.approval import UnknownApprovalError
from agent_ls.loop.errors import CompactionOffError, NothingToCompactError, SessionBusyError, SessionError
from agent_ls.loop.questions import UnknownQuestionError
from agent_ls.services.errors import (
    AppError,
    SessionOwnedError,
    UnappliedChangesError,
    UnknownProviderChoiceError,
    UnknownSessionError,
)

F = TypeVar("F", bound=Callable[..., Any])

HINTS: Mapping[type[Exception], str] = {
    UnknownSessionError: "pass the state_dir that it was opened with, or personal=True for a session of the user",
    UnknownProviderChoiceError: 'pass one of these names, or a provider of your program by adapters={"NAME": adapter}',
    SessionOwnedError: "close the session in that process, then resume it",
    SessionBusyError: "await wait_until_idle(), or call interrupt() or follow_up(text)",
    UnappliedChangesError: "call bring_changes() in the open session first, or pass force=True, which loses them",
    UnknownApprovalError: "it may be answered already: pending() returns the requests that wait",
    UnknownQuestionError: "it may be answered already: pending() returns the questions that wait",
    CompactionOffError: 'call configure(settings={"context": {"compaction": "auto", "strategy": "summarize"}})',
    NothingToCompactError: "go on without; the setting context.keepMessages says how many messages are kept",
}
"""What a program does next, by the class of an error whose own hint is for a user."""


@contextmanager
def program_hints() -> Iterator[None]:
    """Replace the hint of an error that leaves the block by the one of HINTS."""
    try:
        yield
    except (AppError, SessionError) as error:
        if hint := HINTS.get(type(error)):
            error.hint, error.__notes__ = hint, [hint]  # a traceback shows the note
        raise


def with_program_hints(function: F) -> F:
    """Decorate a function or an async function of the library."""
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            with program_hints():
                return await function(*args, **kwargs)

        return cast("F", call_async)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with program_hints():
            return function(*args, **kwargs)

    return cast("F", call)
