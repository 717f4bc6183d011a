"""The pipes that processes write to, and who reads them."""

from __future__ import annotations

import codecs
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import anyio

from agent_ls.environments.base import OutputSink, Stream
from agent_ls.environments.errors import ProcessStartError
from agent_ls.environments.local.output import CommandOutput

CHUNK_BYTES = 64 * 1024  # what a Linux pipe holds
FINISH_CHUNKS = 16


@dataclass(eq=False, slots=True)
class Pipe:
    """Closes what is not yet closed or given away when its block ends."""

    reading: int
    writing: int

    def close_writing(self) -> None:
        if self.writing >= 0:
            os.close(self.writing)
            self.writing = -1

    def give_reading(self) -> int:
        descriptor, self.reading = self.reading, -1
        return descriptor

    def close_reading(self) -> None:
        if self.reading >= 0:
            os.close(self.give_reading())

    def give_writing(self) -> int:
        descriptor, self.writing = self.writing, -1
        return descriptor

    def close(self) -> None:
        self.close_writing()
        self.close_reading()


@contextmanager
def new_pipe() -> Iterator[Pipe]:
    """Raises ProcessStartError when we have too many files open."""
    try:
        pipe = Pipe(*os.pipe())
    except OSError as error:
        raise ProcessStartError(f"The command could not be started: {error.strerror}.") from error
    try:
        yield pipe
    finally:
        pipe.close()


def _new_decoder() -> codecs.IncrementalDecoder:
    """Undecodable bytes become U+FFFD; a character cut by a read is not undecodable."""
    return codecs.getincrementaldecoder("utf-8")("replace")


class Readers:
    """Read a running command's pipes, and pass on what they read."""

    def __init__(self, output: CommandOutput, on_output: OutputSink | None) -> None:
        self.output = output
        self._on_output = on_output
        self.is_done: dict[Stream, anyio.Event] = {"stdout": anyio.Event(), "stderr": anyio.Event()}
        self._decoders = {stream: _new_decoder() for stream in self.is_done}

    @property
    def are_done(self) -> bool:
        return all(event.is_set() for event in self.is_done.values())

    async def read(self, pipe: Pipe, stream: Stream) -> None:
        """Until its end, or cancelled."""
        os.set_blocking(pipe.reading, False)
        while not self.is_done[stream].is_set():
            await anyio.wait_readable(pipe.reading)
            self._read(pipe, stream)

    def finish(self, pipe: Pipe, stream: Stream) -> None:
        """What is there to be read, once `read` was cancelled: it may have been kept from it. A flood has no end."""
        os.set_blocking(pipe.reading, False)
        with suppress(BlockingIOError):
            for _ in range(FINISH_CHUNKS):
                if self.is_done[stream].is_set():
                    return
                self._read(pipe, stream)

    def _read(self, pipe: Pipe, stream: Stream) -> None:
        data = os.read(pipe.reading, CHUNK_BYTES)
        self.take(stream, self._decoders[stream].decode(data, final=not data))
        if not data:
            self.is_done[stream].set()

    def let_go(self, pipe: Pipe) -> None:
        """What still comes is nobody's; it must be read, or who writes it would be stopped."""
        drain(pipe.give_reading(), _discard)

    def take(self, stream: Stream, text: str) -> None:
        if not text:
            return
        self.output.add(stream, text)
        if self._on_output:
            self._on_output(stream, text)

    async def all_done(self) -> None:
        """Returns when both pipes are at their end: nothing has them open for writing any more."""
        for event in self.is_done.values():
            await event.wait()


class InputPipe:
    """The writing end of a process's input; what is written arrives in the order of the calls."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._turn = anyio.Lock()
        self.is_open = True

    async def write(self, data: bytes, *, close: bool) -> None:
        """
        Raises:
            BrokenPipeError: nobody reads it any more.
        """
        try:
            async with self._turn:
                while data and self.is_open:
                    await anyio.wait_writable(self._descriptor)
                    data = data[os.write(self._descriptor, data[:CHUNK_BYTES]) :]
                if data:
                    raise BrokenPipeError
                self.is_open = self.is_open and not close
        finally:
            self._settle()

    def close(self) -> None:
        """May be called again. A write that still waits ends first: what it waits for must stay what it is."""
        self.is_open = False
        self._settle()

    def _settle(self) -> None:
        if not self.is_open and self._descriptor >= 0 and not self._turn.statistics().locked:
            os.close(self._descriptor)
            self._descriptor = -1


def drain(
    descriptor: int, sink: Callable[[str], None], ended: Callable[[], None] = lambda: None
) -> threading.Thread:
    """Reads a pipe to its end in a thread of its own and closes it; both are called from there.

    The reader must outlive the call that started the process, and belongs to no task: a process that nobody
    reads from would be stopped by a full pipe, or killed by a closed one.
    """
    thread = threading.Thread(
        target=_drain, args=(descriptor, sink, ended), daemon=True, name="agent-ls-output"
    )
    thread.start()
    return thread


def _drain(descriptor: int, sink: Callable[[str], None], ended: Callable[[], None]) -> None:
    decoder = _new_decoder()
    try:
        if sys.platform != "win32":
            os.set_blocking(descriptor, True)  # it may have been read by the event loop so far
        while data := os.read(descriptor, CHUNK_BYTES):
            sink(decoder.decode(data))
        sink(decoder.decode(b"", final=True))
    finally:
        os.close(descriptor)
        ended()


def _discard(text: str) -> None:
    """For output that nobody reads any more."""
