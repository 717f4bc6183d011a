"""Faults that users reported in VS Code, each replayed in a real workbench with the packed extension."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.editors import vscode_rig as vscode
from tests.editors.test_vscode import STOCK
from tests.support.loopback import AnthropicServer, ToolCall

pytestmark = vscode.MARKS


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A project with one file."""
    project = tmp_path / "store"
    project.mkdir()
    (project / "stock.py").write_text(STOCK)
    return project


def edit(old: str, new: str) -> list[ToolCall]:
    return [ToolCall("edit_file", {"file_path": "stock.py", "old_string": old, "new_string": new})]


def read() -> list[ToolCall]:
    return [ToolCall("read_file", {"file_path": "stock.py"})]


@pytest.mark.req("H9", "H12")
def test_a_failure_is_displayed_as_a_card_with_working_buttons(store: Path, tmp_path: Path) -> None:
    story = "\n".join(f"- line {number} of the story" for number in range(1, 121))
    script: list[Any] = ["There are 12.", story, "They lived on.", "I see it."]
    with AnthropicServer(script, key=vscode.KEY) as server:
        vscode.play(
            "failures.mjs",
            store,
            machine=vscode.machine(server),
            env=vscode.variables(tmp_path / "state", ANTHROPIC_API_KEY="a-wrong-key"),
            answers={"key": lambda: vscode.KEY},
        )
        last: Mapping[str, Any] = server.requests[-1].body
    assert "image" in str(last["messages"][-1]), "the picture reached the model"


@pytest.mark.req("H6", "H9")
def test_change_decorations_and_code_lenses_move_with_their_text(store: Path, tmp_path: Path) -> None:
    count = edit("    return sum(list(stock.values()))", "    return sum(stock.values())")
    note = edit("# one\n", "# one\n# a note\n")
    script: list[Any] = [read(), count, "It is tidy.", read(), note, "It is noted."]
    with AnthropicServer(script, key=vscode.KEY) as server:
        vscode.play(
            "marks.mjs",
            store,
            machine=vscode.machine(server, mode="edits"),
            env=vscode.variables(tmp_path / "state"),
            answers={"marksAgain": lambda: True},
        )


@pytest.mark.req("H6", "H9")
def test_proposed_hunks_are_displayed_and_decided_in_the_chat(store: Path, tmp_path: Path) -> None:
    names = "def names(stock):\n    return [name for name in stock]\n\n\n"
    script: list[Any] = [
        read(),
        edit("    return sum(list(stock.values()))", "    return sum(stock.values())"),
        "It is tidy.",
        edit("[name for name in stock]", "list(stock)"),
        "As you like.",
        [ToolCall("write_file", {"file_path": "test_stock.py", "content": "def test():\n    assert True\n"})],
        "It is tested.",
        edit(names, ""),
        "They are gone.",
    ]
    with AnthropicServer(script, key=vscode.KEY) as server:
        vscode.play(
            "proposals.mjs",
            store,
            machine=vscode.machine(server, review="before"),
            env=vscode.variables(tmp_path / "state"),
        )


@pytest.mark.req("H6", "H9", "H22")
def test_an_edited_plan_is_carried_out_and_undo_all_is_saved_to_disk(store: Path, tmp_path: Path) -> None:
    (store / "parts.txt").write_text("bolt\nnut\n")
    parts = {"file_path": "parts.txt"}
    script: list[Any] = [
        "1. Tidy the count.",
        [*read(), ToolCall("read_file", parts)],
        edit("    return sum(list(stock.values()))", "    return sum(stock.values())"),
        [ToolCall("edit_file", {**parts, "old_string": "nut", "new_string": "screw"})],
        [ToolCall("shell", {"command": "touch checked"})],
        "It is tidy.",
    ]
    with AnthropicServer(script, key=vscode.KEY) as server:
        vscode.play(
            "plan.mjs",
            store,
            machine=vscode.machine(server, mode="plan"),
            env=vscode.variables(tmp_path / "state"),
        )
        accepted = str(server.requests[1].body["messages"][-1])
    assert "1. Tidy the count. And check it." in accepted and "accept this plan" in accepted
