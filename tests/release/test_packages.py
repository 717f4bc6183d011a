"""The packages of a release: the sdist has all that the tests need, the wheel the plugin, and both are reproducible."""

from __future__ import annotations

import email
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from pathlib import Path
from urllib.request import HTTPCookieProcessor, ProxyHandler, build_opener

import pytest

from tests.release.builder import EPOCH, ROOT, build, build_metadata, need_repository, release, staged, unpack

pytestmark = pytest.mark.timeout(600)

MADE_BY_SETUPTOOLS = {"PKG-INFO", "setup.cfg"}
URL = "https://git.example.org/somebody/agent-ls"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_repository()
    return staged(tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def expected(source: Path) -> set[str]:
    """Return the paths of the staged files. It is evaluated before the build, which adds files."""
    return {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def sdist(source: Path, expected: set[str]) -> Path:
    return build(source, "sdist")


@pytest.fixture(scope="module")
def unpacked(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(sdist, tmp_path_factory.mktemp("unpacked"))


@pytest.fixture(scope="module")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("wheel") / "source"
    shutil.copytree(unpacked, source)
    return build(source, "wheel")


def wheel_metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def test_sdist_holds_each_tracked_file_and_nothing_else(unpacked: Path, expected: set[str]) -> None:
    found = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    found = {name for name in found if ".egg-info/" not in name} - MADE_BY_SETUPTOOLS
    assert found == expected
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(tracked.stdout.split("\0")) - {""} <= found


@pytest.mark.sweep(only_whole=True)
def test_tests_run_in_the_unpacked_sdist(unpacked: Path) -> None:
    """pytest can import the tests of documents and editors (it runs none of them), and the hunk tests pass."""
    words = ("tests/docs", "tests/editors", "tests/patch/test_hunks.py", "-k", "test_hunks")
    command = [sys.executable, "-m", "pytest", "-q", *words]
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(unpacked)}
    environ.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(command, cwd=unpacked, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\d+ passed, .*\d{3} deselected", done.stdout), done.stdout[-3000:]


def test_wheel_has_the_package_and_the_plugin_and_no_test(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    tops = {name.split("/")[0] for name in names}
    assert len(tops) == 2 and "agent_ls" in tops
    plugin = ROOT / "editors" / "nvim"
    wanted = {
        f"agent_ls/editors/nvim/{path.relative_to(plugin).as_posix()}"
        for part in ("doc", "lua", "plugin")
        for path in (plugin / part).rglob("*")
        if path.is_file() and path.relative_to(ROOT).as_posix() in release.tracked_files()
    }
    assert wanted and wanted <= names
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "agent_ls").rglob("*.py")}
    assert modules <= names


def test_installed_wheel_prints_its_plugin_and_pages_and_plays_the_demo(wheel: Path, tmp_path: Path) -> None:
    """The wheel is unpacked. It uses this environment's dependencies, but no file of the checkout."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    environ = {
        **os.environ,
        "PYTHONPATH": str(tmp_path / "site"),
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "PYTHONSAFEPATH": "1",
    }

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "agent_ls", *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    folder = Path(run("nvim-path").strip())
    assert folder.is_relative_to(tmp_path) and (folder / "plugin" / "agent_ls.lua").is_file()
    assert run("docs", "configuration").startswith("# Configuration")
    assert "sample project stays" in run("demo", "--headless")


def test_installed_wheel_serves_the_page_of_the_panel(wheel: Path, tmp_path: Path) -> None:
    if not release.built_files() or os.name != "posix":
        pytest.skip("the page of the panel is not built (make panel-page), or has no channel here")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    environ = {
        **os.environ,
        "PYTHONPATH": str(tmp_path / "site"),
        "HOME": str(tmp_path),
        "PYTHONSAFEPATH": "1",
    }
    environ["AGENT_LS_STATE_DIR"] = str(tmp_path / "state")
    command = [sys.executable, "-m", "agent_ls", "panel", "--no-open"]
    browser = build_opener(ProxyHandler({}), HTTPCookieProcessor())
    with subprocess.Popen(command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True) as panel:
        try:
            assert panel.stdout
            link = panel.stdout.readline().split()[-1]
            browser.open(link, timeout=240).close()
            for name in ("panel.js", "panel.css", "codicon.ttf"):
                with browser.open(f"{link.split('/open')[0]}/{name}", timeout=240) as served:
                    assert served.read() == (tmp_path / "site/agent_ls/panel/page" / name).read_bytes()
        finally:
            panel.terminate()


def test_wheel_metadata_is_complete_for_a_package_index_and_has_no_invented_urls(wheel: Path) -> None:
    metadata = wheel_metadata(wheel)
    assert metadata["Name"] == "agent-ls" and metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Author"] and metadata["Keywords"] and len(metadata.get_all("Classifier") or []) > 10
    assert metadata.get_all("Project-URL") is None
    page = metadata.get_payload()
    assert isinstance(page, str) and "](docs/" not in page and "Configuration" in page


def test_repository_url_is_used_in_metadata_and_readme_links(tmp_path: Path) -> None:
    need_repository()
    metadata = email.message_from_bytes(build_metadata(staged(tmp_path, URL)))
    assert f"Repository, {URL}" in (metadata.get_all("Project-URL") or [])
    page = str(metadata.get_payload())
    links = re.findall(r"\]\(([^)\s]+)\)", page)
    assert links and all(link.startswith("https://") for link in links)
    assert f"{URL}/raw/v{release.current_version()}/docs/images/neovim-demo.svg" in links


def test_manifest_for_agent_catalogues_is_ready_to_submit(tmp_path: Path) -> None:
    """As the ACP registry checks it: ids, versions that match, a 16 by 16 icon, addresses where they are known."""
    need_repository()
    made = release.Release(release.current_version(), EPOCH, tmp_path / "dist", URL, sys.executable)
    made.source = tmp_path / "source"
    made.build(["manifest"])
    folder = tmp_path / "dist" / "acp-registry" / "agent-ls"
    manifest = json.loads((folder / "agent.json").read_text("utf-8"))
    assert manifest["id"] == folder.name and re.fullmatch(r"[a-z][a-z0-9-]*", manifest["id"])
    assert re.match(r"\d+\.\d+\.\d+", manifest["version"]) and manifest["name"] and manifest["description"]
    assert manifest["repository"] == URL and manifest["website"].startswith(
        f"{URL}/blob/v{manifest['version']}/"
    )
    assert manifest["distribution"]["uvx"]["package"] == f"agent-ls=={manifest['version']}"
    known = "id name version description repository website authors license license_url distribution"
    assert manifest.keys() <= set(known.split())
    assert (folder / "icon.svg").is_file()


@pytest.mark.sweep(only_whole=True)
def test_same_sources_give_the_same_bytes(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    source = staged(tmp_path)
    assert build(source, "sdist").read_bytes() == sdist.read_bytes()
    assert build(unpack(tmp_path / "sdist" / sdist.name, tmp_path / "again"), "wheel").read_bytes() == (
        wheel.read_bytes()
    )


def test_lowest_versions_have_wheels_for_each_python_that_the_classifiers_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    floors = {
        found[1]: tuple(map(int, found[2].split(".")))
        for found in (re.match(r"([\w-]+)[>=]=([\d.]+)", it) for it in project["dependencies"])
        if found
    }
    # The first versions with wheels for Python 3.14; older ones would be compiled.
    assert floors["pyyaml"] >= (6, 0, 3) and floors["pywin32"] >= (311,)
    assert project["requires-python"] == ">=3.11"
