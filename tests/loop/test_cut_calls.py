"""Calls that are cut: tokens of a model call are estimated, and a tool call says who stopped it."""

from __future__ import annotations

import anyio
import pytest
from anyio.lowlevel import checkpoint

from agent_ls.llm.errors import StreamError
from agent_ls.llm.requests import Usage
from agent_ls.loop.budget import STOP, UseLimits
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.events.types import ToolCallEnd, TurnLimit, UsageReport
from agent_ls.tools.subagents import SUBAGENT_TOOLS
from tests.support.agents import Cast, spawn
from tests.support.fake_clock import FakeClock
from tests.support.fake_provider import (
    BreakOff,
    FakeProvider,
    Gate,
    Piece,
    error,
    reasoning,
    text,
    tool_call,
)
from tests.support.sessions import running_session, tool

pytestmark = pytest.mark.req("H18")

WORDS = "word " * 40


async def wait_for_sleep(clock: FakeClock) -> None:
    while not clock.slept_s:
        await checkpoint()


def price(usage: Usage) -> float:
    return usage.input_tokens * 1.0 + usage.output_tokens * 100.0


@pytest.mark.parametrize(
    "pieces",
    [[text(WORDS)], [reasoning(WORDS)], [tool_call("look", f'{{"a": "{WORDS}"}}')]],
    ids=["text", "reasoning", "arguments"],
)
@pytest.mark.parametrize("streams", [True, False])
async def test_an_interrupted_call_counts_what_was_sent_and_received(
    pieces: list[Piece], streams: bool
) -> None:
    gate = Gate()
    provider = FakeProvider([[*pieces, gate]])
    async with running_session(provider, tool("look"), cost_usd=price, supports_streaming=streams) as b:
        b.session.submit("x" * 400)
        await gate.reached.wait()
        b.session.interrupt()
        await b.idle()
        (report,) = b.recorder.of(UsageReport)
        assert report.estimated
        assert report.call.input_tokens >= 100
        assert report.call.output_tokens >= (50 if streams else 0)
        assert b.session.usage == report.total == report.call
        assert b.session.cost_usd == report.total_cost_usd == price(report.call)


@pytest.mark.parametrize("breaks", [BreakOff(), error(StreamError("cut", provider="fake"))])
async def test_a_stream_that_breaks_off_counts_each_try_that_was_answered(breaks: Piece) -> None:
    provider = FakeProvider([[breaks], [text(WORDS), breaks]])
    async with running_session(provider, cost_usd=price) as b:
        b.session.submit("x" * 400)
        await b.until("retry")
        await wait_for_sleep(b.clock)
        b.clock.advance(60)
        await b.idle()
        first, second = b.recorder.of(UsageReport)
        assert (first.call.output_tokens, second.call.output_tokens) == (0, 50)
        assert b.session.usage == second.total == first.call + second.call


async def test_interrupted_calls_reach_a_limit() -> None:
    gates = [Gate(), Gate(), Gate()]
    provider = FakeProvider([[text(WORDS), gate] for gate in gates])
    config = SessionConfig(limits=UseLimits(tokens_per_session=300))
    async with running_session(provider, config=config) as b:
        for gate in gates[:2]:
            b.session.submit("x" * 400)
            await gate.reached.wait()
            b.session.interrupt()
            await b.idle(gates.index(gate) + 1)
        b.session.submit("again")
        await b.until("question_asked")
        (asked,) = b.session.questions.pending()
        b.session.questions.answer(asked.question_id, [STOP], declined=False, by="me")
        await b.idle(3)
    assert [event.limit for event in b.recorder.of(TurnLimit)] == ["tokens"]
    assert len(provider.requests) == 2


@pytest.mark.parametrize(
    ("pieces", "first_ms"), [([text("Hi")], 3000), ([reasoning("Hm"), text("Hi")], 3000), ([], None)]
)
async def test_the_first_output_is_the_first_piece_of_an_answer(
    pieces: list[Piece], first_ms: int | None
) -> None:
    gate = Gate()
    async with running_session(FakeProvider([[gate, *pieces]])) as b:
        b.session.submit("go")
        await gate.reached.wait()  # after the event with which the stream begins
        b.clock.advance(3)
        gate.open()
        await b.idle()
    assert [it.first_output_ms for it in b.recorder.of(UsageReport)] == [first_ms]


@pytest.mark.req("L8", "A1")
@pytest.mark.parametrize(
    ("how", "who"),
    [("close", "its parent agent"), ("stop", "the user"), ("interrupt", "the end of its parent's turn")],
)
async def test_a_cut_call_of_a_subagent_says_who_stopped_the_subagent(how: str, who: str) -> None:
    gate = Gate()
    hangs = tool("hang", run=lambda arguments, context: anyio.sleep_forever())  # type: ignore[arg-type,return-value]
    cast = Cast(
        [spawn("hang"), [gate, tool_call("close_agent", '{"agent_id": "agent_1"}')], text("ok")],
        {"hang": [tool_call("hang", id="cut")]},
    )
    async with running_session(cast, hangs, *SUBAGENT_TOOLS) as b:
        b.session.submit("go")
        await b.until("tool_call_start", 2)
        if how == "interrupt":
            b.session.interrupt()
        elif how == "stop":
            assert b.session.agents.stop_running("agent_1")
            await b.until("subagent", 2)
        gate.open()
        await b.idle()
    (cut,) = [it for it in b.recorder.of(ToolCallEnd) if it.name == "hang"]
    assert cut.error_kind == "interrupted" and f"nterrupted by {who}" in cut.output
