"""A session in a git worktree, and the list of running sessions, in a real VS Code workbench."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.rig import WIRES, NvimRig
from tests.e2e.worktree_project import commit_all
from tests.editors import vscode_rig as vscode
from tests.support.loopback import AnthropicServer, Script, ToolCall
from tests.support.nvim_driver import find_nvim

pytestmark = [*vscode.MARKS, pytest.mark.skipif(not find_nvim(), reason="needs Neovim 0.11 or newer")]

ANTHROPIC = WIRES[0]
STOCK = "def count(stock):\n    return sum(list(stock.values()))\n"


@pytest.mark.req("H9", "H23")
def test_changes_of_a_worktree_are_applied_to_the_folder_and_running_sessions_are_listed(
    tmp_path: Path,
) -> None:
    project = tmp_path / "store"
    project.mkdir()
    (project / "stock.py").write_text(STOCK)
    commit_all(project)
    script: Script = [
        "Hello from Neovim.",
        [ToolCall("read_file", {"file_path": "stock.py"})],
        [
            ANTHROPIC.edit(
                "stock.py", "    return sum(list(stock.values()))", "    return sum(stock.values())"
            )
        ],
        "It is tidy.",
    ]
    with AnthropicServer(script, key=vscode.KEY) as model:
        rig = NvimRig(project, tmp_path / "home", model, ANTHROPIC)
        rig.variables["ANTHROPIC_API_KEY"] = vscode.KEY
        rig.open("stock.py")
        try:
            rig.submit("Say hello.")
            rig.wait_done("Hello from Neovim.")
            vscode.play(
                "worktrees.mjs",
                project,
                machine=vscode.machine(model, mode="ask"),
                env=vscode.variables(rig.home / "state"),
            )
        finally:
            rig.close()
    assert (project / "stock.py").read_text() == STOCK, "it was saved unasked"
