"""A turn that waits for the user when its session closes continues in the session that resumes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import agent_ls
from agent_ls.llm import ToolResultPart
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


@agent_ls.tool
async def quick() -> str:
    """Return at once."""
    return "It is quick."


@pytest.mark.req("L16")
@pytest.mark.parametrize("waits", [True, False], ids=["for an approval", "for a tool"])
@pytest.mark.parametrize("aborts", [True, False], ids=["abort", "close"])
async def test_closing_keeps_results_and_says_why_other_calls_of_the_round_were_cut(
    tmp_path: Path, waits: bool, aborts: bool
) -> None:
    has_begun = anyio.Event()

    @agent_ls.tool
    async def slow() -> str:
        """Return never."""
        has_begun.set()
        await anyio.sleep_forever()
        return ""

    outside = tmp_path / "outside.txt"
    outside.write_text("x")
    calls = [("quick", {}), ("slow", {}), *([("read_file", {"file_path": str(outside)})] if waits else ())]
    model = agent_ls.ScriptedModel(calls, "Done.", "Done.")
    given = options(tmp_path, model, answers_later=True, trusted=True, tools=[quick, slow])
    session = await agent_ls.open_session(**given)
    session.send("go")
    await has_begun.wait()
    async for event in session.events(since=0):
        if isinstance(event, agent_ls.ApprovalRequested if waits else agent_ls.ToolCallEnd):
            break
    if aborts:
        session.abort()
    await session.close()
    async with agent_ls.open_session(**given, resume=session.id) as session:
        for request in session.pending():
            assert isinstance(request, agent_ls.ApprovalRequested)
            session.approve(request.request_id, True)
        if session.is_busy:
            await turn_end(session)
        else:
            await session.ask("And?")
    results = [part for message in model.requests[-1].messages for part in message.parts]
    texts = {part.name: part.content for part in results if isinstance(part, ToolResultPart)}
    assert texts["quick"] == "It is quick."
    assert texts["slow"] == "Interrupted by the closing of the session before it finished."


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


@pytest.mark.req("P1")
@pytest.mark.parametrize("waits", [True, False])
async def test_a_session_is_resumed_with_another_provider_if_its_own_one_is_gone(
    waits: bool, tmp_path: Path
) -> None:
    given = options(
        tmp_path, FakeProvider([WRITE if waits else text("Hello.")]), answers_later=True, trusted=True
    )
    given |= {"provider": "one", "adapters": {"one": given["adapters"]["anthropic"]}}
    session = await agent_ls.open_session(**given)
    if waits:
        await end_waiting(session)
    else:
        async with session:
            await session.ask("go")
    two = FakeProvider([text("Here I am.")])
    given |= {"provider": "two", "adapters": {"two": two}}
    async with agent_ls.open_session(**given, resume=session.id) as again:
        if waits:
            (request,) = again.pending()
            assert isinstance(request, agent_ls.ApprovalRequested)
            again.approve(request.request_id, True)
            assert (await turn_end(again)).reason == "completed"
            assert (tmp_path / "project/new.txt").exists()
        else:
            assert await again.ask("and?") == "Here I am."
    assert [request.provider for request in two.requests] == ["two"]


async def test_a_program_can_wait_for_the_end_of_a_resumed_turn(tmp_path: Path) -> None:
    model = FakeProvider([WRITE, text("Done."), text("Next.")])
    given = options(tmp_path, model, trusted=True)
    session = await agent_ls.open_session(**given, answers_later=True)
    await end_waiting(session)
    async with agent_ls.open_session(**given, approve=lambda request: True, resume=session.id) as session:
        with pytest.raises(agent_ls.SessionBusyError, match="wait_until_idle"):
            session.run("Next?")
        await session.wait_until_idle()
        assert not session.is_busy
        assert await session.ask("Next?") == "Next."
        await session.wait_until_idle()


async def test_waiting_for_an_idle_session_includes_queued_messages(tmp_path: Path) -> None:
    model = FakeProvider([text("One."), text("Two.")])
    async with agent_ls.open_session(**options(tmp_path, model, trusted=True)) as session:
        session.send("first")
        session.follow_up("second")
        await session.wait_until_idle()
        assert len(model.requests) == 2 and not session.queue


async def test_the_end_of_a_session_ends_the_wait_for_it(tmp_path: Path) -> None:
    given = options(tmp_path, FakeProvider([WRITE]), answers_later=True, trusted=True)
    session = await agent_ls.open_session(**given)
    async for event in session.run("go"):
        if isinstance(event, agent_ls.ApprovalRequested):
            break
    async with anyio.create_task_group() as group:
        group.start_soon(session.wait_until_idle)
        await anyio.lowlevel.checkpoint()
        await session.close()
    with pytest.raises(agent_ls.SessionClosedError):
        await session.wait_until_idle()


def test_a_program_without_an_event_loop_waits_too(tmp_path: Path) -> None:
    given = options(tmp_path, FakeProvider([text("One."), text("Two.")]), trusted=True)
    with agent_ls.open_session_sync(**given) as session:
        session.send("first")
        session.wait_until_idle()
        assert session.ask("second") == "Two."


@pytest.mark.req("X8")
@pytest.mark.parametrize("mode", ["plan", "ask"])
async def test_a_program_is_asked_about_a_waiting_call_only_if_the_mode_of_now_does_not_refuse_it(
    mode: agent_ls.Mode, tmp_path: Path
) -> None:
    asked: list[str] = []

    def approve(request: agent_ls.ApprovalRequested) -> bool:
        asked.append(request.request_id)
        return True

    model = FakeProvider([call("shell", command="touch made"), text("Done.")])
    given = options(tmp_path, model, trusted=True)
    waited = await end_waiting(session := await agent_ls.open_session(**given, answers_later=True))
    assert isinstance(waited, agent_ls.ApprovalRequested)
    async with agent_ls.open_session(**given, mode=mode, approve=approve, resume=session.id) as session:
        await session.wait_until_idle()
    assert asked == ([] if mode == "plan" else [waited.request_id])
    assert (tmp_path / "project/made").exists() is (mode == "ask")
