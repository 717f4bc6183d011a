"""Reports of users of other agent SDKs: pending calls, subagents, cancellation and event loops."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from agent_ls.llm import Client, build_request, set_default_client
from tests.library.sessions import call, options
from tests.support.agents import Cast, spawn, wait_for
from tests.support.fake_provider import FakeProvider, text
from tests.support.loopback import AnthropicServer

pytestmark = pytest.mark.req("H13")

DEADLINE_S = 120


class Studio:
    """A tool whose calls need approval. `runs` has their arguments."""

    def __init__(self) -> None:
        self.runs: list[str] = []

    @agent_ls.tool(category="admin")
    def render(self, shot: str) -> str:
        """Renders a shot."""
        self.runs.append(shot)
        return f"rendered {shot}"


async def first_request(session: agent_ls.AgentSession) -> str:
    async for event in session.events():
        if isinstance(event, agent_ls.ApprovalRequested):
            return event.request_id
    raise AssertionError("nothing was asked")


@pytest.mark.req("L10")
@pytest.mark.report("langchain-ai/langgraph#6626")
@pytest.mark.report("langchain-ai/langgraph#6533")
@pytest.mark.report("google/adk-python#5450")
async def test_pending_calls_of_one_response_are_answered_one_by_one(tmp_path: Path) -> None:
    studio, names = Studio(), ["a", "b", "c"]
    script: list[Any] = [("ask_user", {"question": name}) for name in names]
    model = agent_ls.ScriptedModel([*script, *(("render", {"shot": name}) for name in names)], "Done.")
    given: dict[str, Any] = {"tools": [studio.render], "answers_later": True, "without_tools": ["shell"]}
    asked: list[agent_ls.QuestionAsked] = []
    async with agent_ls.open_session(**options(tmp_path, model, **given)) as session:
        with anyio.fail_after(DEADLINE_S):
            async for event in session.run("go"):
                match event:
                    case agent_ls.QuestionAsked():
                        asked.append(event)
                        if len(asked) == len(names):
                            for one in reversed(asked):
                                session.reply(one.question_id, f"answer {one.question}")
                    case agent_ls.ApprovalRequested(request_id=request_id, effect=effect):
                        session.approve(request_id, '"b"' not in str(effect))
                    case _:
                        pass
        records = await session.calls()
    assert [it.output.endswith(f"answer {name}") for it, name in zip(records, names, strict=False)] == [
        True
    ] * 3
    assert studio.runs == ["a", "c"] and [it.success for it in records[3:]] == [True, False, True]


@pytest.mark.req("R4")
@pytest.mark.report("mastra-ai/mastra#20600")
@pytest.mark.report("mastra-ai/mastra#22413")
async def test_an_approval_is_answered_right_after_a_large_session_was_opened_again(tmp_path: Path) -> None:
    studio = Studio()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "large.txt").write_text("word\n" * 200_000)
    read = call("read_file", file_path="large.txt", limit=200_000)
    model = FakeProvider([read, call("render", shot="a"), text("Done.")])
    given = options(tmp_path, model, tools=[studio.render], answers_later=True, trusted=True)
    with anyio.fail_after(DEADLINE_S):
        session = await agent_ls.open_session(**given)
        session.send("go")
        request_id = await first_request(session)
        await session.close()
        async with agent_ls.open_session(**given, resume=session.id) as session:
            events = session.events()
            session.approve(request_id, True)
            said = [event async for event in _turn(events) if isinstance(event, agent_ls.AssistantTextEnd)]
    assert [event.text for event in said] == ["Done."] and studio.runs == ["a"]


async def _turn(events: agent_ls.EventStream) -> Any:
    async for event in events:
        yield event
        if isinstance(event, agent_ls.ProcessingEnd):
            return


@pytest.mark.req("A2")
@pytest.mark.report("mastra-ai/mastra#23626")
@pytest.mark.report("huggingface/smolagents#2424")
async def test_an_approved_subagent_goes_on_and_returns_only_its_answer(tmp_path: Path) -> None:
    studio = Studio()
    model = Cast(
        [spawn("film"), wait_for("agent_1"), text("Done.")],
        {"film": [call("render", shot="shot-17"), text("It is filmed.")]},
    )
    given = options(tmp_path, model, tools=[studio.render], approve=lambda _: True)
    async with agent_ls.open_session(**given) as session:
        with anyio.fail_after(DEADLINE_S):
            assert await session.ask("go") == "Done."
    assert studio.runs == ["shot-17"] and len(model.agents["film"].requests) == 2
    assert "It is filmed." in str(model.requests[-1].messages)
    assert "shot-17" not in str(model.requests[-1].messages)


@pytest.mark.req("L16")
@pytest.mark.report("microsoft/autogen#7956")
async def test_the_stream_of_events_ends_when_a_running_call_is_cancelled(tmp_path: Path) -> None:
    begun = anyio.Event()

    @agent_ls.tool
    async def hang() -> str:
        """Never returns."""
        begun.set()
        await anyio.sleep_forever()
        return ""

    model = FakeProvider([call("hang"), text("Again.")])
    async with agent_ls.open_session(**options(tmp_path, model, tools=[hang])) as session:
        with anyio.fail_after(DEADLINE_S):
            events = session.run("go")
            async with asyncio.TaskGroup() as tasks:
                reading = tasks.create_task(_last(events))
                await begun.wait()
                session.interrupt()
            assert reading.result() == agent_ls.ProcessingEnd("interrupted")
            assert await session.ask("again") == "Again."


async def _last(events: agent_ls.EventStream) -> agent_ls.Event:
    return [event async for event in events][-1]


@pytest.mark.req("E4")
@pytest.mark.report("anthropics/claude-agent-sdk-python#779")
async def test_many_calls_with_a_callback_go_on_while_nobody_reads_events(tmp_path: Path) -> None:
    studio = Studio()
    rounds = [[("render", {"shot": f"{one} {other}"}) for other in range(10)] for one in range(12)]
    model = agent_ls.ScriptedModel(*rounds, "Done.")
    given = options(tmp_path, model, tools=[studio.render], approve=lambda _: True)
    async with agent_ls.open_session(**given) as session:
        events = session.events()
        with anyio.fail_after(DEADLINE_S):
            assert await session.ask("go") == "Done."
        assert len(studio.runs) == 120
        await events.aclose()


@pytest.mark.req("U9")
@pytest.mark.report("pydantic/pydantic-ai#180")
def test_blocking_calls_follow_each_other() -> None:
    with AnthropicServer(["One.", "Two."]) as server:
        client = Client.from_env({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.base_url})
        set_default_client(client)
        try:
            request = build_request("claude-opus-4-6", "go", provider="anthropic")
            said = [agent_ls.run_sync(agent_ls.generate, request).text for _ in range(2)]
        finally:
            agent_ls.run_sync(client.close)
            set_default_client(None)
    assert said == ["One.", "Two."]
