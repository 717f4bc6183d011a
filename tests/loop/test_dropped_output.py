"""Output that was too long to be stored is counted in the events and in what the model reads."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.environments.base import DroppedOutput
from agent_ls.loop.calls.output_tap import LIVE_OUTPUT_CHARS, NOT_LIVE, OutputTap
from agent_ls.loop.calls.redaction import StreamRedaction, none_known
from agent_ls.loop.events.types import ToolCallEnd
from agent_ls.loop.turns import ToolResultsTurn
from agent_ls.tools.base import ToolContext, ToolOutput
from tests.support.fake_provider import FakeProvider, tool_call
from tests.support.sessions import AnyArguments, running_session, tool


@pytest.mark.req("E3", "O1")
async def test_output_that_an_environment_dropped_is_part_of_every_count_and_of_one_marker() -> None:
    dropped = DroppedOutput(9_000_000, 500, 9_100_000)

    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        half = "a" * 700_000
        return ToolOutput(half + dropped.marker + half, exit_code=0, dropped=dropped)

    async with running_session(FakeProvider([tool_call("look", id="c1")]), tool("look", run)) as b:
        await b.say("go")
    end = b.recorder.of(ToolCallEnd)[0]
    assert (end.output_chars, end.output_bytes) == (10_400_000, 10_500_000)
    given = next(turn for turn in b.recorder.turns if isinstance(turn, ToolResultsTurn)).results[0].content
    assert f"{10_400_000 - 30_000} characters were removed" in given and "dropped]" not in given


class CountingRedaction(StreamRedaction):
    def __init__(self) -> None:
        super().__init__(none_known)
        self.fed = 0

    def feed(self, text: str) -> str:
        self.fed += len(text)
        return super().feed(text)


class Appended:
    def __init__(self) -> None:
        self.chars = 0

    def append(self, kind: str, part_id: str, text: str, stream: str) -> None:
        self.chars += len(text)


async def test_output_that_is_not_published_live_any_more_is_not_searched_for_secrets() -> None:
    emitter: Any = Appended()
    redaction = CountingRedaction()
    tap = OutputTap(emitter, "output", redaction)
    chunk = "hello world\n" * 5000
    for _ in range(3 * LIVE_OUTPUT_CHARS // len(chunk)):
        tap("stdout", chunk)
    tap.close()
    assert redaction.fed < LIVE_OUTPUT_CHARS + 2 * len(chunk)
    assert emitter.chars == LIVE_OUTPUT_CHARS + len(NOT_LIVE)
