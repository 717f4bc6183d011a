"""Pipes for Windows, where the event loop cannot wait for a pipe: a thread owns each pipe and closes it."""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import anyio
from anyio import from_thread
from anyio.lowlevel import EventLoopToken, current_token

from agent_ls.environments.base import OutputSink, Stream
from agent_ls.environments.local.processes.output import CommandOutput
from agent_ls.environments.local.processes.pipes import InputPipe, Pipe, Readers, drain

CAN_WAIT_FOR_PIPES = sys.platform != "win32"


def new_readers(output: CommandOutput, on_output: OutputSink | None) -> Readers:
    return (Readers if CAN_WAIT_FOR_PIPES else ThreadReaders)(output, on_output)


def new_input(descriptor: int) -> InputPipe | ThreadInputPipe:
    return (InputPipe if CAN_WAIT_FOR_PIPES else ThreadInputPipe)(descriptor)


class ThreadReaders(Readers):
    """Reads pipes in threads.

    Each thread waits until the event loop has processed the text it read, so that output is not buffered
    without limit.
    """

    _is_let_go = False

    async def read(self, pipe: Pipe, stream: Stream) -> None:
        token = current_token()

        def sink(text: str) -> None:
            if not self._is_let_go:
                _on_loop(token, partial(self.add_output, stream, text))

        drain(pipe.give_reading(), sink, partial(_on_loop, token, self.is_done[stream].set))
        await self.is_done[stream].wait()

    def finish(self, pipe: Pipe, stream: Stream) -> None:
        """Do nothing: the thread that `read` has started also reads the rest of the output."""

    def discard_output(self, pipe: Pipe) -> None:
        self._is_let_go = True


@dataclass(eq=False, slots=True)
class _PendingWrite:
    """The data of one `write`, for the writing thread. `ended` is set after the write; `is_whole`: all data was
    written.
    """

    data: bytes
    close: bool
    token: EventLoopToken
    ended: anyio.Event = field(default_factory=anyio.Event)
    is_whole: bool = False


class ThreadInputPipe:
    """An InputPipe that writes in a thread.

    The data of a cancelled write stays in the queue, and is written when the process reads its input.
    """

    def __init__(self, descriptor: int) -> None:
        self._queue: queue.SimpleQueue[_PendingWrite | None] = queue.SimpleQueue()
        self.is_open = True
        threading.Thread(target=self._run, args=(descriptor,), daemon=True, name="agent-ls-input").start()

    async def write(self, data: bytes, *, close: bool) -> None:
        """Write to the process's input; if `close`, close the input afterwards.

        Raises:
            BrokenPipeError: no process reads the input any more.
        """
        if not self.is_open:
            raise BrokenPipeError
        written = _PendingWrite(data, close, current_token())
        self._queue.put(written)
        if close:
            self.close()
        await written.ended.wait()
        if not written.is_whole:
            raise BrokenPipeError

    def close(self) -> None:
        """Close the input after the pending writes. May be called again."""
        self.is_open = False
        self._queue.put(None)

    def _run(self, descriptor: int) -> None:
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            is_broken = False
            while written := self._queue.get():
                view = memoryview(written.data)
                try:
                    while view and not is_broken:
                        view = view[file.write(view) :]
                except OSError:
                    is_broken = True
                    self.is_open = False
                written.is_whole = not is_broken
                _on_loop(written.token, written.ended.set)


def _on_loop(token: EventLoopToken, function: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the event loop has ended
        from_thread.run_sync(function, token=token)
