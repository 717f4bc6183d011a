"""A session is opened, used and closed by different tasks and threads, as programs such as web servers do."""

from __future__ import annotations

import asyncio
import contextvars
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

import agent_ls
from agent_ls.llm.errors import AuthenticationError
from agent_ls.loop.errors import SessionClosedError
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, Gate, text

pytestmark = pytest.mark.req("H13", "R5", "E8")


async def in_task(work: Any) -> Any:
    """Run a coroutine in a task of its own, with a context of its own, as a web server runs each request."""
    return await asyncio.get_running_loop().create_task(work, context=contextvars.Context())


async def opened(tmp_path: Path, model: agent_ls.ProviderAdapter, **more: Any) -> agent_ls.AgentSession:
    return await agent_ls.open_session(**options(tmp_path, model, **more))


@pytest.mark.report("google/adk-python#2196")
async def test_a_session_is_opened_used_and_closed_by_three_tasks(tmp_path: Path) -> None:
    session = await in_task(opened(tmp_path, FakeProvider([text("One."), text("Two.")])))
    assert await in_task(session.ask("first")) == "One."
    assert await in_task(session.ask("second")) == "Two."
    await in_task(session.close())
    await in_task(session.close())
    assert session.state == "CLOSED"
    with pytest.raises(SessionClosedError):
        await session.ask("third")


@pytest.mark.report("modelcontextprotocol/python-sdk#79")
async def test_an_exit_stack_of_another_task_ends_the_session(tmp_path: Path) -> None:
    stack = AsyncExitStack()

    async def enter() -> agent_ls.AgentSession:
        async with anyio.create_task_group():
            opening = agent_ls.open_session(**options(tmp_path, FakeProvider([text("One.")])))
            session = await stack.enter_async_context(opening)
        return session

    session: agent_ls.AgentSession = await in_task(enter())
    assert await session.ask("go") == "One."
    await in_task(stack.aclose())
    assert session.state == "CLOSED"


@pytest.mark.report("modelcontextprotocol/python-sdk#922")
async def test_sessions_of_one_task_are_closed_in_any_order(tmp_path: Path) -> None:
    sessions = [await opened(tmp_path, FakeProvider([text(str(number))])) for number in range(3)]
    for number in (1, 0, 2):
        await sessions[number].close()
        rest = [session for session in sessions if session.state != "CLOSED"]
        assert len({session.id for session in rest}) == len(rest)
    assert [session.state for session in sessions] == ["CLOSED"] * 3


@pytest.mark.req("L3")
async def test_a_reader_gets_session_end_last_when_another_task_closes(tmp_path: Path) -> None:
    gate = Gate()
    session = await opened(tmp_path, FakeProvider([text("Half ", gate)]))
    seen: list[agent_ls.Event] = []

    async def read() -> None:
        seen.extend([event async for event in session.events()])

    async def ask() -> None:
        with pytest.raises(SessionClosedError):
            await session.ask("go")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(ask)
        await gate.reached.wait()
        await session.close()
    assert isinstance(seen[-1], agent_ls.SessionEnd)
    assert [event.reason for event in seen if isinstance(event, agent_ls.ProcessingEnd)] == ["aborted"]


@pytest.mark.parametrize("how", ["scope", "task"])
async def test_a_cancelled_program_ends_its_session_and_stays_cancelled(tmp_path: Path, how: str) -> None:
    gate, made = Gate(), list[agent_ls.AgentSession]()

    async def program() -> None:
        async with agent_ls.open_session(**options(tmp_path, FakeProvider([text("", gate)]))) as session:
            made.append(session)
            await session.ask("go")

    if how == "task":
        task = asyncio.create_task(program())
        await gate.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(program)
            await gate.reached.wait()
            tasks.cancel_scope.cancel()
    assert made[0].state == "CLOSED"


async def test_closing_cancels_no_task_of_the_program(tmp_path: Path) -> None:
    async def program() -> str:
        async with anyio.create_task_group() as tasks:
            session = await opened(tmp_path, FakeProvider([text("One.")]))
            tasks.start_soon(session.ask, "go")
            await anyio.wait_all_tasks_blocked()
        await session.close()
        task = asyncio.current_task()
        assert task is not None and not task.cancelling()
        await anyio.lowlevel.checkpoint()
        return "done"

    assert await in_task(program()) == "done"


async def test_a_program_that_is_cancelled_while_opening_leaves_no_session(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    task = asyncio.create_task(opened(tmp_path, FakeProvider()))
    await anyio.lowlevel.checkpoint()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() - before <= {task}


async def test_a_program_cancelled_while_its_environment_starts_leaves_nothing_started(
    tmp_path: Path,
) -> None:
    class Slow(agent_ls.MemoryEnvironment):
        begun, ended = anyio.Event(), anyio.Event()

        async def initialize(self) -> None:
            self.begun.set()
            await anyio.sleep_forever()

        async def cleanup(self) -> None:
            self.ended.set()

    place, before = Slow(), asyncio.all_tasks()
    task = asyncio.create_task(opened(tmp_path, FakeProvider(), environment=place))
    await place.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert place.ended.is_set() and asyncio.all_tasks() - before <= {task}
    assert not list((tmp_path / "state").rglob("log.jsonl"))


async def test_a_tool_may_close_its_own_session(tmp_path: Path) -> None:
    sessions: list[agent_ls.AgentSession] = []

    @agent_ls.tool
    async def hang_up() -> str:
        """Ends the call."""
        await sessions[0].close()
        return "unreachable"

    model = FakeProvider([call("hang_up"), text("unused")])
    sessions.append(await opened(tmp_path, model, tools=[hang_up]))
    with pytest.raises(SessionClosedError):
        await sessions[0].ask("go")
    await sessions[0].close()
    assert sessions[0].state == "CLOSED"


@pytest.mark.report("anthropics/claude-agent-sdk-python#584")
async def test_a_closed_session_can_be_resumed_at_once(tmp_path: Path) -> None:
    session = await opened(tmp_path, FakeProvider([text("One.")]))
    await session.ask("remember me")
    await session.close()
    model = FakeProvider([text("Two.")])
    async with agent_ls.open_session(**options(tmp_path, model), resume=session.id) as again:
        await again.ask("go on")
    assert "remember me" in [message.text for message in model.requests[0].messages]


@pytest.mark.report("pydantic/pydantic-ai#1516")
async def test_leaving_a_turn_early_needs_no_clean_up_and_the_turn_goes_on(tmp_path: Path) -> None:
    async with agent_ls.open_session(
        **options(tmp_path, FakeProvider([text("One."), text("Two.")]))
    ) as session:
        async for _ in session.run("first"):
            break
        with anyio.fail_after(60):
            while session.is_busy:  # the turn has no reader that could tell
                await anyio.lowlevel.checkpoint()
        assert await session.ask("second") == "Two."


@pytest.mark.report("conductor-oss/python-sdk#507")
def test_a_session_of_another_event_loop_says_how_to_go_on(tmp_path: Path) -> None:
    async def program() -> agent_ls.AgentSession:
        session = await opened(tmp_path, FakeProvider([text("One.")]))
        await session.ask("go")
        return session

    session = asyncio.run(program())
    assert session.state == "CLOSED"  # the loop ended it

    async def use() -> None:
        await session.ask("again")

    for work in (lambda: asyncio.run(use()), lambda: session.steer("now"), session.interrupt):
        with pytest.raises(RuntimeError, match="resume="):
            work()


async def test_a_method_called_from_another_thread_says_how_to_call_it(tmp_path: Path) -> None:
    async with agent_ls.open_session(**options(tmp_path, FakeProvider())) as session:
        with pytest.raises(RuntimeError, match="call_soon_threadsafe"):
            await anyio.to_thread.run_sync(session.steer, "now")
        await anyio.to_thread.run_sync(lambda: anyio.from_thread.run_sync(session.interrupt))


async def test_a_session_that_cannot_be_opened_leaves_no_task(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    for _ in range(3):
        with pytest.raises(agent_ls.AppError):
            await agent_ls.open_session(**options(tmp_path, FakeProvider()) | {"folder": tmp_path / "none"})
    assert asyncio.all_tasks() == before


async def ended(session: agent_ls.AgentSession, how: str) -> None:
    if how == "close":
        await session.close()
        return
    with pytest.raises(agent_ls.TurnFailedError):
        await session.ask("go")


@pytest.mark.parametrize("how", ["close", "failure"])
@pytest.mark.parametrize("stored", [True, False])
async def test_the_error_of_a_closed_session_names_resume_only_if_it_was_stored(
    tmp_path: Path, stored: bool, how: str
) -> None:
    model = agent_ls.ScriptedModel(AuthenticationError("wrong key"))
    session = await opened(tmp_path, model, stored=stored)
    await ended(session, how)
    for use in (lambda: session.run("go"), lambda: session.send("go"), lambda: session.steer("go")):
        with pytest.raises(SessionClosedError) as caught:
            use()
        assert ("resume=session.id" in caught.value.hint) is stored
        assert ("Open the session again" in str(caught.value)) is stored and caught.value.hint
    await session.close()
