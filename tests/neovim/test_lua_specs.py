"""The plugin's own specs, in a bare headless Neovim."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.nvim_driver import REPOSITORY, find_nvim

SPECS = sorted((REPOSITORY / "editors/nvim/tests").glob("*_spec.lua"))
RUNNER = REPOSITORY / "editors/nvim/tests/run.lua"


@pytest.mark.req("H10")
@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_a_lua_spec_passes(spec: Path) -> None:
    argv = [find_nvim(), "--headless", "--clean", "-n", "-l", str(RUNNER), str(spec)]

    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_specs() -> None:
    assert len(SPECS) >= 5
