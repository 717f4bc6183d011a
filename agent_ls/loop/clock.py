"""The interface to time and randomness."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Interface to time and randomness, so that tests control both."""

    def now(self) -> str:
        """The current time: ISO 8601 with milliseconds, UTC."""
        ...

    def monotonic_ms(self) -> int: ...

    async def sleep(self, seconds: float) -> None: ...

    def random(self) -> float:
        """A random number in [0, 1), for jitter."""
        ...
