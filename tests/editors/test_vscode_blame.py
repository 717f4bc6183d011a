"""Authors of lines in a real VS Code workbench: bars in the gutter, the hover, and the command for one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.rig import WIRES
from tests.editors import vscode_rig as vscode
from tests.editors.test_vscode import STOCK
from tests.support.loopback import AnthropicServer, ToolCall

pytestmark = vscode.MARKS

ANTHROPIC = WIRES[0]
ANSWERS: list[Any] = [
    [ToolCall("read_file", {"file_path": "stock.py"})],
    [ANTHROPIC.edit("stock.py", "    return sum(list(stock.values()))", "    return sum(stock.values())")],
    "It is tidy.",
]


@pytest.mark.req("H9")
def test_the_lines_of_the_agent_are_marked_and_say_which_message_led_to_them(tmp_path: Path) -> None:
    project = tmp_path / "store"
    project.mkdir()
    (project / "stock.py").write_text(STOCK)
    with AnthropicServer(ANSWERS, key=vscode.KEY) as server:
        vscode.play(
            "blame.mjs",
            project,
            machine=vscode.machine(server, mode="edits"),
            env=vscode.variables(tmp_path / "state"),
        )

    assert "# mine\n    return sum(stock.values())" in (project / "stock.py").read_text()
