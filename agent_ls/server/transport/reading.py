"""Read from the editor's pipe or socket: on the event loop where it can wait for data, in a thread elsewhere.

A thread between the editor and the event loop would cost two switches per message, and compete for the interpreter
lock. Handles bytes, not frames.
"""

from __future__ import annotations

import asyncio
import contextvars
import io
import os
import socket
import stat
import sys
import threading
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Protocol, TypeAlias

READ_BYTES = 1 << 16
PAUSE_S = 0.05

Source: TypeAlias = io.FileIO | socket.socket


class Receiver(Protocol):
    """Interface of the receiver of the bytes read. Called on the event loop. Must not raise."""

    def handle_data(self, data: bytes) -> None: ...

    def must_wait(self) -> bool:
        """Return whether reading must pause, because the editor sends without reading what it gets."""
        ...

    def handle_end(self, problem: str) -> None:
        """Handle the end of reading. `problem` is "" for an orderly end of file."""
        ...


def start_reading(fd: int, receiver: Receiver) -> Reading:
    """Read `fd` until its end, or until `close`. Call this on the event loop."""
    source = _open_again(fd)
    return _ThreadReading(fd, receiver) if source is None else _LoopReading(source, receiver)


class Reading(ABC):
    """Passes bytes to `receiver`, each time in a copy of the context in which the reading began.

    If the package sniffio is installed, anyio reads the running loop from the context, so a callback in an empty
    context could not start tasks.
    """

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self._is_closed = False

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._close()

    @abstractmethod
    def _close(self) -> None: ...

    @abstractmethod
    def _pause(self) -> None: ...

    @abstractmethod
    def _go_on(self) -> None: ...

    def _handle(self, data: bytes) -> None:
        if self._is_closed:
            return
        if not data:
            self._end("")
            return
        self._context.copy().run(self._receiver.handle_data, data)
        if self._receiver.must_wait():
            self._pause()
        self._maybe_go_on()

    def _maybe_go_on(self) -> None:
        if self._receiver.must_wait():
            self._loop.call_later(PAUSE_S, self._maybe_go_on)
        elif not self._is_closed:
            self._go_on()

    def _end(self, problem: str) -> None:
        if not self._is_closed:
            self.close()
            self._receiver.handle_end(problem)


class _LoopReading(Reading):
    def __init__(self, source: Source, receiver: Receiver) -> None:
        super().__init__(receiver)
        self._source = source
        self._is_paused = True
        self._go_on()

    def _read(self) -> None:
        try:
            if isinstance(self._source, socket.socket):
                data = self._source.recv(READ_BYTES, socket.MSG_DONTWAIT)
            else:
                data = os.read(self._source.fileno(), READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(str(error))
            return
        self._handle(data)

    def _pause(self) -> None:
        self._is_paused = True
        self._loop.remove_reader(self._source)

    def _go_on(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._loop.add_reader(self._source, self._read)

    def _close(self) -> None:
        self._pause()
        self._source.close()


class _ThreadReading(Reading):
    """Reads in a daemon thread, which stays until the end of file or of the process."""

    def __init__(self, fd: int, receiver: Receiver) -> None:
        super().__init__(receiver)
        self._is_handled = threading.Event()
        threading.Thread(target=self._read, args=[fd], name="agent-ls reader", daemon=True).start()

    def _read(self, fd: int) -> None:
        with suppress(RuntimeError):  # the loop is closed because the server is ending
            try:
                while not self._is_closed:
                    data = os.read(fd, READ_BYTES)
                    self._is_handled.clear()
                    self._loop.call_soon_threadsafe(self._handle, data)
                    self._is_handled.wait()
            except OSError as error:
                self._loop.call_soon_threadsafe(self._end, str(error))

    def _pause(self) -> None:
        """Do nothing: the thread waits for `_go_on` after each read."""

    def _go_on(self) -> None:
        self._is_handled.set()

    def _close(self) -> None:
        self._is_handled.set()


def _open_again(fd: int) -> Source | None:
    """Open a pipe or a socket once more, so that a read takes what is there. Returns None if this is not possible.

    The flags of `fd` stay, because other processes may share them.
    """
    kind = os.fstat(fd).st_mode
    if stat.S_ISSOCK(kind) and hasattr(socket, "MSG_DONTWAIT"):
        return socket.socket(fileno=os.dup(fd))
    if stat.S_ISFIFO(kind) and sys.platform == "linux":
        with suppress(OSError):  # another user has made the pipe, or there is no /proc
            descriptor = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK)
            return io.FileIO(descriptor)
    return None
