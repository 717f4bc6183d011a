"""Write to the editor's pipe or socket. An editor that stops reading blocks only callers that await `drain`."""

from __future__ import annotations

import asyncio
import contextvars
import os
import queue
import select
import socket
import stat
import sys
import threading
from collections.abc import Callable
from functools import partial

WRITE_BYTES = 1 << 16
"""Maximum number of bytes per write: the capacity of a Linux pipe, so that the count of unsent bytes
decreases while the editor reads.
"""

FULL_BYTES = 64 * 1024 * 1024
"""Limit for unsent data. Above this limit, no more messages are read, because the client sends without
reading.
"""

HIGH_WATER_BYTES = 128 * 1024
"""Above this, `drain` waits. Small, because deltas that wait in a Subscription can still be joined, but
deltas in this queue cannot.
"""

FLUSH_S = 2.0


class ThreadWriter:
    """Writes to a descriptor. `write` never blocks: a thread writes the bytes that the pipe does not accept
    at once. Callers that produce much data await `drain`.

    `on_broken` is called once, on the event loop, when the other side has disconnected; later writes are
    dropped.
    """

    def __init__(self, fd: int, on_broken: Callable[[], None]) -> None:
        self._fd = fd
        self._own_fd = _open_again(fd)
        self._write_at_once = (
            _without_waiting(fd) if self._own_fd is None else partial(_write_what_fits, self._own_fd)
        )
        self._on_broken = on_broken
        self._loop = asyncio.get_running_loop()
        self._context = (
            contextvars.copy_context()
        )  # callbacks from the thread run in this context, because the thread's own is empty (see server.py)
        self._size = 0
        self._broken = False
        self._lock = threading.Lock()
        self._room = asyncio.Event()
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="agent-ls writer", daemon=True)
        self._thread.start()

    @property
    def waiting_bytes(self) -> int:
        return self._size

    @property
    def is_full(self) -> bool:
        """Whether so much data is unsent that no more messages may be read."""
        return self._size > FULL_BYTES

    def write(self, data: bytes) -> None:
        with self._lock:
            if self._broken:
                return
            if not self._size:
                # The queue is empty, so write directly; waking the thread would cost more than most writes.
                data = data[self._write_at_once(data) :]
            self._size += len(data)
        if data:
            self._queue.put(data)

    async def drain(self) -> None:
        """Wait until fewer bytes than the high water mark are unsent, or the other side has disconnected."""
        while self._size > HIGH_WATER_BYTES:
            self._room.clear()
            # Check again: the writer thread may have written, and set the event, between the two lines above.
            if self._size > HIGH_WATER_BYTES:
                await self._room.wait()

    def close(self) -> None:
        """Write the unsent data, for at most FLUSH_S, so that an editor that does not read cannot delay the
        end.
        """
        self._queue.put(None)
        self._thread.join(FLUSH_S)
        self._close_own()

    def _close_own(self) -> None:
        with self._lock:
            own, self._own_fd = self._own_fd, None
            self._write_at_once = _write_nothing
        if own is not None:
            os.close(own)

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
                self._count_written(written)

    def _next_parts(self) -> list[bytes] | None:
        """Return all queued data; None if the writer is closed and no data is left."""
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

    def _count_written(self, count: int) -> None:
        with self._lock:
            self._size -= count
        if self._size <= HIGH_WATER_BYTES and not self._room.is_set():
            self._call(self._room.set)

    def _break(self) -> None:
        self._close_own()
        with self._lock:
            self._broken = True
            self._size = 0
        self._call(self._room.set)
        self._call(self._on_broken)

    def _call(self, function: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(function, context=self._context.copy())
        except RuntimeError:
            return  # the loop is closed


def _open_again(fd: int) -> int | None:
    """Open the pipe `fd` once more, without blocking. Returns None if this is not possible.

    The new descriptor has flags of its own, so a write takes what fits; other processes may share those of `fd`.
    """
    if sys.platform != "linux" or not stat.S_ISFIFO(os.fstat(fd).st_mode):
        return None
    try:
        return os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # nobody reads, another user has made the pipe, or there is no /proc
        return None


def _without_waiting(fd: int) -> Callable[[bytes], int]:
    """Return a function that writes as much as possible without blocking and returns the number of bytes written.

    The function never raises: the caller gets the same error when it writes the rest. The descriptor's flags
    are not changed, because other processes may share the descriptor.
    """
    kind = os.fstat(fd).st_mode
    if stat.S_ISSOCK(kind) and hasattr(socket, "MSG_DONTWAIT"):
        return lambda data: _send(fd, data)
    if stat.S_ISFIFO(kind) and hasattr(select, "poll"):
        ready = select.poll()
        ready.register(fd, select.POLLOUT)
        return lambda data: _write_if_ready(ready, fd, data)
    return _write_nothing


def _write_nothing(data: bytes) -> int:
    return 0


def _write_what_fits(fd: int, data: bytes) -> int:
    try:
        return os.write(fd, data)
    except OSError:
        return 0


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
        return 0  # a ready pipe accepts PIPE_BUF bytes without blocking, but maybe not more
    return _write_what_fits(fd, data)
