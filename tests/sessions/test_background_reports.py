"""Reports of processes in the background and of subagents: what a kill reaches, and what is said of them later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.loop.events.types import SubagentChanged, ToolCallEnd
from agent_ls.services.settings.model import Settings, SubagentSettings
from tests.sessions.test_shell_reports import read_by_model, shell
from tests.support.agents import Cast, close, spawn, wait_for
from tests.support.fake_provider import Gate, text, tool_call
from tests.support.processes import eventually, is_running
from tests.support.reports import reported
from tests.support.session_rig import running

pytestmark = pytest.mark.req("T5", "A1")


def background(command: str) -> Any:
    return tool_call("shell", json.dumps({"command": command, "background": True}), id="start")


def act(action: str, id: str = "act", **more: Any) -> Any:
    return tool_call("processes", json.dumps({"action": action, "process_id": "p1", **more}), id=id)


TREES: list[Any] = [
    reported("cloudflare/sandbox-sdk#339", "sleep 300 & echo $! > pids; sleep 300 & echo $! >> pids; wait",
        id="children"),
    reported("anthropics/claude-code#84464", "(setsid sleep 300 & echo $! > pids; wait) & wait", id="another session"),
    reported("rmyorston/busybox-w32#416", "sleep 300 | { echo $BASHPID > pids; cat; } & wait", id="a pipe"),
]  # fmt: skip


@pytest.mark.parametrize("command", TREES)
async def test_ending_a_process_ends_all_that_it_started(tmp_path: Path, command: str) -> None:
    ready = shell("until test -s pids; do sleep 0.05; done; echo ready")
    _, _, ended = await read_by_model(tmp_path, background(command), ready, act("kill"))
    assert "ended" in ended
    pids = [int(word) for word in (tmp_path / "project/pids").read_text().split()]
    assert pids
    await eventually(lambda: not any(map(is_running, pids)))


@pytest.mark.report("Sterll/claude-terminal#202")
async def test_what_a_command_leaves_behind_ends_with_the_session(tmp_path: Path) -> None:
    (output,) = await read_by_model(
        tmp_path, shell("for n in 1 2; do (while :; do sleep 0.1; done) & echo $! >> pids; done; echo left")
    )
    assert "left" in output
    pids = [int(word) for word in (tmp_path / "project/pids").read_text().split()]
    assert len(pids) == 2
    await eventually(lambda: not any(map(is_running, pids)))


@pytest.mark.report("anthropics/claude-code#84464")
async def test_a_process_that_has_ended_is_not_reported_as_ended_by_the_kill(tmp_path: Path) -> None:
    wait = shell("until test -e done; do sleep 0.05; done; sleep 0.2")
    _, _, listed, killed = await read_by_model(
        tmp_path,
        background("echo out; touch done; exit 3"),
        wait,
        act("list", "list", process_id=""),
        act("kill"),
    )
    assert "3" in listed and "already ended with exit code 3" in killed


@pytest.mark.report("NousResearch/hermes-agent#97285")
async def test_after_a_restart_the_model_learns_that_its_process_is_gone(tmp_path: Path) -> None:
    async with running(tmp_path, [background("echo $$ > pids; exec sleep 1004"), text("started")]) as rig:
        talk = await rig.talk("full", say="start it")
        ready = tmp_path / "project/pids"
        await eventually(lambda: ready.exists() and bool(ready.read_text().strip()))
    await eventually(lambda: not is_running(int(ready.read_text())))
    async with running(tmp_path, [act("list", process_id=""), text("x")]) as rig:
        again = await rig.reopen(talk.session_id)
        await again.say("does it run?")
        assert "No background processes" in rig.results()[-1].content
        assert any("sleep 1004" in it and "ended" in it for it in rig.user_texts())


@pytest.mark.report("lijunzh/koda#996")
async def test_one_of_several_agents_is_ended_and_the_others_go_on(tmp_path: Path) -> None:
    gates = {"first": Gate(), "second": Gate()}
    main: list[Any] = [
        spawn("first", id="s1"),
        spawn("second", id="s2"),
        close("agent_1"),
        wait_for("agent_2"),
        text("ok"),
    ]
    cast = Cast(main, {word: [[gate, text(f"{word} is ready")]] for word, gate in gates.items()})
    async with running(tmp_path, model=cast) as rig:
        talk = await rig.talk()
        talk.live.session.submit("go")
        await talk.until("subagent", 3)
        gates["second"].open()
        await talk.until("processing_end")
        last = {it.agent_id: (it.status, it.reason) for it in talk.of(SubagentChanged)}
        assert last["agent_1"][1] == "closed" and last["agent_2"] == ("completed", "")
        (waited,) = [it.output for it in talk.of(ToolCallEnd) if it.call_id == "wait"]
        assert "second is ready" in waited


@pytest.mark.report("anomalyco/opencode#29209")
async def test_what_an_interrupted_agent_had_found_is_read_later(tmp_path: Path) -> None:
    gate = Gate()
    look = tool_call("glob", '{"pattern": "*"}', id="g")
    found: list[Any] = [[text("The fault is in line 3."), look], [gate, text("never")]]
    cast = Cast([spawn("dig"), wait_for("agent_1"), text("ok")], {"dig": found})
    async with running(tmp_path, model=cast) as rig:
        talk = await rig.talk()
        talk.live.session.submit("go")
        await gate.reached.wait()
        talk.live.session.interrupt()
        await talk.until("processing_end")
        await talk.say("what did it find?")
        read = str(cast.requests[-1].messages)
        assert "agent_1" in read and "The fault is in line 3." in read
        await talk.say("and now?")
        assert str(cast.requests[-1].messages).count("has ended: failed") == 1


NESTED = Settings(walkthrough_pause_ms=0, subagents=SubagentSettings(max_depth=2))


@pytest.mark.report("anomalyco/opencode#30610")
async def test_an_agent_of_an_agent_has_the_mode_of_the_session(tmp_path: Path) -> None:
    write = tool_call("write_file", '{"file_path": "made.txt", "content": "x"}', id="w")
    inner: list[Any] = [write, text("tried")]
    outer: list[Any] = [spawn("writing", id="s2"), wait_for("agent_2"), text("asked it")]
    cast = Cast([spawn("asking"), wait_for("agent_1"), text("ok")], {"asking": outer, "writing": inner})
    async with running(tmp_path, settings=NESTED, model=cast) as rig:
        talk = await rig.talk("plan", say="go")
        assert [it.is_error for it in talk.of(ToolCallEnd) if it.call_id == "w"] == [True]
    assert not (tmp_path / "project/made.txt").exists()


@pytest.mark.report("anthropics/claude-code#75043")
@pytest.mark.parametrize("waits", [True, False])
async def test_the_result_of_an_agent_of_an_agent_reaches_the_agent_that_started_it(
    tmp_path: Path, waits: bool
) -> None:
    outer: list[Any] = [
        spawn("digging", id="s2"),
        *([wait_for("agent_2")] if waits else []),
        text("a"),
        text("b"),
    ]
    cast = Cast(
        [spawn("asking"), wait_for("agent_1"), text("ok")],
        {"asking": outer, "digging": [text("it is in line 7351")]},
    )
    async with running(tmp_path, settings=NESTED, model=cast) as rig:
        await rig.talk(say="go")
        asked = cast.agents["asking"].requests
        assert "7351" in str(asked[-1].messages)


@pytest.mark.report("MoonshotAI/kimi-code#172")
async def test_an_agent_in_a_subfolder_knows_its_instructions(tmp_path: Path) -> None:
    package = tmp_path / "project/packages/a"
    package.mkdir(parents=True)
    (tmp_path / "project/AGENTS.md").write_text("ROOT RULE")
    (package / "AGENTS.md").write_text("PACKAGE RULE")
    (package / "x.py").write_text("x = 1\n")
    read = tool_call("read_file", '{"file_path": "x.py"}', id="r")
    cast = Cast(
        [spawn("look", working_dir="packages/a"), wait_for("agent_1"), text("ok")],
        {"look": [read, text("x")]},
    )
    async with running(tmp_path, model=cast) as rig:
        await rig.talk(say="go")
        seen = str(cast.agents["look"].requests[-1].messages)
        assert "ROOT RULE" in seen and "PACKAGE RULE" in seen
