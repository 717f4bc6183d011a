"""Messages name the command that starts agent-ls for this user: by name, by full path, or with uvx or pipx."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.release.builder import ROOT

if os.name != "posix":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

from tests.support.pseudo_terminal import PseudoTerminal

WHEEL = "/downloads/my wheels/agent_ls-1.0-py3-none-any.whl"
PROGRAM = "import sys\nfrom agent_ls.cli.main import main\nsys.exit(main())\n"


def environment(prefix: Path, source: str = "") -> Path:
    """Make a virtual environment with the packages of this one and the script `agent-ls`. Returns the script.

    `source` is the address that agent-ls was installed from.
    """
    venv.create(prefix, symlinks=True)
    script = prefix / "bin" / "agent-ls"
    script.write_text(f"#!{prefix}/bin/python\n{PROGRAM}")
    script.chmod(0o755)
    info = prefix / "first" / "agent_ls-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: agent-ls\nVersion: 1.0\n")
    if source:
        (info / "direct_url.json").write_text(json.dumps({"url": source, "archive_info": {}}))
    return script


def environ(home: Path, script: Path, *path: Path) -> dict[str, str]:
    folders = (str(script.parents[1] / "first"), str(ROOT), *filter(None, sys.path))
    return {
        "HOME": str(home),
        "PATH": os.pathsep.join([*map(str, path), "/usr/bin", "/bin"]),
        "PYTHONPATH": os.pathsep.join(folders),
        "AGENT_LS_STATE_DIR": str(home / "state"),
    }


def tool(folder: Path, name: str) -> Path:
    """Make an executable file of this name, which is found on PATH. Returns its folder."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)
    return folder


def tag(cache: Path) -> Path:
    cache.mkdir(parents=True)
    (cache / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55")
    return cache


def named_in_demo(home: Path, script: Path, *path: Path) -> str:
    """Return the command that the demo tells the user to run next."""
    done = subprocess.run(
        [script, "demo", "--headless", "--folder", str(home / "shop")],
        cwd=home,
        env=environ(home, script, *path),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split("\n  ")[-1].partition(" exec ")[0]


def note_in_terminal(home: Path, script: Path, *path: Path) -> str:
    """Return the last line that an unknown page name prints on a terminal."""
    with PseudoTerminal(
        [str(script), "docs", "xyzzy"], cwd=home, environ=environ(home, script, *path)
    ) as shown:
        assert shown.exit_code() == 2
        return shown.printed.strip().splitlines()[-1]


def test_message_has_the_full_path_of_an_agent_ls_that_is_not_on_path(tmp_path: Path) -> None:
    script = environment(tmp_path / "env")
    assert note_in_terminal(tmp_path, script) == f"(agent-ls is not on PATH: start it as {script})"


def test_message_has_the_plain_command_name_if_agent_ls_is_on_path(tmp_path: Path) -> None:
    script = environment(tmp_path / "env")
    assert "not on PATH" not in note_in_terminal(tmp_path, script, script.parent)


@pytest.mark.parametrize(
    ("name", "prefix", "source", "expected"),
    [
        (
            "uvx",
            "uv/archive-v0/Xy",
            f"file://{WHEEL.replace(' ', '%20')}",
            ["uvx", "--from", WHEEL, "agent-ls"],
        ),
        ("uvx", "uv/archive-v0/Xy", "", ["uvx", "agent-ls"]),
        (
            "pipx",
            "pipx/840a",
            "https://x.org/a.whl",
            ["pipx", "run", "--spec", "https://x.org/a.whl", "agent-ls"],
        ),
        ("pipx", "pipx/840a", "", ["pipx", "run", "agent-ls"]),
    ],
)
def test_message_in_a_temporary_environment_has_the_uvx_or_pipx_command(
    tmp_path: Path, name: str, prefix: str, source: str, expected: list[str]
) -> None:
    """uvx puts the environment on PATH for its own run only, so the user's shell does not find agent-ls."""
    cache = tag(tmp_path / prefix.split("/")[0])
    script = environment(cache.parent / prefix, source)
    path = (script.parent, tool(tmp_path / "tools", name))
    assert note_in_terminal(tmp_path, script, *path) == (
        f"(agent-ls is not on PATH: start it as {shlex.join(expected)})"
    )
    done = subprocess.run(
        [script, "nvim-path"],
        env=environ(tmp_path, script, *path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()).is_dir() and "can be deleted" in done.stderr


def test_uv_environment_in_a_project_does_not_count_as_temporary(tmp_path: Path) -> None:
    """`uv venv` puts a CACHEDIR.TAG into the environment itself, uvx into a folder above it."""
    script = environment(tag(tmp_path / "project" / ".venv"))
    note = note_in_terminal(tmp_path, script, tool(tmp_path / "tools", "uvx"))
    assert note == f"(agent-ls is not on PATH: start it as {script})"
