"""Failing model calls: retries, and the effect of each error on the session (requirement R1)."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from anyio.lowlevel import checkpoint

from agent_ls.llm import errors
from agent_ls.llm.requests import FinishReason, Request, Usage
from agent_ls.llm.stream import StreamEvent, StreamFinish
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.events.types import (
    AssistantTextEnd,
    Error,
    ProcessingEnd,
    Retry,
    SessionEnd,
    ToolCallEnd,
    Warning,
)
from agent_ls.loop.model.failures import KEPT, failure_of
from agent_ls.loop.turns import AssistantTurn
from tests.support.fake_provider import (
    BreakOff,
    FakeProvider,
    Gate,
    end,
    error,
    problem_of,
    text,
    tool_call,
)
from tests.support.sessions import running_session, tool


@pytest.mark.spec("loop 9.11.2")
@pytest.mark.req("U8", "R1")
async def test_a_retryable_error_is_retried_after_an_announced_delay() -> None:
    overloaded = errors.OverloadedError("Overloaded.")
    limited = errors.RateLimitError("Slow down.", retry_after_s=7.0)
    provider = FakeProvider([error(overloaded), error(limited), text("Here I am.")])
    async with running_session(provider) as b:
        b.session.submit("go")
        await b.until("retry")
        b.clock.advance(1)
        await b.until("retry", 2)
        assert len(provider.requests) == 2
        b.clock.advance(7)
        await b.idle()
    assert b.recorder.of(Retry) == [
        Retry(1, 1000, "overloaded", "Overloaded."),
        Retry(2, 7000, "rate_limit", "Slow down."),
    ]
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]
    assert b.recorder.of(Error) == []


@pytest.mark.req("R1")
async def test_when_retries_are_used_up_the_error_is_reported_and_the_session_continues() -> None:
    failing = [error(errors.NetworkError("No connection."))] * 3
    provider = FakeProvider([*failing, text("Better.")])
    async with running_session(provider) as b:
        b.session.submit("go")
        b.session.follow_up("queued")
        for attempt in (1, 2):
            await b.until("retry", attempt)
            b.clock.advance(60)
        await b.idle()
        assert b.session.state == "IDLE"
        assert [item.text for item in b.session.queue] == ["queued"]
        await b.say("again")
    assert b.recorder.of(Error) == [
        Error(
            "No connection.",
            "network",
            "Send the message again in a few minutes.",
            retryable=True,
            action="retry",
        )
    ]
    assert b.recorder.of(ProcessingEnd)[0] == ProcessingEnd("error")


@pytest.mark.req("U8", "R4")
async def test_a_model_call_that_fails_after_its_first_delta_is_not_retried_and_its_text_is_kept() -> None:
    provider = FakeProvider([[text("Half a"), error(errors.StreamError("It broke off."))], text("ok")])
    async with running_session(provider) as b:
        await b.say("go")
        await b.say("go on")
    assert b.recorder.of(Retry) == []
    assert [(it.error_kind, it.action) for it in b.recorder.of(Error)] == [("stream_cut", "continue")]
    kept = b.recorder.turns[1]
    assert isinstance(kept, AssistantTurn)
    assert kept.content == "Half a"
    assert [message.text for message in provider.requests[1].messages[1:]] == ["go", "Half a", "go on"]


@pytest.mark.req("R5")
async def test_a_stream_without_its_end_is_an_error_and_its_calls_do_not_run() -> None:
    provider = FakeProvider([[text("I"), tool_call("look"), BreakOff()]])
    async with running_session(provider, tool("look")) as b:
        await b.say("go")
        await b.say("again")
    assert [it.error_kind for it in b.recorder.of(ToolCallEnd)] == ["not_run"]
    assert [(it.error_kind, it.action) for it in b.recorder.of(Error)] == [("stream_cut", "continue")]
    assert [event.text for event in b.recorder.of(AssistantTextEnd)] == ["I", "done"]
    assert problem_of(provider.requests[1].messages) == ""


CLOSING: list[errors.LlmError] = [
    errors.AuthenticationError("The key is wrong.", hint="Check it."),
    errors.PermissionDeniedError("Not for you."),
    errors.NotFoundError("No such model."),
    errors.QuotaExceededError("No money left."),
    errors.InvalidRequestError("Bad request."),
    errors.ContentFilterError("Not that."),
]


@pytest.mark.spec("loop 9.11.3")
@pytest.mark.req("R1", "L8")
@pytest.mark.parametrize("failure", CLOSING, ids=[failure.kind for failure in CLOSING])
async def test_a_permanent_error_is_reported_at_once_and_closes_the_session(
    failure: errors.LlmError,
) -> None:
    async with running_session(FakeProvider([error(failure)])) as b:
        b.session.submit("go")
        b.session.follow_up("queued")
        await b.ended.wait()
        assert b.session.state == "CLOSED"
    reported = b.recorder.of(Error)
    assert [(event.message, event.error_kind, event.retryable) for event in reported] == [
        (str(failure), failure.kind, False)
    ]
    assert reported[0].hint
    assert b.kinds[-4:] == ["error", "state", "processing_end", "session_end"]
    assert b.recorder.of(SessionEnd) == [SessionEnd("CLOSED", "error")]


ACTIONS: list[tuple[errors.LlmError, str]] = [
    (errors.MissingKeyError("No key."), "setKey"),
    (errors.AuthenticationError("Wrong."), "setKey"),
    (errors.PermissionDeniedError("Not for you."), "chooseModel"),
    (errors.NotFoundError("No such model."), "chooseModel"),
    (errors.QuotaExceededError("No money left."), "chooseModel"),
    (errors.InvalidRequestError("Bad request."), "chooseModel"),
    (errors.ContextLengthError("Too long."), "chooseModel"),
    (errors.ContentFilterError("Not that."), "chooseModel"),
    (errors.RunawayError("Again and again."), "retry"),
    (errors.NetworkError("No connection."), "retry"),
    (errors.StreamError("It broke off."), "retry"),
]


@pytest.mark.req("H28")
@pytest.mark.parametrize(("failure", "action"), ACTIONS, ids=[type(it).__name__ for it, _ in ACTIONS])
def test_each_error_has_an_action(failure: errors.LlmError, action: str) -> None:
    event = failure_of(failure, has_answers=False).events[-1]
    assert isinstance(event, Error)
    assert (event.action, bool(event.hint)) == (action, True)


@pytest.mark.req("H28")
async def test_an_answer_that_the_content_filter_stopped_has_an_action() -> None:
    async with running_session(FakeProvider([[text("No"), end("content_filter")]])) as b:
        await b.say("go")
    assert [it.action for it in b.recorder.of(Error)] == ["chooseModel"]


@pytest.mark.req("R1", "U8")
@pytest.mark.parametrize("has_answers", [False, True])
async def test_only_a_conversation_with_an_answer_is_said_to_be_kept(has_answers: bool) -> None:
    answers = [text("Hello.")] if has_answers else []
    async with running_session(FakeProvider([*answers, error(CLOSING[0])])) as b:
        for _ in answers:
            await b.say("hello")
        b.session.submit("go")
        await b.ended.wait()
    (reported,) = b.recorder.of(Error)
    assert (KEPT in reported.hint) is has_answers


@pytest.mark.spec("loop 9.11.4")
@pytest.mark.req("R1")
async def test_a_conversation_that_is_too_long_is_a_warning_and_the_session_continues() -> None:
    async with running_session(FakeProvider([error(errors.ContextLengthError("Too long."))])) as b:
        await b.say("go")
        assert b.session.state == "IDLE"
        await b.say("again")
    assert [event.code for event in b.recorder.of(Warning)] == ["context_length"]
    assert [event.error_kind for event in b.recorder.of(Error)] == ["context_length"]


@pytest.mark.req("U12")
async def test_a_missing_key_is_an_error_with_a_hint_and_the_session_continues() -> None:
    failure = errors.ConfigurationError("No key for fake.", hint="Set FAKE_API_KEY.")
    async with running_session(FakeProvider([error(failure)])) as b:
        await b.say("go")
        await b.say("again")
    assert b.recorder.of(Error) == [Error("No key for fake.", "configuration", "Set FAKE_API_KEY.")]
    assert [event.reason for event in b.recorder.of(ProcessingEnd)] == ["error", "completed"]


class BrokenProvider(FakeProvider):
    """Raises an exception that adapters must not raise."""

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        self.requests.append(request)
        await checkpoint()
        if len(self.requests) == 1:
            raise ZeroDivisionError("a bug in the adapter")
        yield StreamFinish(FinishReason("stop"), Usage(), {})


@pytest.mark.req("R5")
async def test_an_internal_error_ends_the_turn_but_not_the_session(caplog: pytest.LogCaptureFixture) -> None:
    async with running_session(BrokenProvider()) as b:
        await b.say("go")
        await b.say("again")
    assert [event.error_kind for event in b.recorder.of(Error)] == ["internal"]
    assert [event.reason for event in b.recorder.of(ProcessingEnd)] == ["error", "completed"]
    assert "session s-1 failed" in caplog.text


@pytest.mark.req("L16")
async def test_interrupt_ends_the_wait_for_a_retry() -> None:
    provider = FakeProvider([error(errors.ServerError("500"))])
    async with running_session(provider, config=SessionConfig()) as b:
        b.session.submit("go")
        await b.until("retry")
        b.session.interrupt()
        await b.idle()
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("interrupted")]
    assert len(provider.requests) == 1


@pytest.mark.req("U8")
async def test_a_model_error_after_a_tool_round_keeps_the_tool_results_in_the_history() -> None:
    gate = Gate()
    gate.open()
    provider = FakeProvider([tool_call("look"), [gate, error(errors.NotFoundError("gone"))]])
    async with running_session(provider, tool("look")) as b:
        b.session.submit("go")
        await b.ended.wait()
        assert problem_of(b.session.history.messages("")) == ""
    assert [turn.type for turn in b.recorder.turns] == ["user", "assistant", "tool_results"]


@pytest.mark.req("U8")
@pytest.mark.parametrize(("wait_s", "words"), [(90.2, "91 s"), (3600.0, "60 minutes")])
async def test_a_retry_delay_that_is_too_long_is_reported(wait_s: float, words: str) -> None:
    limited = errors.RateLimitError("Slow down.", retry_after_s=wait_s)
    async with running_session(FakeProvider([error(limited)])) as b:
        await b.say("go")
    (reported,) = b.recorder.of(Error)
    assert b.recorder.of(Retry) == []
    assert words in reported.hint
