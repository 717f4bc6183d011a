"""The size of the context: estimated, calibrated, by category, with one warning (requirement L12)."""

from __future__ import annotations

import pytest

from agent_ls.llm.messages import Message, Role, TextPart, ToolCallPart, ToolResultPart
from agent_ls.llm.requests import FinishReason, Usage
from agent_ls.loop.context.history import ConversationHistory
from agent_ls.loop.context.prefix import Prefix
from agent_ls.loop.context.size import ContextMeter
from agent_ls.loop.events.types import ContextParts
from agent_ls.loop.turns import AssistantTurn, ToolResultsTurn, UserTurn


@pytest.mark.req("L12")
def test_token_estimate_is_a_quarter_of_the_characters_until_calibrated_by_a_usage_report() -> None:
    meter = ContextMeter()
    assert _measured(meter).total == 1000
    meter.observe(_measured(meter), 2000, 4)
    assert _measured(meter).total == 2000
    meter.observe(_measured(meter), 1000, 4)
    assert _measured(meter).total == 1700
    assert meter.calibration == 1.7
    meter.observe(_measured(meter), 0, 4)
    meter.observe(ContextParts(), 10, 4)
    assert _measured(meter).total == 1700


def test_the_token_estimate_of_a_resumed_session_continues_from_its_calibration() -> None:
    meter = ContextMeter(1.7)
    assert _measured(meter).total == 1700
    meter.observe(_measured(meter), 1000, 4)  # later reports change the calibration only in part
    assert _measured(meter).total == 1490


@pytest.mark.req("L12")
def test_the_context_meter_estimates_tokens_by_category() -> None:
    call = ToolCallPart("1", "look", '{"a": 12345}')
    history = ConversationHistory(
        [
            UserTurn("u" * 400, "t"),
            AssistantTurn(
                Message(Role.ASSISTANT, (TextPart("a" * 184), call)),
                Usage(),
                "",
                "",
                "",
                FinishReason("stop"),
                "t",
            ),
            ToolResultsTurn((ToolResultPart("1", "look", "r" * 800),), "t"),
        ]
    )
    prefix = Prefix("s" * 1600, documents_chars=600, tools_chars=200)
    assert ContextMeter().measure(prefix, history, 4) == ContextParts(
        system=250, tools=50, documents=150, history=150, tool_output=200
    )


def _measured(meter: ContextMeter, divisor: int = 4) -> ContextParts:
    return meter.measure(Prefix("p" * 4000), ConversationHistory(), divisor)


@pytest.mark.parametrize(("divisor", "tokens"), [(1, 4000), (32, 125), (0, 4000), (99, 125)])
def test_characters_per_token_is_clamped_to_1_to_32(divisor: int, tokens: int) -> None:
    assert _measured(ContextMeter(), divisor).total == tokens


def test_the_context_usage_warning_is_repeated_only_after_the_usage_has_fallen() -> None:
    meter = ContextMeter()
    steps = [(80, ""), (81, "~81%"), (95, ""), (40, ""), (90, "~90%")]
    for tokens, words in steps:
        message = meter.maybe_warning(tokens, 100)
        assert message == (f"Context usage at {words} of context window" if words else "")
    assert meter.maybe_warning(10, 0) == ""


@pytest.mark.req("L12")
@pytest.mark.parametrize(("reported", "tokens"), [(1, 250), (10_000_000, 8000)])
def test_an_implausible_usage_report_is_ignored(reported: int, tokens: int) -> None:
    meter = ContextMeter()
    meter.observe(_measured(meter), reported, 4)
    assert _measured(meter).total == tokens
