"""Questions from other parts of VS Code: the selection, a terminal, a failed test, source control."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.editors import vscode_rig as vscode
from tests.editors.test_vscode import STOCK
from tests.support.loopback import AnthropicServer, ErrorReply, Gate, Text, ToolCall

pytestmark = vscode.MARKS


@pytest.fixture
def store(tmp_path: Path) -> Path:
    project = tmp_path / "store"
    project.mkdir()
    (project / "stock.py").write_text(STOCK)
    (project / "parts.txt").write_text("bolt\nnut\n")
    return project


def texts(body: Any) -> str:
    return str(body["messages"])


@pytest.mark.req("H20", "H9")
def test_inline_ask_changes_the_selection_or_displays_the_answer_at_the_selection(
    store: Path, tmp_path: Path
) -> None:
    gate = Gate()
    simpler = {
        "file_path": "stock.py",
        "old_string": "    return sum(list(stock.values()))",
        "new_string": "    return sum(stock.values())",
    }
    script: list[Any] = [
        [ToolCall("read_file", {"file_path": "stock.py"})],
        [gate, ToolCall("edit_file", simpler)],
        "It is simpler.",
        "It counts what is there.",
    ]
    with AnthropicServer(script, key=vscode.KEY) as server:
        vscode.play(
            "asking.mjs",
            store,
            machine=vscode.machine(server, mode="edits"),
            env=vscode.variables(tmp_path / "state"),
            answers={"go": lambda: gate.open(), "requests": lambda: len(server.requests)},
        )
        asked = texts(server.requests[0].body)
        explained = texts(server.requests[3].body)
    assert "stock.py, lines 4 to 5" in asked and "return sum(list(stock.values()))" in asked
    assert "Simplify this, see @parts.txt too" in asked and "File: " in asked and "parts.txt" in asked
    assert "lines 1 to 1" in explained and "is named above" in explained


@pytest.mark.req("H20", "H24", "H9")
def test_the_agent_is_asked_from_source_control_a_terminal_and_a_failed_test(
    store: Path, tmp_path: Path
) -> None:
    for words in (["init", "-q"], ["add", "stock.py"]):
        subprocess.run(["git", *words], cwd=store, check=True)
    (store / "check.sh").write_text("echo 3 parts are missing\nexit 3\n")
    gate = Gate()
    script: list[Any] = [
        "stock: begin to count\n\nParts were lost.",
        [gate, Text("never read")],
        ErrorReply(401),
        "None at all.",
        "Order three parts.",
        "The output says what is missing.",
        "Three, says the terminal.",
        "It should be two.",
        "It counts a part twice.",
        "It lists the names.",
    ]
    with AnthropicServer(script, key=vscode.KEY) as server:
        vscode.play(
            "helping.mjs",
            store,
            machine=vscode.machine(server),
            env=vscode.variables(tmp_path / "state"),
            answers={
                "requests": lambda: len(server.requests),
                "cancelled": lambda: server.requests[1].wait_disconnected(),
            },
        )
        gate.open()
        bodies = [request.body for request in server.requests]
    assert "sum(list(stock.values()))" in texts(bodies[0]) and "tools" not in bodies[0]
    assert "3 parts are missing" in texts(bodies[4]) and "exit code 3" in texts(bodies[4])
    assert "From a terminal" in texts(bodies[5])
    mentioned = str(bodies[6]["messages"][-1])
    assert "Terminal " in mentioned and "3 parts are missing" in mentioned, mentioned
    assert "How many?" in mentioned and "sum(list(stock.values()))" not in mentioned, (
        "the removed chip is not sent"
    )
    failed = texts(bodies[7])
    assert "Failed test: counts parts" in failed and "stock.py" in failed
    message = str(bodies[8]["messages"][-1])
    assert "Failed test: counts parts" in message and "counted twice" in message
    assert "is named above" in message
    explained = str(bodies[9]["messages"][-1])
    assert "stock.py, lines 8 to 9" in explained and "return [name" in explained
    assert "is named above" in explained
    log = subprocess.run(["git", "log"], cwd=store, capture_output=True, text=True, check=False)
    assert log.returncode != 0, "nothing was committed"
