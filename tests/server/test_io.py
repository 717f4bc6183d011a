"""The server's output over a real pipe and a real socket: no byte is lost, and a slow reader blocks no task."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

import anyio
import anyio.to_thread
import pytest

from agent_ls.server.transport.io import ThreadWriter

DEADLINE_S = 240.0

Kind: TypeAlias = Callable[[], AbstractContextManager[tuple[int, int]]]


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    try:
        yield reader, writer
    finally:
        os.close(reader)
        os.close(writer)


@contextmanager
def connection() -> Iterator[tuple[int, int]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield theirs.fileno(), ours.fileno()


KINDS = pytest.mark.parametrize("kind", [pipe, connection], ids=["pipe", "socket"])


def read_exactly(reader: int, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += os.read(reader, count - len(data))
    return data


@KINDS
@pytest.mark.req("E4")
async def test_data_written_without_a_reader_arrives_completely_and_in_order(kind: Kind) -> None:
    pieces = [b"%07d," % n * (n % 50 + 1) for n in range(3000)]
    with kind() as (reader, fd):
        writer = ThreadWriter(fd, lambda: None)
        for piece in pieces:
            writer.write(piece)
        assert writer.waiting_bytes
        whole = b"".join(pieces)
        with anyio.fail_after(DEADLINE_S):
            assert await anyio.to_thread.run_sync(read_exactly, reader, len(whole)) == whole
            await writer.drain()
        writer.close()


@KINDS
async def test_a_small_write_reaches_a_reading_peer_before_write_returns(kind: Kind) -> None:
    with kind() as (reader, fd):
        writer = ThreadWriter(fd, lambda: None)
        writer.write(b"event")
        assert writer.waiting_bytes == 0
        assert os.read(reader, 100) == b"event"
        writer.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux opens a pipe again by its descriptor")
@pytest.mark.req("E4")
@pytest.mark.parametrize("count", [4096, 4097, 60_000])
async def test_what_fits_into_a_pipe_is_written_without_a_thread(count: int) -> None:
    with pipe() as (reader, fd):
        writer = ThreadWriter(fd, lambda: None)
        data = bytes(range(256)) * (count // 256 + 1)
        writer._queue.put(None)
        writer._thread.join(DEADLINE_S)  # nothing is left that could write later
        writer.write(data[:count])
        assert writer.waiting_bytes == 0
        assert read_exactly(reader, count) == data[:count]
        writer.close()
        assert os.get_blocking(fd)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux opens a pipe again by its descriptor")
async def test_a_closed_writer_holds_no_end_of_the_pipe_open() -> None:
    reader, fd = os.pipe()
    writer = ThreadWriter(fd, lambda: None)
    writer.write(b"event")
    os.close(fd)
    writer.close()
    assert os.read(reader, 100) == b"event"
    assert os.read(reader, 100) == b""
    os.close(reader)


@KINDS
async def test_the_descriptor_of_a_writer_stays_in_blocking_mode(kind: Kind) -> None:
    with kind() as (_, fd):
        writer = ThreadWriter(fd, lambda: None)
        writer.write(b"event")
        assert os.get_blocking(fd)
        writer.close()


async def test_a_disconnected_peer_is_reported_once() -> None:
    reader, fd = os.pipe()
    os.close(reader)
    reports = 0
    broken = anyio.Event()

    def on_broken() -> None:
        nonlocal reports
        reports += 1
        broken.set()

    writer = ThreadWriter(fd, on_broken)
    for _ in range(3):
        writer.write(b"event")
    with anyio.fail_after(DEADLINE_S):
        await broken.wait()
        await writer.drain()
    writer.write(b"more")
    assert (reports, writer.waiting_bytes) == (1, 0)
    writer.close()
    os.close(fd)
