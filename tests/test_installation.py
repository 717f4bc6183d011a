"""The command that installs an extra fits how agent-ls was installed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from agent_ls.installation import extra_command


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("uv-receipt.toml", ["uv", "tool", "install", "--force", "--with"]),
        ("pipx_metadata.json", ["pipx", "inject", "agent-ls"]),
        ("pyvenv.cfg", [sys.executable, "-m", "pip", "install"]),
    ],
)
@pytest.mark.parametrize(("extra", "package"), [("mcp", "mcp"), ("dask", "distributed")])
def test_extra_is_installed_by_the_tool_that_installed_agent_ls(
    tmp_path: Path, file: str, words: list[str], extra: str, package: str
) -> None:
    (tmp_path / file).touch()
    found = shlex.split(extra_command(extra, tmp_path))
    assert found[: len(words)] == words
    assert found[len(words)].startswith(package) and ">=" in found[len(words)]


def test_unknown_extra_is_named_as_part_of_agent_ls(tmp_path: Path) -> None:
    assert extra_command("nothing", tmp_path).endswith("'agent-ls[nothing]'")
