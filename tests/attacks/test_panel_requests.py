"""Requests to the panel: no file and no connection without the cookie, and no file but those of the page."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from websockets.http11 import Request
from websockets.server import ServerProtocol

from agent_ls.panel.access import Access
from agent_ls.panel.page import File, PageMissingError, load_page
from agent_ls.panel.serve import Panel
from tests.attacks import IS_WHOLE, seeded, while_in_time
from tests.attacks.panel_requests import messages, requests
from tests.support.panel import panel as running_panel

pytestmark = pytest.mark.req("H29")
TRIES = 20_000 if IS_WHOLE else 300
SEED = seeded(13)
PORT = 4321
SECRET = b"body-of-a-file-of-the-page"


def answer(panel: Panel, raw: bytes) -> bytes:
    """Return what the panel sends back to the bytes of a request."""
    protocol = ServerProtocol()
    protocol.receive_data(raw)
    for event in protocol.events_received():
        if isinstance(event, Request):
            try:
                response = panel.respond(protocol, event)
            except ValueError:  # the connection is closed without an answer
                return b""
            protocol.send_response(response)
    return b"".join(protocol.data_to_send())


@pytest.mark.timeout(3600 if IS_WHOLE else 120)
def test_a_request_without_the_cookie_opens_nothing() -> None:
    access = Access(PORT)
    files = {name: File("text/plain", SECRET) for name in ("/", "/index.html", "/panel.js")}
    panel = Panel(access, files)
    cookie = access.redeem(access.new_token())
    opened = connected = 0
    for template in while_in_time(requests(SEED, TRIES)):
        token = access.new_token()
        name = access.cookie_name
        raw = template
        for key, value in (("port", str(PORT)), ("token", token), ("name", name), ("NAME", name.upper()),
                           ("cookie", str(cookie))):  # fmt: skip
            raw = raw.replace(f"{{{key}}}".encode(), value.encode())
        sent = answer(panel, raw)
        gives = re.search(rb"^HTTP/1.1 (200|101)", sent)
        given = re.search(
            rf"^cookie:.*(?:[ ;]){name}={re.escape(str(cookie))}\s*(?:;|$)".encode(), raw, re.I | re.M
        )
        is_local = re.search(rb"^host: *(localhost|127\.0\.0\.1|\[::1\])(:\d+)? *\r?$", raw, re.I | re.M)
        assert not gives or (is_local and raw.startswith(b"GET ")), raw
        assert not (SECRET in sent or sent.startswith(b"HTTP/1.1 101")) or given, raw
        if sent.startswith(b"HTTP/1.1 101"):
            connected += 1
            assert re.search(
                rb"^origin: http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?\r?$", raw, re.I | re.M
            ), raw
        if b"Set-Cookie" in sent:
            assert token.encode() in raw and access.redeem(token) is None, raw
        opened += SECRET in sent
    assert opened > TRIES / 100
    assert connected


@pytest.mark.group("sweeps")
@pytest.mark.timeout(3600 if IS_WHOLE else 300)
async def test_no_message_of_a_page_reads_a_file_or_begins_anything(tmp_path: Path) -> None:
    if os.name != "posix":
        pytest.skip("Windows has no local channel")
    try:
        load_page()
    except PageMissingError:
        pytest.skip("the page of the panel is not built: make panel-page")
    project, state = tmp_path / "project", tmp_path / "state"
    project.mkdir()
    async with running_panel(state, project) as running:
        async with running.page(await running.log_in()) as page:
            await page.request("panel/sessions")
            before = names_below(tmp_path)
            for message in while_in_time(messages(SEED, TRIES)):
                await page.socket.send(message, text=True)
            assert (await page.request("panel/sessions"))["sessions"] == []
            shown = [it for it in page.received if "root:" in str(it) or "/bin/" in str(it)]
            assert shown == []
            assert names_below(tmp_path) == before


def names_below(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*") if "logs" not in path.parts}
