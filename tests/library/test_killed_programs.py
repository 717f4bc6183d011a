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
from tests.support.processes import is_running

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
    return run_killed([sys.executable, "-c", PROGRAM, str(tmp_path), act, step])


def run_killed(command: list[str]) -> str:
    """Run a program that kills itself, and return the line that it has printed."""
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


@pytest.mark.report("yvgude/lean-ctx#958")
@pytest.mark.report("Comfy-Org/comfy-cli#689")
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


DYING_MODEL = """
import asyncio, os, signal, sys
import agent_ls
from agent_ls.llm.stream import StreamStart, TextDelta, TextStart


class Model(agent_ls.ScriptedModel):
    async def stream(self, request):
        yield StreamStart("r", request.model)
        yield TextStart(0)
        yield TextDelta(0, "word " * 40)
        yield TextDelta(0, "more")
        os.kill(os.getpid(), signal.SIGKILL)
"""

MODEL_PROGRAM = f"""{DYING_MODEL}


async def main(root):
    given = {{"provider": "test", "adapters": {{"test": Model("x")}}, "mode": "full", "trusted": True}}
    session = await agent_ls.open_session(root + "/project", state_dir=root + "/state", **given)
    print(session.id, flush=True)
    await session.ask("go " * 100)


asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.req("H18")
async def test_the_model_call_during_which_a_program_was_killed_is_counted_once(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    session_id = run_killed([sys.executable, "-c", MODEL_PROGRAM, str(tmp_path)])
    async with agent_ls.open_session(**again(tmp_path, session_id)) as session:
        usage = session.usage
    assert usage.input_tokens > 100
    async with agent_ls.open_session(**again(tmp_path, session_id)) as session:
        assert session.usage == usage


AGENT_PROGRAM = f"""{DYING_MODEL}


async def main(root):
    spawn = ("spawn_agent", {{"task": "go " * 100}})
    models = {{"test": agent_ls.ScriptedModel([spawn], ("wait", {{"agent_id": "agent_1"}})), "sub": Model("x")}}
    given = {{"provider": "test", "adapters": models, "settings": {{"models": {{"subagents": "sub/x"}}}}}}
    given |= {{"state_dir": root + "/state", "mode": "full", "trusted": True}}
    session = await agent_ls.open_session(root + "/project", **given)
    print(session.id, flush=True)
    await session.ask("go " * 100)


asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.req("H18")
@pytest.mark.parametrize("has_provider", [True, False], ids=["with its provider", "without its provider"])
async def test_the_model_call_of_a_subagent_during_which_a_program_was_killed_is_counted_once(
    has_provider: bool, tmp_path: Path
) -> None:
    (tmp_path / "project").mkdir()
    session_id = run_killed([sys.executable, "-c", AGENT_PROGRAM, str(tmp_path)])
    given = again(tmp_path, session_id)
    if has_provider:
        given["adapters"] |= {"sub": agent_ls.ScriptedModel("Yes.")}
    async with agent_ls.open_session(**given) as session:
        usage = session.usage
        events = session.events(since=0)
    cut = [it async for it in events if isinstance(it, agent_ls.UsageReport) and it.estimated]
    assert [(it.agent_id, it.call_cost_usd) for it in cut if it.agent_id] == [("agent_1", None)]
    assert usage == cut[-1].total
    (of_agent,) = (it.call for it in cut if it.agent_id)
    assert of_agent.input_tokens > 100
    async with agent_ls.open_session(**given) as session:
        assert session.usage == usage


WRAPPED_PROGRAM = """
import asyncio, os, signal, sys
from pathlib import Path
import agent_ls

project, state, wrapper = Path(sys.argv[1], "project"), sys.argv[1] + "/state", sys.argv[2]


async def main():
    local = agent_ls.LocalEnvironment(project)
    wrap = {
        "forwarding": agent_ls.ForwardingEnvironment,
        "logging": lambda inner: agent_ls.LoggingEnvironment(agent_ls.ReadOnlyEnvironment(inner), lambda line: None),
    }
    command = "nohup sleep 300 > /dev/null & echo $! > made; mv made left.pid; wait"
    model = agent_ls.ScriptedModel(("shell", {"command": command}), "Done.")
    given = {"provider": "test", "adapters": {"test": model}, "mode": "full", "trusted": True}
    session = await agent_ls.open_session(environment=wrap[wrapper](local), state_dir=state, **given)
    print(session.id, flush=True)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(session.ask("go"))
        while not (project / "left.pid").exists():
            await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGKILL)


asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the test looks into /proc")
@pytest.mark.parametrize("wrapper", ["forwarding", "logging"])
async def test_a_resume_ends_what_commands_in_a_wrapper_of_this_machine_left_running(
    wrapper: str, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    session_id = run_killed([sys.executable, "-c", WRAPPED_PROGRAM, str(tmp_path), wrapper])
    left_pid = int((project / "left.pid").read_text())
    assert is_running(left_pid)
    given = again(tmp_path, session_id) | {
        "environment": agent_ls.ForwardingEnvironment(agent_ls.LocalEnvironment(project))
    }
    del given["folder"]
    async with agent_ls.open_session(**given):
        assert not is_running(left_pid)


KILLED_AFTER_COMMIT = """
import os, signal, sys
import agent_ls

root, act = sys.argv[1:]


class Environment(agent_ls.ForwardingEnvironment):
    async def commit(self, writes, attribution):
        await super().commit(writes, attribution)
        os.kill(os.getpid(), signal.SIGKILL)


edit = {"file_path": "a.txt", "old_string": "two", "new_string": "TWO"}
call = ("edit_file", edit) if act == "edit" else ("write_file", {"file_path": "new.txt", "content": "n"})
model = agent_ls.ScriptedModel(("read_file", {"file_path": "a.txt"}), call, "Done.")
session = agent_ls.open_session_sync(
    environment=Environment(agent_ls.LocalEnvironment(root + "/project")),
    provider="test", adapters={"test": model}, mode="full", trusted=True, state_dir=root + "/state",
)
print(session.id, flush=True)
session.ask("go")
"""


@pytest.mark.parametrize("act", ["edit", "create"])
async def test_a_write_before_the_kill_is_in_the_patch_and_can_be_rolled_back(
    act: str, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\n")
    session_id = run_killed([sys.executable, "-c", KILLED_AFTER_COMMIT, str(tmp_path), act])
    given = again(tmp_path, session_id)
    given["environment"] = agent_ls.ForwardingEnvironment(agent_ls.LocalEnvironment(given.pop("folder")))
    async with agent_ls.open_session(**given) as session:
        events = (await agent_ls.read_session(session_id, state_dir=tmp_path / "state")).events
        turn_id = next(event.turn_id for event in events if isinstance(event, agent_ls.UserInput))
        assert ("+TWO" if act == "edit" else "+n") in await session.patch()
        done = await session.roll_back(turn_id)
        assert [file.state for file in done.files] == ["restored"]
        assert not session.hunks() and await session.patch() == ""
    assert (folder / "a.txt").read_text() == "one\ntwo\n" and not (folder / "new.txt").exists()
