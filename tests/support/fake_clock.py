"""A clock that the test advances. It records the requested sleeps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import anyio
from anyio.lowlevel import checkpoint

_START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class FakeClock:
    def __init__(self) -> None:
        self.slept_s: list[float] = []
        self.random_value = 0.5
        self._now_s = 0.0
        self._sleepers: list[tuple[float, anyio.Event]] = []

    def now(self) -> str:
        moment = _START + timedelta(seconds=self._now_s)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic_ms(self) -> int:
        return int(self._now_s * 1000)

    async def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        if seconds <= 0:
            await checkpoint()
            return
        woken = anyio.Event()
        self._sleepers.append((self._now_s + seconds, woken))
        await woken.wait()

    def random(self) -> float:
        return self.random_value

    def advance(self, seconds: float) -> None:
        self._now_s += seconds
        due = [sleeper for sleeper in self._sleepers if sleeper[0] <= self._now_s]
        self._sleepers = [sleeper for sleeper in self._sleepers if sleeper[0] > self._now_s]
        for _, woken in due:
            woken.set()
