"""Run the blocking reads at the start of a turn together, in one worker thread.

Several parts of a session read small files before each turn. A thread call costs more than such a read, so that the
reads share one thread call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio.to_thread

MAX_AGE_NS = 1_000_000_000
"""An older result is not used, because files may have changed. The user can be asked between two uses of a turn."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Outcome(Generic[T]):
    """The value of a read, or the exception that it raised. `began_ns` is the time at which the reads began."""

    began_ns: int
    value: T | None = None
    error: Exception | None = None


class TurnRead(Generic[T]):
    """One read. `prepare` is called on the event loop's thread, and returns the function that blocks."""

    def __init__(self, prepare: Callable[[], Callable[[], T]], now_ns: Callable[[], int]) -> None:
        self.prepare = prepare
        self.outcome: _Outcome[T] | None = None
        self._now_ns = now_ns

    async def get(self) -> T:
        """Return the result from the start of the turn if it is new and unused. Otherwise read now.

        Raises the exceptions of the read.
        """
        outcome, self.outcome = self.outcome, None
        if outcome is None or self._now_ns() - outcome.began_ns > MAX_AGE_NS:
            return await anyio.to_thread.run_sync(self.prepare(), abandon_on_cancel=True)
        if outcome.error:
            raise outcome.error
        return outcome.value  # type: ignore[return-value]  # None only if T includes None


class TurnReads:
    """The reads of one session. `now_ns` is a monotonic clock."""

    def __init__(self, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._reads: list[TurnRead[object]] = []
        self._now_ns = now_ns

    def add(self, prepare: Callable[[], Callable[[], T]]) -> TurnRead[T]:
        """Add a read to those of the following turns."""
        read = TurnRead(prepare, self._now_ns)
        self._reads.append(read)  # type: ignore[arg-type]  # the type of a value matters to its reader only
        return read

    async def begin(self) -> None:
        """Run all reads in one thread. A read that fails does not affect the others."""
        began_ns, reads = self._now_ns(), tuple(self._reads)
        blocking = [read.prepare() for read in reads]
        outcomes = await anyio.to_thread.run_sync(_run_each, blocking, began_ns, abandon_on_cancel=True)
        for read, outcome in zip(reads, outcomes, strict=True):
            read.outcome = outcome

    def discard(self) -> None:
        """Discard the results, because a program may have changed the files since they were read."""
        for read in self._reads:
            read.outcome = None


def _run_each(reads: Sequence[Callable[[], object]], began_ns: int) -> Sequence[_Outcome[object]]:
    outcomes: list[_Outcome[object]] = []
    for read in reads:
        try:
            outcomes.append(_Outcome(began_ns, read()))
        except Exception as error:  # raised again in `get`
            outcomes.append(_Outcome(began_ns, error=error))
    return outcomes
