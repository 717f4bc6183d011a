"""Only read calls start while the model streams (L11)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.llm.errors import StreamError
from agent_ls.llm.messages import ToolResultPart
from agent_ls.loop.events.types import ToolCallEnd, ToolCallStart
from agent_ls.loop.turns import AssistantTurn, ToolResultsTurn
from agent_ls.tools.base import Prepared, ToolContext
from agent_ls.tools.read_file import READ_FILE, ReadFileArguments
from agent_ls.tools.write_file import WRITE_FILE
from tests.support.fake_approver import FakeApprover
from tests.support.fake_provider import (
    CallTool,
    FakeProvider,
    Gate,
    Piece,
    end,
    error,
    problem_of,
    text,
    tool_call,
)
from tests.support.sessions import RunningSession, running_session, started_and_ended, tool

pytestmark = pytest.mark.req("L11")

FILES = {"/project/a.txt": b"alpha\n", "/project/b.txt": b"beta\n"}


def read(path: str, id: str) -> CallTool:
    return tool_call("read_file", json.dumps({"file_path": path}), id=id)


WRITE = tool_call("write_file", '{"file_path": "c.txt", "content": "x"}', id="w")


def free() -> FakeApprover:
    return FakeApprover(free=True)


def outputs(b: RunningSession) -> dict[str, str]:
    turns = [turn for turn in b.recorder.turns if isinstance(turn, ToolResultsTurn)]
    return {result.tool_call_id: result.content for turn in turns for result in turn.results}


async def test_early_read_calls_end_while_the_response_streams_and_are_published_once_in_call_order() -> None:
    gate = Gate()
    provider = FakeProvider([[read("a.txt", "1"), read("b.txt", "2"), gate, text("so far")], text("ok")])
    environment = MemoryEnvironment(FILES)
    async with running_session(provider, READ_FILE, approver=free(), environment=environment) as b:
        b.session.submit("go")
        await gate.reached.wait()
        await b.until("tool_call_end", 2)
        assert [turn for turn in b.recorder.turns if isinstance(turn, AssistantTurn)] == []
        gate.open()
        await b.idle()
    assert b.recorder.of(ToolCallStart)[0].index == 0 and b.recorder.of(ToolCallStart)[1].index == 1
    assert sorted(started_and_ended(b.recorder)[0]) == ["1", "2"]
    assert "alpha" in outputs(b)["1"] and "beta" in outputs(b)["2"]
    results = [
        part for m in provider.requests[1].messages for part in m.parts if isinstance(part, ToolResultPart)
    ]
    assert [part.tool_call_id for part in results] == ["1", "2"]
    assert problem_of(provider.requests[1].messages) == ""


async def test_an_early_read_call_is_prepared_once_and_asks_for_no_approval() -> None:
    approver = free()
    gate = Gate()
    provider = FakeProvider([[read("a.txt", "1"), gate, text("so far")], text("ok")])
    prepared: list[str] = []

    async def prepare(arguments: ReadFileArguments, context: ToolContext) -> Prepared:
        prepared.append(arguments.file_path)
        return await READ_FILE.prepare(arguments, context)

    counted = replace(READ_FILE, prepare=prepare)
    async with running_session(
        provider, counted, approver=approver, environment=MemoryEnvironment(FILES)
    ) as b:
        b.session.submit("go")
        await gate.reached.wait()
        await b.until("tool_call_end", 1)
        gate.open()
        await b.idle()
    assert prepared == ["a.txt"]
    assert approver.questions == [], "it was allowed when it was prepared"
    assert "alpha" in outputs(b)["1"]


async def test_a_write_call_and_all_later_calls_wait_for_the_end_of_the_response() -> None:
    gate = Gate()
    provider = FakeProvider([[read("a.txt", "1"), WRITE, read("c.txt", "2"), gate, text("x")], text("ok")])
    environment = MemoryEnvironment(FILES)
    async with running_session(
        provider, READ_FILE, WRITE_FILE, approver=free(), environment=environment
    ) as b:
        b.session.submit("go")
        await gate.reached.wait()
        await b.until("tool_call_end")
        assert [start.call_id for start in b.recorder.of(ToolCallStart)] == ["1"]
        assert not await environment.file_exists("c.txt")
        gate.open()
        await b.idle()
    assert "1 | x" in outputs(b)["2"]


@pytest.mark.parametrize(
    ("call", "approver"),
    [
        pytest.param(read("a.txt", "1"), FakeApprover(), id="a person would be asked"),
        pytest.param(
            tool_call("look", id="1"), FakeApprover(free=True), id="a tool that is not known to only look"
        ),
        pytest.param(tool_call("read_file", "{}", id="1"), FakeApprover(free=True), id="wrong arguments"),
        pytest.param(tool_call("nothing", id="1"), FakeApprover(free=True), id="unknown tool"),
    ],
)
async def test_a_tool_call_that_must_not_start_early_starts_after_the_response(
    call: CallTool, approver: FakeApprover
) -> None:
    gate = Gate()
    provider = FakeProvider([[call, gate, text("x")], text("ok")])
    async with running_session(
        provider, READ_FILE, tool("look"), approver=approver, environment=MemoryEnvironment(FILES)
    ) as b:
        b.session.submit("go")
        await gate.reached.wait()
        assert b.recorder.of(ToolCallStart) == []
        gate.open()
        await b.idle()
    assert [start.call_id for start in b.recorder.of(ToolCallStart)] == ["1"]


@pytest.mark.req("L17")
async def test_the_result_of_an_early_call_is_dropped_when_the_response_is_truncated() -> None:
    gate = Gate()
    provider = FakeProvider([[read("a.txt", "1"), gate, WRITE, end("length")], text("ok")])
    environment = MemoryEnvironment(FILES)
    async with running_session(
        provider, READ_FILE, WRITE_FILE, approver=free(), environment=environment
    ) as b:
        b.session.submit("go")
        await b.until("tool_call_end")
        gate.open()
        await b.idle()
    starts, ends = started_and_ended(b.recorder)
    assert sorted(starts) == sorted(ends) == ["1", "w"]
    assert "alpha" not in outputs(b)["1"] and "dropped" in outputs(b)["1"]
    assert not await environment.file_exists("c.txt")


@pytest.mark.parametrize("how", ["broken", "interrupted"])
async def test_the_result_of_an_early_call_of_a_broken_response_is_not_in_the_history(
    how: str,
) -> None:
    gate = Gate()
    failure: Piece = error(StreamError("cut", provider="fake", model="m"))
    provider = FakeProvider([[read("a.txt", "1"), gate, failure], text("ok")])
    async with running_session(
        provider, READ_FILE, approver=free(), environment=MemoryEnvironment(FILES)
    ) as b:
        b.session.submit("go")
        await b.until("tool_call_end")
        if how == "interrupted":
            b.session.interrupt()
        else:
            gate.open()
        await b.idle()
        await b.say("again")
    assert [event.call_id for event in b.recorder.of(ToolCallEnd)] == ["1"]
    assert problem_of(provider.requests[-1].messages) == ""
    assert {call: "dropped" in output for call, output in outputs(b).items()} == (
        {"1": True} if how == "broken" else {}
    )
