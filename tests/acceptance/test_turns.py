"""Steer, stop and inspect a running turn; stopping ends the processes of its commands and no others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import OpenRig, only_linux
from tests.acceptance.rig import Wire, end_process, wait_ended
from tests.support.loopback import Text, ToolCall
from tests.support.processes import Fifo, is_running


@pytest.fixture
def fifo(project: Path) -> Iterator[Fifo]:
    """A pipe for messages from the agent's commands to the test."""
    with Fifo(project / "fifo") as pipe:
        yield pipe


@pytest.fixture
def gate(project: Path) -> Iterator[Fifo]:
    """A pipe that a command waits for."""
    with Fifo(project / "gate") as pipe:
        yield pipe


def shell(command: str, *, background: bool = False) -> ToolCall:
    return ToolCall("shell", {"command": command} | ({"background": True} if background else {}))


WAITING = shell("echo up > fifo; read _ < gate; echo through")


@pytest.mark.req("L6", "H2", "H10")
@pytest.mark.parametrize("how", ["command", "prompt"])
def test_a_steer_during_a_tool_round_reaches_the_next_model_call(
    open_rig: OpenRig, wire: Wire, fifo: Fifo, gate: Fifo, how: str
) -> None:
    made = open_rig([[Text("I run it."), WAITING], "All done."])
    nvim = made.open("notes.txt")
    made.submit("Run it.")
    made.allow()
    assert fifo.next_line() == "up"

    if how == "command":
        nvim.cmd("AgentLs steer Use tabs, please.")
    else:
        made.submit("Use tabs, please.")
    nvim.wait_screen("↪ Use tabs, please.", "waiting")
    gate.send_line()

    made.wait_done("All done.")
    who, what = zip(*wire.said(made.model.requests[1].body), strict=True)
    assert who[-4:] == ("assistant", "call", "result", "user")
    assert "through" in what[-2]
    assert what[-1] == "Use tabs, please."
    assert len(made.model.requests) == 2
    nvim.wait_gone("waiting")


@only_linux
@pytest.mark.req("T5", "L16", "H2", "H10")
def test_stop_ends_all_processes_of_the_command_and_the_session_continues(
    open_rig: OpenRig, wire: Wire, fifo: Fifo
) -> None:
    kept_alive = "sh -c 'trap \"\" TERM; echo $$ > fifo; exec sleep 600'"
    command = (
        f"echo begun; echo $$ > fifo; sh -c 'echo $$ > fifo; exec sleep 600' & setsid {kept_alive} & wait"
    )
    made = open_rig([[Text("I run it."), shell(command)], "All done."])
    nvim = made.open("notes.txt")
    made.submit("Run it.")
    made.allow()
    pids = [int(fifo.next_line()) for _ in range(3)]
    assert len({os.getsid(pid) for pid in pids}) == 2
    assert all(map(is_running, pids))

    nvim.cmd("AgentLs stop")
    made.wait_done("Stopped.")

    assert not any(map(is_running, pids))
    made.submit("Go on.")
    made.wait_done("All done.")
    who, what = zip(*wire.said(made.model.requests[1].body), strict=True)
    assert who[-4:] == ("assistant", "call", "result", "user")
    assert "begun" in what[-2]
    assert "nterrupted" in what[-2]
    assert what[-1] == "Go on."


@only_linux
@pytest.mark.req("T5", "L16", "H10")
def test_a_background_process_survives_a_stopped_turn_is_listed_and_can_be_ended(
    open_rig: OpenRig, wire: Wire, fifo: Fifo, gate: Fifo
) -> None:
    begin = shell("echo $$ > fifo; exec sleep 600", background=True)
    made = open_rig([[begin], [WAITING], "All done."])
    nvim = made.open("notes.txt")
    made.submit("Start it, then wait.")
    made.allow()
    pid = int(fifo.next_line())
    try:
        made.allow()
        assert fifo.next_line() == "up"
        nvim.cmd("AgentLs stop")
        made.wait_done("Stopped.")

        assert is_running(pid)
        (listed,) = made.request("agent/terminals", {"sessionId": made.session_id})["terminals"]
        assert (listed["pid"], "exitCode" in listed) == (pid, False)
        made.submit("Go on.")
        made.wait_done("All done.")
        assert "in the background" in wire.results(made.model.requests[-1].body)[0]
        assert is_running(pid)

        nvim.keys(":AgentLs terminals<CR>")
        shown = nvim.wait_screen("sleep 600  [background, running]")
        assert shown.count("[background") == 1
        nvim.keys("1<CR>")
        nvim.wait_screen("1: Leave it running", "2: End it")
        assert is_running(pid)
        nvim.keys("2<CR>")
        nvim.wait_until(lambda: not is_running(pid), "the process is ended")
    finally:
        end_process(pid)


@only_linux
@pytest.mark.req("T5", "R4", "H10")
def test_a_background_process_ends_with_the_editor(open_rig: OpenRig, fifo: Fifo) -> None:
    made = open_rig([[shell("echo $$ > fifo; exec sleep 600", background=True)], "All done."])
    nvim = made.open("notes.txt")
    made.submit("Start it.")
    made.allow()
    pid = int(fifo.next_line())
    try:
        made.wait_done("All done.")
        nvim.close()
        wait_ended(pid)
    finally:
        end_process(pid)
