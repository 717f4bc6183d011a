"""Connections without a proxy: when one is used again, and what the server receives and may send."""

from __future__ import annotations

import gzip
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from agent_ls.llm.endpoint import Endpoint
from agent_ls.llm.errors import NetworkError
from agent_ls.llm.http.address import find_proxies, parse_address
from agent_ls.llm.http.direct import DirectConnections
from agent_ls.llm.transport import Transport

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Server:
    """A server that calls `answer` for each request, counts connections and keeps the bytes of all requests."""

    def __init__(self, answer: Callable[[Server, SocketStream], Awaitable[None]]) -> None:
        self._answer = answer
        self.connections = 0
        self.requests: list[bytes] = []
        self.has_ended = anyio.Event()

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[Transport]:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        async with listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, self._handle)
            transport = Transport(
                Endpoint(f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}", "k")
            )
            try:
                yield transport
            finally:
                await transport.close()
                group.cancel_scope.cancel()

    async def _handle(self, stream: SocketStream) -> None:
        self.connections += 1
        async with stream:
            try:
                while True:
                    self.requests.append(await read_request(stream))
                    await self._answer(self, stream)
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                self.has_ended.set()


async def read_request(stream: SocketStream) -> bytes:
    data = await stream.receive()
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [
        line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    ]
    while len(body) < int(lengths[0] if lengths else 0):
        body += await stream.receive()
    return head + b"\r\n\r\n" + body


async def answer_ok(server: Server, stream: SocketStream) -> None:
    await stream.send(OK)


async def test_connection_whose_response_was_read_is_used_again() -> None:
    server = Server(answer_ok)
    async with server.serve() as transport:
        for _ in range(3):
            assert (await transport.post("/v1/x", {}, b"{}"))[1] == b"ok"
    assert (server.connections, len(server.requests)) == (1, 3)


async def test_two_requests_at_once_have_two_connections() -> None:
    is_here, may_answer = anyio.Event(), anyio.Event()

    async def answer_together(server: Server, stream: SocketStream) -> None:
        (may_answer if is_here.is_set() else is_here).set()
        await may_answer.wait()
        await stream.send(OK)

    server = Server(answer_together)
    async with server.serve() as transport, anyio.create_task_group() as group:
        group.start_soon(transport.post, "/v1/x", {}, b"{}")
        group.start_soon(transport.post, "/v1/x", {}, b"{}")
    assert server.connections == 2


async def test_connection_that_the_server_closed_is_not_used_again() -> None:
    async def answer_and_close(server: Server, stream: SocketStream) -> None:
        await stream.send(OK)
        await stream.aclose()
        raise anyio.EndOfStream

    server = Server(answer_and_close)
    async with server.serve() as transport:
        assert (await transport.post("/v1/x", {}, b"{}"))[1] == b"ok"
        await server.has_ended.wait()
        await anyio.wait_all_tasks_blocked()
        assert (await transport.post("/v1/x", {}, b"{}"))[1] == b"ok"
    assert server.connections == 2


@pytest.mark.parametrize(
    "extra", [b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nbad", b"noise"], ids=["response", "noise"]
)
async def test_bytes_after_a_response_are_never_read_as_the_next_response(extra: bytes) -> None:
    async def answer_with_more(server: Server, stream: SocketStream) -> None:
        await stream.send(OK + (extra if len(server.requests) == 1 else b""))

    server = Server(answer_with_more)
    async with server.serve() as transport:
        for _ in range(2):
            assert (await transport.post("/v1/x", {}, b"{}"))[1] == b"ok"
    assert server.connections == 2


async def test_leaving_transport_open_before_the_end_of_the_body_closes_the_connection() -> None:
    async def answer_in_part(server: Server, stream: SocketStream) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nfirst")

    server = Server(answer_in_part)
    async with server.serve() as transport:
        async with transport.open("/v1/x", {}, b"{}") as reply:
            assert await anext(reply.chunks) == b"first"
        with anyio.fail_after(240):
            await server.has_ended.wait()


async def test_cancelled_request_closes_its_connection() -> None:
    has_request = anyio.Event()

    async def never_answer(server: Server, stream: SocketStream) -> None:
        has_request.set()

    server = Server(never_answer)
    async with server.serve() as transport:
        async with anyio.create_task_group() as group:
            group.start_soon(transport.post, "/v1/x", {}, b"{}")
            await has_request.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(240):
            await server.has_ended.wait()


async def test_closing_the_transport_ends_a_running_request_with_an_error() -> None:
    has_request = anyio.Event()

    async def never_answer(server: Server, stream: SocketStream) -> None:
        has_request.set()

    async def post(transport: Transport) -> None:
        with pytest.raises(NetworkError):
            await transport.post("/v1/x", {}, b"{}")

    server = Server(never_answer)
    async with server.serve() as transport, anyio.create_task_group() as group:
        group.start_soon(post, transport)
        await has_request.wait()
        await transport.close()


async def test_large_request_is_sent_whole() -> None:
    body = bytes(range(256)) * 8_000
    server = Server(answer_ok)
    async with server.serve() as transport:
        await transport.post("/v1/x", {}, body)
    assert server.requests[0].partition(b"\r\n\r\n")[2] == body


async def test_request_has_the_usual_headers_and_a_quoted_path() -> None:
    server = Server(answer_ok)
    async with server.serve() as transport:
        await transport.post("/v1/a model:run?alt=sse", {"Accept": "text/event-stream"}, b"{}")
    line, *headers = server.requests[0].partition(b"\r\n\r\n")[0].decode().split("\r\n")
    assert line == "POST /v1/a%20model:run?alt=sse HTTP/1.1"
    names = [header.split(":")[0].lower() for header in headers]
    assert sorted(names) == ["accept", "accept-encoding", "content-length", "content-type", "host"]
    assert any(header.lower().startswith("host: 127.0.0.1:") for header in headers)


async def test_interim_responses_are_skipped_and_repeated_headers_joined() -> None:
    async def answer_twice(server: Server, stream: SocketStream) -> None:
        await stream.send(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        await stream.send(b"HTTP/1.1 200 OK\r\nX-A: 1\r\nX-A: 2\r\ncontent-length: 2\r\n\r\nok")

    async with Server(answer_twice).serve() as transport:
        head, body = await transport.get("/v1/models", {})
    assert (head.status, head.headers["x-a"], body) == (200, "1, 2", b"ok")


async def test_compressed_chunks_are_decompressed() -> None:
    data = gzip.compress(b"data: one\n\n" * 1_000)

    async def answer_compressed(server: Server, stream: SocketStream) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n")
        for start in range(0, len(data), 50):
            part = data[start : start + 50]
            await stream.send(b"%x\r\n%s\r\n" % (len(part), part))
        await stream.send(b"0\r\n\r\n")

    async with Server(answer_compressed).serve() as transport:
        assert (await transport.get("/v1/models", {}))[1] == b"data: one\n\n" * 1_000


async def test_body_without_a_length_ends_with_the_connection() -> None:
    async def answer_and_close(server: Server, stream: SocketStream) -> None:
        await stream.send(b"HTTP/1.0 200 OK\r\n\r\nall of it")
        await stream.aclose()
        raise anyio.EndOfStream

    async with Server(answer_and_close).serve() as transport:
        assert (await transport.get("/v1/models", {}))[1] == b"all of it"


async def test_reader_that_is_slow_receives_everything() -> None:
    body = b"x" * 5_000_000

    async def answer_much(server: Server, stream: SocketStream) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)

    async with Server(answer_much).serve() as transport, transport.open("/v1/x", {}, b"{}") as reply:
        received = 0
        async for chunk in reply.chunks:
            received += len(chunk)
            await anyio.wait_all_tasks_blocked()  # everything that can arrive has arrived
    assert received == len(body)


@pytest.mark.parametrize(
    "base_url",
    ["http://127.0.0.1:8080/v1", "https://api.example.org", "http://[::1]:1234/", "HTTP://Example.org/a%20b"],
)
def test_simple_base_url_is_connected_to_directly(base_url: str) -> None:
    assert parse_address(base_url)


@pytest.mark.parametrize(
    "base_url",
    [
        "https://user:password@example.org",
        "https://münchen.example",
        "https://example.org/v1?key=1",
        "https://example.org:99999",
        "https://example.org:port",
        "ftp://example.org",
        "example.org",
        "http://\x00",
        "",
    ],
)
def test_unusual_or_invalid_base_url_is_left_to_httpx(base_url: str) -> None:
    assert parse_address(base_url) is None


@pytest.mark.req("U11")
@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="proxies are also read from system settings")
def test_only_proxies_that_httpx_uses_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("GRPC_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "")
    assert not find_proxies()
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:2")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:3")
    proxies = {"https": "http://127.0.0.1:2", "all": "http://127.0.0.1:3", "no": "127.0.0.1"}
    assert find_proxies() == proxies


async def test_refused_connection_is_reported_in_the_words_of_the_system() -> None:
    async with Server(answer_ok).serve() as transport:
        host = transport._connections.host
    assert isinstance(transport._connections, DirectConnections)
    with pytest.raises(NetworkError, match=f"no connection to {host}: Connection refused"):
        await transport.get("/v1/models", {})
