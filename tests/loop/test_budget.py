"""UseLimits of tokens, money and time: the turn pauses and asks (H18)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from agent_ls.llm.requests import Usage
from agent_ls.loop.budget import GO_ON, STOP, InputBudget, Spending, UseLimits
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.events.types import ProcessingEnd, QuestionAsked, TurnLimit, Warning
from agent_ls.loop.questions import BadAnswerError
from agent_ls.tools.base import Arguments, ToolContext, ToolOutput
from agent_ls.tools.subagents import SUBAGENT_TOOLS
from tests.support.agents import Cast, Script, spawn, wait_for
from tests.support.fake_clock import FakeClock
from tests.support.fake_provider import FakeProvider, end, text, tool_call
from tests.support.sessions import RunningSession, running_session, tool

pytestmark = pytest.mark.req("H18")


def rounds(count: int) -> FakeProvider:
    """Return a model that makes `count` rounds with one call and 100 tokens each, and then ends with a
    text."""
    return FakeProvider([[tool_call("look", id=str(n)), end("stop", Usage(90, 10))] for n in range(count)])


def limited(**limits: Any) -> SessionConfig:
    return SessionConfig(limits=UseLimits(**limits))


async def answer(b: RunningSession, text: str, count: int = 1) -> None:
    await b.until("question_asked", count)
    (asked,) = b.session.questions.pending()
    assert asked.purpose == "limit" and asked.choices == (GO_ON, STOP)
    assert b.session.state == "AWAITING_INPUT"
    b.session.questions.answer(asked.question_id, [text], declined=False, by="me")


@pytest.mark.parametrize(
    ("limits", "limit", "options"),
    [
        ({"tokens_per_input": 150}, "tokens", {}),
        ({"tokens_per_session": 150}, "tokens", {}),
        ({"cost_usd_per_input": 1.5}, "cost", {"cost_usd": lambda usage: 1.0}),
        ({"cost_usd_per_session": 1.5}, "cost", {"cost_usd": lambda usage: 1.0}),
    ],
)
async def test_a_token_or_cost_limit_pauses_the_turn_until_the_user_stops_the_turn(
    limits: dict[str, Any], limit: str, options: dict[str, Any]
) -> None:
    provider = rounds(9)
    async with running_session(provider, tool("look"), config=limited(**limits), **options) as b:
        b.session.submit("go")
        b.session.follow_up("and more")
        await answer(b, STOP)
        await b.idle()
        assert len(provider.requests) == 2
        assert len(b.session.queue) == 1  # the pending request is not resolved without an answer
    assert [event.limit for event in b.recorder.of(TurnLimit)] == [limit]
    assert b.recorder.of(ProcessingEnd)[0] == ProcessingEnd("limit")


@pytest.mark.parametrize(("most", "words"), [(1, "1 token."), (2, "2 tokens.")])
async def test_a_limit_of_one_token_is_said_in_the_singular(most: int, words: str) -> None:
    async with running_session(rounds(9), tool("look"), config=limited(tokens_per_input=most)) as b:
        b.session.submit("go")
        await answer(b, STOP)
        await b.idle()
    assert [event.message.endswith(f" {words}") for event in b.recorder.of(TurnLimit)] == [True]


@pytest.mark.parametrize("text", ["no", "Stop", "nope, stop", "banana", "go on, but only the tests"])
async def test_only_a_choice_allows_more_at_a_limit(text: str) -> None:
    provider = rounds(9)
    async with running_session(provider, tool("look"), config=limited(tokens_per_input=150)) as b:
        b.session.submit("go")
        with pytest.raises(BadAnswerError):
            await answer(b, text)
        assert b.session.submit(text).queued_id
        assert len(b.session.questions.pending()) == 1
        b.session.submit("stop here")
        await b.idle()
    assert len(provider.requests) == 2 and b.recorder.of(ProcessingEnd)[0] == ProcessingEnd("limit")


async def test_continuing_past_a_token_limit_asks_the_user_again_after_the_same_number_of_tokens() -> None:
    provider = rounds(4)
    async with running_session(provider, tool("look"), config=limited(tokens_per_input=200)) as b:
        b.session.submit("go")
        await answer(b, GO_ON)
        await answer(b, "go on.", 2)
        await b.idle()
    assert len(b.recorder.of(QuestionAsked)) == 2
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]


async def test_at_the_time_limit_the_turn_pauses_before_the_next_model_call() -> None:
    async with running_session(rounds(2), tool("look"), config=limited(seconds_per_input=60)) as b:
        b.recorder.on_event = lambda envelope: (
            b.clock.advance(61)
            if envelope.kind == "tool_call_end" and len(b.recorder.of(TurnLimit)) == 0
            else None
        )
        b.session.submit("go")
        await answer(b, STOP)
        await b.idle()
    assert [event.limit for event in b.recorder.of(TurnLimit)] == ["time"]


async def test_per_input_limits_are_reset_by_the_next_input() -> None:
    async with running_session(rounds(0), config=limited(tokens_per_input=100)) as b:
        for word in ("one", "two", "three"):
            await b.say(word)
    assert b.recorder.of(TurnLimit) == []


@pytest.mark.req("A1")
async def test_a_subagent_at_a_token_limit_ends_and_its_parent_asks_the_user() -> None:
    endless: Script = [[tool_call("look", id=str(n)), end("stop", Usage(90, 10))] for n in range(9)]
    cast = Cast([spawn("endless"), wait_for("agent_1"), text("ok")], {"endless": endless})
    async with running_session(
        cast, tool("look"), *SUBAGENT_TOOLS, config=limited(tokens_per_input=300)
    ) as b:
        b.session.submit("go")
        await answer(b, GO_ON)
        await b.idle()
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]


async def test_the_shell_command_timeout_is_at_most_the_remaining_time_of_input_and_session() -> None:
    limits: list[int] = []

    async def run(_: Arguments, context: ToolContext) -> ToolOutput:
        limits.append(context.shell_limits.max_timeout_ms)
        b.clock.advance(20)
        return ToolOutput("done")

    config = limited(seconds_per_input=60, seconds_per_session=50)
    async with running_session(rounds(2), tool("look", run), config=config) as b:
        await b.say("go")

    assert limits == [50_000, 30_000]


@pytest.mark.report("supernovae-st/nika#1368")  # fmt: skip
async def test_a_cost_limit_with_an_unknown_price_warns_once_and_still_counts_the_known_calls() -> None:
    prices = iter([1.0, None, None, 1.0, 1.0])
    provider = rounds(9)
    config = limited(cost_usd_per_session=1.5)
    async with running_session(provider, tool("look"), config=config, cost_usd=lambda _: next(prices)) as b:
        b.session.submit("go")
        await answer(b, STOP)
        await b.idle()
    assert len(provider.requests) == 4
    assert [event.code for event in b.recorder.of(Warning)] == ["unknown_price"]


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (UseLimits(cost_usd_per_input=0.004), "$0.004."),
        (UseLimits(cost_usd_per_input=0.5), "$0.50."),
        (UseLimits(seconds_per_session=1), "1 second."),
    ],
)
def test_the_message_of_a_limit_names_its_exact_value(limits: UseLimits, words: str) -> None:
    clock, spending = FakeClock(), Spending()
    budget = InputBudget(spending, clock)
    clock.advance(2)
    spending.add(Usage(), 1.0)
    reached = budget.reached(limits)
    assert reached and reached.message.endswith(words)


@pytest.mark.parametrize("cost_usd", [math.nan, math.inf, -0.1])
async def test_a_cost_that_cannot_be_counted_is_an_unknown_price(cost_usd: float) -> None:
    provider = FakeProvider([[text("Done."), end("stop", Usage(90, -10))]])
    config = limited(cost_usd_per_session=1)
    async with running_session(provider, config=config, cost_usd=lambda usage: cost_usd) as b:
        b.session.submit("go")
        await b.idle()
        assert [it.code for it in b.recorder.of(Warning)] == ["unknown_price"]
        assert (b.session.cost_usd, b.session.usage.total_tokens) == (None, 90)


def test_a_stored_cost_that_cannot_be_counted_is_unknown() -> None:
    spending = Spending(cost_usd=math.inf)
    assert (spending.cost_usd, spending.known_usd) == (None, 0)


def test_the_message_about_an_extended_limit_names_the_extended_limit() -> None:
    spending = Spending()
    budget = InputBudget(spending, FakeClock())
    limits = UseLimits(cost_usd_per_session=1.2)
    spending.add(Usage(10, 5), 1.5)
    first = budget.reached(limits)
    assert first and first.message == "The limit for this session is reached: $1.20."
    budget.allow_more(first)
    assert budget.reached(limits) is None
    spending.add(Usage(10, 5), 1.5)
    second = budget.reached(limits)
    assert second and second.message == "The limit for this session is reached: $1.20, extended to $2.70."
