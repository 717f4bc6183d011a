"""Edits in one response wait for approval at the same time, and one stored rule resolves all of them (L10, H7)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested, ApprovalResolved
from tests.support.fake_provider import text, tool_call
from tests.support.session_rig import running

pytestmark = pytest.mark.req("L10", "H7")


@pytest.mark.parametrize("is_rule_kept", [True, False])
async def test_a_stored_rule_resolves_simultaneous_edits_and_a_single_allow_does_not(
    is_rule_kept: bool, tmp_path: Path
) -> None:
    calls = [
        tool_call("write_file", json.dumps({"file_path": f"{name}.txt", "content": "x\n"}), id=name)
        for name in ("a", "b", "c")
    ]
    async with running(tmp_path, [calls, text("ok")]) as rig:
        talk = await rig.talk("ask", lambda request: None)
        talk.live.session.submit("go")
        await talk.until("approval_requested", 3)
        first = talk.of(ApprovalRequested)[0]
        rule = first.rules[0]
        answer = ApprovalAnswer("allow", "session", rule.id) if is_rule_kept else ApprovalAnswer("allow")
        talk.live.approver.answer(first.request_id, answer)
        if is_rule_kept:
            await talk.until("processing_end")
            assert all((rig.folder / f"{name}.txt").exists() for name in "abc")
        else:
            await talk.until("tool_call_end")
            assert len(talk.live.approver.pending()) == 2
    assert len([it for it in talk.of(ApprovalResolved) if it.decided_by != "interrupt"]) == (
        3 if is_rule_kept else 1
    )
