"""The clock, sleep and random numbers of this machine."""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime

import anyio


class SystemClock:
    def now(self) -> str:
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    def random(self) -> float:
        return random.random()
