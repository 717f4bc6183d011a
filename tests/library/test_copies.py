"""A session is copied, gets messages without a reader, and says by class why `ask` failed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest

import agent_ls
from agent_ls.llm import Request, StreamEvent
from agent_ls.llm.errors import OverloadedError
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, Gate, error, text
from tests.support.git import git

pytestmark = pytest.mark.req("H13", "H2")

DEADLINE_S = 120


async def test_a_copy_continues_with_the_history_and_the_original_does_not_change(tmp_path: Path) -> None:
    model = FakeProvider([text("One."), text("Two."), text("Copied."), text("Three.")])
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, model)) as session:
            first = [event async for event in session.run("first")][-1].turn_id
            await session.ask("second")
            copy = await session.fork(first)
            async with agent_ls.open_session(**options(tmp_path, model, resume=copy)) as other:
                assert other.id == copy != session.id
                assert await other.ask("another second") == "Copied."
            assert await session.ask("third") == "Three."
    assert [it.text for it in model.requests[2].messages[1:]] == ["first", "One.", "another second"]
    assert [it.text for it in model.requests[3].messages[1:]] == ["first", "One.", "second", "Two.", "third"]


async def test_a_copy_leaves_out_the_turn_that_runs(tmp_path: Path) -> None:
    gate = Gate()
    model = FakeProvider([text("One."), text("Half", gate), text("Copied.")])
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, model)) as session:
            await session.ask("first")
            session.send("second")
            await gate.reached.wait()
            copy = await session.fork()
            gate.open()
            async with agent_ls.open_session(**options(tmp_path, model, resume=copy)) as other:
                assert await other.ask("new") == "Copied."
    assert [it.text for it in model.requests[2].messages[1:]] == ["first", "One.", "new"]


@pytest.mark.parametrize("turn_id", ["t-none", "none"])
async def test_a_copy_up_to_an_unknown_turn_is_refused(tmp_path: Path, turn_id: str) -> None:
    async with agent_ls.open_session(**options(tmp_path, FakeProvider([text("One.")]))) as session:
        await session.ask("first")
        with pytest.raises(agent_ls.AppError):
            await session.fork(turn_id)


async def test_a_session_that_is_not_stored_cannot_be_copied(tmp_path: Path) -> None:
    given = options(tmp_path, FakeProvider([text("One.")]), stored=False, state_dir=None)
    async with agent_ls.open_session(**given) as session:
        await session.ask("first")
        with pytest.raises(agent_ls.AppError) as caught:
            await session.fork()
    assert "state_dir" in caught.value.hint


@pytest.mark.parametrize("is_copy", [True, False])
async def test_a_session_of_the_folder_itself_is_not_resumed_in_a_worktree(
    tmp_path: Path, is_copy: bool
) -> None:
    model = FakeProvider([text("One.")])
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        await session.ask("first")
        resumed = await session.fork() if is_copy else session.id
    with pytest.raises(agent_ls.BadChoiceError, match="worktree") as caught:
        await agent_ls.open_session(**options(tmp_path, model, resume=resumed, worktree="head"))
    assert "new session" in caught.value.hint


async def test_a_session_of_a_worktree_is_resumed_in_it_with_and_without_the_argument(tmp_path: Path) -> None:
    model = FakeProvider([text("One."), text("Two."), text("Three.")])
    given = options(tmp_path, model, trusted=True)
    project = tmp_path / "project"
    git(project, "init", "--quiet")
    git(project, "commit", "--quiet", "--allow-empty", "--message", "Begin")
    async with agent_ls.open_session(**given, worktree="head") as session:
        await session.ask("first")
    given["resume"] = session.id
    for more in ({}, {"worktree": "head"}):
        async with agent_ls.open_session(**given | more) as session:
            await session.ask("next")
            assert await session.bring_changes() == []


async def test_a_message_starts_a_turn_steers_it_and_starts_the_next_one(tmp_path: Path) -> None:
    gate = Gate()
    model = FakeProvider([[gate, call("glob", pattern="*")], text("Steered."), text("Next.")])
    kinds: list[str] = []
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, model)) as session:
            events = session.events()
            session.send("go")
            await gate.reached.wait()
            session.send("faster")
            with pytest.raises(agent_ls.SessionBusyError):
                session.send("no", when_busy="refuse")
            gate.open()
            async for event in events:
                kinds.append(event.kind)
                if event.kind == "processing_end" and kinds.count("processing_end") == 1:
                    session.send("again")
                elif event.kind == "processing_end":
                    break
    assert kinds.count("user_input") == 2 and kinds.count("steering_injected") == 1
    assert model.requests[-1].messages[-1].text == "again"


async def test_a_message_answers_the_question_that_waits(tmp_path: Path) -> None:
    model = FakeProvider([call("ask_user", question="Which?", options=["left", "right"]), text("Left.")])
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, model, answers_later=True)) as session:
            async for event in session.run("go"):
                if isinstance(event, agent_ls.QuestionAsked):
                    session.send("left")
                if isinstance(event, agent_ls.QuestionAnswered):
                    assert event.answers == ("left",)


async def test_ask_says_by_class_whether_a_limit_or_an_error_ended_the_turn(tmp_path: Path) -> None:
    model = FakeProvider(
        [call("glob", pattern="*"), error(OverloadedError("Busy.", hint="Wait.")), text("On.")]
    )
    given = options(tmp_path, model, settings={"maxToolRoundsPerInput": 1, "retry": {"maxRetries": 0}})
    async with agent_ls.open_session(**given) as session:
        with pytest.raises(agent_ls.TurnFailedError) as limit:
            await session.ask("go")
        with pytest.raises(agent_ls.TurnFailedError) as failed:
            await session.ask("go on")
        assert await session.ask("go on") == "On."
    assert (limit.value.reason, failed.value.reason) == ("limit", "error") and limit.value.hint
    assert failed.value.retryable and failed.value.kind == OverloadedError.kind and failed.value.hint


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "not stored"])
async def test_a_closed_session_says_that_it_is_closed_and_not_why_it_cannot_be_copied(
    stored: bool, tmp_path: Path
) -> None:
    given = options(tmp_path, FakeProvider([])) | ({} if stored else {"stored": False, "state_dir": None})
    async with agent_ls.open_session(**given) as session:
        pass
    with pytest.raises(agent_ls.SessionClosedError):
        await session.fork()


@pytest.mark.req("H18")
async def test_a_limit_of_a_copy_counts_only_what_the_copy_spends(tmp_path: Path) -> None:
    def open_one(resume: str = "") -> agent_ls.SessionOpening:
        usage = agent_ls.Usage(input_tokens=10, output_tokens=5, reported_cost_usd=0.5)
        model = agent_ls.ScriptedModel("One.", "Two.", "Three.", usage=usage)
        limits = {"limits": {"costUsdPerSession": 0.9, "tokensPerSession": 29}}
        return agent_ls.open_session(**options(tmp_path, model, settings=limits), resume=resume)

    async with open_one() as session:
        await session.ask("first")
        copy = await session.fork()
    async with open_one(copy) as session:
        assert (session.usage.input_tokens, session.cost_usd) == (10, 0.5)
        await session.ask("second")
        again = await session.fork()
    async with open_one(copy) as session:
        await session.ask("third")
        with pytest.raises(agent_ls.TurnFailedError) as reached:
            await session.ask("fourth")
        assert (reached.value.reason, session.cost_usd) == ("limit", 1.5)
    async with open_one(again) as session:
        assert await session.ask("third") == "One."


class Billed(agent_ls.ScriptedModel):
    """Reports its cost, unless a call is cut."""

    def __init__(self) -> None:
        usage = agent_ls.Usage(input_tokens=10, output_tokens=5, reported_cost_usd=0.5)
        super().__init__("One.", "Two.", usage=usage)
        self.waits = False
        self.has_begun = asyncio.Event()

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        async for event in super().stream(request):
            yield event
            if self.waits:
                self.has_begun.set()
                await asyncio.Event().wait()


@pytest.mark.req("H18")
async def test_a_cost_limit_counts_known_costs_after_a_cut_call_and_a_resume(tmp_path: Path) -> None:
    def open_one(resume: str = "") -> agent_ls.SessionOpening:
        given = options(tmp_path, model, settings={"limits": {"costUsdPerSession": 0.9}})
        given |= {"provider": "own", "adapters": {"own": model}}  # without published prices
        return agent_ls.open_session(**given, resume=resume)

    model = Billed()
    async with open_one() as session:
        await session.ask("first")
        model.waits = True
        session.send("second")
        await model.has_begun.wait()
        session.interrupt()
        async for event in session.events(since=0):
            if isinstance(event, agent_ls.ProcessingEnd) and event.reason == "interrupted":
                break
        assert (session.cost_usd, session.known_cost_usd) == (None, 0.5)
        copy = await session.fork()
    model = Billed()
    async with open_one(session.id) as session:
        assert (session.cost_usd, session.known_cost_usd) == (None, 0.5)
        await session.ask("third")
        with pytest.raises(agent_ls.TurnFailedError) as reached:
            await session.ask("fourth")
        assert (reached.value.reason, session.known_cost_usd) == ("limit", 1.0)
    model = Billed()
    async with open_one(copy) as session:
        assert await session.ask("third") == "One."
        assert session.known_cost_usd == 1.0
    listed = {it.id: it for it in await agent_ls.list_sessions(state_dir=tmp_path / "state")}
    assert {(listed[id_].cost_usd, listed[id_].known_cost_usd) for id_ in (session.id, copy)} == {(None, 1.0)}
