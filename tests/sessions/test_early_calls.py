"""Calls that start while the model still streams: they need no approval, and a kill leaves a valid log (L11, R3)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agent_ls.loop.events.types import ApprovalRequested, ProcessingEnd, ToolCallEnd, ToolCallStart
from tests.support.fake_provider import Gate, problem_of, text, tool_call
from tests.support.session_rig import running

pytestmark = pytest.mark.req("L11", "R3")

READ = tool_call("read_file", '{"file_path": "a.txt"}', id="r")


@pytest.mark.parametrize("at", ["while it streams", "when it has ended"])
async def test_after_a_kill_during_an_early_tool_call_the_resumed_session_has_a_result_for_each_call(
    at: str, tmp_path: Path
) -> None:
    gate = Gate()
    second = tool_call("shell", '{"command": "make all"}', id="s")
    async with running(tmp_path, [[text("I look."), READ, gate, second]]) as rig:
        (rig.folder / "a.txt").write_text("alpha\n")
        talk = await rig.talk("ask", lambda request: None)
        talk.live.session.submit("go")
        await talk.until("tool_call_end")
        if at == "when it has ended":
            gate.open()
            await talk.until("approval_requested")
        killed = shutil.copytree(rig.state, tmp_path / "left-behind")
    async with running(tmp_path, [text("Fine.")], state=killed) as rig:
        talk = await rig.reopen(talk.session_id)
        if at == "when it has ended":
            assert talk.live.session.state == "AWAITING_INPUT"
            talk.live.session.interrupt()
            await talk.until("processing_end")
        await talk.say("again")
        assert problem_of(rig.model.requests[-1].messages) == ""
    starts = [start.call_id for start in talk.of(ToolCallStart)]
    assert sorted(starts) == sorted(end.call_id for end in talk.of(ToolCallEnd)) == sorted(set(starts))
    assert [end.reason for end in talk.of(ProcessingEnd)] == ["interrupted", "completed"]


@pytest.mark.req("X6")
async def test_a_read_outside_the_workspace_does_not_start_early_and_needs_approval(tmp_path: Path) -> None:
    gate = Gate()
    (tmp_path / "secret.txt").write_text("outside\n")
    outside = tool_call("read_file", json.dumps({"file_path": str(tmp_path / "secret.txt")}), id="r")
    async with running(tmp_path, [[outside, gate, text("x")], text("ok")]) as rig:
        talk = await rig.talk("ask", lambda request: None)
        talk.live.session.submit("go")
        await gate.reached.wait()
        assert talk.of(ToolCallStart) == [] and talk.of(ApprovalRequested) == []
        gate.open()
        await talk.until("approval_requested")
