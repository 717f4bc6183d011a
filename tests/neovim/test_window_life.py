"""The panel among the user's windows, keys and Vim sessions: no error, and no key goes elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.neovim.conftest import Panel, StartNvim
from tests.support.nvim_driver import Nvim
from tests.support.reports import reported

pytestmark = pytest.mark.req("H10", "H17")

NEWS = "<news>"
"""In a list of keys: the panel gets a text and an approval request."""


def type_keys(panel: Panel, keys: list[str]) -> None:
    for number, key in enumerate(keys):
        if key == NEWS:
            panel.say(f"text {number}", f"p{number}")
            panel.ask(f"a{number}")
            panel.server.request("workspace/configuration", {"items": []})  # answered after the news
        else:
            panel.nvim.keys(key)


def errors(nvim: Nvim) -> list[str]:
    log = Path(nvim.lua("return require('agent_ls.log').path()"))
    logged = log.read_text().splitlines() if log.exists() else []
    shown = str(nvim.nvim.command_output("messages")).splitlines()
    return [line for line in logged if " error " in line] + [line for line in shown if line.startswith("E")]


@pytest.mark.parametrize(
    "keys",
    [
        ["<C-w>h", "q:", NEWS, ":q<CR>"],
        reported(
            "avante-corp/avante.nvim#2724",
            ["<C-w>k<C-w>o", NEWS, ":AgentLs<CR>:AgentLs<CR>"],
        ),
        [":tabnew<CR>", NEWS, ":AgentLs<CR>", NEWS, "<Esc>:tabclose<CR>", NEWS, ":AgentLs<CR>"],
        [":%bwipeout!<CR>", NEWS, ":AgentLs<CR>"],
        ["<C-w>k:bd<CR>", NEWS, ":AgentLs<CR>"],
        ["<C-w>T", NEWS, ":AgentLs<CR>"],
        [":set columns=20 lines=6<CR>", NEWS],
        [":AgentLs<CR>:set nomodifiable nohidden<CR>:AgentLs<CR>", NEWS],
        [":set fileformats=dos textwidth=10 formatoptions=tawan undolevels=-1<CR>", NEWS],
        ["<C-w>k:setlocal modifiable<CR>", NEWS, "ggdG", NEWS],
        [":windo diffthis<CR>", NEWS],
        [":bufdo e<CR>:ball<CR>", NEWS],
    ],
    ids="".join,
)
def test_windows_and_options_of_the_user_cause_no_error(panel: Panel, nvim: Nvim, keys: list[str]) -> None:
    nvim.keys("<Esc>")
    type_keys(panel, [*keys, NEWS])
    nvim.wait_for("true")
    assert errors(nvim) == []


@pytest.mark.parametrize(
    ("keys", "lines"),
    [
        (["d", NEWS, "w"], ["", "two"]),
        (["qa", NEWS, "iX<Esc>q", NEWS, "j@a"], ["Xone", "Xtwo"]),
        ([":%s/o/0/gc<CR>", NEWS, "y", NEWS, "yn"], ["0ne", "tw0"]),
        (["ifoo", NEWS, "bar", NEWS, "<Esc>u"], ["one", "two"]),
        ([":s/one/", NEWS, "1/<CR>"], ["1", "two"]),
        (["<C-v>j", NEWS, "lcZ<Esc>"], ["Ze", "Zo"]),
        (["c", NEWS, "iwX<Esc>", NEWS, "j."], ["X", "X"]),
    ],
    ids=lambda given: "".join(given),
)
def test_keys_typed_around_news_do_what_they_do_without(
    panel: Panel, nvim: Nvim, keys: list[str], lines: list[str]
) -> None:
    nvim.keys("<Esc><C-w>h")
    nvim.wait_mode("n")
    type_keys(panel, keys)
    nvim.wait_until(lambda: nvim.mode() == "n" and not nvim.is_blocked(), "Normal mode")
    assert nvim.lines(nvim.lua("return vim.fn.bufnr('one.txt')"))[: len(lines)] == lines
    assert errors(nvim) == []


@pytest.mark.parametrize("is_loaded_late", [False, True])
def test_a_vim_session_restores_the_panel(
    panel: Panel, nvim: Nvim, start_nvim: StartNvim, project: Path, is_loaded_late: bool
) -> None:
    """Sidebars come back as empty windows, with names that make opening them an error."""
    nvim.cmd("mksession s.vim")
    late = ["--cmd", "set eventignore=SessionLoadPost"] if is_loaded_late else []
    restored = start_nvim(*late, "-S", "s.vim")
    if is_loaded_late:
        restored.wait_for("vim.fn.bufexists('agent-ls://prompt') == 1")
        restored.cmd("AgentLs")
    restored.wait_screen("What should change?", "one")
    windows = restored.lua("return vim.api.nvim_list_wins()")
    kind = "return vim.bo[vim.api.nvim_win_get_buf(...)].filetype"
    assert [restored.lua(kind, window) for window in windows] == [
        "text",
        "agent_ls_transcript",
        "agent_ls_prompt",
    ]
    assert errors(restored) == []


@pytest.mark.parametrize("is_open", [False, True])
def test_a_vim_session_that_is_loaded_beside_the_panel_leaves_one_panel(
    panel: Panel, nvim: Nvim, is_open: bool
) -> None:
    panel.say("an answer")
    nvim.wait_screen("an answer")
    nvim.cmd("mksession s.vim")
    if not is_open:
        nvim.cmd("AgentLs")
    nvim.cmd("source s.vim")
    nvim.wait_for("#vim.api.nvim_list_wins() == 3 and vim.g.SessionLoad == nil")
    nvim.wait_screen("an answer", "What should change?")
    assert errors(nvim) == []
    panel.say("one more", "p2")
    nvim.wait_screen("one more")
    names = "return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())"
    assert sorted(name for name in nvim.lua(names) if "agent-ls" in name) == [
        "agent-ls://prompt",
        "agent-ls://transcript",
    ]
