"""Compaction in a session: automatic, on request, after a refusal, interrupted; reported in events (L12, L13, R1)."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.llm.errors import AuthenticationError, ContextLengthError
from agent_ls.llm.messages import Role, ToolResultPart
from agent_ls.llm.requests import Usage
from agent_ls.loop.config import ContextConfig, SessionConfig
from agent_ls.loop.errors import CompactionOffError, NothingToCompactError, SessionClosedError
from agent_ls.loop.events.types import (
    CacheLost,
    Compaction,
    Error,
    ProcessingEnd,
    StateChanged,
    UsageReport,
    Warning,
)
from agent_ls.loop.restored import RestoredSession
from agent_ls.loop.turns import CompactionTurn, Turn, UserTurn
from agent_ls.tools.base import ToolContext, ToolOutput
from tests.support.fake_provider import FakeProvider, Gate, Piece, end, error, problem_of, text, tool_call
from tests.support.sessions import AnyArguments, RunningSession, running_session, tool

CHATTY: list[Turn] = [UserTurn(f"message {n}", "t") for n in range(20)]
SUMMARY = text("## Goal\nTo be done.")


def config(**settings: Any) -> SessionConfig:
    return SessionConfig(context=ContextConfig(**settings))


def too_long() -> Piece:
    return error(ContextLengthError("prompt is too long", provider="fake"))


def compactions(b: RunningSession) -> list[tuple[str, str]]:
    return [(event.trigger, event.status) for event in b.recorder.of(Compaction)]


@pytest.mark.req("L13", "E6")
async def test_compaction_while_idle_runs_as_a_separate_turn_and_its_summary_is_in_the_next_request() -> None:
    provider = FakeProvider([[SUMMARY, end("stop", Usage(700, 50))], text("ok")])
    async with running_session(provider, restored=RestoredSession(tuple(CHATTY), 0)) as b:
        compaction_id = b.session.compact("mind the tests", client_key="k1")
        assert b.session.compact(client_key="k1") == compaction_id
        await b.idle()
        assert compactions(b) == [("request", "started"), ("request", "done")]
        begun, done = b.recorder.of(Compaction)
        assert (begun.compaction_id, begun.client_key, begun.removed, begun.kept) == (
            compaction_id,
            "k1",
            12,
            8,
        )
        assert done.summary == "## Goal\nTo be done."
        assert 0 < done.tokens_after < 1000 and "12 earlier messages" in done.message
        (usage,) = b.recorder.of(UsageReport)
        assert (usage.call, usage.total) == (Usage(700, 50), Usage(700, 50))
        assert usage.context_tokens == usage.context.total == done.tokens_after
        assert b.recorder.of(StateChanged) == [StateChanged("PROCESSING"), StateChanged("IDLE")]
        assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]
        asked = provider.requests[0]
        assert asked.tools == () and [message.role for message in asked.messages] == [Role.SYSTEM, Role.USER]
        assert "mind the tests" in asked.messages[0].text
        assert "message 11" in asked.messages[1].text and "message 12" not in asked.messages[1].text
        await b.say("go on")
        sent = provider.requests[1].messages
        assert sent[1].text.startswith("[Background from agent-ls") and "To be done." in sent[1].text
        assert [message.text for message in sent[2:]] == [f"message {n}" for n in range(12, 20)] + ["go on"]
        assert len(b.session.history.turns) == 20 + 1 + 2


@pytest.mark.req("L13")
async def test_compaction_is_refused_for_an_empty_or_closed_session_or_if_switched_off() -> None:
    async with running_session(FakeProvider()) as b:
        with pytest.raises(NothingToCompactError, match="nothing to compact yet: the session has no message"):
            b.session.compact()
        b.session.configure(config=config(compaction="off"))
        with pytest.raises(CompactionOffError):
            b.session.compact()
        b.session.abort()
        with pytest.raises(SessionClosedError):
            b.session.compact()
        assert b.recorder.of(Compaction) == []


@pytest.mark.spec("conversation 4.4")
@pytest.mark.req("L12", "L13")
@pytest.mark.parametrize(
    ("settings", "compacts"),
    [
        ({}, True),
        ({"compaction": "request"}, False),
        ({"compaction": "off"}, False),
        ({"strategy": "full"}, False),
        ({"compact_at_percent": 95}, False),
        ({"chars_per_token": 8}, False),
    ],
)
async def test_a_context_filled_by_tool_results_is_compacted_before_the_next_model_call(
    settings: dict[str, Any], compacts: bool
) -> None:
    async def much(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("x" * 29_000)

    quiet = end("tool_calls", Usage())  # reports no usage, so the estimate is not calibrated
    rounds: list[list[Piece]] = [[tool_call("look", id=f"c{n}"), quiet] for n in range(5)]
    provider = FakeProvider([*rounds, *([SUMMARY] if compacts else []), text("ok")])
    async with running_session(
        provider, tool("look", much), config=config(**settings), context_window_tokens=40_000
    ) as b:
        await b.say("go")
        assert compactions(b) == ([("auto", "started"), ("auto", "done")] if compacts else [])
        warnings = [event.message for event in b.recorder.of(Warning)]
        is_full = not compacts and "chars_per_token" not in settings
        assert warnings == ["Context usage at ~91% of context window"] * is_full
        last = provider.requests[-1]
        assert problem_of(last.messages) == ""
        assert ("[Background" in last.messages[1].text) is compacts
        assert [request.tools == () for request in provider.requests] == [False] * 5 + [True] * compacts + [
            False
        ]
        assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]


@pytest.mark.req("L13")
async def test_compaction_requested_during_a_turn_runs_before_the_next_model_call() -> None:
    gate = Gate()
    provider = FakeProvider([[gate, tool_call("look")], SUMMARY, text("ok")])
    async with running_session(provider, tool("look"), restored=RestoredSession(tuple(CHATTY), 0)) as b:
        b.session.submit("go")
        await gate.reached.wait()
        b.session.compact()
        assert compactions(b) == []
        gate.open()
        await b.idle()
        assert compactions(b) == [("request", "started"), ("request", "done")]
        assert b.kinds.index("tool_call_end") < b.kinds.index("compaction")
        assert problem_of(provider.requests[-1].messages) == ""


@pytest.mark.req("L13", "L16")
async def test_an_interrupted_compaction_leaves_the_conversation_unchanged() -> None:
    gate = Gate()
    provider = FakeProvider([[text("half", gate)], text("ok")])
    async with running_session(provider, restored=RestoredSession(tuple(CHATTY), 0)) as b:
        b.session.compact()
        await gate.reached.wait()
        b.session.interrupt()
        await b.idle()
        assert compactions(b) == [("request", "started"), ("request", "interrupted")]
        assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("interrupted")]
        assert b.session.state == "IDLE" and provider.open_streams == 0
        assert b.recorder.turns == []
        await b.say("go on")
        assert len(provider.requests[1].messages) == 1 + 20 + 1


@pytest.mark.req("L13")
async def test_input_sent_during_a_compaction_waits_for_its_end() -> None:
    gate = Gate()
    provider = FakeProvider([[gate, SUMMARY], text("ok")])
    async with running_session(provider, restored=RestoredSession(tuple(CHATTY), 0)) as b:
        b.session.compact()
        await gate.reached.wait()
        assert b.session.submit("go on", when_busy="steer").queued_id
        gate.open()
        await b.idle()
        assert b.kinds.index("user_input") > b.kinds.index("compaction")
        assert provider.requests[1].messages[-1].text == "go on"


@pytest.mark.spec("loop 9.11.4")
@pytest.mark.req("R1", "L13")
async def test_a_request_refused_as_too_long_is_retried_after_one_compaction() -> None:
    provider = FakeProvider([too_long(), SUMMARY, text("ok")])
    async with running_session(provider, restored=RestoredSession(tuple(CHATTY), 0)) as b:
        await b.say("go")
        assert compactions(b) == [("overflow", "started"), ("overflow", "done")]
        assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]
        assert b.recorder.of(Error) == []
        assert provider.requests[-1].messages[-1].text == "go"


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    ("script", "settings", "asked"),
    [
        ([too_long(), SUMMARY, too_long()], {}, 3),
        ([too_long()], {"compaction": "request"}, 1),
        ([too_long(), too_long(), too_long()], {}, 3),
    ],
    ids=["again", "only-on-request", "the-summary-too"],
)
async def test_a_context_length_error_that_compaction_does_not_fix_ends_the_turn_but_not_the_session(
    script: list[Piece], settings: dict[str, Any], asked: int
) -> None:
    provider = FakeProvider(script)
    async with running_session(
        provider, config=config(**settings), restored=RestoredSession(tuple(CHATTY), 0)
    ) as b:
        await b.say("go")
        assert len(provider.requests) == asked
        assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("error")]
        assert [event.error_kind for event in b.recorder.of(Error)] == ["context_length"]
        assert [event.code for event in b.recorder.of(Warning)] == ["context_length"]
        assert b.session.state == "IDLE"


@pytest.mark.req("L13")
async def test_a_failed_summary_continues_the_turn_with_the_whole_conversation() -> None:
    failure = error(AuthenticationError("no", provider="fake"))
    provider = FakeProvider([failure, text("ok"), text("and again")])
    restored = RestoredSession((UserTurn("x" * 400_000, "t"), *CHATTY), 0)
    async with running_session(provider, restored=restored) as b:
        await b.say("go")
        await b.say("go on")
        assert compactions(b) == [
            ("auto", "started"),
            ("auto", "failed"),
        ]  # not tried again until the conversation has grown
        assert len(provider.requests[1].messages) == 1 + 21 + 1
        assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")] * 2


@pytest.mark.req("L14")
@pytest.mark.parametrize(("strategy", "kept"), [("dropOldest", 9), ("slidingWindow", 10)])
async def test_drop_oldest_and_sliding_window_compact_without_a_model_call_and_keep_user_messages(
    strategy: Any, kept: int
) -> None:
    provider = FakeProvider([text("ok")])
    async with running_session(
        provider,
        config=config(strategy=strategy, window_messages=10),
        restored=RestoredSession(tuple(CHATTY), 0),
    ) as b:
        b.session.compact()
        await b.idle()
        assert provider.requests == [] and compactions(b)[-1] == ("request", "done")
        await b.say("go")
        sent = [message.text for message in provider.requests[0].messages]
        assert len(sent) == 1 + 1 + kept + 1 and "- message 3" in sent[1] and "# Summary" not in sent[1]


@pytest.mark.req("O6", "L13")
async def test_the_search_history_tool_is_offered_after_a_compaction_and_finds_removed_turns() -> None:
    calls = [
        tool_call("search_history", '{"query": "MESSAGE 3"}'),
        tool_call("search_history", '{"turn": 4}'),
    ]
    provider = FakeProvider([SUMMARY, calls[0], calls[1], tool_call("search_history", id="c3"), text("ok")])
    async with running_session(provider, tool("look"), restored=RestoredSession(tuple(CHATTY), 0)) as b:
        b.session.compact()
        await b.idle()
        await b.say("what was it?")
        assert [item.name for item in provider.requests[1].tools] == ["look", "search_history"]
        last = provider.requests[-1].messages
        results = [p.content for m in last for p in m.parts if isinstance(p, ToolResultPart)]
        assert results[0] == "[4] t # User\nmessage 3…"
        assert results[1] == "# User\nmessage 3"
        assert "Give `query`" in results[2]


@pytest.mark.req("O6")
async def test_a_lost_prompt_cache_is_reported_with_its_reason_and_a_running_turn_keeps_its_tools() -> None:
    gate = Gate()
    provider = FakeProvider(
        [text("one"), [gate, tool_call("look")], text("two"), text("three"), text("four")]
    )
    async with running_session(provider, tool("look")) as b:
        await b.say("one")
        b.session.submit("two")
        await gate.reached.wait()
        b.session.profile.registry.register(tool("late"))
        gate.open()
        await b.idle(2)
        assert [len(request.tools) for request in provider.requests] == [1, 1, 1]
        assert b.recorder.of(CacheLost) == []
        await b.say("three")
        b.session.configure(config=SessionConfig(user_instructions="Speak French."))
        await b.say("four")
        assert [event.reason for event in b.recorder.of(CacheLost)] == ["tools", "instructions"]
        assert [tool.name for tool in provider.requests[-1].tools] == ["look", "late"]
        assert provider.requests[0].messages[0] == provider.requests[3].messages[0]


@pytest.mark.req("O6", "E6")
async def test_a_cache_dropped_by_the_provider_is_reported() -> None:
    reports = [Usage(9000, 5, None, 0, 8000), Usage(9100, 5, None, 8000, 100), Usage(9200, 5, None, 0, 9200)]
    provider = FakeProvider([[text("a"), end("stop", usage)] for usage in reports])
    async with running_session(provider) as b:
        for words in "abc":
            await b.say(words)
        assert [(event.reason, event.tokens) for event in b.recorder.of(CacheLost)] == [("provider", 9200)]


@pytest.mark.req("L13")
async def test_a_compaction_is_recorded_as_a_turn_with_its_cost() -> None:
    provider = FakeProvider([[SUMMARY, end("stop", Usage(700, 50))]])
    async with running_session(provider, restored=RestoredSession(tuple(CHATTY), 0)) as b:
        b.session.compact()
        await b.idle()
        (turn,) = b.recorder.turns
        assert isinstance(turn, CompactionTurn)
        assert (turn.kept_turns, turn.usage, turn.summary) == (8, Usage(700, 50), "## Goal\nTo be done.")
        order = b.recorder.order
        assert order.index("turn:compaction") < len(order) - 1 - order[::-1].index("compaction")
