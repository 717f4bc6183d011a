"""Run the blocking reads at the start of a turn together: in one worker thread call, or without one.

Several parts of a session read small files before each turn. Starting a worker thread call takes longer than
such a read, so all reads share one call. They need no thread call if they only look at a few files on disks of this
machine, at which they looked a moment ago.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from typing import Any, Generic, TypeAlias, TypeVar

import anyio.to_thread

from agent_ls.system import is_on_own_disk

MAX_AGE_NS = 1_000_000_000
"""Maximum age of a result that is used. Files may have changed since, for example while the user was asked."""

MAX_LOOKS = 400
"""Maximum number of files at which the reads may look without a thread call. A look takes a few microseconds."""

WARM_NS = 60_000_000_000
"""Time for which the system is expected to keep in memory what a look needs, so that the disk is not asked."""

T = TypeVar("T")

Looks: TypeAlias = Callable[[], Collection[str] | None]
"""Returns the files at which a read will look; None if it does more than look. Called on the event loop."""

Outcomes: TypeAlias = "dict[TurnRead[Any], Future[Any]]"

_is_on_loop: ContextVar[bool] = ContextVar("agent_ls_turn_reads_on_loop", default=False)

_outcomes: ContextVar[Outcomes | None] = ContextVar("agent_ls_turn_reads", default=None)
"""The results of the reads of a turn that have run so far. Set only in the call that runs the reads."""


class NeedsThreadError(Exception):
    """A read must do more than look at files, so that it needs a worker thread."""


def require_thread() -> None:
    """Do nothing in a worker thread. A read calls this before it does more than look at files.

    Raises:
        NeedsThreadError: the read runs on the event loop. All reads run again in a worker thread.
    """
    if _is_on_loop.get():
        raise NeedsThreadError


class TurnRead(Generic[T]):
    """A blocking read that runs at the start of each turn, and the result of its last run.

    `prepare` is called on the event loop's thread, and returns the function that blocks.
    """

    def __init__(
        self,
        prepare: Callable[[], Callable[[], T]],
        looks: Looks,
        run: Callable[[Sequence[TurnRead[Any]]], Awaitable[Outcomes]],
        now_ns: Callable[[], int],
    ) -> None:
        self.prepare = prepare
        self._run = run
        self.looks = looks
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
            outcome = (await self._run([self]))[self]
        return outcome.result()

    def get_from_this_call(self) -> T | None:
        """Return the result of this read, if it has already run in the current call of `TurnReads.begin`.

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
        self._near: frozenset[str] = frozenset()
        self._looked_ns: int | None = None

    def add(self, prepare: Callable[[], Callable[[], T]], looks: Looks = lambda: None) -> TurnRead[T]:
        """Add a read, which runs at the start of each following turn."""
        read = TurnRead(prepare, looks, self._run, self._now_ns)
        self._reads.append(read)
        return read

    async def begin(self) -> None:
        """Run all reads, and store their results. A read that fails does not affect the others."""
        began_ns = self._now_ns()
        outcomes = await self._run(self._reads)
        self._looked_ns = began_ns
        for read, outcome in outcomes.items():
            read.outcome, read.began_ns = outcome, began_ns

    def discard(self) -> None:
        """Discard the results, because a program may have changed the files since they were read."""
        for read in self._reads:
            read.outcome = None

    async def _run(self, reads: Sequence[TurnRead[Any]]) -> Outcomes:
        """Run some of the reads, in a worker thread unless they are quick."""
        looks = [read.looks() for read in reads]
        files = {path for paths in looks for path in paths or ()}
        blocking = {read: read.prepare() for read in reads}
        outcomes = _run_on_loop(blocking) if None not in looks and self._are_near(files) else None
        return await self._run_in_thread(blocking, files) if outcomes is None else outcomes

    def _are_near(self, files: Collection[str]) -> bool:
        """Return whether a look at these files takes little time."""
        is_warm = self._looked_ns is not None and self._now_ns() - self._looked_ns <= WARM_NS
        return is_warm and len(files) <= MAX_LOOKS and self._near.issuperset(files)

    async def _run_in_thread(
        self, blocking: Mapping[TurnRead[Any], Callable[[], Any]], files: Collection[str]
    ) -> Outcomes:
        def run() -> tuple[Outcomes, set[str]]:
            return _run_each(blocking), {*filter(_is_near, files)}

        outcomes, near = await anyio.to_thread.run_sync(run, abandon_on_cancel=True)
        self._near = self._near.difference(files) | near
        return outcomes


def _run_each(reads: Mapping[TurnRead[Any], Callable[[], Any]]) -> Outcomes:
    outcomes: Outcomes = {}
    _outcomes.set(outcomes)  # the caller gives each call a copy of the context
    for read, run in reads.items():
        outcome: Future[Any] = Future()
        try:
            outcome.set_result(run())
        except NeedsThreadError:
            raise
        except Exception as error:  # raised again in `get`
            outcome.set_exception(error)
        outcomes[read] = outcome
    return outcomes


def _run_on_loop(reads: Mapping[TurnRead[Any], Callable[[], Any]]) -> Outcomes | None:
    """Run the reads without a thread call. Returns None if one of them needs a thread."""
    context = copy_context()
    context.run(_is_on_loop.set, True)
    try:
        return context.run(_run_each, reads)
    except NeedsThreadError:
        return None


def _is_near(path: str) -> bool:
    """Return whether a file, or the folder in which it would be, is on a disk of this machine. Blocks."""
    while True:
        try:
            return is_on_own_disk(os.stat(path))
        except (FileNotFoundError, NotADirectoryError):
            path, missing = os.path.dirname(path), path
            if path == missing:
                return False
        except (OSError, ValueError):
            return False
