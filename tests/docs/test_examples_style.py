"""The programs of the pages are written in the style of the house."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.examples import write_programs
from tests.docs.pages import ROOT, blocks, read

PAGES = [
    f"docs/{name}.md"
    for name in ("adding-a-tool", "adding-a-provider", "adding-an-environment", "wasm-environment")
]


@pytest.mark.parametrize("place", PAGES)
def test_every_python_example_in_the_docs_has_a_tag(place: str) -> None:
    assert all(block.tag for block in blocks(read(place), "python"))


@pytest.mark.parametrize("place", PAGES)
def test_python_examples_in_the_docs_pass_ruff_check_and_ruff_format(place: str, tmp_path: Path) -> None:
    for program in write_programs(place, tmp_path).values():
        program.write_text(program.read_text(encoding="utf-8").lstrip("\n"), encoding="utf-8")
    ruff, settings = Path(sys.executable).with_name("ruff"), ROOT / "pyproject.toml"

    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [str(ruff), *command, "--no-cache", "--config", str(settings), str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
