"""Worktree sessions and the list of running sessions, in real Neovims with the real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.worktree_project import commit_all
from tests.neovim.conftest import StartReal
from tests.support.commands import provider_variables
from tests.support.loopback import AnthropicServer, Gate, Script, Text, ToolCall

pytestmark = pytest.mark.req("H10", "H23")


def test_changes_of_a_worktree_session_are_applied_to_the_buffer_as_hunks(
    start_real: StartReal, project: Path
) -> None:
    commit_all(project)
    change = {"file_path": "one.txt", "old_string": "two", "new_string": "TWO"}
    script: Script = [
        [ToolCall("read_file", {"file_path": "one.txt"})],
        [ToolCall("edit_file", change)],
        "Done.",
    ]
    with AnthropicServer(script) as provider:
        nvim = start_real(provider_variables(provider), provider="anthropic")
        nvim.lua("require('agent_ls.chat.approvals').repeat_ms = 0")
        nvim.cmd("edit one.txt")
        nvim.cmd("AgentLs new worktree")
        nvim.wait_screen("What should change?")
        nvim.keys("<Esc><C-w>hGotyped by me<Esc>")  # unsaved text, which the changes must not touch
        nvim.cmd("AgentLs send change it")
        nvim.wait_screen("Make this change?", "one.txt (worktree)")
        nvim.cmd("AgentLs approve")
        nvim.wait_screen("Done.", "○ idle", "wait for you to apply them")
        assert "TWO" not in "\n".join(nvim.lines(nvim.lua("return vim.fn.bufnr('one.txt')")))

        nvim.cmd("AgentLs bring")

        nvim.wait_screen("agent 1 of 1", "1 to review")
        lines = nvim.lines(nvim.lua("return vim.fn.bufnr('one.txt')"))
        assert lines == ["one", "TWO", "three", "four", "five", "typed by me"]
        assert (project / "one.txt").read_text().startswith("one\ntwo\n"), "it is saved unasked"


def test_a_running_session_of_another_neovim_is_listed_and_followed(start_real: StartReal) -> None:
    gate = Gate()
    with AnthropicServer([[Text("I work on it.", gate, " Done.")]]) as provider:
        working = start_real(provider_variables(provider), provider="anthropic")
        working.cmd("AgentLs send improve the totals")
        working.wait_screen("I work on it.")
        nvim = start_real(provider_variables(provider), provider="anthropic")

        nvim.keys(":AgentLs running<CR>")
        nvim.wait_screen("Running sessions", "1: working", "improve the totals")
        nvim.keys("1<CR>")

        shot = nvim.wait_screen("❯ improve the totals", "I work on it.", "read only")
        assert "stops" not in shot, "a key is named that cannot stop the turn of another editor"
        gate.open()
        nvim.wait_screen("I work on it. Done.", "○ idle")
