"""ask_user and the state AWAITING_INPUT, think, submit (L15, T7, L3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.loop.events.types import (
    ProcessingEnd,
    QuestionAnswered,
    QuestionAsked,
    StateChanged,
    ToolCallEnd,
    UserInput,
)
from agent_ls.loop.questions import BadAnswerError, UnknownQuestionError, ends_with_question
from agent_ls.tools.ask_user import ASK_QUESTIONS, ASK_USER
from agent_ls.tools.subagents import SUBAGENT_TOOLS
from agent_ls.tools.submit import SUBMIT
from agent_ls.tools.think import THINK
from tests.support.agents import Cast, spawn, wait_for
from tests.support.fake_provider import CallTool, FakeProvider, problem_of, text, tool_call
from tests.support.sessions import RunningSession, running_session, tool

pytestmark = pytest.mark.req("L15", "T7")


def ask(question: str = "Which one?", id: str = "ask", **arguments: Any) -> CallTool:
    return tool_call("ask_user", json.dumps({"question": question, **arguments}), id=id)


async def asked(b: RunningSession) -> QuestionAsked:
    await b.until("question_asked")
    return b.session.questions.pending()[0]


def states(b: RunningSession) -> list[str]:
    return [event.state for event in b.recorder.of(StateChanged)]


@pytest.mark.req("P7")
async def test_questions_of_one_call_are_asked_one_after_the_other() -> None:
    """The call has the arguments of Claude Code and gemini-cli: several questions, and options with descriptions."""
    colours = [{"label": "red", "description": "warm"}, {"label": "blue"}]
    given = {
        "questions": [
            {"question": "Which colour?", "header": "Colour", "options": colours, "multiSelect": False},
            {
                "question": "Which rooms?",
                "options": [{"label": "hall"}, {"label": "loft"}],
                "multiSelect": True,
            },
        ]
    }
    provider = FakeProvider([tool_call("ask_user", json.dumps(given), id="ask"), text("Done.")])
    async with running_session(provider, ASK_QUESTIONS) as b:
        b.session.submit("paint it")
        first = await asked(b)
        assert (first.question, first.choices) == ("Which colour?\nred: warm", ("red", "blue"))
        b.session.questions.answer(first.question_id, ["blue"], declined=False, by="me")
        await b.until("question_asked", 2)
        (second,) = b.session.questions.pending()
        assert (second.question, second.multiple) == ("Which rooms?", True)
        b.session.questions.answer(second.question_id, ["hall", "loft"], declined=False, by="me")
        await b.idle()
    (end,) = b.recorder.of(ToolCallEnd)
    assert end.output == (
        "Which colour?\nThe user answers:\nblue\n\nWhich rooms?\nThe user answers:\nhall\nloft"
    )


@pytest.mark.req("L3")
async def test_ask_user_waits_in_awaiting_input_and_the_answer_continues_the_same_input() -> None:
    provider = FakeProvider([ask(choices=["red", "blue"]), text("Blue it is.")])
    async with running_session(provider, ASK_USER) as b:
        b.session.submit("paint it")
        question = await asked(b)
        assert (question.question, question.choices, question.call_id) == (
            "Which one?",
            ("red", "blue"),
            "ask",
        )
        assert b.session.state == "AWAITING_INPUT" and b.session.is_busy
        answered = b.session.questions.answer(question.question_id, ["blue"], declined=False, by="me")
        late = b.session.questions.answer(question.question_id, ["red"], declined=False, by="you")
        assert late is answered
        await b.idle()
    assert states(b) == ["PROCESSING", "AWAITING_INPUT", "PROCESSING", "IDLE", "CLOSED"]
    assert [end.output for end in b.recorder.of(ToolCallEnd)] == ["The user answers:\nblue"]
    assert len(b.recorder.of(UserInput)) == 1 and len(b.recorder.of(ProcessingEnd)) == 1


async def test_submit_while_a_question_is_pending_answers_it() -> None:
    async with running_session(FakeProvider([ask(), text("ok")]), ASK_USER) as b:
        turn_id = b.session.submit("go").turn_id
        await asked(b)
        said = b.session.submit("the second", client_key="key-1")
        assert said.turn_id == turn_id
        assert b.session.submit("the second", client_key="key-1") == said
        await b.idle()
    (answered,) = b.recorder.of(QuestionAnswered)
    assert (answered.answers, answered.decided_by, answered.client_key) == (
        ("the second",),
        "submit",
        "key-1",
    )
    assert len(b.recorder.of(UserInput)) == 1


async def test_two_pending_questions_are_answered_in_their_order() -> None:
    async with running_session(
        FakeProvider([[ask("one?", "q1"), ask("two?", "q2")], text("ok")]), ASK_USER
    ) as b:
        b.session.submit("go")
        await b.until("question_asked", 2)
        b.session.submit("first")
        assert b.session.state == "AWAITING_INPUT"
        b.session.submit("second")
        await b.idle()
    assert {end.call_id: end.output.split("\n")[1] for end in b.recorder.of(ToolCallEnd)} == {
        "q1": "first",
        "q2": "second",
    }


async def test_a_declined_question_makes_the_model_decide() -> None:
    async with running_session(FakeProvider([ask(), text("ok")]), ASK_USER) as b:
        b.session.submit("go")
        question = await asked(b)
        b.session.questions.answer(question.question_id, [], declined=True, by="me")
        await b.idle()
    (ended,) = b.recorder.of(ToolCallEnd)
    assert not ended.is_error and "you think best" in ended.output


async def test_an_invalid_answer_is_refused_and_resolves_nothing() -> None:
    async with running_session(FakeProvider([ask(choices=["a", "b"]), text("ok")]), ASK_USER) as b:
        b.session.submit("go")
        questions, id_ = b.session.questions, (await asked(b)).question_id
        for answers in ([], ["  "], ["a", "b"]):
            with pytest.raises(BadAnswerError):
                questions.answer(id_, answers, declined=False, by="me")
        with pytest.raises(UnknownQuestionError):
            questions.answer("qu-none", ["a"], declined=False, by="me")
        assert len(questions.pending()) == 1


@pytest.mark.req("L16")
async def test_an_interrupt_declines_a_question_and_ends_its_call() -> None:
    provider = FakeProvider([ask()])
    async with running_session(provider, ASK_USER) as b:
        b.session.submit("go")
        await asked(b)
        b.session.interrupt()
        await b.idle()
        assert b.session.questions.pending() == ()
        await b.say("again")
    assert [(it.declined, it.decided_by) for it in b.recorder.of(QuestionAnswered)] == [(True, "interrupt")]
    assert [end.error_kind for end in b.recorder.of(ToolCallEnd)] == ["interrupted"]
    assert problem_of(provider.requests[-1].messages) == ""


@pytest.mark.req("A1")
async def test_a_subagent_cannot_ask_the_user() -> None:
    cast = Cast([spawn("work"), wait_for("agent_1")], {"work": [ask(), text("I decided.")]})
    async with running_session(cast, ASK_USER, *SUBAGENT_TOOLS) as b:
        await b.say("go")
    assert "ask_user" not in {tool.name for tool in cast.agents["work"].requests[0].tools}
    assert b.recorder.of(QuestionAsked) == []


@pytest.mark.req("L3")
@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("Done. Shall I go on?", "AWAITING_INPUT"),
        ("**Which one?**\n", "AWAITING_INPUT"),
        ("Why? Because.", "IDLE"),
    ],
)
async def test_a_turn_that_ends_with_a_question_sets_awaiting_input_without_being_busy(
    said: str, state: str
) -> None:
    async with running_session(FakeProvider([text(said), text("ok")])) as b:
        await b.say("go")
        assert b.session.state == state and not b.session.is_busy
        await b.say("yes")
        assert b.session.state == "IDLE"
    assert len(b.recorder.of(UserInput)) == 2


async def test_a_final_question_does_not_set_awaiting_input_if_a_follow_up_is_queued() -> None:
    async with running_session(FakeProvider([text("Shall I?"), text("ok")])) as b:
        b.session.submit("go")
        b.session.follow_up("more")
        await b.idle()
    assert "AWAITING_INPUT" not in states(b)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("a?", True),
        ('He asked: "why?"', True),
        ("(or not?) ", True),
        ("a? b.", False),
        ("```\na?\n```", True),
        ("Shall I go on? \U0001f642", True),
        ("Is that all?! \u2764\ufe0f", True),
        ("Is it? Yes! \u2728", False),
        ("\U0001f642", False),
        ("", False),
    ],
)
def test_ends_with_question_ignores_closing_quotes_brackets_and_code_fences(
    said: str, expected: bool
) -> None:
    assert ends_with_question(said) is expected


async def test_the_think_tool_only_returns_a_confirmation() -> None:
    async with running_session(FakeProvider([tool_call("think", '{"thought": "hm"}')]), THINK) as b:
        await b.say("go")
    assert [end.output for end in b.recorder.of(ToolCallEnd)] == ["Noted."]


@pytest.mark.req("L10")
async def test_the_submit_tool_ends_the_turn_and_later_tool_calls_are_not_run() -> None:
    calls = [
        tool_call("look", id="a"),
        tool_call("submit", '{"result": "All done."}', id="s"),
        tool_call("look", id="z"),
    ]
    provider = FakeProvider([calls])
    async with running_session(provider, SUBMIT, tool("look")) as b:
        await b.say("go")
    ends = {end.call_id: end for end in b.recorder.of(ToolCallEnd)}
    assert ends["s"].output == "All done." and not ends["a"].is_error
    assert ends["z"].error_kind == "not_run" and "ended the task" in ends["z"].output
    assert len(provider.requests) == 1
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]
