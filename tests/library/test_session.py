from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import anyio
import pytest

import agent_ls
from agent_ls.llm.errors import ConfigurationError
from agent_ls.loop.errors import SessionBusyError
from agent_ls.loop.events.types import ToolCallEnd
from agent_ls.services.errors import BadChoiceError, UnknownSessionError
from tests.support.fake_provider import FakeProvider, Gate, reasoning, text, tool_call

pytestmark = pytest.mark.req("H13", "E2")


def call(name: str, **arguments: Any) -> Any:
    return tool_call(name, json.dumps(arguments))


def options(tmp_path: Path, model: FakeProvider) -> dict[str, Any]:
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    return {
        "folder": project,
        "provider": "anthropic",
        "state_dir": tmp_path / "state",
        "adapters": {"anthropic": model},
    }


@pytest.mark.spec("loop 9.10.2")
async def test_run_yields_every_event_of_the_turn_in_order_with_typed_data(tmp_path: Path) -> None:
    model = FakeProvider([[reasoning("Hm."), text("Hel", "lo.")]])
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        events = [event async for event in session.run("Say hello.")]
    kinds = [event.kind for event in events]
    # the first run includes session_start unless the session has already started
    if kinds[0] == "session_start":
        del kinds[0]
    assert (kinds[0], kinds[-1]) == ("state", "processing_end")
    assert {"user_input", "reasoning_end", "assistant_text_delta", "assistant_text_end", "usage"} <= set(
        kinds
    )
    recorded = [event.seq for event in events if event.seq]
    assert recorded == list(range(recorded[0], recorded[0] + len(recorded)))
    assert len({event.turn_id for event in events[1:]} - {""}) == 1


async def test_ask_returns_the_answer_and_a_session_is_reopened_by_its_id(tmp_path: Path) -> None:
    model = FakeProvider([text("One."), text("Two.")])
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        assert await session.ask("first") == "One."
        kept = session.id
    async with agent_ls.open_session(**options(tmp_path, model), resume=kept) as session:
        assert await session.ask("second") == "Two."
    told = [message.text for message in model.requests[-1].messages]
    assert "first" in told and "One." in told


@pytest.mark.spec("loop 9.5.4", "loop 9.10.3")
@pytest.mark.req("T9")
async def test_session_calls_returns_a_record_of_each_tool_call(tmp_path: Path) -> None:
    model = FakeProvider([call("read_file", file_path="none.txt"), text("Nothing there.")])
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        await session.ask("look")
        (record,) = await session.calls()
    assert (record.name, record.success, record.error and record.error.type) == (
        "read_file",
        False,
        "ResourceError",
    )


@pytest.mark.req("E3")
async def test_output_of_a_tool_call_end_event_returns_the_complete_output_of_a_long_command(
    tmp_path: Path,
) -> None:
    model = FakeProvider([call("shell", command="seq 1 40000"), text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model), mode="full") as session:
        (end,) = [event async for event in session.run("count") if isinstance(event, ToolCallEnd)]
        whole = await session.output(end)
        assert whole.startswith("1\n2\n") and "\n39999\n40000\n" in whole
        assert len(end.output) < len(whole)
        other, *_ = [event async for event in session.run("again")]
        with pytest.raises(agent_ls.AppError) as caught:
            await session.output(other)  # type: ignore[arg-type]  # what is tested
        assert "ToolCallEnd" in caught.value.hint


async def test_the_approve_callback_decides_tool_calls_and_an_exception_in_the_callback_denies(
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    async def approve(request: agent_ls.ApprovalRequested) -> agent_ls.ApprovalAnswer | bool:
        asked.append(request.tool)
        if len(asked) == 1:
            return True
        if len(asked) == 2:
            return agent_ls.ApprovalAnswer("deny", reason="not that one")
        raise RuntimeError("no idea")

    script = [call("shell", command=f"echo {n} > {n}.txt") for n in (1, 2, 3, 4)]
    model = FakeProvider([*script, text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model), approve=approve) as session:
        ends = [event async for event in session.run("go") if isinstance(event, ToolCallEnd)]
    assert [end.is_error for end in ends if isinstance(end, ToolCallEnd)] == [False, True, True, True]
    assert "not that one" in str(ends[1]) and "no idea" in str(ends[2])
    assert [path.name for path in (tmp_path / "project").iterdir()] == ["1.txt"]


@pytest.mark.spec("loop 9.2.5")
@pytest.mark.req("P6")
async def test_a_function_tool_is_listed_validated_and_called(tmp_path: Path) -> None:
    @agent_ls.tool
    async def add(a: Annotated[int, "the first"], b: int = 2) -> dict[str, int]:
        """Adds two numbers."""
        return {"sum": a + b}

    @agent_ls.tool(category="admin", name="launch")
    async def started(what: str) -> str:
        """Launches it."""
        return f"{what} is off"

    model = FakeProvider([call("add", a=40), call("add", a="x"), call("launch", what="it"), text("42.")])
    async with agent_ls.open_session(**options(tmp_path, model), tools=[add, started]) as session:
        ends = [event async for event in session.run("add") if isinstance(event, ToolCallEnd)]
    outputs = [end.output for end in ends if isinstance(end, ToolCallEnd)]
    assert outputs[0] == '{"sum": 42}'
    assert "a" in outputs[1] and "is off" not in outputs[2]  # a tool with an effect needs approval
    offered = {it.name: it for it in model.requests[0].tools}
    assert offered["add"].description == "Adds two numbers."
    assert "'description': 'the first'" in str(offered["add"].parameters)


@pytest.mark.spec("loop 9.4.6")
@pytest.mark.req("X1")
async def test_tools_act_in_the_environment_passed_to_open_session(tmp_path: Path) -> None:
    place = agent_ls.MemoryEnvironment({"a.txt": "one\n"}, working_directory="/notes")
    model = FakeProvider(
        [
            call("read_file", file_path="a.txt"),
            call("edit_file", file_path="a.txt", old_string="one", new_string="two"),
            text("Done."),
        ]
    )
    given = options(tmp_path, model) | {"environment": place, "mode": "full"}
    async with agent_ls.open_session(**given) as session:
        (turn,) = [it.turn_id async for it in session.run("edit") if it.kind == "user_input"]
        assert await place.read_bytes("a.txt") == b"two\n"
        assert list(session.hunks()) == ["/notes/a.txt"]
        done = await session.roll_back(turn)
        assert [file.state for file in done.files] == ["restored"]
        assert await place.read_bytes("a.txt") == b"one\n"


async def test_invalid_arguments_and_input_to_a_busy_session_raise_specific_errors(tmp_path: Path) -> None:
    gate = Gate()
    model = FakeProvider([text("Wait", gate)])
    given = options(tmp_path, model)
    with pytest.raises(BadChoiceError, match="/no/such"):
        async with agent_ls.open_session("/no/such", state_dir=tmp_path / "state"):
            pass
    with pytest.raises(UnknownSessionError, match="s-none"):
        async with agent_ls.open_session(**given, resume="s-none"):
            pass
    with pytest.raises(BadChoiceError, match="maxTurns"):
        async with agent_ls.open_session(**given, settings={"maxTurns": "many"}):
            pass
    async with agent_ls.open_session(**given) as session:
        with pytest.raises(BadChoiceError, match="empty"):
            await session.ask(" ")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.ask, "go")
            await gate.reached.wait()
            with pytest.raises(SessionBusyError):
                await session.ask("and that")
            session.interrupt()
    with pytest.raises(ZeroDivisionError):
        async with agent_ls.open_session(**given):
            raise ZeroDivisionError


def test_a_function_that_cannot_be_a_tool_is_refused_with_the_reason() -> None:
    async def untyped(a) -> str:  # type: ignore[no-untyped-def]  # what is tested
        """No type."""
        return str(a)

    async def silent(a: int) -> str:
        return str(a)

    wrong: list[tuple[Any, str]] = [(untyped, "parameter a"), (silent, "docstring")]
    for function, word in wrong:
        with pytest.raises(TypeError, match=word):
            agent_ls.tool(function)


def test_a_function_tool_with_a_parameter_type_without_json_schema_is_refused_at_once() -> None:
    async def unlisted(a: Gate) -> str:
        """Takes an object."""
        return str(a)

    with pytest.raises(TypeError, match="Gate"):
        agent_ls.tool(unlisted)


@pytest.mark.req("U15")
@pytest.mark.parametrize("name", ["my tool! 1", "a-b", "1a", "ä", "a" * 65])
def test_a_function_tool_with_an_invalid_name_is_refused_at_once(name: str) -> None:
    async def good(a: int) -> str:
        """Good."""
        return str(a)

    with pytest.raises(ConfigurationError, match="is not a valid tool name: a letter, then"):
        agent_ls.tool(name=name)(good)
    with pytest.raises(ConfigurationError, match="valid tool name"):
        agent_ls.ToolRegistry([replace(agent_ls.tool(good), name=name)])
