"""SEAMS of the session: what it needs of a log, of a clock, and of whoever tells it of the world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agent_ls.loop.events import Envelope
from agent_ls.loop.turns import Turn


class Recorder(Protocol):
    """Where a session is written. Calls are made in order and return when the kernel has the bytes.

    None of them awaits: a line is handed over by one write() (it survives our being killed); fsync is `sync`.
    A failing disk must not end the session: an implementation reports once and goes on.
    """

    def event(self, envelope: Envelope, encoded: bytes) -> None:
        """A recorded event, before anyone else sees it."""
        ...

    def turn(self, turn: Turn) -> None:
        """A turn, before the events that follow from it."""
        ...

    def prompt(self, system_prompt: str) -> None:
        """The system prompt of the calls that follow, when it is new (a resumed session sends the same bytes)."""
        ...

    def partial(self, part_id: str, text: str) -> None:
        """The text so far of an open part, at most once a second: all that kill -9 can lose is newer."""
        ...

    def output(self, call_id: str, text: str) -> str:
        """Keeps a call's whole output; the `output_ref` to find it by."""
        ...

    async def sync(self) -> None: ...


class Clock(Protocol):
    def now(self) -> str:
        """ISO 8601 with milliseconds, UTC."""
        ...

    def monotonic_ms(self) -> int: ...

    async def sleep(self, seconds: float) -> None: ...

    def random(self) -> float:
        """In [0, 1): for jitter."""
        ...


class NoticeBoard(Protocol):
    """What the model is to be told at the next safe boundary, collected by others (verdicts on hunks).

    `take` empties it. Each text becomes one SteeringTurn of source `review`.
    """

    def take(self) -> Sequence[str]: ...
