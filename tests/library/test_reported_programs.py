"""Programs with which users of other agent libraries met a fault, written for this library."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, reasoning, text

pytestmark = pytest.mark.req("H13")


@pytest.mark.report("openai/openai-agents-python#2204")
async def test_a_call_of_an_unknown_tool_is_an_error_result(tmp_path: Path) -> None:
    model = FakeProvider([call("no_such_tool", x=1), text("I see."), text("Again.")])
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        assert await session.ask("go") == "I see."
        (record,) = await session.calls()
        assert record.error and "no_such_tool" in record.error.message
        assert await session.ask("again") == "Again."


@pytest.mark.parametrize("last", [[], [text("")], [text(" \n")], [reasoning("Hm."), text("")]])
async def test_ask_returns_the_last_text_that_says_something(tmp_path: Path, last: list[Any]) -> None:
    model = FakeProvider([[text("It is blue."), call("no_such_tool")], last, last])
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        assert await session.ask("which?") == "It is blue."
        assert await session.ask("and now?") == ""


@pytest.mark.report("openai/openai-agents-python#1658")
async def test_a_turn_is_stored_when_its_last_event_has_been_read(tmp_path: Path) -> None:
    async with agent_ls.open_session(**options(tmp_path, FakeProvider([text("Blue.")]))) as session:
        async for event in session.run("my colour is blue"):
            if event.kind == "processing_end":
                break
        kept = session.id
    model = FakeProvider([text("Blue again.")])
    async with agent_ls.open_session(**options(tmp_path, model), resume=kept) as session:
        await session.ask("which?")
    said = [message.text for message in model.requests[0].messages]
    assert "my colour is blue" in said and "Blue." in said


@pytest.mark.report("openai/openai-agents-python#2130")
async def test_a_turn_whose_adapter_raises_a_foreign_exception_ends_with_an_error_event(
    tmp_path: Path,
) -> None:
    class Broken(FakeProvider):
        def stream(self, *args: Any, **kwargs: Any) -> Any:
            raise ZeroDivisionError("of the program's adapter")

    async with agent_ls.open_session(**options(tmp_path, Broken())) as session:
        with anyio.fail_after(120):
            kinds = [event.kind async for event in session.run("go")]
    assert "error" in kinds and kinds[-1] == "processing_end"


@pytest.mark.report("pydantic/pydantic-ai#6849")
def test_a_blocking_session_ignores_a_closed_event_loop_of_the_thread(tmp_path: Path) -> None:
    def program() -> str:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        loop.close()
        with agent_ls.open_session_sync(**options(tmp_path, FakeProvider([text("One.")]))) as session:
            return session.ask("go")

    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(program()))
    thread.start()
    thread.join(120)
    assert said == ["One."]


@pytest.mark.report("pydantic/pydantic-ai#3899")
@pytest.mark.parametrize("is_blocking", [True, False], ids=["blocking", "async"])
async def test_a_plain_tool_may_run_another_agent(tmp_path: Path, is_blocking: bool) -> None:
    inner = options(tmp_path, FakeProvider([text("From inside.")]))

    @agent_ls.tool
    def delegate(task: str) -> str:
        """Gives a task to another agent."""
        with agent_ls.open_session_sync(**inner) as other:
            return other.ask(task)

    model = FakeProvider([call("delegate", task="think"), text("Done.")])
    given = options(tmp_path, model, tools=[delegate])

    def run() -> tuple[agent_ls.ToolRecord, ...]:
        with agent_ls.open_session_sync(**given) as session:
            session.ask("go")
            return session.calls()

    with anyio.fail_after(120):
        if is_blocking:
            records = await anyio.to_thread.run_sync(run)
        else:
            async with agent_ls.open_session(**given) as session:
                await session.ask("go")
                records = await session.calls()
    assert [record.output for record in records] == ["From inside."]


@pytest.mark.report("anthropics/claude-agent-sdk-python#159")
@pytest.mark.parametrize("mode", ["ask", "edits", "full"])
async def test_approve_is_called_for_what_the_mode_does_not_allow(tmp_path: Path, mode: Any) -> None:
    asked: list[str] = []

    def approve(request: agent_ls.ApprovalRequested) -> bool:
        asked.append(request.tool)
        return False

    model = FakeProvider([call("shell", command="sudo true"), text("Refused.")])
    given = options(tmp_path, model, mode=mode, approve=approve, trusted=True)
    async with agent_ls.open_session(**given) as session:
        assert await session.ask("go") == "Refused."
    assert asked == ["shell"]


@pytest.mark.report("openai/codex#10936")
async def test_a_session_is_resumed_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = options(tmp_path, FakeProvider([text("One.")]))
    async with agent_ls.open_session(**given) as session:
        await session.ask("go")
        kept = session.id
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    model = FakeProvider([call("read_file", file_path="here.txt"), text("Two.")])
    (tmp_path / "project" / "here.txt").write_text("found")
    again = options(tmp_path, model) | {"folder": ".", "resume": kept}
    async with agent_ls.open_session(**again) as session:
        assert await session.ask("read") == "Two."
        (record,) = await session.calls()
    assert record.success and "found" in record.output


@pytest.mark.report("anomalyco/opencode-sdk-python#46", "anomalyco/opencode#26697")
def test_events_read_in_a_thread_have_all_turns_up_to_the_end(tmp_path: Path) -> None:
    model = FakeProvider([text("One."), text("Two.")])
    with agent_ls.open_session_sync(**options(tmp_path, model)) as session:
        events = session.events()
        seen: list[agent_ls.Event] = []
        reader = threading.Thread(target=lambda: seen.extend(events))
        reader.start()
        session.ask("first")
        session.ask("second")
        session.close()
        reader.join(120)
    assert [event.text for event in seen if event.kind == "assistant_text_end"] == ["One.", "Two."]
    assert seen[0].kind == "session_start" and seen[-1].kind == "session_end"


@pytest.mark.report("agno-agi/agno#3649")
async def test_a_session_goes_on_without_a_tool_that_was_called_before(tmp_path: Path) -> None:
    @agent_ls.tool
    def price() -> str:
        """Returns the price."""
        return "3"

    first = FakeProvider([call("price"), text("Three.")])
    async with agent_ls.open_session(**options(tmp_path, first, tools=[price])) as session:
        await session.ask("how much?")
        kept = session.id
    model = FakeProvider([call("price"), text("I cannot know.")])
    async with agent_ls.open_session(**options(tmp_path, model), resume=kept) as session:
        assert await session.ask("and now?") == "I cannot know."
        assert [record.success for record in await session.calls()] == [True, False]
    assert "price" not in [tool.name for tool in model.requests[0].tools]
