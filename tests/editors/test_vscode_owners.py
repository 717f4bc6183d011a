"""A real VS Code workbench follows a session that Neovim owns, takes it over, loses it, and takes it by force."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.rig import WIRES, NvimRig
from tests.editors import vscode_rig as vscode
from tests.support.loopback import AnthropicServer, Text, ToolCall
from tests.support.nvim_driver import find_nvim

pytestmark = [*vscode.MARKS, pytest.mark.skipif(not find_nvim(), reason="needs Neovim 0.11 or newer")]

ANTHROPIC = WIRES[0]
STOCK = "def count(stock):\n    return sum(list(stock.values()))\n"
TIDY = STOCK.replace("list(stock.values())", "stock.values()")

SCRIPT: list[Any] = [
    [ToolCall("read_file", {"file_path": "stock.py"})],
    [ANTHROPIC.edit("stock.py", "    return sum(list(stock.values()))", "    return sum(stock.values())")],
    "It is tidy.",
    [Text("I make a mark."), ToolCall("shell", {"command": "touch made"})],
    "The mark is made.",
    "Said to the window.",
    "Said to Neovim.",
    "Said by force.",
]


@pytest.mark.req("H9", "R4")
def test_a_session_that_neovim_owns_is_followed_taken_over_and_taken_over_by_force(tmp_path: Path) -> None:
    project = tmp_path / "store"
    project.mkdir()
    (project / "stock.py").write_text(STOCK)
    with AnthropicServer(SCRIPT, key=vscode.KEY) as model:
        rig = NvimRig(project, tmp_path / "home", model, ANTHROPIC)
        rig.variables["ANTHROPIC_API_KEY"] = vscode.KEY
        rig.open("stock.py")
        stopped: list[int] = []

        def stop(pid: int) -> None:
            os.kill(pid, signal.SIGSTOP)
            stopped.append(pid)

        def go_on() -> None:
            while stopped:
                os.kill(stopped.pop(), signal.SIGCONT)

        def in_neovim(do: str, *words: str) -> None:
            match do:
                case "say":
                    rig.submit(*words)
                case "see":
                    rig.wait_done(*words)
                case "isAsked":
                    rig.wait_asked()
                case "isReader":
                    rig.nvim.wait_screen("read only", *words)
                case "takeOver":
                    rig.nvim.cmd("AgentLs takeover")
                    rig.wait_transcript("This editor now owns the session.")
                case _:
                    raise AssertionError(do)

        try:
            rig.submit("Tidy the count.")
            rig.wait_done("It is tidy.")
            vscode.play(
                "owners.mjs",
                project,
                machine=vscode.machine(model),
                env=vscode.variables(rig.home / "state"),
                answers={"neovim": in_neovim, "stop": stop, "goOn": go_on},
            )
        finally:
            go_on()
            rig.close()
        asked = [ANTHROPIC.said(request.body) for request in model.requests]

    assert (project / "made").exists()
    assert (project / "stock.py").read_text() == TIDY, "Neovim saved what only the agent had changed"
    assert len(asked) == len(SCRIPT), "each was asked once, by whoever had the session"
    assert "it to Neovim" in str(asked[-1]) and "it by force" in str(asked[-1])
