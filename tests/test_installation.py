"""The command that installs an extra fits how agent-ls was installed."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent_ls.installation import extra_command, install_source, shell_words


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("uv-receipt.toml", ["uv", "pip", "install", "--python", sys.executable]),
        ("pipx_metadata.json", ["pipx", "inject", "agent-ls"]),
        ("pyvenv.cfg", [sys.executable, "-m", "pip", "install"]),
    ],
)
@pytest.mark.parametrize(("extra", "package"), [("mcp", "mcp"), ("dask", "distributed")])
def test_the_command_for_an_extra_uses_the_tool_that_installed_agent_ls(
    tmp_path: Path, file: str, words: list[str], extra: str, package: str
) -> None:
    prefix = tmp_path / "agent-ls"
    prefix.mkdir()
    (prefix / file).touch()
    found = shlex.split(extra_command(extra, prefix))
    assert found[: len(words)] == words
    assert found[len(words)].startswith(package) and ">=" in found[len(words)]
    assert not any(word.startswith("agent-ls[") for word in found), "an index may not have agent-ls"


@pytest.mark.parametrize(
    ("cache", "environment", "words"),
    [
        ("uv", "archive-v0/abc", ["uvx", "--with"]),
        ("pipx", "abc", ["pipx", "install"]),
    ],
)
def test_the_command_for_an_extra_does_not_install_into_a_temporary_environment(
    tmp_path: Path, cache: str, environment: str, words: list[str]
) -> None:
    prefix = tmp_path / cache / environment
    prefix.mkdir(parents=True)
    (tmp_path / cache / "CACHEDIR.TAG").touch()
    (prefix / "pipx_metadata.json").touch()
    found = shlex.split(extra_command("mcp", prefix))
    assert found[:2] == words and str(prefix) not in found


def test_the_command_for_an_unknown_extra_installs_agent_ls_with_that_extra(tmp_path: Path) -> None:
    assert extra_command("nothing", tmp_path).endswith("'agent-ls[nothing]'")


@contextmanager
def installed_from(folder: Path, direct_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    info = folder / "agent_ls-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: agent-ls\nVersion: 1.0\n")
    (info / "direct_url.json").write_text(direct_url)
    monkeypatch.syspath_prepend(str(folder))
    yield


@pytest.mark.parametrize(
    ("direct_url", "source"),
    [
        (json.dumps({"url": "file:///a%20b/x.whl", "archive_info": {}}), "/a b/x.whl"),
        (json.dumps({"url": "https://me:secret@host/x.whl"}), "https://host/x.whl"),
        (
            json.dumps({"url": "https://me@h/r", "vcs_info": {"vcs": "git", "commit_id": "c"}}),
            "git+https://h/r@c",
        ),
        ("{}", ""),
        ("not JSON", ""),
        (json.dumps({"vcs_info": {"vcs": "git"}}), ""),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="paths of file addresses differ there")
def test_the_installation_source_omits_credentials_and_a_damaged_record_counts_as_no_source(
    tmp_path: Path, direct_url: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with installed_from(tmp_path, direct_url, monkeypatch):
        assert install_source() == source


def test_command_arguments_for_windows_are_in_double_quotes() -> None:
    words = ["C:\\a b\\python.exe", "-m", "pip", "mcp<3,>=2.3"]
    assert shell_words(words, for_windows=True) == '"C:\\a b\\python.exe" -m pip "mcp<3,>=2.3"'
