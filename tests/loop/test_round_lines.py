"""The log with the level `debug`: one line for each round, without any text."""

from __future__ import annotations

import logging

import pytest

from tests.support.fake_provider import FakeProvider, end, reasoning, text, tool_call
from tests.support.sessions import running_session, tool

pytestmark = pytest.mark.req("R6")

SECRET = "sk-words-of-the-user"


@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO])
async def test_each_round_is_a_line_of_the_log_without_texts(
    caplog: pytest.LogCaptureFixture, level: int
) -> None:
    caplog.set_level(level, "agent_ls")
    calls = [tool_call("look", f'{{"a": "{SECRET}"}}', "c1"), tool_call(SECRET, id="c2")]
    provider = FakeProvider([[reasoning(SECRET), text(SECRET), *calls], [text("ok"), end("stop")]])
    async with running_session(provider, tool("look"), model="m-1") as b:
        await b.say(SECRET)
    lines = [it.getMessage() for it in caplog.records if it.getMessage().startswith("round ")]
    if level == logging.INFO:
        assert lines == []
        return
    first, second = lines
    for part in (
        "model=m-1",
        "input=10",
        "output=5",
        "ms=",
        "finish=tool_calls",
        "tools=look,?",
        "session=s-1",
    ):
        assert part in first
    assert "tools=-" in second and "finish=stop" in second
    assert SECRET not in first
