"""Frames that wait to be sent on a stream: `put` never blocks, `drain` waits while too many are unsent."""

from __future__ import annotations

from collections import deque

import anyio
import anyio.abc

HIGH_WATER_BYTES = 128 * 1024


class Outbox:
    """A queue of frames that `run` sends in order. After the other side has disconnected, frames are dropped."""

    def __init__(self, stream: anyio.abc.ByteSendStream) -> None:
        self._stream = stream
        self._frames: deque[bytes] = deque()
        self._size = 0
        self._is_gone = False
        self._changed = anyio.Event()

    def put(self, frame: bytes) -> None:
        if not self._is_gone:
            self._frames.append(frame)
            self._size += len(frame)
            self._wake()

    async def drain(self) -> None:
        """Wait until the number of unsent bytes is below the high water mark, or the other side has
        disconnected.
        """
        while self._size > HIGH_WATER_BYTES:
            await self._changed.wait()

    async def run(self) -> None:
        """Send frames until cancelled or until the other side disconnects."""
        try:
            while True:
                while not self._frames:
                    await self._changed.wait()
                frame = self._frames.popleft()
                await self._stream.send(frame)
                self._size -= len(frame)
                self._wake()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._is_gone, self._size = True, 0
            self._frames.clear()
            self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
