"""The participant and the tool of VS Code's own chat, in a real workbench and without an account."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.rig import WIRES
from tests.editors import vscode_rig as vscode
from tests.editors.test_vscode import STOCK
from tests.support.loopback import AnthropicServer, ErrorReply, ToolCall

pytestmark = vscode.MARKS

ANTHROPIC = WIRES[0]


@pytest.mark.req("H20", "H9", "H12")
def test_the_native_chat_participant_and_tool_change_files_with_approval(tmp_path: Path) -> None:
    project = tmp_path / "store"
    project.mkdir()
    (project / "stock.py").write_text(STOCK)
    read = [ToolCall("read_file", {"file_path": "stock.py"})]
    no_credit = {"type": "invalid_request_error", "message": "Your credit balance is too low."}
    script: list[Any] = [
        read,
        [
            ANTHROPIC.edit(
                "stock.py", "    return sum(list(stock.values()))", "    return sum(stock.values())"
            )
        ],
        "The sum needs no list.",
        read,
        [ANTHROPIC.edit("stock.py", "    return [name for name in stock]", "    return list(stock)")],
        "The names are a list.",
        "Nothing else.",
        ErrorReply(400, {"type": "error", "error": no_credit}, {}),
    ]
    with AnthropicServer(script, key=vscode.KEY) as server:
        vscode.play(
            "native_chat.mjs",
            project,
            machine=vscode.machine(server, mode="ask"),
            settings={"chat.disableAIFeatures": False},
            env=vscode.variables(tmp_path / "state"),
        )
    messages = [str(request.body["messages"]) for request in server.requests]
    assert not any("Delete all." in message for message in messages), "a refused task was sent to the model"
    assert "List the names." in messages[-2], "the next message of the chat is in the same session"
    assert "without a list" not in messages[-2], "the tool has a session of its own"
