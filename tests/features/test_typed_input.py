"""A background process in a real session, from its start to its end. Input typed into it needs approval (T5, X8)."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested, TerminalExit, ToolCallEnd
from tests.support.fake_provider import CallTool, Gate, Piece, text, tool_call
from tests.support.processes import eventually
from tests.support.session_rig import allow, deny, running

LISTENER = 'while read line; do echo "got $line"; done; echo over; echo over >over; exec sleep 600'


def call(name: str, id: str, **arguments: object) -> CallTool:
    return tool_call(name, json.dumps(arguments), id)


def acts(action: str, id: str, **arguments: object) -> CallTool:
    return call("processes", id, action=action, process_id="p1", **arguments)


@pytest.mark.req("T5", "X8")
async def test_a_background_process_supports_start_write_read_list_and_kill(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    def answer(request: ApprovalRequested) -> ApprovalAnswer:
        typed = request.effect["command"]
        asked.append((typed, request.effect.get("inputOf", "")))
        return deny(request) if typed == "no\n" else allow(request)

    gate = Gate()
    script: list[Piece | list[Piece]] = [
        call("shell", "start", command="bash listener.sh", background=True),
        acts("write", "yes", text="one\n"),
        acts("write", "no", text="no\n"),
        acts("write", "last", text="two", close_input=True),
        [gate, acts("read", "read"), call("processes", "list", action="list")],
        [acts("write", "late", text="late\n")],
        acts("kill", "kill"),
        text("Done."),
    ]
    async with running(tmp_path, script) as rig:
        (rig.folder / "listener.sh").write_text(LISTENER)
        talk = await rig.talk("edits", answer)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(talk.say, "go")
            await gate.reached.wait()
            await eventually(lambda: (rig.folder / "over").exists())
            gate.open()
        ends = {end.call_id: end for end in talk.of(ToolCallEnd)}
        await talk.until("terminal_exit")
        (exit_,) = talk.of(TerminalExit)
    assert asked == [
        ("bash listener.sh", ""),
        ("one\n", "p1"),
        ("no\n", "p1"),
        ("two", "p1"),
        ("late\n", "p1"),
    ]
    assert ends["no"].error_kind == "permission_denied"
    assert ends["read"].output.startswith("got one\n") and "over\n" in ends["read"].output
    assert "no" not in ends["read"].output.partition("[")[0].split()
    assert ends["list"].output == "p1  running  bash listener.sh"
    assert ends["late"].error_kind == "input_refused" and "was closed" in ends["late"].output
    assert "exit code" in ends["kill"].output
    assert exit_.terminal_id == "start"
