"""Findings of /review in a real Neovim with the real server: diagnostics at their lines with actions by keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.neovim.conftest import start_served
from tests.support.loopback import Answer, AnthropicServer, ToolCall
from tests.support.nvim_driver import Nvim

pytestmark = pytest.mark.req("H2", "H10")

MARKS = (
    "return vim.iter(vim.diagnostic.get(vim.fn.bufnr('cart.py'))):map(function(d)"
    " return { d.lnum, d.severity, d.source, d.message } end):totable()"
)


def finding(line: int, message: str) -> ToolCall:
    place = {"file_path": "cart.py", "start_line": line, "end_line": line}
    return ToolCall("report_finding", {**place, "severity": "warning", "message": message})


@pytest.fixture
def provider() -> Iterator[AnthropicServer]:
    script: list[Answer] = [
        [finding(2, "It **divides** by zero."), finding(3, "Unused.")],
        "Two.",
        "Explained.",
    ]
    with AnthropicServer(script) as server:
        yield server


@pytest.fixture
def nvim(project: Path, tmp_path: Path, provider: AnthropicServer) -> Iterator[Nvim]:
    (project / "cart.py").write_text("one\ntwo\nthree\nfour\n")
    options = "provider = 'anthropic', mode = 'ask'"
    with start_served(project, tmp_path, options, provider, columns=120) as nvim:
        nvim.cmd("edit cart.py")
        yield nvim


def test_review_findings_are_diagnostics_with_code_actions(nvim: Nvim, provider: AnthropicServer) -> None:
    nvim.cmd("AgentLs send /review cart.py")
    nvim.wait_screen("Two.", "○ idle")
    first = [1, 2, "agent-ls", "It **divides** by zero."]
    nvim.wait_until(lambda: len(nvim.lua(MARKS)) == 2, "two findings")
    assert first in nvim.lua(MARKS)
    nvim.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('cart.py'))[1])")
    nvim.keys("<Esc>ggOabove<Esc>")
    nvim.wait_until(lambda: sorted(mark[0] for mark in nvim.lua(MARKS)) == [2, 3], "moved by a line")

    nvim.keys("3G")
    nvim.lua(
        "vim.ui.select = function(items, options, done)"
        "  _G.offered = vim.iter(items):map(function(it) return it.action.title end):totable()"
        "  for index, title in ipairs(_G.offered) do"
        "    if title:match(_G.wanted) then return done(items[index], index) end"
        "  end "
        "end _G.wanted = '^Let the agent explain'"
    )
    nvim.keys("gra")
    nvim.wait_screen("Explained.")
    assert "Explain this finding" in str(provider.requests[-1].body["messages"][-1])
    assert [title.split(":")[0] for title in nvim.lua("return _G.offered")] == [
        "Fix with the agent",
        "Let the agent explain",
        "Dismiss",
    ]

    nvim.lua("_G.wanted = '^Dismiss'")
    nvim.keys("gra")
    nvim.wait_until(lambda: [mark[0] for mark in nvim.lua(MARKS)] == [3], "the finding is dismissed")


def test_diagnostic_of_another_source_is_explained_by_a_code_action(
    nvim: Nvim, provider: AnthropicServer
) -> None:
    nvim.cmd("AgentLs send /review cart.py")
    nvim.wait_screen("Two.", "○ idle")
    nvim.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('cart.py'))[1])")
    nvim.lua(
        "local problem = { lnum = 3, col = 0, message = 'four is undefined', source = 'toy' }"
        " vim.diagnostic.set(vim.api.nvim_create_namespace('toy'), 0, { problem })"
        " vim.ui.select = function(items, options, done)"
        "  _G.offered = vim.iter(items):map(function(it) return it.action.title end):totable()"
        "  done(items[#items], #items)"
        " end"
    )
    nvim.keys("<Esc>1G")
    nvim.keys("gra")
    nvim.wait_screen("No code actions available")

    nvim.keys("4G")
    nvim.keys("gra")

    nvim.wait_screen("Explained.")
    assert nvim.lua("return _G.offered") == ["Fix with the agent", "Explain with the agent"]
    asked = str(provider.requests[-1].body["messages"][-1])
    assert "is named above" in asked and "four is undefined" in asked
