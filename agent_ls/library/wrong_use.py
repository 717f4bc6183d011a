"""Methods that say what to write instead, for uses that Python would refuse without naming the next step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OPEN = "write `async with open_session(...) as session`, or `session = await open_session(...)`"
OPEN_PLAIN = f"{OPEN}; a program without `async` uses open_session_sync"
CLOSE = "write `async with session`, or call `await session.close()`"
READ = "write `async for event in ...`; `await session.ask(text)` returns only the answer"


def refuse(next_step: str) -> Callable[..., Any]:
    """Return a special method, such as `__enter__`, that raises a TypeError."""

    def method(self: object, *args: object) -> Any:
        raise TypeError(f"{type(self).__name__} cannot be used in this way: {next_step}")

    return method


def name_missing(self: object, name: str) -> Any:
    """A `__getattr__` of a session that is not open yet."""
    raise AttributeError(f"the session is not open yet, so it has no {name}: {OPEN}", name=name, obj=self)
