"""Findings of /review, notes of the memory and suggestions at the cursor, in a real VS Code workbench."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.rig import WIRES
from tests.editors import vscode_rig as vscode
from tests.editors.test_vscode import STOCK
from tests.support.loopback import AnthropicServer, ToolCall

pytestmark = vscode.MARKS

ANTHROPIC = WIRES[0]


def finding(line: int, severity: str, message: str, fix: str = "") -> ToolCall:
    place = {"file_path": "stock.py", "start_line": line, "end_line": line}
    return ToolCall(
        "report_finding", {**place, "severity": severity, "message": message, "suggested_fix": fix}
    )


ANSWERS: list[Any] = [
    [
        finding(5, "warning", "The list is not needed."),
        finding(9, "info", "The name is [vague](command:evil)."),
        finding(13, "error", "The unit is missing.", "Add the unit."),
    ],
    "Three findings.",
    "A sum needs no list.",
    [ToolCall("read_file", {"file_path": "stock.py"})],
    [ANTHROPIC.edit("stock.py", "    return str(len(stock))", '    return f"{len(stock)} pieces"')],
    "It has its unit now.",
    [ToolCall("remember", {"note": "Count in parts."})],
    "I keep it in mind.",
    [ToolCall("remember", {"note": "Never count screws."})],
    "No screws, then.",
]


class Model:
    """Answers the requests of sessions in order, and each request for a suggestion by the same text.

    `suggestions` counts the requests for a suggestion.
    """

    def __init__(self) -> None:
        self.suggestions = 0
        self._answers = list(ANSWERS)

    def __call__(self, body: Mapping[str, Any]) -> Any:
        if "<before_cursor>" in str(body["messages"]):
            self.suggestions += 1
            return "return not stock"
        return self._answers.pop(0)


@pytest.mark.req("H21", "H26", "H27", "H9")
def test_findings_memory_notes_and_suggestions_are_decided_at_their_lines_in_the_editor(
    tmp_path: Path,
) -> None:
    project = tmp_path / "store"
    project.mkdir()
    (project / "stock.py").write_text(STOCK)
    model = Model()
    with AnthropicServer(model, key=vscode.KEY) as server:
        vscode.play(
            "findings.mjs",
            project,
            machine=vscode.machine(server, mode="edits"),
            env=vscode.variables(tmp_path / "state"),
            answers={"suggestions": lambda: model.suggestions},
        )
        said = [str(request.body["messages"][-1]) for request in server.requests]

    assert "Explain this finding" in said[2] and "stock.py, line 5:\\nThe list is not needed." in said[2]
    assert str(project) not in said[2]
    assert "Fix this finding" in said[3] and "Add the unit." in said[3]
    assert "def is_empty(stock):" in said[-1], "the text before the cursor is sent"
