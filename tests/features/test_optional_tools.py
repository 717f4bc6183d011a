"""The tools think and submit are offered only if a setting enables them (T7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.loop.events.types import ProcessingEnd, ToolCallEnd
from agent_ls.services.settings.model import parse_settings
from tests.support.fake_provider import text, tool_call
from tests.support.session_rig import running


@pytest.mark.req("T7")
async def test_think_and_submit_are_offered_if_the_settings_enable_them(tmp_path: Path) -> None:
    async with running(tmp_path, [text("Hello.")]) as rig:
        await (await rig.talk()).say("hello")
        assert not {"think", "submit"} & {tool.name for tool in rig.model.requests[0].tools}
    settings, problems = parse_settings({"thinkTool": True, "submitTool": True})
    assert not problems
    script = [
        tool_call("think", '{"thought": "First the tests."}'),
        tool_call("submit", '{"result": "All done."}'),
    ]
    (tmp_path / "other").mkdir()
    async with running(tmp_path / "other", script, settings=settings) as rig:
        talk = await rig.talk("plan", say="go")
        assert len(rig.model.requests) == 2
        assert {"think", "submit"} <= {tool.name for tool in rig.model.requests[0].tools}
        assert [event.reason for event in talk.of(ProcessingEnd)] == ["completed"]


@pytest.mark.req("T7")
async def test_submit_accepts_a_confidence_of_at_most_one(tmp_path: Path) -> None:
    script = [
        tool_call("submit", '{"result": "All done.", "confidence": 1.5}'),
        tool_call("submit", '{"result": "All done.", "confidence": 0.9}'),
    ]
    settings, _ = parse_settings({"submitTool": True})
    async with running(tmp_path, script, settings=settings) as rig:
        talk = await rig.talk("plan", say="go")
        refused, done = talk.of(ToolCallEnd)
    assert refused.is_error and "confidence" in refused.output
    assert done.output == "All done.\n\nConfidence: 90%"
