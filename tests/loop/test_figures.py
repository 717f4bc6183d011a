"""Durations and counts of a session, computed from its events (R6)."""

from __future__ import annotations

import pytest

from agent_ls.llm.requests import Usage
from agent_ls.loop.emission import log_line
from agent_ls.loop.events.figures import figures_of
from agent_ls.loop.events.types import (
    Envelope,
    Error,
    RecordedEvent,
    Retry,
    ToolCallEnd,
    ToolCallStart,
    UsageReport,
    UserInput,
)

pytestmark = pytest.mark.req("R6")


def at(second: float, event: RecordedEvent, turn: str = "t1", agent: str = "") -> Envelope:
    return Envelope("s1", 1, f"2026-01-02T03:04:{second:06.3f}+00:00", event, turn, agent)


def used(duration_ms: int | None = 900, first_ms: int | None = 300) -> UsageReport:
    return UsageReport(
        Usage(10, 5), Usage(10, 5), 1, 100, 0.5, None, duration_ms=duration_ms, first_output_ms=first_ms
    )


def start(call: str, index: int = 0, name: str = "shell") -> ToolCallStart:
    return ToolCallStart(call, index, name, "{}", "secret words")


def end(call: str, ms: int, kind: str = "", name: str = "shell") -> ToolCallEnd:
    return ToolCallEnd(call, name, "secret words", "", bool(kind), kind, ms, 12)


def test_a_round_counts_one_model_call_and_its_tool_calls() -> None:
    figures = figures_of(
        [
            at(0, UserInput("secret words")),
            at(0.5, Retry(1, 10, "server", "again")),
            at(1, used()),
            at(1.1, start("c1")),
            at(1.2, start("c2", 1)),
            at(1.5, end("c2", 300, "tool_error")),
            at(2.1, end("c1", 1000)),
            at(3, used(first_ms=100)),
        ]
    )
    first, second = figures.rounds
    assert (first.model_ms, first.first_output_ms, first.retries, first.cost_usd) == (900, 300, 1, 0.5)
    assert (first.tool_calls, first.failed_calls, first.tools_ms) == (2, 1, 1000)
    assert (second.first_output_ms, second.tool_calls, second.tools_ms, second.retries) == (100, 0, 0, 0)
    (tool,) = figures.tools
    assert (tool.calls, tool.failed, tool.median_ms, tool.longest_ms, tool.output_chars) == (
        2,
        1,
        650,
        1000,
        24,
    )


def test_a_tool_call_that_started_before_its_response_ended_counts_to_that_response() -> None:
    figures = figures_of(
        [
            at(1, used()),
            at(1.1, start("c1")),
            at(1.2, end("c1", 100)),
            at(1.5, start("c2", name="grep")),
            at(1.6, end("c2", 50, name="grep")),
            at(2, used(first_ms=1)),
        ]
    )
    assert [(it.first_output_ms, it.tool_calls) for it in figures.rounds] == [(300, 1), (1, 1)]
    assert [it.name for it in figures.tools] == ["shell", "grep"]


def test_subagents_have_separate_rounds_and_logs_without_durations_are_accepted() -> None:
    figures = figures_of([at(1, used()), at(2, used(None, None), agent="agent_1"), at(3, start("c1"))])
    assert [(it.agent_id, it.model_ms) for it in figures.rounds] == [("", 900), ("agent_1", None)]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (used(), "model_call ms=900 first_output_ms=300 input=10 output=5 cache_read=None"),
        (end("c1", 7, "timeout"), "tool name=shell ms=7 chars=12 result=timeout"),
        (Error("secret words", "auth"), "error kind=auth"),
        (Retry(2, 10, "server", "secret words"), "retry attempt=2 delay_ms=10 error=server"),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_a_log_line_contains_numbers_and_names_but_no_message_text(event: RecordedEvent, said: str) -> None:
    assert log_line(at(1, event, agent="agent_2")) == f"{said} session=s1 turn=t1 agent=agent_2"


def test_a_user_input_event_is_not_logged() -> None:
    assert log_line(at(1, UserInput("secret words"))) == ""
