"""Which calls of a response run together (L10)."""

from __future__ import annotations

import json

import anyio
import pytest

from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.llm.messages import ToolResultPart
from agent_ls.loop.calls.tool_round import Reach, must_wait
from agent_ls.loop.events.types import ToolCallEnd, ToolCallStart
from agent_ls.tools.apply_patch import APPLY_PATCH
from agent_ls.tools.base import ToolOutput
from agent_ls.tools.edit_file import EDIT_FILE
from agent_ls.tools.read_file import READ_FILE
from agent_ls.tools.submit import SUBMIT
from agent_ls.tools.write_file import WRITE_FILE
from tests.support.fake_provider import CallTool, FakeProvider, text, tool_call
from tests.support.sessions import RunningSession, running_session, tool

pytestmark = pytest.mark.req("L10")

HERE = MemoryEnvironment()
READ, ANY_READ, FREE = Reach(paths=("/p/a",)), Reach(paths=None), Reach()
WRITE_A, WRITE_B = Reach(True, ("/p/a",)), Reach(True, ("/p/b",))
COMMAND, LAST = Reach(True, None), Reach(is_last=True)


@pytest.mark.parametrize(
    ("later", "earlier", "waits"),
    [
        (READ, READ, False),
        (READ, ANY_READ, False),
        (WRITE_A, READ, True),
        (READ, WRITE_A, True),
        (WRITE_B, READ, False),
        (WRITE_A, WRITE_B, False),
        (WRITE_A, WRITE_A, True),
        (WRITE_A, ANY_READ, True),
        (ANY_READ, WRITE_A, True),
        (Reach(paths=("/p",)), WRITE_A, True),
        (WRITE_A, Reach(paths=("/",)), True),
        (Reach(paths=("/p/ab",)), WRITE_A, False),
        (COMMAND, READ, True),
        (READ, COMMAND, True),
        (COMMAND, COMMAND, True),
        (COMMAND, FREE, False),
        (FREE, COMMAND, False),
        (LAST, FREE, True),
        (FREE, LAST, True),
    ],
)
def test_a_call_waits_for_earlier_ones_unless_their_paths_are_disjoint(
    later: Reach, earlier: Reach, waits: bool
) -> None:
    assert must_wait(later, earlier, HERE) is waits


def write(path: str, content: str, id: str) -> CallTool:
    return tool_call("write_file", json.dumps({"file_path": path, "content": content}), id=id)


def read(path: str, id: str) -> CallTool:
    return tool_call("read_file", json.dumps({"file_path": path}), id=id)


def order(b: RunningSession) -> list[str]:
    """Return the starts and ends of calls, as `+id` and `-id`."""
    events = (envelope.event for envelope in b.recorder.envelopes)
    return [
        f"{'+' if isinstance(event, ToolCallStart) else '-'}{event.call_id}"
        for event in events
        if isinstance(event, ToolCallStart | ToolCallEnd)
    ]


async def test_a_read_after_a_write_of_the_same_file_gets_the_new_text() -> None:
    environment = MemoryEnvironment()
    calls = [write("a.txt", "new\n", "w"), read("a.txt", "r"), write("b.txt", "x\n", "other")]
    async with running_session(FakeProvider([calls]), READ_FILE, WRITE_FILE, environment=environment) as b:
        await b.say("go")
    ends = {end.call_id: end.output for end in b.recorder.of(ToolCallEnd)}
    assert "1 | new" in ends["r"]
    steps = order(b)
    assert steps.index("+r") > steps.index("-w")
    assert steps.index("+other") < steps.index("-w")  # another file: at the same time


@pytest.mark.spec("conversation 4.13", "safety S5.3")
async def test_tool_results_are_in_call_order_and_not_in_completion_order() -> None:
    slow = anyio.Event()

    async def run(arguments: object, context: object) -> ToolOutput:
        await slow.wait()
        return ToolOutput("slow")

    async def quick(arguments: object, context: object) -> ToolOutput:
        slow.set()
        return ToolOutput("quick")

    provider = FakeProvider([[tool_call("slow", id="1"), tool_call("quick", id="2")], text("ok")])
    async with running_session(provider, tool("slow", run), tool("quick", quick)) as b:
        await b.say("go")
    assert order(b) == ["+1", "+2", "-2", "-1"]
    sent = [part for message in provider.requests[-1].messages for part in message.parts]
    assert [part.content for part in sent if isinstance(part, ToolResultPart)] == ["slow", "quick"]


@pytest.mark.parametrize("call", [tool_call("write_file", "{}", id="bad"), tool_call("none", id="bad")])
async def test_an_invalid_or_unknown_tool_call_does_not_stop_the_next_call(call: CallTool) -> None:
    provider = FakeProvider([[call, write("a.txt", "x", "w")]])
    async with running_session(provider, WRITE_FILE) as b:
        await b.say("go")
    assert {end.call_id: end.is_error for end in b.recorder.of(ToolCallEnd)} == {"bad": True, "w": False}


@pytest.mark.req("T4")
def test_apply_patch_reports_all_files_of_the_patch_as_touched() -> None:
    patch = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Delete File: b.txt\n*** End Patch"
    assert APPLY_PATCH.touches is not None
    assert sorted(APPLY_PATCH.touches(APPLY_PATCH.arguments(patch=patch), HERE)) == [
        "/project/a.txt",
        "/project/b.txt",
    ]


async def test_submit_waits_for_all_calls_before_it() -> None:
    calls = [write("a.txt", "x", "w"), tool_call("submit", '{"result": "done"}', id="s"), read("a.txt", "r")]
    async with running_session(FakeProvider([calls]), READ_FILE, WRITE_FILE, EDIT_FILE, SUBMIT) as b:
        await b.say("go")
    assert order(b)[:4] == ["+w", "-w", "+s", "-s"]
    assert [end.error_kind for end in b.recorder.of(ToolCallEnd)] == ["", "", "not_run"]
