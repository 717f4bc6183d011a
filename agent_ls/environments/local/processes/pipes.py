"""Pipes to and from processes: create, read and write them."""

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
from agent_ls.environments.local.processes.output import CommandOutput

CHUNK_BYTES = 64 * 1024  # capacity of a pipe on Linux
FINISH_CHUNKS = 16


@dataclass(eq=False, slots=True)
class Pipe:
    """The two descriptors of a pipe.

    A descriptor is -1 after it was closed, or handed over to other code that will close it.
    """

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
    """Create a pipe. Leaving the `with` block closes those descriptors of the pipe that are not -1.

    Raises:
        ProcessStartError: too many files are open.
    """
    try:
        pipe = Pipe(*os.pipe())
    except OSError as error:
        raise ProcessStartError(f"The command could not be started: {error.strerror}.") from error
    try:
        yield pipe
    finally:
        pipe.close()


def _new_decoder() -> codecs.IncrementalDecoder:
    """Return a decoder that replaces invalid bytes by U+FFFD and completes characters split between reads."""
    return codecs.getincrementaldecoder("utf-8")("replace")


class Readers:
    """Reads the pipes of a running command. Stores the text in `output`, and passes it to `on_output`."""

    def __init__(self, output: CommandOutput, on_output: OutputSink | None) -> None:
        self.output = output
        self._on_output = on_output
        self.is_done: dict[Stream, anyio.Event] = {"stdout": anyio.Event(), "stderr": anyio.Event()}
        self._decoders = {stream: _new_decoder() for stream in self.is_done}

    @property
    def are_done(self) -> bool:
        return all(event.is_set() for event in self.is_done.values())

    async def read(self, pipe: Pipe, stream: Stream) -> None:
        """Read to the end of the pipe, or until cancelled."""
        os.set_blocking(pipe.reading, False)
        while not self.is_done[stream].is_set():
            await anyio.wait_readable(pipe.reading)
            self._read(pipe, stream)

    def finish(self, pipe: Pipe, stream: Stream) -> None:
        """Read the available output after `read` was cancelled, at most FINISH_CHUNKS chunks."""
        os.set_blocking(pipe.reading, False)
        with suppress(BlockingIOError):
            for _ in range(FINISH_CHUNKS):
                if self.is_done[stream].is_set():
                    return
                self._read(pipe, stream)

    def _read(self, pipe: Pipe, stream: Stream) -> None:
        data = os.read(pipe.reading, CHUNK_BYTES)
        self.add_output(stream, self._decoders[stream].decode(data, final=not data))
        if not data:
            self.is_done[stream].set()

    def discard_output(self, pipe: Pipe) -> None:
        """Read and discard further output in a thread.

        If nobody read the pipe, it would become full and block the process that writes to it.
        """
        drain(pipe.give_reading(), _discard)

    def add_output(self, stream: Stream, text: str) -> None:
        if not text:
            return
        self.output.add(stream, text)
        if self._on_output:
            self._on_output(stream, text)

    async def all_done(self) -> None:
        """Wait until all pipes are at end of file, so no process can write to them."""
        for event in self.is_done.values():
            await event.wait()


class InputPipe:
    """The writing end of a process's standard input. Data from several `write` calls arrives in call order."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._turn = anyio.Lock()
        self.is_open = True

    async def write(self, data: bytes, *, close: bool) -> None:
        """Write to the process's input; if `close`, close the input afterwards.

        Raises:
            BrokenPipeError: no process reads the input any more.
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
            self._close_if_unused()

    def close(self) -> None:
        """Close the input.

        If a write is waiting, the descriptor is closed after the write. May be called again.
        """
        self.is_open = False
        self._close_if_unused()

    def _close_if_unused(self) -> None:
        if not self.is_open and self._descriptor >= 0 and not self._turn.statistics().locked:
            os.close(self._descriptor)
            self._descriptor = -1


def drain(
    descriptor: int, sink: Callable[[str], None], ended: Callable[[], None] = lambda: None
) -> threading.Thread:
    """Read a pipe to its end in a new thread, and close it. `sink` and `ended` are called in that thread.

    A thread is used because the reader must outlive the call that started the process. Without a reader, the
    process would block on a full pipe, or be killed when the pipe is closed.
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
            os.set_blocking(descriptor, True)  # the event loop may have read it in non-blocking mode
        while data := os.read(descriptor, CHUNK_BYTES):
            sink(decoder.decode(data))
        sink(decoder.decode(b"", final=True))
    finally:
        os.close(descriptor)
        ended()


def _discard(text: str) -> None:
    """Do nothing with the output, because the result of the command has already been returned."""
