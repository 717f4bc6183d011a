"""The plugin's own specs, in a bare headless Neovim."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support import REPOSITORY
from tests.support.nvim_driver import find_nvim

SPECS = sorted((REPOSITORY / "editors/nvim/tests").glob("*_spec.lua"))
RUNNER = REPOSITORY / "editors/nvim/tests/run.lua"


@pytest.mark.req("H10")
@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_a_lua_spec_passes(spec: Path, tmp_path: Path) -> None:
    argv = [find_nvim(), "--headless", "--clean", "-n", "-l", str(RUNNER), str(spec)]

    # Neovim writes `.nvimlog` to the current folder if it cannot create its usual log.
    environ = {**os.environ, "NVIM_LOG_FILE": str(tmp_path / "nvim.log")}

    done = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=240, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_folder_of_lua_specs_is_not_empty() -> None:
    assert len(SPECS) >= 5
