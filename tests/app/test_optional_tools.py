"""think and submit are offered where a setting says so, and do what they say there (T7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.app.settings import parse_settings
from agent_ls.loop.events import ProcessingEnd
from tests.support.fake_provider import text, tool_call
from tests.support.workbench import running


@pytest.mark.req("T7")
async def test_think_and_submit_are_tools_where_the_settings_say_so(tmp_path: Path) -> None:
    async with running(tmp_path, [text("Hello.")]) as bench:
        await (await bench.talk()).say("hello")
        assert not {"think", "submit"} & {tool.name for tool in bench.model.requests[0].tools}
    settings, problems = parse_settings({"thinkTool": True, "submitTool": True})
    assert not problems
    script = [
        tool_call("think", '{"thought": "First the tests."}'),
        tool_call("submit", '{"result": "All done."}'),
    ]
    (tmp_path / "other").mkdir()
    async with running(tmp_path / "other", script, settings=settings) as bench:
        talk = await bench.talk("plan")
        await talk.say("go")
        assert len(bench.model.requests) == 2
        assert {"think", "submit"} <= {tool.name for tool in bench.model.requests[0].tools}
        assert [event.reason for event in talk.of(ProcessingEnd)] == ["completed"]
