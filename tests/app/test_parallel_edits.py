"""Edits of one answer are asked about beside each other, and one kept rule answers for all of them (L10, H7)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.loop.approval import Answer
from agent_ls.loop.events import ApprovalRequested, ApprovalResolved
from tests.support.fake_provider import text, tool_call
from tests.support.workbench import running

pytestmark = [pytest.mark.anyio, pytest.mark.req("L10", "H7")]


@pytest.mark.parametrize("is_rule_kept", [True, False])
async def test_edits_that_wait_together_are_settled_by_a_rule_that_is_kept_and_not_by_a_single_yes(
    is_rule_kept: bool, tmp_path: Path
) -> None:
    calls = [
        tool_call("write_file", json.dumps({"file_path": f"{name}.txt", "content": "x\n"}), id=name)
        for name in ("a", "b", "c")
    ]
    async with running(tmp_path, [calls, text("ok")]) as bench:
        talk = await bench.talk("ask", lambda request: None)
        talk.live.session.submit("go")
        await talk.until("approval_requested", 3)
        first = talk.of(ApprovalRequested)[0]
        rule = first.rules[0]
        answer = Answer("allow", "session", rule.id) if is_rule_kept else Answer("allow")
        talk.live.desk.answer(first.request_id, answer)
        if is_rule_kept:
            await talk.until("processing_end")
            assert all((bench.folder / f"{name}.txt").exists() for name in "abc")
        else:
            await talk.until("tool_call_end")
            assert len(talk.live.desk.pending()) == 2
    assert len([it for it in talk.of(ApprovalResolved) if it.decided_by != "interrupt"]) == (
        3 if is_rule_kept else 1
    )
