"""Real Neovim with the recipe of docs/other-editors.md and no plugin: a whole conversation by the user's keys."""

from __future__ import annotations

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
    nvim.wait_for("not vim.bo.modified")  # before, it is by these keys that it seems to ask something
    for count in range(4):
        nvim.wait_until(lambda: nvim.mode() == "c", "a question of the server's")
        nvim.keys("2<CR>")
        nvim.wait_until(lambda: recipes.answers(tmp_path / "bin") > count, "the answer to be taken")  # noqa: B023
    nvim.wait_until(lambda: chat(nvim).endswith("## you\n"), "the end of the answer")
    text = chat(nvim)
    assert text.startswith(f"{recipes.TASK}\n\n## agent <!-- s-")
    assert text.count("Allowed.") == 4 and "All tests pass." in text
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
