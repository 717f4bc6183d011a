"""The server's input from real pipes, sockets and files: complete, in order, and without a thread where possible."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

import anyio
import anyio.to_thread
import pytest

from agent_ls.server.transport.reading import start_reading
from tests.support.processes import eventually

DEADLINE_S = 240.0
MEBIBYTE = 1 << 20

Ends: TypeAlias = tuple[int, Callable[[bytes], object], Callable[[], None]]
"""A descriptor to read, a function that fills it, and one that ends the data."""

Kind: TypeAlias = Callable[[], AbstractContextManager[Ends]]


class Receiver:
    def __init__(self) -> None:
        self.data = bytearray()
        self.problem: str | None = None
        self.is_full = False
        self.came = anyio.Event()
        self.asked = 0

    def handle_data(self, data: bytes) -> None:
        assert threading.current_thread() is threading.main_thread()
        self.data += data
        self._wake()

    def must_wait(self) -> bool:
        self.asked += 1
        return self.is_full

    def handle_end(self, problem: str) -> None:
        self.problem = problem
        self._wake()

    def _wake(self) -> None:
        self.came.set()
        self.came = anyio.Event()

    async def until(self, holds: Callable[[], bool]) -> None:
        with anyio.fail_after(DEADLINE_S):
            while not holds():
                await self.came.wait()


@contextmanager
def pipe() -> Iterator[Ends]:
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb", buffering=0) as file:
        yield reader, lambda data: write_all(file.fileno(), data), file.close
    os.close(reader)


@contextmanager
def connection() -> Iterator[Ends]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours.fileno(), theirs.sendall, theirs.close


@contextmanager
def regular_file() -> Iterator[Ends]:
    """A descriptor for which no event loop can wait."""
    with tempfile.TemporaryFile() as file:
        yield file.fileno(), lambda data: os.pwrite(file.fileno(), data, 0), lambda: None


def write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


KINDS = pytest.mark.parametrize("kind", [pipe, connection, regular_file])


@KINDS
@pytest.mark.req("E4")
async def test_all_bytes_arrive_in_order_on_the_event_loop(kind: Kind) -> None:
    sent = os.urandom(3 * MEBIBYTE)
    receiver = Receiver()
    with kind() as (fd, fill, end):
        if kind is regular_file:
            fill(sent)
        reading = start_reading(fd, receiver)
        if kind is not regular_file:
            await anyio.to_thread.run_sync(fill, sent)
        end()
        await receiver.until(lambda: receiver.problem is not None)
        reading.close()
    assert (bytes(receiver.data), receiver.problem) == (sent, "")


@KINDS
@pytest.mark.req("E4", "R5")
async def test_reading_pauses_while_the_receiver_must_wait(kind: Kind) -> None:
    receiver = Receiver()
    receiver.is_full = True
    with kind() as (fd, fill, _end):
        filling = threading.Thread(target=fill, args=[bytes(MEBIBYTE)], daemon=True)
        filling.start()
        if kind is regular_file:
            filling.join()
        reading = start_reading(fd, receiver)
        await receiver.until(lambda: bool(receiver.data))
        first = len(receiver.data)
        asked = receiver.asked
        await eventually(lambda: receiver.asked >= asked + 3)
        assert len(receiver.data) == first < MEBIBYTE
        receiver.is_full = False
        await receiver.until(lambda: len(receiver.data) == MEBIBYTE)
        reading.close()
        filling.join(DEADLINE_S)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a pipe cannot be opened again")
@pytest.mark.parametrize("kind", [pipe, connection])
@pytest.mark.req("L5")
async def test_no_thread_reads_a_pipe_or_a_socket(kind: Kind) -> None:
    """A thread would cost two switches per message of the editor."""
    receiver = Receiver()
    with kind() as (fd, fill, _end):
        before = {*threading.enumerate()}  # a thread of an earlier test may still end
        reading = start_reading(fd, receiver)
        fill(b"message")
        await receiver.until(lambda: receiver.data == b"message")
        assert not {*threading.enumerate()} - before
        reading.close()
        fill(b"more")  # not read any more, and the descriptor of the caller stays open
        assert os.read(fd, 10) == b"more"


@pytest.mark.parametrize("kind", [pipe, connection])
@pytest.mark.req("E4")
async def test_the_flags_of_a_descriptor_that_others_share_stay(kind: Kind) -> None:
    with kind() as (fd, _, _end):
        reading = start_reading(fd, Receiver())
        assert os.get_blocking(fd)
        reading.close()
