"""A program is killed (SIGKILL) during a write or a command: what the next program finds and removes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.store.recovery import UNRECORDED_COMMAND
from tests.docs.pages import ROOT

pytestmark = [pytest.mark.group("processes"), pytest.mark.req("H13", "R3")]

PROGRAM = """
import asyncio, os, signal, sys
import agent_ls

root, act, step = sys.argv[1:]


def die_at(step):
    def hook(event, arguments):
        if event == step and ".agent-ls-" in str(arguments[0]):
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


async def main():
    edit = {"file_path": "sub/a.txt", "old_string": "two", "new_string": "TWO"}
    model = agent_ls.ScriptedModel(
        ("read_file", {"file_path": "sub/a.txt"}),
        ("edit_file", edit),
        ("write_file", {"file_path": "new/n.txt", "content": "n"}),
        ("shell", {"command": "echo CMD > sub/a.txt; sleep 60" if act == "command" else "true"}),
        "Done.",
    )
    given = {"provider": "test", "adapters": {"test": model}, "mode": "full", "trusted": True}
    session = await agent_ls.open_session(root + "/project", state_dir=root + "/state", **given)
    print(session.id, flush=True)
    if act == "write":
        die_at(step)
    turn_id = ""
    async for event in session.run("go"):
        turn_id = turn_id or event.turn_id
        if act == "command" and isinstance(event, agent_ls.TerminalOpen):
            while "CMD" not in open(root + "/project/sub/a.txt").read():
                await asyncio.sleep(0)
            os.kill(os.getpid(), signal.SIGKILL)
    die_at(step)
    await (session.review("undo") if act == "undo" else session.roll_back(turn_id))


asyncio.run(main())
"""


def die(tmp_path: Path, act: str, step: str = "") -> str:
    """Run a program that is killed, and return the id of its session."""
    (tmp_path / "project" / "sub").mkdir(parents=True)
    (tmp_path / "project" / "sub" / "a.txt").write_text("one\ntwo\nthree\n")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), act, step]
    killed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    return killed.stdout.strip()


def again(tmp_path: Path, session_id: str) -> dict[str, Any]:
    adapters = {"test": agent_ls.ScriptedModel("Yes.")}
    return {
        "folder": tmp_path / "project",
        "state_dir": tmp_path / "state",
        "provider": "test",
        "adapters": adapters,
        "resume": session_id,
    }


def left(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "project").rglob(".agent-ls-*")]


@pytest.mark.parametrize(
    ("act", "step"),
    [
        ("write", "os.rename"),
        ("write", "os.link"),
        ("undo", "os.rename"),
        ("undo", "os.remove"),
        ("roll_back", "os.rename"),
    ],
)
async def test_a_resume_removes_temporary_files_of_a_killed_program(
    act: str, step: str, tmp_path: Path
) -> None:
    session_id = die(tmp_path, act, step)
    assert len(left(tmp_path)) == 1
    other = tmp_path / "project" / "sub" / ".agent-ls-1-0.tmp"  # of a process that runs
    other.touch()
    async with agent_ls.open_session(**again(tmp_path, session_id)):
        assert left(tmp_path) == [other.name]


async def test_a_program_learns_of_a_command_during_which_the_program_before_was_killed(
    tmp_path: Path,
) -> None:
    session_id = die(tmp_path, "command")
    async with agent_ls.open_session(**again(tmp_path, session_id)) as session:
        events = [event async for event in session.run("and?")]
    warnings = [event for event in events if isinstance(event, agent_ls.Warning)]
    assert [warning.code for warning in warnings] == [UNRECORDED_COMMAND]
    assert "CMD" in warnings[0].message
