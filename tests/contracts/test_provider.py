"""Faulty servers over real HTTP, for every wire: each fault has its error class, and no call hangs or leaks."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketStream

from agent_ls.llm import errors as e, sse
from agent_ls.llm.client import Client, build_client
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.endpoint import ConnectionSettings
from tests.llm.providers.test_error_mapping import STATUSES
from tests.llm.test_end_to_end import KEY, Server, ask, connected, every_wire, failure, streamed
from tests.support.loopback import ErrorReply
from tests.support.wire_golden import Golden

every_mode = pytest.mark.parametrize("stream", [True, False], ids=["stream", "complete"])


@pytest.mark.req("U8", "U16")
@every_mode
@every_wire
async def test_an_http_error_status_with_an_html_body_raises_the_matching_error_class(
    server: Server, provider: str, stream: bool
) -> None:
    replies = [
        ErrorReply(status, "<html>a proxy</html>", {"content-type": "text/html"}) for status, *_ in STATUSES
    ]
    async with connected(server, provider, replies) as (client, running):
        for status, kind, retryable in STATUSES:
            error = await failure(client, ask(provider), stream=stream)
            assert (type(error), error.retryable) == (kind, retryable), status
            assert error.hint
            assert "html" not in str(error)
        assert len(running.requests) == len(STATUSES)


@pytest.mark.req("U8")
@every_wire
async def test_every_form_of_the_retry_after_header_is_parsed(server: Server, provider: str) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    forms = [
        {"retry-after": "7"},
        {"retry-after": "1.5"},
        {"retry-after-ms": "250", "retry-after": "9"},
        {"retry-after": soon},
    ]
    replies = [ErrorReply(429, headers=form) for form in [*forms, {"retry-after": "soon"}]]
    async with connected(server, provider, replies) as (client, _):
        waits = [(await failure(client, ask(provider))).retry_after_s for _ in replies]
    assert waits[:3] == [7.0, 1.5, 0.25]
    assert waits[3] is not None
    assert 50 < waits[3] <= 100
    assert waits[4] is None


@asynccontextmanager
async def raw_server(answer: Callable[[SocketStream], Any]) -> AsyncIterator[tuple[str, list[anyio.Event]]]:
    """Run a server that calls `answer` after the head of a request; yield its address, and an event per connection.

    The event of a connection is set when the connection has ended.
    """
    connections: list[anyio.Event] = []

    async def serve(stream: SocketStream) -> None:
        over = anyio.Event()
        connections.append(over)
        async with stream:
            try:
                received = b""
                while b"\r\n\r\n" not in received:
                    received += await stream.receive()
                await answer(stream)
                while await stream.receive():
                    pass
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass
            finally:
                over.set()

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as group,
    ):
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        group.start_soon(listener.serve, serve)
        yield f"http://127.0.0.1:{port}", connections
        group.cancel_scope.cancel()


def reply(body: bytes, *headers: str, status: str = "200 OK", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    is_typed = any(header.startswith("content-type") for header in headers)
    kind = [] if is_typed else ["content-type: text/event-stream"]
    lines = [f"HTTP/1.1 {status}", *kind, f"content-length: {size}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def send(stream: SocketStream, data: bytes) -> None:
    await stream.send(data)


FAULTS: dict[str, tuple[Callable[[SocketStream], Any], type[e.LlmError]]] = {
    "never a byte": (lambda stream: anyio.lowlevel.checkpoint(), e.RequestTimeoutError),
    "stall in the middle": (
        lambda stream: send(stream, reply(b": hello\n\n", length=999)),
        e.RequestTimeoutError,
    ),
    "closed in the middle": (
        lambda stream: send_and_close(stream, reply(b"data: {}\n\n", length=999)),
        e.NetworkError,
    ),
    "closed before the head": (lambda stream: send_and_close(stream, b"HTTP/1.1 200"), e.NetworkError),
    "no HTTP": (lambda stream: send_and_close(stream, b"SSH-2.0-x\r\n\r\n"), e.NetworkError),
    "truncated JSON": (lambda stream: send(stream, reply(b'data: {"a": \n\n')), e.StreamError),
    "page of a proxy with status 200": (
        lambda stream: send(stream, reply(b"<html>\n<p>Log in</p>\n</html>\n", "content-type: text/html")),
        e.StreamError,
    ),
    "ends at once": (lambda stream: send(stream, reply(b"")), e.StreamError),
    "damaged gzip": (
        lambda stream: send(stream, reply(b"no gzip", "content-encoding: gzip")),
        e.NetworkError,
    ),
    "redirect": (
        lambda stream: send(stream, reply(b"", "location: /x", status="307 Moved")),
        e.ConfigurationError,
    ),
}


async def send_and_close(stream: SocketStream, data: bytes) -> None:
    await stream.send(data)
    await stream.aclose()


PATIENT = ConnectionSettings(connect_timeout_s=30, silence_timeout_s=30)
IMPATIENT = replace(
    PATIENT, silence_timeout_s=0.3
)  # only for servers that never answer, because a slow server needs more time


@asynccontextmanager
async def asking(
    base_url: str, provider: str, settings: ConnectionSettings = PATIENT
) -> AsyncIterator[Client]:
    settings = replace(settings, base_url=base_url)
    client = build_client(Credentials({provider: KEY}), {provider: settings})
    try:
        yield client
    finally:
        await client.close()


@pytest.mark.req("U8", "U16", "L16")
@pytest.mark.parametrize(("answer", "kind"), FAULTS.values(), ids=FAULTS)
@every_mode
@every_wire
async def test_each_faulty_response_raises_the_matching_error_class_and_closes_the_connection(
    server: Server, provider: str, answer: Callable[[SocketStream], Any], kind: type[e.LlmError], stream: bool
) -> None:
    settings = IMPATIENT if kind is e.RequestTimeoutError else PATIENT
    with anyio.fail_after(240):
        async with raw_server(answer) as (base_url, connections):
            async with asking(base_url, provider, settings) as client:
                error = await failure(client, ask(provider), stream=stream)
                assert type(error) is kind
                assert KEY not in f"{error} {error.hint}"
            for over in connections:
                await over.wait()
            assert connections


@pytest.mark.req("U8")
@every_wire
async def test_an_endless_line_in_the_response_stream_raises_a_stream_error(
    server: Server, provider: str
) -> None:
    async def endless(stream: SocketStream) -> None:
        await stream.send(reply(b"", length=10**12).partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
        for _ in range(sse.MAX_LINE_BYTES // 2**22 + 2):
            await stream.send(b"x" * 2**22)

    with anyio.fail_after(240):
        async with raw_server(endless) as (base_url, _), asking(base_url, provider) as client:
            assert type(await failure(client, ask(provider))) is e.StreamError


def slowly(body: bytes, *headers: str) -> Callable[[SocketStream], Any]:
    """Return a server that sends the head at once, and after a pause the body in small pieces."""

    async def answer(stream: SocketStream) -> None:
        head, _, rest = reply(body, *headers).partition(b"\r\n\r\n")
        await stream.send(head + b"\r\n\r\n")
        await anyio.sleep(0.1)  # this is the fault itself
        for at in range(0, len(rest), 50):
            await stream.send(rest[at : at + 50])

    return answer


def at_once(body: bytes, *headers: str) -> Callable[[SocketStream], Any]:
    return lambda stream: send(stream, reply(body, *headers))


ODD_BUT_GOOD: dict[str, Callable[[bytes], Callable[[SocketStream], Any]]] = {
    "slow first byte": slowly,
    "gzip": lambda body: at_once(gzip.compress(body), "content-encoding: gzip"),
    "gzip in pieces": lambda body: slowly(gzip.compress(body), "content-encoding: gzip"),
    "content type of a file": lambda body: at_once(body, "content-type: application/octet-stream"),
    "content type of a page": lambda body: at_once(body, "content-type: text/html; charset=utf-8"),
}
WIRES_OF = {"anthropic": "anthropic", "openai": "responses", "gemini": "gemini", "openrouter": "chat"}


@pytest.mark.req("U8", "U11")
@pytest.mark.parametrize("oddity", ODD_BUT_GOOD.values(), ids=ODD_BUT_GOOD)
@every_mode
@every_wire
async def test_a_response_with_unusual_http_framing_is_decoded(
    server: Server, provider: str, oddity: Callable[[bytes], Callable[[SocketStream], Any]], stream: bool
) -> None:
    row = Golden(WIRES_OF[provider], "text", {})
    body = row.stream if stream else row.body or b""
    with anyio.fail_after(240):
        async with raw_server(oddity(body)) as (base_url, _), asking(base_url, provider) as client:
            asked = ask(provider)
            response = await (streamed(client, asked) if stream else client.complete(asked))
            assert response.text.startswith("Grüße, 世界 👋")


@pytest.mark.req("U11")
@every_wire
async def test_a_gzip_compressed_error_response_is_decoded(server: Server, provider: str) -> None:
    body = gzip.compress(json.dumps({"error": {"message": "squeezed"}}).encode())

    async def answer(stream: SocketStream) -> None:
        await stream.send(reply(body, "content-encoding: gzip", status="400 Bad"))

    async with raw_server(answer) as (base_url, _), asking(base_url, provider) as client:
        assert "squeezed" in str(await failure(client, ask(provider)))
