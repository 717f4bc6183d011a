"""In real Neovim with the real server: an undo is saved to disk, and `u` after it restores the hunk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.loopback.script import Answer
from tests.neovim.conftest import start_served
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.nvim_driver import Nvim

pytestmark = pytest.mark.req("H4", "H6")

OLD, NEW = "A = 1\nB = 1\n", "A = 1\nB = 2\n"
SCRIPT: list[Answer] = [
    [ToolCall("read_file", {"file_path": "b.py"})],
    [ToolCall("edit_file", {"file_path": "b.py", "old_string": "B = 1", "new_string": "B = 2"})],
    "It is done.",
]


@pytest.fixture
def nvim(tmp_path: Path) -> Iterator[Nvim]:
    """A Neovim on b.py, which the agent changed while it was closed, and which `:AgentLs next` has opened."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "b.py").write_text(OLD)
    with AnthropicServer(SCRIPT) as provider:
        options = "provider = 'anthropic', mode = 'edits', settings = { review = 'after' }"
        with start_served(project, tmp_path, options, provider, columns=120) as nvim:
            nvim.cmd("AgentLs send go")
            nvim.wait_screen("It is done.")
            assert (project / "b.py").read_text() == NEW
            nvim.cmd("AgentLs next")
            nvim.wait_screen("agent 1 of 1")
            yield nvim


def in_buffer(nvim: Nvim) -> tuple[str, bool]:
    lines, is_modified = nvim.lua(
        "local b = vim.fn.bufnr('b.py'); return { vim.fn.getbufline(b, 1, '$'), vim.bo[b].modified }"
    )
    return "".join(f"{line}\n" for line in lines), is_modified


@pytest.mark.parametrize("command", ["undo", "undo_all"])
def test_undo_in_a_file_that_was_closed_during_the_change_is_saved_to_disk(
    nvim: Nvim, tmp_path: Path, command: str
) -> None:
    nvim.cmd(f"AgentLs {command}")
    nvim.wait_gone("agent 1 of 1")
    path = tmp_path / "project" / "b.py"
    nvim.wait_until(lambda: path.read_text() == OLD, "the undo on disk")
    nvim.wait_until(lambda: in_buffer(nvim) == (OLD, False), "the saved buffer")
