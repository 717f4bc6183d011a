"""A real panel process over HTTP: nothing without the cookie, headers of each response, no other paths or addresses."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from agent_ls.panel.page import FOLDER, HEADERS
from tests.support.panel import PanelProcess, panel

pytestmark = pytest.mark.req("H29")

PAGE = ("/", "/index.html", "/panel.js", "/panel.css", "/codicon.ttf", "/icon.svg")


class Shared:
    """A panel process that several tests use without changing it, and the cookie that gives access to it."""

    def __init__(self, running: PanelProcess, cookie: str) -> None:
        self.running = running
        self.cookie = cookie


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """Return the event loop for fixtures of this module's scope (`shared`)."""
    return "asyncio"


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shared]:
    folder = tmp_path_factory.mktemp("panel")
    async with panel(folder / "state", folder) as found:
        yield Shared(found, await found.log_in())


async def refused_socket(running: PanelProcess, **headers: str) -> int:
    with pytest.raises(InvalidStatus) as refused:
        async with connect(
            f"ws://127.0.0.1:{running.port}/socket", additional_headers=headers, compression=None, proxy=None
        ):
            pass
    return refused.value.response.status_code


async def test_login_link_works_once_cookie_opens_the_page_and_panel_exits_cleanly(tmp_path: Path) -> None:
    async with panel(tmp_path / "state", tmp_path) as running:
        refused = await running.get("/open?token=wrong")
        assert refused.status == 401
        assert b'<link rel="icon"' in refused.body, "a browser would request /favicon.ico"
        assert (await running.get("/open")).status == 401
        cookie = await running.log_in()
        assert (await running.get(f"/open?token={running.token}")).status == 401
        for path in PAGE:
            assert (await running.get(path, Cookie=cookie)).status == 200, path
        assert (await running.get("/panel.js", Cookie=cookie)).body == (FOLDER / "panel.js").read_bytes()
        async with running.page(cookie) as page:
            assert (await page.request("panel/sessions"))["sessions"] == []
        running.process.terminate()
        assert await running.process.wait() == 0


async def test_without_the_cookie_no_file_and_no_socket_is_served(shared: Shared) -> None:
    for path in (*PAGE, "/socket", "/nothing"):
        answer = await shared.running.get(path)
        assert answer.status == 401, path
        assert b"agent-ls panel" in answer.body
    assert await refused_socket(shared.running, Origin=shared.running.origin) == 401


async def test_every_response_has_the_strict_headers(shared: Shared) -> None:
    get, cookie = shared.running.get, shared.cookie
    answers = [
        await get("/"), await get("/", Cookie=cookie), await get("/x", Cookie=cookie),
        await get("/open?token=x"), await get("/", Host="evil.example"),
    ]  # fmt: skip
    for answer in answers:
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    html = (await get("/", Cookie=cookie)).body
    assert b"<style" not in html and b" style=" not in html and b"<script>" not in html and b"//" not in html


async def test_another_host_name_is_refused_also_with_the_cookie(shared: Shared) -> None:
    for host in ("evil.example", f"evil.example:{shared.running.port}", "127.0.0.1.evil.example", ""):
        assert (await shared.running.get("/", Host=host, Cookie=shared.cookie)).status == 421, host
    tunnel = await shared.running.get("/", Host="localhost:12345", Cookie=shared.cookie)
    assert tunnel.status == 200


async def test_socket_of_another_origin_is_refused_also_with_the_cookie(shared: Shared) -> None:
    own = f"https://127.0.0.1:{shared.running.port}"
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", own):
        assert await refused_socket(shared.running, Cookie=shared.cookie, Origin=origin) == 403, origin
    assert await refused_socket(shared.running, Cookie=shared.cookie) == 403


PATHS = ("/../__init__.py", "/%2e%2e/__init__.py", "/..%2f..%2fcli/main.py", "//etc/passwd", "/page/panel.js")


async def test_paths_that_lead_elsewhere_are_not_found(shared: Shared) -> None:
    for path in (*PATHS, "/panel.js/", "/C:/x", "/%00"):
        answer = await shared.running.get(path, Cookie=shared.cookie)
        assert answer.status == 404, path
        assert b"The page does not exist" in answer.body


@pytest.mark.parametrize("address", ["0.0.0.0:0", "192.168.1.1:80", "example.org:80", "nonsense"])
def test_panel_refuses_to_listen_on_non_loopback_addresses(tmp_path: Path, address: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agent_ls", "panel", "--no-open", "--port", address],
        capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and not done.stdout
    assert "address" in done.stderr or "not this machine" in done.stderr


async def test_silent_connections_do_not_keep_others_out(tmp_path: Path) -> None:
    async with panel(tmp_path / "state", tmp_path) as running:
        silent = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(80)]
        assert (await running.get("/")).status == 401
        cookie = await running.log_in()
        assert (await running.get("/", Cookie=cookie)).status == 200
        for one in silent:
            one.close()


@pytest.mark.parametrize(
    "method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "CONNECT", "get", "PRI"]
)
async def test_only_get_is_answered(shared: Shared, method: str) -> None:
    request = f"{method} /open?token=x HTTP/1.1\r\nHost: localhost\r\nCookie: {shared.cookie}\r\n\r\n"
    async with await anyio.connect_tcp("127.0.0.1", shared.running.port) as stream:
        await stream.send(request.encode())
        answer = b""
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            while True:
                answer += await stream.receive()
    assert answer.split(b" ")[1:2] in ([], [b"400"], [b"405"])
