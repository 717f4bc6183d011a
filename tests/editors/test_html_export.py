"""An exported page in a real browser: hostile text of a session runs no script and loads nothing (H2)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from agent_ls.loop.events.items import Item, SaidItem, UserMessage
from agent_ls.sessions.export.html_page import page
from tests.support.web_server import serving

CHROMIUM = shutil.which("chromium") or ""

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="needs chromium (make test-editors installs it where it may)"),
    pytest.mark.timeout(180),
]


@contextmanager
def counting_server() -> Iterator[tuple[str, list[str]]]:
    """A web server on the loopback interface. Yields its address and the paths that were requested."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    with serving(Handler) as port:
        yield f"http://127.0.0.1:{port}", seen


def rendered(file: Path, profile: Path) -> str:
    """Return the document after the time in which scripts would have run."""
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
            "--virtual-time-budget=2000", "--dump-dom", file.as_uri(),
        ],
        capture_output=True, text=True, timeout=150, check=True,
    )  # fmt: skip
    return done.stdout


def attacks(address: str) -> str:
    return (
        f"</pre></div></style><script>document.title='owned';fetch('{address}/script')</script>"
        f"<img src='{address}/image' onerror=\"document.title='owned'\">"
        f"<link rel=stylesheet href='{address}/style'><iframe src='{address}/frame'></iframe>"
        f"<meta http-equiv=refresh content='0;url={address}/refresh'>"
    )


@pytest.mark.req("H2")
def test_hostile_transcript_text_in_an_exported_page_runs_no_script_and_loads_nothing(tmp_path: Path) -> None:
    file = tmp_path / "chat.html"
    with counting_server() as (address, seen):
        text = attacks(address)
        items = [Item(1, "t", "now", UserMessage(text)), Item(2, "t", "now", SaidItem("text", "p", text))]
        file.write_text(page("Fix it", [("Folder", text)], items, []), "utf-8")
        document = rendered(file, tmp_path / "profile")

        assert "<title>Fix it</title>" in document and "&lt;img src=" in document
        assert "<script" not in document and "<img" not in document
        assert seen == []


@pytest.mark.req("H2")
def test_the_content_security_policy_of_an_exported_page_blocks_unescaped_content(tmp_path: Path) -> None:
    """Insert unescaped mark-up into the page, so that only the Content Security Policy can block it."""
    file = tmp_path / "chat.html"
    with counting_server() as (address, seen):
        source = page("Fix it", [], [Item(1, "t", "now", UserMessage("HERE"))], [])
        attack = (
            f"<script>document.title='owned';fetch('{address}/script')</script>"
            f"<img src='{address}/image' onerror=\"document.title='owned'\">"
            f"<link rel=stylesheet href='{address}/style'><iframe src='{address}/frame'></iframe>"
        )
        file.write_text(source.replace("HERE", attack), "utf-8")
        document = rendered(file, tmp_path / "profile")

        assert "<title>Fix it</title>" in document and "<script>" in document
        assert seen == []
