"""First messages in a real VS Code workbench that cannot begin: what blocks, and how it goes on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.editors import vscode_rig as vscode
from tests.support.commands import environment, run
from tests.support.first_runs import LAST, MADE, STOPPED, blocked

pytestmark = vscode.MARKS

STEPS = {"agent-ls keys set": "Set API Key"}
"""What VS Code offers as a button in place of a sentence."""


@pytest.mark.req("H9", "H16", "U8")
@pytest.mark.parametrize("name", [*STOPPED, "no tools"])  # test_vscode_settings has an untrusted folder
def test_what_blocks_the_first_message_is_in_sight_and_the_same_session_goes_on(
    name: str, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "notes.txt").write_text("notes\n")
    with blocked(name, project) as state:
        expected = {
            "reason": state.reason,
            "step": STEPS.get(state.step, state.step),
            "last": LAST,
            "goesOn": state.goes_on,
        }
        program = [str(Path(sys.executable).parent / "agent-ls")]
        chosen = {f"agentLs.{key}": value for key, value in state.choice.items()}
        vscode.play(
            "first_run.mjs",
            project,
            machine={"agentLs.command": program, "agentLs.mode": "edits", **chosen},
            env={"AGENT_LS_STATE_DIR": str(tmp_path / "home" / "state"), **state.variables},
            answers={"state": lambda: expected, "mend": state.mend},
            pictures=f"first_run/{name.replace(' ', '-')}",
        )
        home = project.parent / "home"
        listed = run("sessions", "--all", "--json", cwd=project, environ=environment(home)).out
    assert (project / MADE).exists()
    assert len(listed.splitlines()) == 1, listed
