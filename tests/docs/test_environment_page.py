"""The environment of docs/adding-an-environment.md keeps the whole contract."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from zipfile import ZipFile

import pytest

from agent_ls.environments.base import GrepOptions
from tests.docs.examples import run_tests, write_programs

PAGE = "docs/adding-an-environment.md"
SUITE = "tests/contracts/test_environment.py"


@pytest.mark.req("X1")
def test_the_environment_of_the_page_passes_the_contract_suite(tmp_path: Path) -> None:
    write_programs(PAGE, tmp_path)

    done = run_tests("-p", "zip_factory", "-k", "zip", SUITE, folder=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    counts = {what: int(number) for number, what in re.findall(r"(\d+) (passed|skipped|failed)", done.stdout)}
    assert counts.pop("passed") > 60
    assert not counts


async def test_what_an_archive_names_outside_of_itself_is_not_there(tmp_path: Path) -> None:
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
