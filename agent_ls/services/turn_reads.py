"""Run the blocking reads at the start of a turn together, in one worker thread.

Several parts of a session read small files before each turn. Starting a worker thread call takes longer than
such a read, so all reads share one call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextvars import ContextVar
from typing import Any, Generic, TypeAlias, TypeVar

import anyio.to_thread

MAX_AGE_NS = 1_000_000_000
"""Maximum age of a result that is used. Files may have changed since, for example while the user was asked."""

T = TypeVar("T")

Outcomes: TypeAlias = "dict[TurnRead[Any], Future[Any]]"

_outcomes: ContextVar[Outcomes | None] = ContextVar("agent_ls_turn_reads", default=None)
"""The results of the reads of a turn that have run so far. Set only in the worker thread that runs the reads."""


class TurnRead(Generic[T]):
    """A blocking read that runs at the start of each turn, and the result of its last run.

    `prepare` is called on the event loop's thread, and returns the function that blocks.
    """

    def __init__(self, prepare: Callable[[], Callable[[], T]], now_ns: Callable[[], int]) -> None:
        self.prepare = prepare
        self.outcome: Future[T] | None = None
        self.began_ns = 0
        """Start time of the read that produced `outcome`."""
        self._now_ns = now_ns

    async def get(self) -> T:
        """Return the result of the read. Raises the errors that the read raised.

        The first call in a turn returns the result of the read at the start of the turn, unless that result is
        too old or was discarded. Other calls read again.
        """
        outcome, self.outcome = self.outcome, None
        if outcome is None or self._now_ns() - self.began_ns > MAX_AGE_NS:
            return await anyio.to_thread.run_sync(self.prepare(), abandon_on_cancel=True)
        return outcome.result()

    def get_from_this_call(self) -> T | None:
        """Return the result of this read, if it has already run in the current worker thread call
        (`TurnReads.begin`).

        Other reads call this method to use the result of this read. Returns None outside of `TurnReads.begin`.
        Raises the errors that the read raised.
        """
        outcome = (_outcomes.get() or {}).get(self)
        return outcome.result() if outcome else None


class TurnReads:
    """The blocking reads that run at the start of each turn of one session. `now_ns` is a monotonic clock."""

    def __init__(self, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._reads: list[TurnRead[Any]] = []
        self._now_ns = now_ns

    def add(self, prepare: Callable[[], Callable[[], T]]) -> TurnRead[T]:
        """Add a read, which runs at the start of each following turn."""
        read = TurnRead(prepare, self._now_ns)
        self._reads.append(read)
        return read

    async def begin(self) -> None:
        """Run all reads in one worker thread, and store their results. A read that fails does not affect the others."""
        began_ns = self._now_ns()
        blocking = {read: read.prepare() for read in self._reads}
        outcomes = await anyio.to_thread.run_sync(_run_each, blocking, abandon_on_cancel=True)
        for read, outcome in outcomes.items():
            read.outcome, read.began_ns = outcome, began_ns

    def discard(self) -> None:
        """Discard the results, because a program may have changed the files since they were read."""
        for read in self._reads:
            read.outcome = None


def _run_each(reads: Mapping[TurnRead[Any], Callable[[], Any]]) -> Outcomes:
    outcomes: Outcomes = {}
    _outcomes.set(outcomes)  # a worker thread has its own copy of the context
    for read, run in reads.items():
        outcome: Future[Any] = Future()
        try:
            outcome.set_result(run())
        except Exception as error:  # raised again in `get`
            outcome.set_exception(error)
        outcomes[read] = outcome
    return outcomes
