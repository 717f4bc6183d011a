"""The plan of a session is published on each change, survives a restart, and needs no approval."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.loop.events.types import ApprovalRequested, PlanChanged, PlanItem, ToolCallEnd
from tests.support.fake_provider import CallTool, Piece, text, tool_call
from tests.support.session_rig import running


def plan(*items: tuple[str, str], explanation: str = "") -> CallTool:
    steps = [{"text": words, "status": status} for words, status in items]
    return tool_call("plan", json.dumps({"items": steps, "explanation": explanation}))


@pytest.mark.req("T7")
async def test_a_plan_is_published_stored_and_restored_by_the_next_process(tmp_path: Path) -> None:
    script: list[list[Piece]] = [
        [plan(("Read", "active"), ("Mend", "pending"))],
        [plan(("Read", "done"), ("Mend", "active"), explanation="read")],
        [text("Done.")],
    ]
    last = PlanChanged("read", (PlanItem("Read", "done"), PlanItem("Mend", "active")))
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("plan", say="Go.")
        assert [len(event.items) for event in talk.of(PlanChanged)] == [2, 2]
        assert talk.live.session.plan == last == talk.of(PlanChanged)[-1]
        assert talk.of(ApprovalRequested) == []
    async with running(tmp_path) as rig:
        assert (await rig.reopen(talk.session_id)).live.session.plan == last


@pytest.mark.req("T7", "T1")
async def test_a_plan_with_two_active_items_is_an_error_and_changes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, [[plan(("a", "active"), ("b", "active"))], [text("Oh.")]]) as rig:
        talk = await rig.talk(say="Go.")
        (end,) = talk.of(ToolCallEnd)
        assert (end.is_error, end.error_kind) == (True, "validation")
        assert talk.of(PlanChanged) == [] and talk.live.session.plan is None
