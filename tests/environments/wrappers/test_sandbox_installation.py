"""The sandbox where agent-ls is installed below a folder that the sandbox replaces, or where commands may write."""

from __future__ import annotations

import json
import os
import site
import subprocess
import venv
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from agent_ls.doctor.examination import examine
from agent_ls.environments.base import CommandOptions
from tests.support.sandboxes import make_sandbox, needs_bubblewrap, needs_landlock

pytestmark = pytest.mark.req("X4", "X6")

PROGRAM = """
import asyncio, json, subprocess, sys
from pathlib import Path
from agent_ls.environments.base import CommandOptions
from agent_ls.environments.sandbox import wrap_command
from tests.support.sandboxes import make_sandbox

async def main(root):
    sandbox = make_sandbox(root, root.parent / "state")
    await sandbox.start_sandbox()
    told = {"kind": sandbox.sandbox.kind if sandbox.sandbox else "", "why": sandbox.why, "prefix": sys.prefix}
    line = f"touch '{sys.prefix}/planted'; '{sys.prefix}/bin/python' -c 'print(6*7)'"
    for name, is_read_only in (("free", False), ("looking", True)):
        if sandbox.sandbox and (told["kind"] == "bubblewrap"):
            inside = sandbox.wrap_command(line, CommandOptions(), str(root), is_read_only=is_read_only)
            done = subprocess.run(["/bin/sh", "-c", inside.command], capture_output=True, text=True)
            told[name] = done.stdout
    sandbox.take_down()
    print(json.dumps(told))

asyncio.run(main(Path(sys.argv[1])))
"""


def install_at(folder: Path) -> Path:
    """Make an environment of Python that imports this agent-ls; return its Python."""
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    checkout = str(Path(agent_ls.__file__).parents[1])
    # Code, because a path in a .pth file is read in the encoding of the locale.
    paths = ascii([checkout, *site.getsitepackages()])
    (packages / "agent-ls.pth").write_text(f"import sys; sys.path += {paths}\n")
    return folder / "bin" / "python"


def start_there(folder: Path, root: Path) -> Any:
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [install_at(folder), "-c", PROGRAM, root], capture_output=True, text=True, check=True, env=environ
    )
    return json.loads(done.stdout)


@needs_bubblewrap
@pytest.mark.parametrize("place", ["tmp/tools/venv", "home/venv", "project/.venv"])
def test_no_place_of_the_installation_leads_to_a_weaker_sandbox(tmp_path: Path, place: str) -> None:
    (tmp_path / "project").mkdir()
    found = start_there(tmp_path / place, tmp_path / "project")
    assert found["kind"] == "bubblewrap" and not found["why"]
    assert found["free"] == "42\n" == found["looking"], "commands find the same Python in the sandbox"
    assert not (tmp_path / place / "planted").exists(), (
        "commands cannot change the program that confines them"
    )


@needs_landlock
async def test_a_weaker_sandbox_is_named_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    programs = tmp_path / "programs"
    programs.mkdir(mode=0o755)
    broken = programs / "bwrap"
    broken.write_text("#!/bin/sh\necho setting up uid map: denied >&2; exit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    sandbox = make_sandbox(tmp_path / "project", tmp_path / "state")
    line = await sandbox.start_sandbox()
    found = sandbox.sandbox
    sandbox.take_down()
    assert found and found.kind == "landlock"
    assert "uid map: denied" in sandbox.why and sandbox.why in line
    monkeypatch.chdir(tmp_path / "project")
    (finding,) = [it for it in await examine(asks_providers=False) if it.subject == "sandbox"]
    assert finding.grade == "note" and "uid map: denied" in finding.text


@needs_bubblewrap
def test_a_read_only_command_sees_a_workspace_below_a_replaced_folder(tmp_path: Path) -> None:
    root = tmp_path / "tmp" / "project"
    root.mkdir(parents=True)
    (root / "seen").write_text("here")
    (tmp_path / "tmp" / "neighbour").write_text("not here")
    confinement = make_sandbox(root, tmp_path / "state", use="bubblewrap")
    confinement.replaced = (str(tmp_path / "tmp"),)
    anyio.run(confinement.start_sandbox)
    line = "cat seen; cat ../neighbour; touch ../made"
    inside = confinement.wrap_command(line, CommandOptions(), str(root), is_read_only=True)
    assert inside
    done = subprocess.run(["/bin/sh", "-c", inside.command], capture_output=True, text=True, check=False)
    confinement.take_down()
    assert done.stdout == "here" and not (tmp_path / "tmp" / "made").exists()
