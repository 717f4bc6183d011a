"""The plugin with the real server and the walkthrough, played by keys from start to end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.neovim.conftest import PLUGIN, start_on_sample
from tests.support.nvim_driver import Nvim

FIXED = "        amount = amount * (1 - DISCOUNT_RATE)"
BROKEN = "        amount = amount - DISCOUNT_RATE"


@pytest.fixture
def demo(shop: Path, tmp_path: Path) -> Iterator[Nvim]:
    """Neovim as `agent-ls demo` opens it, with the first message in the prompt."""
    with start_on_sample(shop, tmp_path) as nvim:
        # the test answers faster than a user could
        nvim.lua("require('agent_ls.chat.approvals').repeat_ms = 0")
        nvim.lua("require('agent_ls.demo').start()")
        nvim.wait_screen("walkthrough (no model)", "The tests fail.")
        yield nvim


def first_edit(nvim: Nvim) -> None:
    """Play until the approval of the test command. The first edit is then in the buffer."""
    nvim.keys("<C-s>")
    nvim.wait_screen("Make this change?")
    nvim.keys("<M-a>")
    nvim.wait_screen("agent 1 of 1", "Run this command?")


def line(nvim: Nvim, number: int) -> str:
    text: str = nvim.lua("return vim.fn.getbufline(vim.fn.bufnr('cart.py'), ...)[1]", number)
    return text


@pytest.mark.req("H14", "H10", "H4", "H5", "H6", "H7")
def test_walkthrough_completes_its_task_by_keys_alone(demo: Nvim, shop: Path) -> None:
    first_edit(demo)
    assert line(demo, 11) == FIXED
    assert (shop / "shop/cart.py").read_text().count(BROKEN) == 1
    demo.keys("<M-a>")
    demo.wait_screen("One test is left", "Make this change?")
    demo.keys("<M-a>")
    demo.wait_screen("agent 2 of 2", "Run this command?")
    demo.keys("<M-a>")

    demo.wait_screen("All tests pass.", "○ idle")
    done = subprocess.run(
        [sys.executable, "-m", "unittest", "-q"], cwd=shop, capture_output=True, check=False
    )
    assert done.returncode == 0


@pytest.mark.req("H3", "R4", "H10")
def test_a_restart_of_the_editor_restores_the_session(demo: Nvim, shop: Path, tmp_path: Path) -> None:
    first_edit(demo)
    before = demo.lines(demo.lua("return require('agent_ls.chat.transcript').buffer()"))
    demo.close()

    with start_on_sample(shop, tmp_path) as again:
        again.lua(
            "require('agent_ls').setup({ cmd = { ..., '-m', 'agent_ls', 'serve', '--stdio' } })",
            sys.executable,
        )
        again.cmd("AgentLs resume")
        again.wait_screen("Now the tests.", "walkthrough (no model)")
        after = again.lines(again.lua("return require('agent_ls.chat.transcript').buffer()"))

    said = [text for text in before if text and not text.startswith(("┃", "●", "±"))]
    assert [text for text in said if text in after] == said


@pytest.mark.req("H4", "X9")
def test_a_file_with_unsaved_text_in_another_neovim_is_not_written(shop: Path) -> None:
    other_file = shop / "notes.txt"
    other_file.write_text("one\n")
    with Nvim(cwd=shop, arguments=["notes.txt"]) as other:
        other.cmd("set updatecount=1 swapfile")
        other.keys("iunsaved <Esc>")
        other.cmd("preserve")
        script = (
            "import sys; from agent_ls.server.editor.foreign_locks import find_other_editor; "
            "print(find_other_editor(sys.argv[1]))"
        )
        held = subprocess.run(
            [sys.executable, "-c", script, str(other_file)],
            env={**os.environ, "XDG_STATE_HOME": str(other.home / "state")},
            capture_output=True,
            text=True,
            check=True,
        )

    assert "unsaved changes" in held.stdout


@pytest.mark.req("H10")
def test_a_file_open_in_another_neovim_is_displayed_without_a_swap_question(shop: Path) -> None:
    (shop / "notes.txt").write_text("one\n")
    with (
        Nvim(cwd=shop, arguments=["notes.txt"]) as other,
        Nvim(cwd=shop, runtime_path=[PLUGIN], arguments=["shop/cart.py"]) as nvim,
    ):
        for each in (other, nvim):
            each.cmd(f"set updatecount=1 swapfile directory={other.home}/state/nvim/swap//")
        other.keys("iunsaved <Esc>")
        other.cmd("preserve")
        nvim.lua("require('agent_ls.chat.view').show_file(...)", str(shop / "notes.txt"))

        nvim.wait_screen("is open in another Vim or Neovim, so it is read-only here")
        assert not nvim.is_blocked()
        assert nvim.lua("return vim.bo.readonly")
