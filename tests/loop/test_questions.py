"""ask_user and the state AWAITING_INPUT, think, submit (L15, T7, L3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.loop.events import (
    ProcessingEnd,
    QuestionAnswered,
    QuestionAsked,
    StateChanged,
    ToolCallEnd,
    UserInput,
)
from agent_ls.loop.questions import BadAnswerError, UnknownQuestionError, ends_with_question
from agent_ls.tools.ask_user import ASK_USER
from agent_ls.tools.subagents import SUBAGENT_TOOLS
from agent_ls.tools.submit import SUBMIT
from agent_ls.tools.think import THINK
from tests.support.agents import Cast, spawn, wait_for
from tests.support.fake_provider import CallTool, FakeProvider, problem_of, text, tool_call
from tests.support.sessions import Bench, bench, tool

pytestmark = [pytest.mark.anyio, pytest.mark.req("L15", "T7")]


def ask(question: str = "Which one?", id: str = "ask", **arguments: Any) -> CallTool:
    return tool_call("ask_user", json.dumps({"question": question, **arguments}), id=id)


async def asked(b: Bench) -> QuestionAsked:
    await b.until("question_asked")
    return b.session.questions.pending()[0]


def states(b: Bench) -> list[str]:
    return [event.state for event in b.recorder.of(StateChanged)]


@pytest.mark.req("L3")
async def test_ask_user_waits_in_awaiting_input_and_the_answer_goes_on_with_the_same_input() -> None:
    provider = FakeProvider([ask(choices=["red", "blue"]), text("Blue it is.")])
    async with bench(provider, ASK_USER) as b:
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


async def test_submit_while_a_question_waits_is_its_answer() -> None:
    async with bench(FakeProvider([ask(), text("ok")]), ASK_USER) as b:
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


async def test_questions_when_two_wait_then_messages_answer_them_in_their_order() -> None:
    async with bench(FakeProvider([[ask("one?", "q1"), ask("two?", "q2")], text("ok")]), ASK_USER) as b:
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


async def test_a_declined_question_tells_the_model_to_decide() -> None:
    async with bench(FakeProvider([ask(), text("ok")]), ASK_USER) as b:
        b.session.submit("go")
        question = await asked(b)
        b.session.questions.answer(question.question_id, [], declined=True, by="me")
        await b.idle()
    (ended,) = b.recorder.of(ToolCallEnd)
    assert not ended.is_error and "what you think best" in ended.output


async def test_an_answer_that_does_not_fit_is_refused_and_settles_nothing() -> None:
    async with bench(FakeProvider([ask(choices=["a", "b"]), text("ok")]), ASK_USER) as b:
        b.session.submit("go")
        desk, id_ = b.session.questions, (await asked(b)).question_id
        for answers in ([], ["  "], ["a", "b"]):
            with pytest.raises(BadAnswerError):
                desk.answer(id_, answers, declined=False, by="me")
        with pytest.raises(UnknownQuestionError):
            desk.answer("qu-none", ["a"], declined=False, by="me")
        assert len(desk.pending()) == 1


@pytest.mark.req("L16")
async def test_a_question_when_the_turn_is_interrupted_then_is_declined_and_its_call_has_an_end() -> None:
    provider = FakeProvider([ask()])
    async with bench(provider, ASK_USER) as b:
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
async def test_a_subagent_has_nobody_to_ask() -> None:
    cast = Cast([spawn("work"), wait_for("agent_1")], {"work": [ask(), text("I decided.")]})
    async with bench(cast, ASK_USER, *SUBAGENT_TOOLS) as b:
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
async def test_a_last_text_that_is_a_question_changes_the_label_and_nothing_waits_on_it(
    said: str, state: str
) -> None:
    async with bench(FakeProvider([text(said), text("ok")])) as b:
        await b.say("go")
        assert b.session.state == state and not b.session.is_busy
        await b.say("yes")
        assert b.session.state == "IDLE"
    assert len(b.recorder.of(UserInput)) == 2


async def test_a_question_at_the_end_when_a_follow_up_is_queued_then_changes_no_label() -> None:
    async with bench(FakeProvider([text("Shall I?"), text("ok")])) as b:
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
        ("", False),
    ],
)
def test_ends_with_question(said: str, expected: bool) -> None:
    assert ends_with_question(said) is expected


async def test_think_changes_nothing_and_says_so() -> None:
    async with bench(FakeProvider([tool_call("think", '{"thought": "hm"}')]), THINK) as b:
        await b.say("go")
    assert [end.output for end in b.recorder.of(ToolCallEnd)] == ["Noted."]


@pytest.mark.req("L10")
async def test_submit_ends_the_loop_and_calls_behind_it_are_not_run_and_say_so() -> None:
    calls = [
        tool_call("look", id="a"),
        tool_call("submit", '{"result": "All done."}', id="s"),
        tool_call("look", id="z"),
    ]
    provider = FakeProvider([calls])
    async with bench(provider, SUBMIT, tool("look")) as b:
        await b.say("go")
    ends = {end.call_id: end for end in b.recorder.of(ToolCallEnd)}
    assert ends["s"].output == "All done." and not ends["a"].is_error
    assert ends["z"].error_kind == "not_run" and "submit ended the task" in ends["z"].output
    assert len(provider.requests) == 1
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]
