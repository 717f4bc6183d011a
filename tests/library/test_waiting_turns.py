"""A turn that waits for the user when its session closes continues in the session that resumes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("H13", "L15", "R4", "X8")

WRITE = call("write_file", file_path="new.txt", content="x\n")


@pytest.fixture
def unknown_trust(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TRUST_VARIABLE, raising=False)


waits_for_trust = pytest.mark.usefixtures("unknown_trust")


async def end_waiting(
    session: agent_ls.AgentSession, text: str = "go"
) -> agent_ls.ApprovalRequested | agent_ls.QuestionAsked:
    """Start a turn, close the session when the turn waits for an answer, and return the request."""
    async with session:
        async for event in session.run(text):
            if isinstance(event, agent_ls.ApprovalRequested | agent_ls.QuestionAsked):
                return event
    raise AssertionError("the turn did not wait")


async def turn_end(session: agent_ls.AgentSession) -> agent_ls.ProcessingEnd:
    async for event in session.events():
        if isinstance(event, agent_ls.ProcessingEnd):
            return event
    raise AssertionError("the session ended before the turn")


@waits_for_trust
@pytest.mark.parametrize("trusts", [True, False])
async def test_a_turn_that_waits_for_trust_survives_the_end_of_the_session(
    tmp_path: Path, trusts: bool
) -> None:
    model = FakeProvider([WRITE, text("Done.")])
    given = options(tmp_path, model, mode="edits", answers_later=True)
    session = await agent_ls.open_session(**given)
    asked = await end_waiting(session)
    async with agent_ls.open_session(**given, resume=session.id) as session:
        assert session.is_busy and session.state == "AWAITING_INPUT"
        (request,) = session.pending()
        assert isinstance(request, agent_ls.ApprovalRequested) and request.as_json() == asked.as_json()
        assert not model.requests
        session.approve(request.request_id, trusts)
        ended = await turn_end(session)
        assert (ended.reason, ended.turn_id) == ("completed" if trusts else "refused", asked.turn_id)
        assert not session.pending()
    assert [message.text for message in model.requests[0].messages if message.role == "user"] == ["go"]
    assert (tmp_path / "project/new.txt").exists() is trusts


@waits_for_trust
async def test_a_later_turn_that_waits_for_trust_asks_it_once_more(tmp_path: Path) -> None:
    """The second turn has a system prompt of the first, which another program trusted."""
    model = FakeProvider([text("One."), text("Two.")])
    given = options(tmp_path, model, answers_later=True)
    async with agent_ls.open_session(**given, trusted=True) as session:
        await session.ask("first")
    asked = await end_waiting(await agent_ls.open_session(**given, resume=session.id))
    async with agent_ls.open_session(**given, resume=session.id) as session:
        (request,) = session.pending()
        assert isinstance(request, agent_ls.ApprovalRequested) and request.as_json() == asked.as_json()
        session.approve(request.request_id, True)
        assert (await turn_end(session)).reason == "completed"


@waits_for_trust
@pytest.mark.parametrize(
    "reply", [{"trusted": True}, {"approve": lambda request: True}], ids=["trusted", "approve"]
)
async def test_a_program_that_decides_by_itself_continues_a_turn_that_waited_for_trust(
    tmp_path: Path, reply: dict[str, Any]
) -> None:
    model = FakeProvider([WRITE, text("Done.")])
    given = options(tmp_path, model, mode="edits")
    session = await agent_ls.open_session(**given, answers_later=True)
    await end_waiting(session)
    async with agent_ls.open_session(**given, **reply, resume=session.id) as session:
        assert (await turn_end(session)).reason == "completed"
        assert not session.pending()
    assert (tmp_path / "project/new.txt").read_text() == "x\n"


@waits_for_trust
async def test_interrupting_a_resumed_turn_that_waits_for_trust_withdraws_the_request(tmp_path: Path) -> None:
    given = options(tmp_path, FakeProvider([text("Hello.")]), answers_later=True)
    session = await agent_ls.open_session(**given)
    await end_waiting(session)
    async with agent_ls.open_session(**given, resume=session.id) as session:
        session.interrupt()
        assert (await turn_end(session)).reason == "interrupted"
        assert not session.pending()


@pytest.mark.parametrize("limit", ["tokensPerSession", "tokensPerInput"])
async def test_a_limit_is_asked_about_once_after_a_resume(tmp_path: Path, limit: str) -> None:
    model = FakeProvider([call("read_file", file_path="none"), text("Done.")])
    given = options(tmp_path, model, answers_later=True, trusted=True, settings={"limits": {limit: 15}})
    await end_waiting(session := await agent_ls.open_session(**given))
    async with agent_ls.open_session(**given, resume=session.id) as session:
        (question,) = session.pending()
        assert isinstance(question, agent_ls.QuestionAsked)
        session.reply(question.question_id, question.choices[0])
        with anyio.fail_after(120):
            ended = await turn_end(session)
        assert ended.reason == "completed" and len(model.requests) == 2


async def test_a_resumed_session_informs_the_model_of_a_subagent_that_waited(tmp_path: Path) -> None:
    model = FakeProvider([call("spawn_agent", task="Make new.txt."), call("wait", agent_id="agent_1")])
    given = options(tmp_path, model, answers_later=True, trusted=True)
    given["adapters"] |= {"sub": FakeProvider([call("shell", command="touch new.txt")])}
    given["settings"] = {"models": {"subagents": "sub/x"}}
    asked = await end_waiting(session := await agent_ls.open_session(**given))
    assert asked.agent_id == "agent_1"
    for informs in (True, False):  # the notice is sent once
        async with agent_ls.open_session(**given, resume=session.id) as session:
            assert session.state == "IDLE" and not session.pending()
            asked_before = len(model.requests)
            await session.ask("And?")
        (request,) = model.requests[asked_before:]
        last = [message.text for message in request.messages][-2 if informs else -1 :]
        assert last[-1] == "And?" and any("agent_1 (Make new.txt.)" in text for text in last) is informs
