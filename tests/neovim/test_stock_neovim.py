"""Real Neovim with the recipe of docs/other-editors.md and no plugin: a whole conversation by the user's keys."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import recipes
from tests.support.nvim_driver import Nvim


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return recipes.shop(tmp_path / "shop")


@pytest.fixture
def nvim(shop: Path, tmp_path: Path) -> Iterator[Nvim]:
    recipe = recipes.written_recipe("neovim", tmp_path / "recipe.lua")
    env = recipes.environment(tmp_path / "bin")
    arguments = ["--cmd", f"luafile {recipe}", "chat.agent.md"]
    with Nvim(cwd=shop, columns=120, rows=40, env=env, arguments=arguments) as nvim:
        nvim.wait_for("#vim.lsp.get_clients({ name = 'agent-ls' }) == 1")
        nvim.wait_for("vim.lsp.get_clients({ name = 'agent-ls' })[1].initialized")
        yield nvim


def chat(nvim: Nvim) -> str:
    return "\n".join(
        nvim.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('chat.agent.md'), 0, -1, false)")
    )


@pytest.mark.req("H8", "H11")
def test_a_conversation_completes_in_stock_neovim(nvim: Nvim, shop: Path, tmp_path: Path) -> None:
    nvim.keys(f"i{recipes.TASK}<Esc>:w<CR>")
    nvim.wait_for("not vim.bo.modified")  # while `:w` is typed, the mode is that of a question
    for count in range(4):
        nvim.wait_until(lambda: nvim.mode() == "c", "a question of the server's")
        nvim.keys("2<CR>")
        nvim.wait_until(lambda: recipes.answers(tmp_path / "bin") > count, "the answer to be taken")  # noqa: B023
    nvim.wait_until(lambda: chat(nvim).endswith("## you\n"), "the end of the answer")
    text = chat(nvim)
    assert text.startswith(f"{recipes.TASK}\n\n## agent <!-- s-")
    assert text.count("Allowed.") == 4 and "All tests pass." in text
    assert "aiting" not in text, "an answered approval is described as if it was still open"
    nvim.wait_screen("All tests pass.")  # the window has followed the answer
    assert "amount * (1 - DISCOUNT_RATE)" in (shop / "shop/cart.py").read_text()

    nvim.cmd("edit shop/cart.py")
    nvim.wait_for("#vim.diagnostic.get(0) > 0")
    nvim.lua("vim.api.nvim_win_set_cursor(0, { vim.diagnostic.get(0)[1].lnum + 1, 0 })")
    before = nvim.lines()
    nvim.lua(
        "vim.lsp.buf.code_action({ apply = true,"
        " filter = function(action) return vim.startswith(action.title, 'Undo this') end })"
    )
    nvim.wait_until(lambda: nvim.lines() != before, "the change to be undone")


@pytest.mark.req("H8", "H11")
def test_chat_saved_while_the_server_starts_is_answered(shop: Path, tmp_path: Path) -> None:
    recipe = recipes.written_recipe("neovim", tmp_path / "recipe.lua")
    env = recipes.environment(tmp_path / "bin")
    # The chat is written before Neovim's event loop first runs, so before any answer of the server.
    early = f"vsplit chat.agent.md | call setline(1, '{recipes.TASK}') | write"
    arguments = ["--cmd", f"luafile {recipe}", "-c", early, "shop/cart.py"]
    with Nvim(cwd=shop, columns=120, rows=40, env=env, arguments=arguments) as nvim:
        nvim.wait_until(lambda: "## agent <!-- s-" in chat(nvim), "the answer")


@pytest.mark.req("H8", "X8")
def test_chat_saved_before_the_editor_started_is_not_sent(shop: Path, tmp_path: Path) -> None:
    recipe = recipes.written_recipe("neovim", tmp_path / "recipe.lua")
    env = recipes.environment(tmp_path / "bin")
    document = shop / "chat.agent.md"
    document.write_text(f"{recipes.TASK}\n")
    os.utime(document, (time.time() - 3600, time.time() - 3600))
    with Nvim(
        cwd=shop,
        env=env,
        arguments=["--cmd", f"luafile {recipe}", "chat.agent.md", "-c", "vsplit other.agent.md"],
    ) as nvim:
        nvim.keys(f"i{recipes.TASK}<Esc>:w<CR>")
        nvim.wait_until(lambda: "## agent" in "\n".join(nvim.lines()), "the answer to the other chat")

        assert "## agent" not in chat(nvim)
