"""The search of the documentation site, opened in a real browser from a file, without a web server."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

CHROMIUM = shutil.which("chromium") or ""
MKDOCS = ROOT / ".venv-docs/bin/mkdocs"

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="needs chromium (make test-editors installs it where it may)"),
    pytest.mark.skipif(not MKDOCS.exists(), reason="needs mkdocs (make docs installs it)"),
    pytest.mark.timeout(300),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [str(MKDOCS), "build", "--quiet", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, timeout=200, check=True,
    )  # fmt: skip
    return folder


def render(address: str, profile: Path) -> str:
    """Return the document after its scripts have run. No host except the page's own files can be reached."""
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
            "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=30000", "--dump-dom", address,
        ],
        capture_output=True, text=True, timeout=150, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize("page", ["index.html", "protocol/events.html"])
def test_search_finds_a_page_when_the_site_is_opened_from_a_file(
    site: Path, page: str, tmp_path: Path
) -> None:
    document = render(f"{(site / page).as_uri()}?q=sandbox", tmp_path / "profile")

    assert f'href="{(site / "permissions.html").as_uri()}?h=sandbox#sandbox"' in document


def test_pages_load_no_script_from_another_host(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))

    assert pages
    assert [page.name for page in pages if '<script src="http' in page.read_text("utf-8")] == []
