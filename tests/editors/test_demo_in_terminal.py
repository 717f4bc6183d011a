"""`agent-ls demo` in a terminal opens real Neovim on the sample project and plays to its end by keys."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.editors.tmux import Terminal, find_tmux
from tests.support import commands
from tests.support.nvim_driver import find_nvim

pytestmark = [
    pytest.mark.neovim,
    pytest.mark.skipif(not find_tmux(), reason="needs tmux (make test-editors installs it where it may)"),
    pytest.mark.skipif(not find_nvim(), reason="needs Neovim 0.11 or newer: set AGENT_LS_NVIM"),
]


def demo(folder: Path, home: Path, path: str) -> Terminal:
    environ = commands.environment(home, PATH=path)
    return Terminal(commands.command("demo", "--folder", str(folder)), cwd=home, environ=environ, rows=44)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()  # else tmux starts in the checkout, whose programs agent-ls does not start
    return home


@pytest.mark.req("H14", "H10", "H7", "L6")
def test_the_demo_opens_neovim_and_completes(tmp_path: Path, home: Path) -> None:
    shop = tmp_path / "shop"
    path = f"{Path(find_nvim()).parent}:{commands.environment(home)['PATH']}"
    with demo(shop, home, path) as terminal:
        terminal.wait_screen(
            "def total(prices):", "walkthrough (no model)", "The tests fail.", "-- INSERT --"
        )
        terminal.keys("C-s")
        terminal.wait_screen("Make this change?", "amount = amount * (1 -")

        terminal.keys("Note it in CHANGES.md.", "C-s")
        terminal.wait_screen("↪ Note it in CHANGES.md.")
        terminal.press("M-a", "Run this command?", "python3 -m unittest", "I do that")
        terminal.press("M-a", "One test is left", "Make this change?")
        terminal.press("M-a", "agent 1 of 2", "Run this command?")
        terminal.press("M-a", "I add a line to CHANGES.md.", "Make this change?")
        terminal.press("M-a", "All tests pass.", "○ idle")

        terminal.keys("Escape", ":qa!", "Enter")
        assert terminal.exit_code() == 0

    assert "amount * (1 - DISCOUNT_RATE)" in (shop / "shop/cart.py").read_text()
    assert "ten percent" in (shop / "CHANGES.md").read_text()
    tests = subprocess.run([sys.executable, "-m", "unittest"], cwd=shop, capture_output=True, check=False)
    assert tests.returncode == 0
    assert not (home / ".config").exists(), "the user's own configuration is left alone"


@pytest.mark.req("H14")
def test_the_demo_without_neovim_reports_it_and_prints_the_session(tmp_path: Path, home: Path) -> None:
    python_only = tmp_path / "bin"
    python_only.mkdir()
    for program in ("python3", "sh"):
        (python_only / program).symlink_to(sys.executable if program == "python3" else "/bin/sh")
    with demo(tmp_path / "shop", home, str(python_only)) as terminal:
        assert terminal.exit_code() == 0
        assert "All tests pass." in terminal.screen()
