"""Subagents on a real folder with a real log: their edits belong to the session, and a kill leaves a valid log."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agent_ls.loop.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    FileChange,
    ProcessingEnd,
    SubagentChanged,
    ToolCallEnd,
    ToolCallStart,
)
from tests.support.agents import Cast, Script, send, spawn, wait_for
from tests.support.fake_provider import CallTool, Gate, text, tool_call
from tests.support.session_rig import running, wait

pytestmark = pytest.mark.req("A1", "A2")


def write(path: str, content: str, id: str = "w") -> CallTool:
    return tool_call("write_file", json.dumps({"file_path": path, "content": content}), id=id)


async def test_edits_of_a_subagent_are_hunks_of_the_session_and_approvals_name_the_subagent(
    tmp_path: Path,
) -> None:
    cast = Cast([spawn("write"), wait_for("agent_1")], {"write": [write("a.txt", "one\n"), text("written")]})
    async with running(tmp_path, model=cast) as rig:
        talk = await rig.talk("ask", say="go")
        (asked,) = talk.of(ApprovalRequested)
        assert (asked.agent_id, asked.call_id) == ("agent_1", "w")
        hunks = rig.manager.review.open_hunks(session_id=talk.session_id)
        assert list(hunks) == [str(rig.folder / "a.txt")]
    labels = {
        e.kind: e.agent_id for e in talk.envelopes if isinstance(e.event, (FileChange, ApprovalResolved))
    }
    assert labels == {"file_change": "agent_1", "approval_resolved": "agent_1"}


async def test_a_command_of_a_subagent_runs_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "project" / "lib").mkdir(parents=True)
    cast = Cast(
        [spawn("where", working_dir="lib"), wait_for("agent_1")],
        {
            "where": [
                tool_call("shell", '{"command": "pwd"}', id="p"),
                tool_call("glob", '{"pattern": "*"}', id="g"),
            ]
        },
    )
    (tmp_path / "project" / "lib" / "a.txt").write_text("x")
    async with running(tmp_path, model=cast) as rig:
        talk = await rig.talk("full", say="go")
    outputs = {end.call_id: end.output for end in talk.of(ToolCallEnd)}
    assert outputs["p"].startswith(str(tmp_path / "project" / "lib"))
    assert outputs["g"] == "a.txt"


@pytest.mark.parametrize("path", ["../a.txt", "../new.txt", "../../outside.txt"])
@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
async def test_the_user_is_not_asked_about_a_change_outside_the_folder_of_a_subagent(
    tool: str, path: str, tmp_path: Path
) -> None:
    (tmp_path / "project" / "lib").mkdir(parents=True)
    for name in ("project/a.txt", "outside.txt"):
        (tmp_path / name).write_text("one\n")
    texts = {"content": "two\n"} if tool == "write_file" else {"old_string": "", "new_string": "two\n"}
    call = tool_call(tool, json.dumps({"file_path": path, **texts}), id="outside")
    cast = Cast([spawn("write", working_dir="lib"), wait_for("agent_1")], {"write": [call, text("no")]})
    async with running(tmp_path, model=cast) as rig:
        talk = await rig.talk("ask", say="go")
    assert talk.of(ApprovalRequested) == []
    assert [end.error_kind for end in talk.of(ToolCallEnd) if end.call_id == "outside"] == ["access_denied"]
    assert not (tmp_path / "project" / "new.txt").exists()


@pytest.mark.req("R3", "R4")
async def test_a_subagent_killed_with_its_process_is_reported_as_interrupted(
    tmp_path: Path,
) -> None:
    gate = Gate()
    script: dict[str, Script] = {
        "search": [[text("Looking"), tool_call("shell", '{"command": "make all"}', id="c")], [gate]]
    }
    cast = Cast([spawn("search"), wait_for("agent_1")], script)
    async with running(tmp_path, model=cast) as rig:
        talk = await rig.talk("ask", wait)
        talk.live.session.submit("go")
        await talk.until("approval_requested")
        killed = shutil.copytree(rig.state, tmp_path / "left-behind")
    again = Cast(
        [wait_for("agent_1", "w2"), send("agent_1", "go on"), wait_for("agent_1", "w3")],
        {"search": [text("Found.")]},
    )
    async with running(tmp_path, model=again, state=killed) as rig:
        talk = await rig.reopen(talk.session_id)
        assert talk.live.session.state == "IDLE"  # the question of a subagent does not suspend a turn
        assert talk.of(ProcessingEnd) == [ProcessingEnd("interrupted")]
        assert [(it.status, it.reason) for it in talk.of(SubagentChanged)] == [
            ("running", ""),
            ("failed", "interrupted"),
        ]
        assert [it.decision for it in talk.of(ApprovalResolved)] == ["deny"]
        starts = sorted(event.call_id for event in talk.of(ToolCallStart))
        assert starts == sorted(event.call_id for event in talk.of(ToolCallEnd))
        await talk.say("again")
    outputs = [end.output for end in talk.of(ToolCallEnd) if end.call_id in ("w2", "w3")]
    assert "failed (interrupted)" in outputs[0] and outputs[1].endswith("Found.")
    said = [message.text for message in again.agents["search"].requests[0].messages]
    assert "Looking" in said and said[-1] == "go on"


@pytest.mark.req("R4")
async def test_an_orderly_shutdown_ends_subagents_and_their_approvals(tmp_path: Path) -> None:
    cast = Cast(
        [spawn("run"), wait_for("agent_1")], {"run": [tool_call("shell", '{"command": "make all"}', id="c")]}
    )
    async with running(tmp_path, model=cast) as rig:
        talk = await rig.talk("ask", wait)
        talk.live.session.submit("go")
        await talk.until("approval_requested")
    assert [it.decided_by for it in talk.of(ApprovalResolved)] == ["interrupt"]
    assert [it.reason for it in talk.of(SubagentChanged)] == ["", "interrupted"]
    assert talk.of(ProcessingEnd) == [ProcessingEnd("interrupted")]
    assert talk.envelopes[-1].kind == "session_end"


@pytest.mark.req("E7", "H3")
async def test_history_items_of_a_subagent_have_the_subagent_id(tmp_path: Path) -> None:
    cast = Cast([spawn("look"), wait_for("agent_1"), text("Main.")], {"look": [text("Agent.")]})
    async with running(tmp_path, model=cast) as rig:
        talk = await rig.talk(say="go")
        page = await rig.manager.archive.history(talk.session_id, None, 50)
    kinds = [(item.body.kind, item.agent_id) for item in reversed(page.items)]
    mine = [kind for kind, agent_id in kinds if not agent_id]
    assert mine == ["user", "tool", "subagent", "tool", "text", "end"]
    assert [kind for kind, agent_id in kinds if agent_id == "agent_1"] == ["text"]


async def test_usage_of_subagents_is_in_the_totals_after_a_resume(tmp_path: Path) -> None:
    cast = Cast([spawn("look"), wait_for("agent_1")], {"look": [text("Agent.")]})
    async with running(tmp_path, model=cast) as rig:
        talk = await rig.talk(say="go")
        before = talk.live.session.usage
        await rig.manager.close_session(talk.session_id)
        assert (await rig.reopen(talk.session_id)).live.session.usage == before
    assert before.input_tokens == 40
