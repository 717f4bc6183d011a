"""Endless answers are stopped; long answers that end are not."""

from __future__ import annotations

import pytest

from agent_ls.llm.errors import RunawayError
from agent_ls.llm.stream import ReasoningDelta, TextDelta, ToolCallDelta
from agent_ls.loop.events.types import Error, ProcessingEnd
from agent_ls.loop.model.runaway import REPEATED_CHARS, RunawayGuard
from agent_ls.loop.turns import AssistantTurn
from tests.support.fake_provider import FakeProvider, text
from tests.support.sessions import running_session


@pytest.mark.req("R1", "L17")
@pytest.mark.parametrize("piece", ["the ", "\x00\x01", "\n", "I will do it now.\n" * 3])
async def test_an_endless_answer_ends_the_turn_with_a_message_and_the_session_continues(piece: str) -> None:
    endless = ["Well, ", *[piece] * (4 * REPEATED_CHARS // len(piece))]
    provider = FakeProvider([text(*endless), text("Sorry.")])
    async with running_session(provider) as b:
        await b.say("go")
        await b.say("again")
    (error,) = b.recorder.of(Error)
    assert error.error_kind == "runaway" and "without end" in error.message and error.hint
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("error"), ProcessingEnd("completed")]
    kept = b.recorder.turns[1]
    assert isinstance(kept, AssistantTurn) and kept.content.startswith("Well, ")
    assert len(kept.content) < 1000, "it would fill the context of the next request"


@pytest.mark.parametrize("kind", [TextDelta, ReasoningDelta, ToolCallDelta])
def test_each_kind_of_delta_is_checked_for_repetition_separately_for_each_part(
    kind: type[TextDelta | ReasoningDelta | ToolCallDelta],
) -> None:
    guard = RunawayGuard("vllm", "m")
    for index in range(10):
        guard.feed(kind(index, "ab" * (REPEATED_CHARS // 4)))
    with pytest.raises(RunawayError, match="repeats itself"):
        for _ in range(10):
            guard.feed(kind(11, "ab" * (REPEATED_CHARS // 4)))


WANTED = {
    "numbers": "".join(f"{number},\n" for number in range(40_000)),
    "zeros": "0, " * 4000 + "\n};\n",
    "table": "".join(f"| row | {'-' * 90} | {number % 7} |\n" for number in range(3000)),
    "escape sequences": "".join(f"\x1b[3{number % 8}mword {number}\x1b[0m\n" for number in range(3000)),
}


@pytest.mark.parametrize("answer", WANTED.values(), ids=WANTED)
def test_a_long_answer_that_ends_is_not_stopped(answer: str) -> None:
    guard = RunawayGuard("vllm", "m")
    for start in range(0, len(answer), 7):
        guard.feed(TextDelta(0, answer[start : start + 7]))
