"""In a real VS Code workbench: evidence of a turn, the guided review, and authors of lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.rig import WIRES
from tests.editors import vscode_rig as vscode
from tests.editors.test_vscode import STOCK
from tests.support.loopback import AnthropicServer, Text, ToolCall

pytestmark = vscode.MARKS

ANTHROPIC = WIRES[0]
CHECK = "python3 -m compileall -q stock.py"
CHECKED = ToolCall("shell", {"command": CHECK})
SUM = ANTHROPIC.edit("stock.py", "    return sum(list(stock.values()))", "    return sum(stock.values())")
ANSWERS: list[Any] = [
    [ToolCall("read_file", {"file_path": "stock.py"})],
    [Text("I leave out the list:"), SUM],
    [CHECKED],
    "It is tidy.",
    [CHECKED],
    "Still fine.",
]


@pytest.mark.req("H9", "H6")
def test_the_work_of_the_agent_can_be_checked_in_vscode(tmp_path: Path) -> None:
    project = tmp_path / "store"
    project.mkdir()
    (project / "stock.py").write_text(STOCK)
    with AnthropicServer(ANSWERS, key=vscode.KEY) as server:
        vscode.play(
            "checked_work.mjs",
            project,
            machine=vscode.machine(server, mode="full"),
            env=vscode.variables(tmp_path / "state"),
        )
        assert f"Run `{CHECK}` again." in str(server.requests[-2].body)

    assert "# mine\n    return sum(stock.values())" in (project / "stock.py").read_text()
