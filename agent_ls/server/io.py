"""The two ends of the pipe to the editor, with a thread each. Knows frames, no JSON and no language server.

An editor that stops reading blocks no one but those who choose to wait in `drain`.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import queue
import select
import socket
import stat
import threading
from collections.abc import Callable
from typing import Protocol

from agent_ls.server.framing import FrameError, FrameParser

READ_BYTES = 1 << 16
WRITE_BYTES = 1 << 16
"""One write at a time: the capacity of a pipe on Linux, so that `size` falls while the editor reads."""

FULL_BYTES = 64 * 1024 * 1024
"""What waits to be read by a client that sends on and on: above this no more of its messages are read."""

HIGH_WATER_BYTES = 128 * 1024
"""Who produces at will waits above this. Small: what waits upstream can still be joined (E4), here it cannot."""

FLUSH_S = 2.0


class Reading(Protocol):
    """Who is told of what comes in; called from the reading thread. Must not raise."""

    def message(self, body: bytes) -> None: ...

    def wait_until_ready(self) -> None:
        """Called before more is read: blocks while what was read before fills the memory."""
        ...

    def ended(self, problem: str) -> None:
        """Nothing more will come; `problem` is "" for an orderly end of file."""
        ...


def read_in_thread(fd: int, parser: FrameParser, reading: Reading) -> None:
    """Reads until the end in a thread of its own, which dies with the process. `ended` is called in any case."""

    def run() -> None:
        problem = ""
        try:
            while data := os.read(fd, READ_BYTES):
                for body in parser.feed(data):
                    reading.message(body)
                    reading.wait_until_ready()
        except (OSError, FrameError) as error:
            problem = str(error)
        finally:
            reading.ended(problem)

    threading.Thread(target=run, name="agent-ls reader", daemon=True).start()


class ThreadWriter:
    """`write` never blocks: what the pipe does not take at once is written by a thread. `await drain()` is for those
    who produce without end.

    `on_broken` is called once, on the event loop, when the other side is gone; what is written after that
    vanishes.
    """

    def __init__(
        self,
        fd: int,
        on_broken: Callable[[], None],
        *,
        high_water_bytes: int = HIGH_WATER_BYTES,
        full_bytes: int = FULL_BYTES,
    ) -> None:
        self._fd = fd
        self._write_at_once = _without_waiting(fd)
        self._on_broken = on_broken
        self._loop = asyncio.get_running_loop()
        self._context = (
            contextvars.copy_context()
        )  # as in server.py: callbacks come from a thread without one
        self._high = high_water_bytes
        self._size = 0
        self._broken = False
        self._lock = threading.Lock()
        self._room = asyncio.Event()
        self._full = full_bytes
        self._not_full = threading.Event()
        self._not_full.set()
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="agent-ls writer", daemon=True)
        self._thread.start()

    @property
    def waiting_bytes(self) -> int:
        return self._size

    def write(self, data: bytes) -> None:
        with self._lock:
            if self._broken:
                return
            if not self._size:
                # Nothing waits, so the thread is idle; waking it would cost more than most writes do.
                data = data[self._write_at_once(data) :]
            self._size += len(data)
            if self._size > self._full:
                self._not_full.clear()
        if data:
            self._queue.put(data)

    async def drain(self) -> None:
        """Returns when less than the high water waits to be written, or nobody reads any more."""
        while self._size > self._high:
            self._room.clear()
            # Looked at again: the thread may have written, and set the event, between the two lines above.
            if self._size > self._high:
                await self._room.wait()

    def wait_until_not_full(self) -> None:
        """Blocks the calling thread, which is not the event loop's, while the other side reads too little."""
        self._not_full.wait()

    def close(self) -> None:
        """Writes what is waiting, for at most FLUSH_S: an editor that does not read cannot hold us."""
        self._queue.put(None)
        self._thread.join(FLUSH_S)

    def _run(self) -> None:
        while (parts := self._next_parts()) is not None:
            view = memoryview(b"".join(parts))
            while view:
                try:
                    written = os.write(self._fd, view[:WRITE_BYTES])
                except OSError:
                    self._break()
                    return
                view = view[written:]
                self._written(written)

    def _next_parts(self) -> list[bytes] | None:
        """All that waits, joined into one go; None when closed and nothing is left."""
        first = self._queue.get()
        if first is None:
            return None
        parts = [first]
        while not self._queue.empty():
            following = self._queue.get()
            if following is None:
                self._queue.put(None)
                break
            parts.append(following)
        return parts

    def _written(self, count: int) -> None:
        with self._lock:
            self._size -= count
            if self._size <= self._full:
                self._not_full.set()
        if self._size <= self._high and not self._room.is_set():
            self._call(self._room.set)

    def _break(self) -> None:
        with self._lock:
            self._broken = True
            self._size = 0
            self._not_full.set()
        self._call(self._room.set)
        self._call(self._on_broken)

    def _call(self, function: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(function, context=self._context.copy())
        except RuntimeError:
            return  # the loop is closed: nobody waits any more


class ByteCount:
    """Counts what one thread adds and another takes, so that the first can wait while there is too much."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._changed = threading.Condition()

    def add(self, count: int) -> None:
        with self._changed:
            self._size += count

    def take(self, count: int) -> None:
        with self._changed:
            self._size -= count
            self._changed.notify_all()

    def wait_for_room(self) -> None:
        """Blocks the calling thread."""
        with self._changed:
            self._changed.wait_for(lambda: self._size <= self._limit)


def _without_waiting(fd: int) -> Callable[[bytes], int]:
    """A function that writes as much as goes without waiting, and returns how much that was. It never fails: whoever
    writes the rest meets the same error. The descriptor stays as it is (others may have it too)."""
    kind = os.fstat(fd).st_mode
    if stat.S_ISSOCK(kind) and hasattr(socket, "MSG_DONTWAIT"):
        return lambda data: _send(fd, data)
    if stat.S_ISFIFO(kind) and hasattr(select, "poll"):
        ready = select.poll()
        ready.register(fd, select.POLLOUT)
        return lambda data: _write_if_ready(ready, fd, data)
    return lambda data: 0


def _send(fd: int, data: bytes) -> int:
    connection = socket.socket(fileno=fd)
    try:
        return connection.send(data, socket.MSG_DONTWAIT)
    except OSError:
        return 0
    finally:
        connection.detach()


def _write_if_ready(ready: select.poll, fd: int, data: bytes) -> int:
    if len(data) > select.PIPE_BUF or ready.poll(0) != [(fd, select.POLLOUT)]:
        return 0  # a pipe that is ready takes PIPE_BUF bytes without waiting, and may not take more
    try:
        return os.write(fd, data)
    except OSError:
        return 0
