"""The VS Code extension as users get it: the packed file in a real workbench, driven by mouse and keys."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_ls.cli.sample import copy_sample_project
from tests.acceptance.rig import WIRES
from tests.editors import vscode_rig as vscode
from tests.support import awkward
from tests.support.loopback import AnthropicServer, Gate, Script, Text, ToolCall

pytestmark = vscode.MARKS

ANTHROPIC = WIRES[0]
PYTHON = str(Path(sys.executable).resolve())


@pytest.mark.req("H6", "H7", "H9", "H12", "H17")
def test_the_walkthrough_completes_in_vscode_with_the_packaged_server(tmp_path: Path) -> None:
    copy_sample_project(tmp_path / "shop")
    index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str((vscode.RIG / "wheels").resolve())}

    vscode.play(
        "walkthrough.mjs",
        tmp_path / "shop",
        machine={"agentLs.python": PYTHON},
        env={"AGENT_LS_STATE_DIR": str(tmp_path / "state"), **index},
        trust=True,
    )

    cart = (tmp_path / "shop/shop/cart.py").read_text()
    assert "# mine" not in cart, "nobody saved the file, and nobody's typing was saved for him"


STOCK = '''"""What is in stock."""


def count(stock):
    return sum(list(stock.values()))


def names(stock):
    return [name for name in stock]


def told(stock):
    return str(len(stock))
'''
BELT = "mkdir -p belt; for i in $(seq 1 600); do echo tick $i of the belt; sleep 0.1; done"


def shell(command: str) -> ToolCall:
    return ToolCall("shell", {"command": command})


def edit(old: str, new: str) -> ToolCall:
    return ANTHROPIC.edit("stock.py", f"    return {old}", f"    return {new}")


class Model:
    """Answers each user message with the answers assigned to it, one per request. `heard` has the new texts of each
    request.
    """

    def __init__(self) -> None:
        self.gates = {"count": Gate(), "never": Gate()}
        self.heard: list[str] = []
        self._turn: list[Any] = []
        self._turns = self._script()

    def __call__(self, body: Mapping[str, Any]) -> Any:
        said = ANTHROPIC.said(body)
        start = max((i for i, (who, _) in enumerate(said) if who in ("assistant", "call")), default=-1) + 1
        new = "\n".join(text for _, text in said[start:])
        self.heard.append(new)
        for cue in [cue for cue in self._turns if cue in new]:
            self._turn = self._turns.pop(cue)
        return self._turn.pop(0) if self._turn else f"Nothing is left to answer: {new}"

    def _script(self) -> dict[str, list[Any]]:
        count, never = self.gates["count"], self.gates["never"]
        return {
            "Count the parts.": [
                [Text("I count ", count, "them."), ToolCall("read_file", {"file_path": "stock.py"})],
                "Only the bolts, then: there are 12.",
            ],
            "Count for ever.": [[Text("One, two", never, ", three")]],
            "Run the checks.": [
                [shell("touch checked")],
                [shell("touch checked"), shell("rm -rf old")],
                "I leave it.",
            ],
            "Tidy stock.py.": [
                [Text("I tidy up."), edit("sum(list(stock.values()))", "sum(stock.values())")],
                [
                    edit("[name for name in stock]", "list(stock)"),
                    edit("str(len(stock))", 'f"{len(stock)} pieces"'),
                ],
                "Three places are tidy.",
            ],
            "Go on.": ["Parts it is."],
            "Watch the belt.": [[shell(BELT)], "The belt stands still."],
            "Clear up.": [[shell("rm -rf old")], "It is gone."],
            "And then rest.": ["Rested."],
        }

    def sent_with(self, words: str) -> str:
        """Return the new texts of the first request whose new texts contain these words."""
        found = [new for new in self.heard if words in new]
        assert found, f"{words!r} is in none of {self.heard}"
        return found[0]


@pytest.mark.req("H6", "H7", "H9", "H12", "H16", "H17")
def test_a_session_with_a_provider_works_in_vscode_and_survives_a_window_reload(tmp_path: Path) -> None:
    project = tmp_path / "store"
    (project / "old").mkdir(parents=True)
    (project / "stock.py").write_text(STOCK)
    state = tmp_path / "state"
    model = Model()
    with AnthropicServer(model, key=vscode.KEY) as server:

        def disconnected() -> None:
            server.requests[-1].wait_disconnected()

        vscode.play(
            "session.mjs",
            project,
            machine=vscode.machine(server),
            env={"AGENT_LS_STATE_DIR": str(state)},
            answers={
                "key": lambda: vscode.KEY,
                "open": lambda gate: model.gates[gate].open(),
                "disconnected": disconnected,
                "draft": lambda text: wait_for_text(state, text),
            },
        )

    assert "Only the bolts." in model.sent_with("Only the bolts."), "steered within the turn"
    assert "still needed" in model.sent_with("still needed")
    assert "Say parts, not pieces." in model.sent_with("Go on.")
    assert not (project / "old").exists()
    stored = b"".join(path.read_bytes() for path in state.rglob("*") if path.is_file())
    assert vscode.KEY.encode() not in stored


@pytest.mark.req("H6", "H9", "H12")
def test_with_review_before_proposals_are_decided_in_vscode_and_sessions_are_managed(tmp_path: Path) -> None:
    project = tmp_path / "store"
    project.mkdir()
    (project / "stock.py").write_text(STOCK)
    script: list[Any] = [
        [ToolCall("read_file", {"file_path": "stock.py"})],
        [edit("sum(list(stock.values()))", "sum(stock.values())")],
        "It is tidy.",
        [edit("[name for name in stock]", "list(stock)")],
        "As you like.",
        [edit("str(len(stock))", "str(len(stock))\n    # the first\n    # the second")],
        "Half of it, then.",
        "Now it has its unit.",
    ]
    with AnthropicServer(script, key=vscode.KEY) as server:
        vscode.play(
            "keeping.mjs",
            project,
            machine=vscode.machine(server, review="before"),
            env=vscode.variables(tmp_path / "state"),
        )
        bodies = [ANTHROPIC.said(request.body) for request in server.requests]

    assert "As you like." not in str(bodies[4]) and "refused" in bodies[4][-1][1]
    assert "unit is missing" in str(bodies[7])
    assert "the second" not in (project / "stock.py").read_text()
    exported = (project / "told.md").read_text()
    assert "Tidy the names." in exported and "As you like." in exported


def wait_for_text(folder: Path, text: str) -> None:
    """Wait until a file below the folder contains the text."""
    deadline = time.monotonic() + 30
    while not any(text in path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file()):
        assert time.monotonic() < deadline, f"{text!r} is in no file of {folder}"
        time.sleep(0.05)


@pytest.mark.req("H5", "H9", "H17", "T5")
def test_awkward_programs_run_in_terminals_of_the_window_and_take_input_there(tmp_path: Path) -> None:
    project = tmp_path / "store"
    project.mkdir()
    (project / "stock.py").write_text(STOCK)
    with AnthropicServer(awkward.CALLS, key=vscode.KEY) as server:

        def check(at: int) -> None:
            program, said = awkward.PROGRAMS[at], awkward.result_text(server, at)
            assert program.says(said), (program.name, said[-600:])

        vscode.play(
            "commands.mjs",
            project,
            machine=vscode.machine(server, mode="full"),
            env=vscode.variables(tmp_path / "state", ADA_API_KEY="of-the-editor"),
            answers={
                "programs": lambda: [{"name": p.name, "keys": p.keys} for p in awkward.PROGRAMS],
                "isTold": lambda at: awkward.is_reported(server, at),
                "check": check,
            },
        )


RAN = {"name": "stdout", "output_type": "stream", "text": ["1\n"]}
CELLS: list[dict[str, Any]] = [
    {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title"]},
    {
        "cell_type": "code",
        "execution_count": 1,
        "id": "c",
        "metadata": {},
        "outputs": [RAN],
        "source": ["x = 1"],
    },
    {"cell_type": "raw", "id": "rest", "metadata": {}, "source": ["as it is"]},
]


@pytest.mark.req("H9", "H15")
def test_an_open_notebook_is_read_and_changed_by_cell_in_the_window(tmp_path: Path) -> None:
    project = tmp_path / "study"
    project.mkdir()
    cells = [dict(sorted(cell.items(), reverse=True)) for cell in CELLS]
    laid_out = {"nbformat_minor": 5, "nbformat": 4, "metadata": {}, "cells": cells}
    (project / "a.ipynb").write_text(json.dumps(laid_out, indent=3))
    (project / "notes.txt").write_text("notes\n")
    named = {"file_path": "a.ipynb"}
    calls: Script = [
        [ToolCall("read_file", named)],
        [
            ToolCall(
                "edit_notebook", {**named, "action": "replace", "cell": "2", "old_string": "2", "source": "3"}
            )
        ],
        [
            ToolCall(
                "edit_notebook",
                {**named, "action": "insert", "cell": "1", "source": "new", "kind": "markdown"},
            )
        ],
        [ToolCall("edit_notebook", {**named, "action": "delete", "cell": "intro"})],
        "All done.",
        [ToolCall("read_file", named)],
        [
            ToolCall(
                "edit_notebook", {**named, "action": "replace", "cell": "2", "old_string": "2", "source": "4"}
            )
        ],
        [ToolCall("shell", {"command": "cat a.ipynb"})],
        "Saved and read.",
        [ToolCall("read_file", named)],
        [
            ToolCall(
                "edit_notebook", {**named, "action": "replace", "cell": "2", "source": "x = 2\ny = 6\nz = 7"}
            )
        ],
        [ToolCall("edit_notebook", {**named, "action": "replace", "cell": "3", "source": "as it was"})],
        "Marked.",
        "Because six is next.",
    ]
    with AnthropicServer(calls, key=vscode.KEY) as server:
        vscode.play(
            "notebooks.mjs",
            project,
            machine=vscode.machine(server, mode="edits"),
            env=vscode.variables(tmp_path / "state"),
        )
        result = str(server.requests[1].body["messages"][-1])
        read = str(server.requests[8].body["messages"][-1])
        comment = str(server.requests[-1].body["messages"][-1])

    assert "x = 2" in result and "cell_type" not in result, "as it was in the window, and no JSON"
    assert "Say why." in comment and "y = 6" in comment
    assert "x = 4" in read and "Not saved" not in read, "what a command reads"
    sources = ["".join(cell["source"]) for cell in json.loads((project / "a.ipynb").read_text())["cells"]]
    assert sources == ["# Title", "x = 2", "as it is"], (
        "agent-ls had saved the change, so its undo is saved too"
    )
