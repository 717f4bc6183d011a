"""In real Neovim with the real server: authors of lines, the guided review, and evidence, also after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loopback.script import Answer
from tests.neovim.conftest import start_served
from tests.neovim.test_plugin_blame import ROWS
from tests.support.loopback import AnthropicServer, Text, ToolCall

pytestmark = pytest.mark.req("H6", "H10")

CHECK = "python3 -m compileall -q cart.py"
SCRIPT: list[Answer] = [
    [ToolCall("read_file", {"file_path": "cart.py"})],
    [
        Text("**I let the total be rounded:**"),
        ToolCall(
            "edit_file",
            {
                "file_path": "cart.py",
                "old_string": "def total(a):\n",
                "new_string": "def total(a, places):\n",
            },
        ),
    ],
    [ToolCall("shell", {"command": CHECK})],
    "Done.",
    [ToolCall("shell", {"command": CHECK})],
    "Still fine.",
]


def test_the_work_of_the_agent_can_be_checked_in_neovim(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "cart.py").write_text("import math\n\n\ndef total(a):\n    return a\n")
    options = "provider = 'anthropic', mode = 'full', settings = { review = 'after' }"
    with AnthropicServer(SCRIPT) as provider:
        with start_served(project, tmp_path, options, provider, columns=160) as nvim:
            nvim.cmd("AgentLs send round it")
            nvim.wait_screen("Done.", "✓ Since the last change", "passed (exit 0")

            nvim.cmd("AgentLs guide")
            nvim.wait_screen("1 of 1 to look at", "● I let the total be rounded", "signature of `total`")
            nvim.keys("<CR>")
            nvim.wait_for("vim.fn.expand('%:t') == 'cart.py' and vim.fn.line('.') == 4")
            nvim.cmd("AgentLs blame_lines")
            nvim.wait_until(lambda: nvim.lua(ROWS) == [3], "a bar at the line of the agent")
            nvim.cmd("AgentLs guide")
            nvim.wait_screen("0 of 1 to look at", "○ I let the total be rounded")

            nvim.cmd("AgentLs check_again")
            nvim.wait_screen("Still fine.")
            assert f"Run `{CHECK}` again." in str(provider.requests[-1].body)
        with start_served(project, tmp_path, options, provider, arguments=["cart.py"]) as nvim:
            nvim.cmd("4")
            nvim.cmd("AgentLs blame")
            nvim.wait_screen("line 4", "for: round it")
