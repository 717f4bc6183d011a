"""More reports of users of agent SDKs: generators that others close, loops and threads, tools and their failures."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Annotated, Any, Optional

import anyio
import pytest

import agent_ls
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, Gate, text

pytestmark = pytest.mark.req("H13")

DEADLINE_S = 120


@pytest.fixture
def failures() -> list[dict[str, Any]]:
    """Return a list for the errors that nobody awaited, which `watch` fills."""
    return []


def watch(found: list[dict[str, Any]]) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: found.append(context))


@pytest.mark.report("anthropics/claude-agent-sdk-python#4")
@pytest.mark.report("Mng-dev-ai/agentrove#192")
async def test_events_may_be_read_and_closed_in_any_task(
    tmp_path: Path, failures: list[dict[str, Any]]
) -> None:
    watch(failures)
    gate = Gate()
    model = FakeProvider([text("One ", gate, "two."), text("Next.")])

    async def serve(session: agent_ls.AgentSession) -> AsyncGenerator[str, None]:
        async for event in session.run("go"):
            yield event.kind

    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        stream = serve(session)
        with anyio.fail_after(DEADLINE_S):
            seen = [await asyncio.create_task(anext(stream)) for _ in range(3)]
            await asyncio.create_task(stream.aclose())
            events = session.events()
            gate.open()
            async for event in events:
                if event.kind == "processing_end":
                    break
            assert seen and await session.ask("next") == "Next."
    assert not failures


@pytest.mark.report("rysweet/amplihack#978")
def test_each_turn_may_have_a_loop_of_its_own(tmp_path: Path) -> None:
    async def turn(model: FakeProvider, resume: str) -> tuple[str, str]:
        async with agent_ls.open_session(**options(tmp_path, model), resume=resume) as session:
            return await session.ask("go"), session.id

    models = [FakeProvider([text(f"Answer {number}.")]) for number in range(3)]
    kept = ""
    for number, model in enumerate(models):
        said, kept = asyncio.run(turn(model, kept))
        assert said == f"Answer {number}."
    assert "Answer 1." in [message.text for message in models[2].requests[0].messages]


@pytest.mark.report("littlebearapps/untether#614")
async def test_an_interruption_after_the_end_changes_nothing(
    tmp_path: Path, failures: list[dict[str, Any]]
) -> None:
    watch(failures)
    model = FakeProvider([text("Done."), text("Again.")])
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        kinds = []
        async for event in session.run("go"):
            kinds.append(event)
            if event.kind == "processing_end":
                session.interrupt()
        assert kinds[-1].kind == "processing_end" and getattr(kinds[-1], "reason", "") in (
            "",
            "done",
            "completed",
            "stop",
        )
        assert await session.ask("again") == "Again."
        session.interrupt()
    assert not failures


@pytest.mark.report("pydantic/pydantic-ai#7553")
async def test_plain_functions_of_the_program_do_not_hold_the_loop(tmp_path: Path) -> None:
    loop, user = asyncio.get_running_loop(), contextvars.ContextVar("user", default="nobody")
    user.set("ada")
    seen: list[tuple[str, bool]] = []

    def take_part() -> None:
        answered = threading.Event()
        loop.call_soon_threadsafe(answered.set)
        seen.append((user.get(), answered.wait(DEADLINE_S)))

    @agent_ls.tool(category="admin")
    def slow() -> str:
        """Waits for the loop."""
        take_part()
        return "slept"

    def approve(request: agent_ls.ApprovalRequested) -> bool:
        take_part()
        return True

    model = FakeProvider([call("slow"), text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model, tools=[slow], approve=approve)) as session:
        assert await session.ask("go") == "Done."
    assert seen == [("ada", True)] * 2


@agent_ls.tool
def weather(place: str = "here", days: Optional[int] = None, unit: Annotated[str, "C or F"] = "C") -> str:  # noqa: UP045
    """Tells the weather."""
    return f"{place} {days} {unit}"


@pytest.mark.report("livekit/agents#1987")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "here None C"),
        ({"days": None, "unit": None}, "here None C"),
        ({"place": "x", "days": 2}, "x 2 C"),
    ],
)
async def test_arguments_with_a_default_may_be_left_out(
    tmp_path: Path, given: dict[str, Any], told: str
) -> None:
    model = FakeProvider([call("weather", **given), text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model, tools=[weather])) as session:
        await session.ask("go")
        (record,) = await session.calls()
    assert record.output == told
    (tool,) = (it for it in model.requests[0].tools if it.name == "weather")
    assert not tool.parameters.get("required")


@pytest.mark.report("microsoft/agent-framework#1179")
@pytest.mark.parametrize(
    ("error", "named"),
    [
        (ValueError("no such id"), "ValueError: no such id"),
        (KeyError("k"), "KeyError"),
        (RuntimeError(), "RuntimeError"),
        (ExceptionGroup("two", [ValueError("a"), TypeError("b")]), "ValueError: a; TypeError: b"),
        (StopIteration(), "StopIteration"),
    ],
    ids=["text", "key", "empty", "group", "stop"],
)
@pytest.mark.parametrize("is_async", [True, False])
async def test_the_model_reads_why_a_tool_failed(
    tmp_path: Path, error: Exception, named: str, is_async: bool
) -> None:
    @agent_ls.tool(name="fetch")
    async def fetch_later() -> str:
        """Fetches."""
        raise error

    @agent_ls.tool
    def fetch() -> str:
        """Fetches."""
        raise error

    model = FakeProvider([call("fetch"), text("I see.")])
    async with agent_ls.open_session(
        **options(tmp_path, model, tools=[fetch_later if is_async else fetch])
    ) as session:
        assert await session.ask("go") == "I see."
        (record,) = await session.calls()
    assert record.error and named in record.error.message


async def test_a_tool_that_returns_nothing_has_a_result(tmp_path: Path) -> None:
    @agent_ls.tool
    def note() -> None:
        """Takes a note."""

    model = FakeProvider([call("note"), text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model, tools=[note])) as session:
        assert await session.ask("go") == "Done."
        (record,) = await session.calls()
    assert record.success and model.requests[-1].messages


@pytest.mark.report("VRSEN/agency-swarm#496")
async def test_a_blocking_session_is_used_in_a_thread_of_a_program_with_a_loop(tmp_path: Path) -> None:
    def program() -> str:
        with agent_ls.open_session_sync(**options(tmp_path, FakeProvider([text("One.")]))) as session:
            return session.ask("go")

    with anyio.fail_after(DEADLINE_S):
        assert await asyncio.to_thread(program) == "One."


@pytest.mark.report("Aider-AI/aider#478")
async def test_a_program_allows_new_files_beforehand(tmp_path: Path) -> None:
    model = FakeProvider([call("write_file", file_path="deep/new.py", content="x = 1\n"), text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model, mode="edits", trusted=True)) as session:
        assert await session.ask("go") == "Done."
    assert (tmp_path / "project/deep/new.py").read_text() == "x = 1\n"


@pytest.mark.report("anthropics/claude-agent-sdk-python#213")
@pytest.mark.parametrize("command", ["rm -rf build", "echo hi > ../never", "curl http://localhost:1 | sh"])
async def test_a_callback_sees_and_stops_commands(tmp_path: Path, command: str) -> None:
    asked: list[str] = []

    async def approve(request: agent_ls.ApprovalRequested) -> agent_ls.ApprovalAnswer:
        asked.append(request.tool)
        return agent_ls.ApprovalAnswer("deny", reason="not today")

    model = FakeProvider([call("shell", command=command), text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model, approve=approve, trusted=True)) as session:
        await session.ask("go")
        (record,) = await session.calls()
    assert asked == ["shell"] and record.error and "not today" in record.error.message
