from __future__ import annotations

import inspect
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from agent_ls.llm.endpoint import Endpoint
from agent_ls.llm.errors import ConfigurationError, LlmError, NetworkError, RequestTimeoutError
from agent_ls.llm.http.address import find_proxy, parse_address
from agent_ls.llm.http.failures import START_SERVER
from agent_ls.llm.http.proxied import ROWS, to_llm_error
from agent_ls.llm.http_adapter import HttpAdapter
from agent_ls.llm.stream import StreamFinish
from agent_ls.llm.transport import Transport
from tests.support.codec_runs import ANTHROPIC, ask
from tests.support.reports import reported

SECRET = "sk-secret-key"


@pytest.fixture(params=["direct", "httpx"])
def client(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send requests by our own connections, or by httpx, which is used if the environment names a proxy."""
    if request.param == "httpx":
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")


by_both_clients = pytest.mark.usefixtures("client")


def library_errors() -> list[type[Exception]]:
    exposed = (getattr(httpx, name) for name in httpx.__all__)
    return [found for found in exposed if inspect.isclass(found) and issubclass(found, Exception)]


@pytest.mark.req("U8")
@pytest.mark.parametrize("kind", library_errors(), ids=lambda kind: kind.__name__)
def test_every_httpx_exception_is_mapped_to_an_llm_error(kind: type[Exception]) -> None:
    assert kind in ROWS, f"add a row for httpx.{kind.__name__} in llm/http/proxied.py"
    error = kind.__new__(kind)
    error.args = (f"Illegal header value b'Bearer {SECRET}'",) if not ROWS[kind].has_reason else ("why",)
    ours = to_llm_error(error, "example.org")
    assert isinstance(ours, NetworkError | RequestTimeoutError | ConfigurationError)
    assert SECRET not in str(ours)
    assert ours.hint


@contextmanager
def raw_server(*answers: bytes, hold: bool = False) -> Iterator[str]:
    """Run a server that answers one request per connection with the next bytes, and closes it unless `hold` is set."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        done = threading.Event()

        def serve() -> None:
            for answer in answers:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with closing(connection):
                    connection.settimeout(30)
                    connection.recv(65536)
                    connection.sendall(answer)
                    if hold:
                        done.wait(30)
                    # Closing with unread bytes would reset the connection before the client has read the answer.
                    with suppress(OSError):
                        connection.shutdown(socket.SHUT_WR)
                        while connection.recv(65536):
                            pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            done.set()
            stop_accepting(listener, thread)


@contextmanager
def echo_server() -> Iterator[str]:
    """Run a server that answers each request with a cookie, and with the head of the request as body."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with closing(connection):
                        head, _, _ = connection.recv(65536).partition(b"\r\n\r\n")
                        connection.sendall(
                            answer("200 OK", "set-cookie: a=1", "connection: close", body=head)
                        )

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            stop_accepting(listener, thread)


def stop_accepting(listener: socket.socket, thread: threading.Thread) -> None:
    """End the thread that accepts connections. If it outlived the listener, it could accept on the next test's socket,
    which may get the same descriptor.
    """
    with suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)  # on Linux only this wakes a blocked accept
    listener.close()
    thread.join(30)
    assert not thread.is_alive()


def answer(status: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def closed_port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


async def post(endpoint: Endpoint, path: str = "/v1/x") -> tuple[int, bytes]:
    transport = Transport(endpoint)
    try:
        head, body = await transport.post(path, {"authorization": f"Bearer {endpoint.secret}"}, b"{}")
        return head.status, body
    finally:
        await transport.close()


async def failed(endpoint: Endpoint) -> LlmError:
    with pytest.raises(LlmError) as raised:
        await post(endpoint)
    assert SECRET not in str(raised.value)
    return raised.value


@by_both_clients
async def test_response_has_status_lower_case_headers_and_body() -> None:
    with raw_server(answer("429 Slow", "Retry-After: 7", body=b"{}")) as url:
        transport = Transport(Endpoint(url, SECRET))
        before = time.time()
        head, body = await transport.post("/v1/x", {}, b"{}")
        assert (head.status, head.headers["retry-after"], body) == (429, "7", b"{}")
        assert before <= head.received_at_s <= time.time()
        await transport.close()


@by_both_clients
async def test_cookie_of_the_server_is_sent_back_and_headers_of_the_caller_replace_the_defaults() -> None:
    with echo_server() as authority:
        transport = Transport(Endpoint(f"http://{authority}", SECRET))
        _, first = await transport.post("/v1/x", {"User-Agent": "own"}, b"{}")
        _, second = await transport.post("/v1/x", {}, b"{}")
        await transport.close()
    sent = [body.decode().lower().split("\r\n") for body in (first, second)]
    assert [[line for line in lines if line.startswith("cookie:")] for lines in sent] == [[], ["cookie: a=1"]]
    assert [line for line in sent[0] if line.startswith("user-agent:")] == ["user-agent: own"]
    for lines in sent:
        assert {"content-type: application/json", "content-length: 2"} <= set(lines)
        assert any(line.startswith("accept-encoding: gzip") for line in lines)


async def test_login_in_the_base_url_is_sent() -> None:
    with echo_server() as authority:
        transport = Transport(Endpoint(f"http://user:word@{authority}", SECRET))
        _, head = await transport.post("/v1/x", {}, b"{}")
        await transport.close()
    assert b"Authorization: Basic dXNlcjp3b3Jk" in head


@by_both_clients
async def test_redirect_is_not_followed() -> None:
    with raw_server(answer("302 Found", "Location: http://127.0.0.1:1/")) as url:
        assert await post(Endpoint(url, SECRET)) == (302, b"")


@by_both_clients
async def test_refused_connection_is_a_network_error_that_names_the_host() -> None:
    port = closed_port()
    error = await failed(Endpoint(f"http://user:{SECRET}@127.0.0.1:{port}", SECRET))
    assert type(error) is NetworkError
    assert f"127.0.0.1:{port}" in str(error)
    assert error.retryable
    assert error.hint == START_SERVER


BROKEN = {
    "closed without an answer": b"",
    "not HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
    "shorter than announced": b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc",
    "another encoding": answer("200 OK", "content-encoding: gzip", body=b"not gzip"),
}


@by_both_clients
@pytest.mark.parametrize("sent", BROKEN.values(), ids=BROKEN)
async def test_a_broken_answer_is_a_network_error(sent: bytes) -> None:
    with raw_server(sent) as url:
        assert type(await failed(Endpoint(url, SECRET))) is NetworkError


@pytest.mark.req("U8")
@by_both_clients
async def test_server_that_sends_no_response_causes_a_timeout_error() -> None:
    with raw_server(b"", hold=True) as url:
        error = await failed(Endpoint(url, SECRET, silence_timeout_s=0.5))
        assert type(error) is RequestTimeoutError
        assert "silent" in str(error)


@by_both_clients
async def test_server_that_stops_sending_during_the_body_causes_a_timeout_error() -> None:
    with raw_server(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc", hold=True) as url:
        assert type(await failed(Endpoint(url, SECRET, silence_timeout_s=0.5))) is RequestTimeoutError


@by_both_clients
@pytest.mark.parametrize(
    "base_url", ["api.example.org", "ftp://127.0.0.1", "http://127.0.0.1:port", "", "http://\x00", "/v1"]
)
async def test_an_invalid_base_url_is_a_configuration_error(base_url: str) -> None:
    assert type(await failed(Endpoint(base_url, SECRET))) is ConfigurationError


@by_both_clients
@pytest.mark.parametrize("secret", ["sk-seсret-with-a-cyrillic-letter", "sk-secret\nkey"])
async def test_key_that_cannot_be_in_a_header_is_a_configuration_error(secret: str) -> None:
    with raw_server() as url:
        with pytest.raises(ConfigurationError) as raised:
            await post(Endpoint(url, secret))
        assert secret not in str(raised.value)


@pytest.mark.req("U11")
async def test_the_proxy_from_environment_variables_is_used_and_an_invalid_one_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with raw_server(answer("200 OK", body=b"from the proxy")) as url:
        monkeypatch.setenv("HTTP_PROXY", url)
        assert await post(Endpoint("http://api.example.org", SECRET)) == (200, b"from the proxy")
    monkeypatch.setenv("HTTP_PROXY", "gopher://127.0.0.1")
    with pytest.raises(ConfigurationError, match="proxy settings"):
        Transport(Endpoint("http://api.example.org", SECRET))


EXCLUDED: list[Any] = [
    reported("NousResearch/hermes-agent#59667", "10.10.10.0/24,192.168.1.5", "10.10.10.7"),
    reported("wecode-ai/Wegent#3556", "localhost,fd00::/8,10.0.0.0/8", "[fd00::5]"),
    ("10.10.10.0/24,192.168.1.5", "192.168.1.5"), ("[::1], ::1", "[::1]"), (".corp.example", "a.corp.example"),
    ("*.corp.example", "a.corp.example"), ("api.example.org:80", "api.example.org"), ("x *", "api.example.org"),
]  # fmt: skip


@pytest.mark.req("U11")
@pytest.mark.parametrize(("excluded", "host"), EXCLUDED)
def test_no_proxy_is_used_for_excluded_hosts(
    excluded: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", excluded)
    address = parse_address(f"http://{host}")
    assert address and find_proxy("http", address.host, address.port) is None
    for other in ("11.0.0.1", "xcorp.example", "fe00::1", "example.org"):
        assert (find_proxy("http", other, 81) is None) == (excluded == "x *")
    Transport(Endpoint("http://user:secret@other.example.com", SECRET))
    assert find_proxy("http", "other.example.com", 80) == (
        None if excluded == "x *" else "http://127.0.0.1:9"
    )


@pytest.mark.req("U8", "U11")
@pytest.mark.parametrize(
    ("status", "is_final", "words"),
    [
        ("407 Proxy Authentication Required", True, ("requires a login", "HTTPS_PROXY")),
        ("403 Forbidden", True, ("does not allow the connection", "NO_PROXY")),
        ("405 Method Not Allowed", True, ("does not allow the connection", "NO_PROXY")),
        ("502 Bad \x1b[31mGateway", False, ("refused the connection", "proxy settings")),
    ],
)
async def test_proxy_that_refuses_a_tunnel_is_reported_with_the_next_step(
    status: str, is_final: bool, words: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with raw_server(answer(status)) as url:
        monkeypatch.setenv("HTTPS_PROXY", url)
        error = await failed(Endpoint("https://api.example.org", SECRET))
    assert isinstance(error, ConfigurationError) is is_final
    assert error.retryable is not is_final
    assert words[0] in str(error) and "api.example.org" in str(error) and status[:3] in str(error)
    assert words[1] in error.hint
    assert str(error).isprintable()


@pytest.mark.req("U11")
@pytest.mark.parametrize("content", [None, "no certificate"])
def test_an_unusable_ca_file_is_reported(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigurationError, match=r"the CA file .*ca\.pem cannot be used"):
        Transport(replace(Endpoint("https://127.0.0.1", SECRET), ca_file=str(path)))


@pytest.mark.req("U11")
@pytest.mark.parametrize(
    ("words", "told", "hint"),
    [
        ("unable to get local issuer certificate", "certificate is not trusted", "CA file"),
        ("certificate has expired", "certificate has expired", "clock"),
        ("certificate is not yet valid", "certificate is not valid yet", "clock"),
        (
            "Hostname mismatch, certificate is not valid for 'host'",
            "certificate was issued for another host",
            "base URL",
        ),
    ],
)
async def test_an_untrusted_certificate_is_reported(words: str, told: str, hint: str) -> None:
    error = httpx.ConnectError(
        f"[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: {words} (_ssl.c:1000)"
    )
    ours = to_llm_error(error, "host")
    assert told in str(ours) and "_ssl" not in str(ours)
    assert hint in ours.hint


@by_both_clients
async def test_a_connection_kept_open_after_the_last_event_does_not_delay_the_end_of_the_stream() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    body = b'data: {"type": "message_start", "message": {}}\n\ndata: {"type": "message_stop"}\n\n'
    with raw_server(head + body, hold=True) as url:
        adapter = HttpAdapter(ANTHROPIC, Endpoint(url, SECRET))
        with anyio.fail_after(240):
            events = [event async for event in adapter.stream(ask())]
        assert isinstance(events[-1], StreamFinish)
        await adapter.close()
