"""Reports of users of other agent libraries, each with the smallest program."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import agent_ls
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("P6", "H13")


async def used(tmp_path: Path, tool: Any, **arguments: Any) -> tuple[dict[str, Any], str]:
    """Return the schema that the model gets of a tool, and the output of one call."""
    model = FakeProvider([call(tool.name, **arguments), text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model, tools=[tool], mode="full")) as session:
        ends = [event async for event in session.run("go") if isinstance(event, agent_ls.ToolCallEnd)]
    sent = next(it for it in model.requests[0].tools if it.name == tool.name)
    return dict(sent.parameters), ends[0].output


@pytest.mark.report(
    "openai/openai-agents-python#43", "openai/openai-agents-python#3733", "livekit/agents#2186"
)
async def test_optional_parameters_are_optional_in_the_schema(tmp_path: Path) -> None:
    @agent_ls.tool
    def find(word: str, major: int | None = None, tags: dict[str, int] | None = None) -> str:
        """Finds."""
        return f"{word} {major} {tags}"

    schema, output = await used(tmp_path, find, word="x")
    assert schema["required"] == ["word"] and set(schema["properties"]) == {"word", "major", "tags"}
    assert output == "x None None"


@pytest.mark.report("langchain-ai/langchain#14521")
async def test_a_dict_can_be_a_default(tmp_path: Path) -> None:
    @agent_ls.tool
    def count(a: int, d: dict[str, int] = {"c": 0}) -> str:  # noqa: B006
        """Counts."""
        return f"{a} {d}"

    assert (await used(tmp_path, count, a=1))[1] == "1 {'c': 0}"


@pytest.mark.report("kyegomez/swarms#1667")
async def test_variadic_parameters_are_refused_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(TypeError) as refused:

        @agent_ls.tool
        def many(*args: str, **more: str) -> str:
            """Takes many."""
            return ""

    assert "many" in str(refused.value)


@pytest.mark.report("anthropics/claude-agent-sdk-python#387")
async def test_an_unknown_session_to_resume_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(agent_ls.AppError):
        await agent_ls.open_session(**options(tmp_path, FakeProvider(), resume="s-0000000000000000"))


@pytest.mark.report("anthropics/claude-agent-sdk-python#454")
def test_parallel_runs_may_be_left_early_under_asyncio(tmp_path: Path) -> None:
    async def one(number: int) -> str:
        folder = tmp_path / str(number)
        folder.mkdir()
        model = FakeProvider([text("Hello."), text("More.")])
        async with agent_ls.open_session(**options(folder, model)) as session:
            async for event in session.run("go"):
                return type(event).__name__
        return ""

    async def run() -> list[str]:
        return await asyncio.gather(*(one(number) for number in range(5)))

    assert all(asyncio.run(run()))


@pytest.mark.report("anthropics/claude-agent-sdk-python#810")
async def test_the_program_goes_on_after_a_run_that_was_left_early(tmp_path: Path) -> None:
    model = FakeProvider([text("Hello."), text("Again.")])
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        async with aclosing(session.run("go")) as events:
            async for _ in events:
                break
        session.interrupt()
        with anyio.fail_after(60):
            while session.is_busy:
                await anyio.lowlevel.checkpoint()
            assert await session.ask("again")


@pytest.mark.report("evalstate/fast-agent#913")
async def test_a_name_in_other_capitals_means_the_tool(tmp_path: Path) -> None:
    @agent_ls.tool
    def lookup(word: str) -> str:
        """Looks up."""
        return f"found {word}"

    model = FakeProvider([call("LookUp", word="a"), text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model, tools=[lookup], mode="full")) as session:
        ends = [event async for event in session.run("go") if isinstance(event, agent_ls.ToolCallEnd)]
    assert ends[0].output == "found a"


@pytest.mark.report("danny-avila/LibreChat#13162")
async def test_two_tools_of_one_name_are_refused_before_any_request(tmp_path: Path) -> None:
    @agent_ls.tool(name="grep")
    def mine(word: str) -> str:
        """Looks up."""
        return word

    model = FakeProvider([text("Done.")])
    try:
        async with agent_ls.open_session(**options(tmp_path, model, tools=[mine, mine])) as session:
            await session.ask("go")
    except agent_ls.AppError as refused:
        assert "grep" in str(refused)
        return
    names = [tool.name for tool in model.requests[0].tools]
    assert len(names) == len(set(names))
