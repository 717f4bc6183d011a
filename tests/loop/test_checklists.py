"""Rows of the specifications' checklists that need a test with its own session (tests/spec_rows.py)."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.llm import errors
from agent_ls.llm.messages import Message, Role, ToolResultPart
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.events.types import AssistantTextEnd, ProcessingEnd, ToolCallEnd
from agent_ls.profiles.create import create_profile
from agent_ls.tools.base import ToolContext, ToolError, ToolOutput
from agent_ls.tools.read_file import READ_FILE
from agent_ls.tools.subagents import SUBAGENT_TOOLS
from agent_ls.tools.write_file import WRITE_FILE
from tests.support.agents import Cast, spawn, wait_for
from tests.support.fake_provider import FakeProvider, Gate, end, error, text, tool_call
from tests.support.sessions import AnyArguments, RunningSession, running_session, tool

# Event kinds of the loop specification, section 2.9
KINDS = (
    "session_start",
    "session_end",
    "user_input",
    "processing_end",
    "assistant_text_start",
    "assistant_text_delta",
    "assistant_text_end",
    "tool_call_start",
    "tool_call_output_delta",
    "tool_call_end",
    "steering_injected",
    "turn_limit",
    "loop_detection",
    "warning",
    "error",
)


def results_of(messages: Sequence[Message]) -> list[ToolResultPart]:
    """Return the tool results of a request."""
    return [part for message in messages for part in message.parts if isinstance(part, ToolResultPart)]


@pytest.mark.req("L5", "E1")
@pytest.mark.spec("loop 9.1.3", "conversation 4.8", "safety S5.1")
async def test_a_response_without_tool_calls_is_one_model_call_with_delta_and_end_events() -> None:
    provider = FakeProvider([text("Hel", "lo.")])
    async with running_session(provider) as b:
        with b.session.subscribe() as events:
            b.session.submit("hi")
            kinds = []
            while "processing_end" not in kinds:
                kinds.append((await events.__anext__()).envelope.kind)
        assert b.session.state == "IDLE"
    assert len(provider.requests) == 1 and provider.requests[0].tools == ()
    said = kinds[kinds.index("user_input") :]
    assert said[:2] == ["user_input", "assistant_text_start"] and "assistant_text_delta" in said
    assert said[-4:] == ["assistant_text_end", "usage", "state", "processing_end"]
    assert b.recorder.of(AssistantTextEnd)[0].text == "Hello."
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]


@pytest.mark.req("T1", "R1")
@pytest.mark.spec("loop 9.11.1", "conversation 4.10", "safety S5.4")
async def test_a_failing_tool_is_reported_to_the_model_as_an_error() -> None:
    async def fail(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        raise ToolError("no such branch; list them with git branch")

    provider = FakeProvider([tool_call("look"), text("Then I list them.")])
    async with running_session(provider, tool("look", fail)) as b:
        await b.say("go")
    (result,) = results_of(provider.requests[1].messages)
    assert result.is_error and "no such branch; list them" in result.content
    assert [event.is_error for event in b.recorder.of(ToolCallEnd)] == [True]
    assert b.recorder.of(AssistantTextEnd)[-1].text == "Then I list them."
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]


@pytest.mark.req("P6", "T1")
@pytest.mark.spec("loop 9.2.6", "loop 9.3.1")
async def test_a_host_tool_replaces_the_profiles_tool_of_the_same_name() -> None:
    own = create_profile("anthropic")
    own.registry.register(tool("grep"))
    provider = FakeProvider([tool_call("grep", '{"value": "mine"}')])
    async with running_session(provider, registry=own.registry) as b:
        await b.say("go")
        own.registry.unregister("grep")
        await b.say("again")
    offered = [{it.name: it.description for it in request.tools} for request in provider.requests]
    assert offered[0]["grep"] == "The tool grep." and "read_file" in offered[0]
    assert results_of(provider.requests[1].messages)[0].content == "did mine"
    assert "grep" not in offered[-1]


@pytest.mark.req("L7")
@pytest.mark.spec("loop 9.7.1", "loop 9.7.3")
@pytest.mark.parametrize("effort", ["low", "medium", "high", "xhigh", None])
async def test_reasoning_effort_is_in_the_model_request_only_if_configured(effort: str | None) -> None:
    provider = FakeProvider()
    async with running_session(provider, config=SessionConfig(reasoning_effort=effort)) as b:
        await b.say("go")
    assert provider.requests[0].reasoning_effort == effort


@pytest.mark.req("A1")
@pytest.mark.spec("loop 9.9.2")
async def test_a_subagent_works_on_the_files_of_its_parent() -> None:
    written = tool_call("write_file", json.dumps({"file_path": "notes.txt", "content": "from the agent\n"}))
    cast = Cast(
        [spawn("take notes"), wait_for("agent_1"), tool_call("read_file", '{"file_path": "notes.txt"}')],
        {"notes": [written, text("Taken.")]},
    )
    environment = MemoryEnvironment()
    async with running_session(cast, WRITE_FILE, READ_FILE, *SUBAGENT_TOOLS, environment=environment) as b:
        await b.say("go")
    assert environment.files["/project/notes.txt"].content == b"from the agent\n"
    assert "from the agent" in results_of(cast.main.requests[-1].messages)[-1].content


@pytest.mark.req("L14")
@pytest.mark.spec("conversation 4.2", "conversation 4.3")
async def test_a_request_in_flight_is_not_changed_by_later_messages() -> None:
    gate = Gate()
    provider = FakeProvider([[gate, text("One.")], text("Two.")])
    async with running_session(provider) as b:
        b.session.submit("go")
        await gate.reached.wait()
        sent = provider.requests[0].messages
        before = [message.text for message in sent]
        b.session.steer("and the tests")
        b.session.follow_up("and the docs")
        assert isinstance(sent, tuple) and [message.text for message in sent] == before
        gate.open()
        await b.idle()
        later = b.session.history.messages("p")
    assert [message.text for message in sent] == before
    assert [message.text for message in later if message.role is Role.USER] == [
        "go",
        "and the tests",
        "and the docs",
    ]


async def _everything(b: RunningSession) -> list[str]:
    """Run three inputs: one with every success and warning, one over the limit, one that fails."""
    kinds: list[str] = []
    with b.session.subscribe() as events:
        b.session.submit("go")
        async for item in events:
            kinds.append(item.envelope.kind)
            if kinds[-1] == "processing_end" and kinds.count("processing_end") == 1:
                b.session.configure(config=SessionConfig(max_turns=3))
                b.session.submit("more")
            elif kinds[-1] == "processing_end" and kinds.count("processing_end") == 2:
                b.session.configure(config=SessionConfig())
                b.session.submit("and more")
    return kinds


@pytest.mark.req("E1", "E8")
@pytest.mark.spec("loop 9.10.1", "loop 9.10.4")
async def test_every_kind_of_event_is_emitted_in_the_specified_order() -> None:
    async def look(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        if not b.recorder.kinds.count("steering_queued"):
            b.session.steer("be quick")
        context.on_output("stdout", "seen\n")
        return ToolOutput("seen")

    provider = FakeProvider(
        [
            [text("I look."), tool_call("look", id="c1")],
            tool_call("look", id="c2"),
            [text("I was about to"), end("length")],
            error(errors.AuthenticationError("The key is wrong.")),
        ]
    )
    config = SessionConfig(loop_detection_window=2)
    async with running_session(provider, tool("look", look), config=config) as b:
        kinds = await _everything(b)
    spoken = ["assistant_text_start", "assistant_text_delta", "assistant_text_end"]
    called = ["tool_call_start", "tool_call_output_delta", "tool_call_end"]
    assert [kind for kind in kinds if kind in KINDS] == [
        "session_start",
        *("user_input", *spoken, *called, "steering_injected", *called, "loop_detection"),
        *(*spoken, "warning", "processing_end"),
        *("user_input", "turn_limit", "processing_end"),
        *("user_input", "error", "processing_end"),
        "session_end",
    ]
