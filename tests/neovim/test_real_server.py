"""The plugin with the real server and the walkthrough: the whole story, as a user plays it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.neovim.conftest import start_on_sample
from tests.support.nvim_driver import Nvim

FIXED = "        amount = amount * (1 - DISCOUNT_RATE)"
BROKEN = "        amount = amount - DISCOUNT_RATE"


@pytest.fixture
def demo(shop: Path, tmp_path: Path) -> Iterator[Nvim]:
    """What `agent-ls demo` opens, with the first message in the prompt."""
    with start_on_sample(shop, tmp_path) as nvim:
        nvim.lua("require('agent_ls.chat.approvals').repeat_ms = 0")  # it answers faster than a hand
        nvim.lua("require('agent_ls.demo').start()")
        nvim.wait_screen("walkthrough (no model)", "The tests fail.")
        yield nvim


def first_edit(nvim: Nvim) -> None:
    """Plays up to the approval of the tests: the first edit is in the buffer."""
    nvim.keys("<C-s>")
    nvim.wait_screen("Make this change?")
    nvim.keys("<M-a>")
    nvim.wait_screen("agent 1/1", "Run this command?")


def line(nvim: Nvim, number: int) -> str:
    text: str = nvim.lua("return vim.fn.getbufline(vim.fn.bufnr('cart.py'), ...)[1]", number)
    return text


@pytest.mark.req("H14", "H10", "H4", "H5", "H6", "H7")
def test_the_walkthrough_plays_its_whole_task(demo: Nvim, shop: Path) -> None:
    first_edit(demo)
    assert line(demo, 11) == FIXED
    assert (shop / "shop/cart.py").read_text().count(BROKEN) == 1
    demo.keys("<M-a>")
    demo.wait_screen("One test is left", "Make this change?")
    demo.keys("<M-a>")
    demo.wait_screen("agent 2/2", "Run this command?")
    demo.keys("<M-a>")

    demo.wait_screen("All tests pass.", "○ idle")
    done = subprocess.run(
        [sys.executable, "-m", "unittest", "-q"], cwd=shop, capture_output=True, check=False
    )
    assert done.returncode == 0


@pytest.mark.req("H6", "H4")
def test_undo_over_a_pending_hunk_makes_it_gone_and_redo_brings_it_back(demo: Nvim) -> None:
    first_edit(demo)
    demo.keys("<Esc>")
    demo.cmd("wincmd h")
    demo.keys("u")
    demo.wait_gone("agent 1/1")
    demo.wait_screen("1 gone")
    assert line(demo, 11) == BROKEN

    demo.keys("<C-r>")
    demo.wait_screen("agent 1/1", "1 to review")
    assert line(demo, 11) == FIXED


@pytest.mark.req("H6")
def test_a_hunk_undone_by_review_stays_undone(demo: Nvim) -> None:
    first_edit(demo)
    demo.keys("<Esc>")
    demo.cmd("wincmd h")
    demo.keys("11G<Space>au")

    demo.wait_gone("agent 1/1")
    demo.wait_screen("1 undone")
    assert line(demo, 11) == BROKEN


@pytest.mark.req("H6", "H4")
def test_typing_beside_a_pending_hunk_is_kept_when_it_is_undone(demo: Nvim) -> None:
    first_edit(demo)
    demo.keys("<Esc>")
    demo.cmd("wincmd h")
    demo.keys("gg0O# mine<Esc>12G<Space>au")

    demo.wait_gone("agent 1/1")
    assert (line(demo, 1), line(demo, 12)) == ("# mine", BROKEN)


@pytest.mark.req("H7", "H14")
def test_a_denied_command_is_told_to_the_model_which_goes_on(demo: Nvim) -> None:
    first_edit(demo)
    demo.keys("<Esc>:AgentLs deny not now<CR>")

    demo.wait_screen("“not now”", "○ idle")


@pytest.mark.req("H2", "L16")
def test_stop_ends_the_turn_and_the_session_goes_on(demo: Nvim) -> None:
    first_edit(demo)
    demo.keys("<C-c>")
    demo.wait_screen("Stopped.", "○ idle")

    demo.keys("<Esc>")
    demo.cmd("AgentLs send go on")
    demo.wait_screen("❯ go on")


@pytest.mark.req("H3", "R4", "H10")
def test_a_restart_of_the_editor_brings_the_session_back(demo: Nvim, shop: Path, tmp_path: Path) -> None:
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
