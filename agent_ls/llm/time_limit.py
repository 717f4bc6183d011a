"""The time limit for one complete answer of a provider."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import anyio

from agent_ls.llm.errors import RequestTimeoutError


class ResponseTimeLimit:
    """Limits an answer of the provider `name` to `limit_s` seconds from now on; None: no limit.

    Each wait is limited by itself, because a cancel scope must not enclose the `yield` of a generator, whose consumer
    may run in other cancel scopes.
    """

    def __init__(self, name: str, limit_s: float | None) -> None:
        self._name = name
        self._limit_s = limit_s
        self._deadline = math.inf if limit_s is None else anyio.current_time() + limit_s

    def within(self) -> AbstractContextManager[None]:
        """Limit the `with` block.

        Raises:
            RequestTimeoutError: the deadline passed inside the block.
        """
        return nullcontext() if self._deadline == math.inf else self._end_in_time()

    @contextmanager
    def _end_in_time(self) -> Iterator[None]:
        with anyio.move_on_at(self._deadline) as scope:
            yield
        if scope.cancelled_caught:
            raise RequestTimeoutError(
                f"{self._name} took longer than {self._limit_s:g} s for one answer",
                hint="Try again, or set a longer total time limit for this provider.",
            )
