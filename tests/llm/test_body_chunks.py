"""The chunks of a body: those that have arrived are joined, and nothing is lost or reordered."""

from __future__ import annotations

import asyncio
import zlib

import h11
import pytest
from hypothesis import given, strategies as st

from agent_ls.llm.errors import NetworkError
from agent_ls.llm.http.connection import BodyChunks, Connection

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


class Sink(asyncio.Transport):
    """A transport that takes everything."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        return None

    def pause_reading(self) -> None:
        return None

    def resume_reading(self) -> None:
        return None

    def abort(self) -> None:
        return None


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def asked() -> Connection:
    connection = Connection("host", 60.0)
    connection.connection_made(Sink())
    await connection.send("GET", "/", [("host", "host")], None)
    return connection


async def read(connection: Connection, encoding: str = "") -> list[bytes]:
    assert isinstance(await connection.read_event(), h11.Response)
    return [data async for data in BodyChunks(connection, encoding, "host")]


@pytest.mark.req("L5")
async def test_chunks_that_have_arrived_are_joined_after_the_first() -> None:
    pieces = [b"%03d" % number for number in range(100)]
    connection = await asked()
    connection.data_received(HEAD + b"".join(map(chunk, pieces)) + END)
    found = await read(connection)
    assert [len(data) // 3 for data in found] == [1, 2, 4, 8, 16, 32, 32, 5]
    assert b"".join(found) == b"".join(pieces)
    assert connection.finish() and connection.is_idle
    await connection.send("GET", "/", [("host", "host")], None)
    connection.data_received(HEAD + chunk(b"again") + END)
    assert await read(connection) == [b"again"]


class Counted(h11.Connection):
    """Counts how often the parser is called."""

    calls = 0

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        self.calls += 1
        return super().next_event()


@pytest.mark.req("L5")
async def test_a_chunk_that_arrives_alone_is_parsed_with_two_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(h11, "Connection", Counted)
    connection = await asked()
    parser = connection._http
    assert isinstance(parser, Counted)
    reading = asyncio.ensure_future(read(connection))
    for data in (HEAD, *[chunk(b"a few letters")] * 9):
        connection.data_received(data)
        for _ in range(5):
            await asyncio.sleep(0)
    before = parser.calls
    for _ in range(9):
        connection.data_received(chunk(b"a few letters"))
        for _ in range(5):
            await asyncio.sleep(0)
    assert parser.calls - before == 2 * 9
    connection.data_received(END)
    assert len(await reading) == 18


@given(
    pieces=st.lists(st.binary(min_size=1, max_size=9), max_size=40),
    cuts=st.lists(st.integers(0, 400), max_size=8),
    packed=st.booleans(),
)
def test_a_body_is_the_same_however_it_arrives(pieces: list[bytes], cuts: list[int], packed: bool) -> None:
    whole = b"".join(pieces)
    sent = [zlib.compress(whole)] if packed else pieces
    data = HEAD + b"".join(map(chunk, sent)) + END

    async def body() -> bytes:
        connection = await asked()
        reading = asyncio.ensure_future(read(connection, "deflate" if packed else ""))
        for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(data)], strict=True):
            if data[begin:end]:
                connection.data_received(data[begin:end])
                await asyncio.sleep(0)
        return b"".join(await reading)

    assert asyncio.run(body()) == whole


@pytest.mark.parametrize("rest", [b"not a size\r\n", b"5\r\nab"])
async def test_what_arrived_before_a_broken_chunk_is_read_before_the_error(rest: bytes) -> None:
    connection = await asked()
    connection.data_received(HEAD + chunk(b"a") + chunk(b"b") + chunk(b"c") + rest)
    connection.eof_received()
    assert isinstance(await connection.read_event(), h11.Response)
    chunks = BodyChunks(connection, "", "host")
    assert [await anext(chunks), await anext(chunks)] == [b"a", b"bc"]
    with pytest.raises(NetworkError):
        while True:
            await anext(chunks)
