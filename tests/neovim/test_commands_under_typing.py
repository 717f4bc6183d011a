"""A command changes a file whose buffer has unsaved typing, in real Neovim with the real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.neovim.conftest import start_served
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.nvim_driver import Nvim

MERGED = ToolCall("shell", {"command": "sed -i s/two/TWO/ one.txt"})
CONFLICT = ToolCall("shell", {"command": "sed -i s/four/FOUR/ one.txt"})


def lines(nvim: Nvim) -> list[str]:
    found: list[str] = nvim.lua("return vim.fn.getbufline(vim.fn.bufnr('one.txt'), 1, '$')")
    return found


@pytest.mark.req("H4", "H5", "H6")
def test_a_commands_change_to_a_buffer_with_unsaved_typing_is_merged_or_reported_as_a_conflict(
    project: Path, tmp_path: Path
) -> None:
    with AnthropicServer([[MERGED], "Once.", [CONFLICT], "Twice."]) as provider:
        options = "provider = 'anthropic', mode = 'full'"
        with start_served(project, tmp_path, options, provider, arguments=["one.txt"]) as nvim:
            nvim.keys("GA and typed<Esc>")
            nvim.cmd("AgentLs")
            nvim.keys("go<C-s>")
            nvim.wait_screen("Once.", "both", "○ idle")
            assert lines(nvim) == ["one", "TWO", "three", "four", "five and typed"]
            assert (project / "one.txt").read_text() == "one\nTWO\nthree\nfour\nfive\n"
            nvim.lua("vim.api.nvim_buf_set_text(vim.fn.bufnr('one.txt'), 3, 0, 3, 0, { 'my ' })")
            nvim.keys("again<C-s>")
            nvim.wait_screen("Twice.", "Compare", "○ idle")
            assert lines(nvim) == ["one", "TWO", "three", "my four", "five and typed"]
            assert (project / "one.txt").read_text() == "one\nTWO\nthree\nFOUR\nfive\n"
