"""The two lines of docs/installation.md for an installed agent-ls, run by a real Neovim."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import blocks, read
from tests.support.commands import environment
from tests.support.nvim_driver import find_nvim

pytestmark = [
    pytest.mark.neovim,
    pytest.mark.skipif(not find_nvim(), reason="no Neovim 0.11 or newer"),
]


@pytest.mark.req("H10")
def test_two_lines_for_an_installed_agent_ls_load_the_plugin(tmp_path: Path) -> None:
    (lines,) = [
        block.text for block in blocks(read("docs/installation.md"), "lua") if block.tag == "installed"
    ]
    program = tmp_path / "bin" / "agent-ls"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m agent_ls "$@"\n')
    program.chmod(0o755)
    (tmp_path / "init.lua").write_text(lines)
    environ = environment(tmp_path, PATH=f"{program.parent}:/usr/bin:/bin")
    nvim = [find_nvim(), "--clean", "--headless", "-u", str(tmp_path / "init.lua")]
    asked = ["+lua io.stdout:write(vim.fn.exists(':AgentLs'))", "+qa"]
    done = subprocess.run(
        [*nvim, *asked], env=environ, capture_output=True, text=True, timeout=240, check=False
    )
    assert (done.stdout, done.stderr) == ("2", "")
