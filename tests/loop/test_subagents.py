"""Subagents: started, steered, waited for, ended; labelled, limited, and never left running (A1, A2, E7)."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from agent_ls.environments.base import DirEntry
from agent_ls.environments.effects import WriteEffect
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.llm.errors import AuthenticationError
from agent_ls.llm.messages import Role, ToolResultPart
from agent_ls.llm.requests import Usage
from agent_ls.loop.calls.approval import ApprovalQuestion, Decision, Denied
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.events.types import (
    Envelope,
    ProcessingEnd,
    SteeringInjected,
    SubagentChanged,
    ToolCallEnd,
    ToolCallStart,
    TurnLimit,
    UsageReport,
)
from agent_ls.loop.restored import RestoredAgent, RestoredSession
from agent_ls.loop.turns import AssistantTurn, SteeringTurn, UserTurn
from agent_ls.tools.subagents import SUBAGENT_TOOLS
from agent_ls.tools.write_file import WRITE_FILE
from tests.support.agents import Cast, close, send, spawn, wait_for
from tests.support.fake_approver import FakeApprover
from tests.support.fake_provider import Fail, Gate, end, problem_of, text, tool_call
from tests.support.sessions import RunningSession, running_session, tool

pytestmark = pytest.mark.req("A1", "A2")

LOOK = tool("look")


class DeniesWrites(FakeApprover):
    async def decide(self, question: ApprovalQuestion) -> Decision:
        decision = await super().decide(question)
        return Denied("not now") if isinstance(question.effect, WriteEffect) else decision


def results(b: RunningSession) -> dict[str, str]:
    """Return the results that the main model received, by call id."""
    return {
        part.tool_call_id: part.content
        for message in b.session.history.messages("")
        for part in message.parts
        if isinstance(part, ToolResultPart)
    }


def ends(b: RunningSession) -> list[tuple[str, str, str]]:
    return [
        (it.agent_id, it.status, it.reason) for it in b.recorder.of(SubagentChanged) if it.status != "running"
    ]


@pytest.mark.spec("loop 9.9.1", "loop 9.9.3", "loop 9.9.5", "loop 9.9.6")
@pytest.mark.req("L1")
async def test_waiting_for_a_subagent_returns_its_last_text_and_it_has_its_own_history() -> None:
    cast = Cast(
        [spawn("count the files"), wait_for("agent_1"), text("There are three.")],
        {"count": [tool_call("look"), text("Three files.")]},
    )
    async with running_session(cast, LOOK, *SUBAGENT_TOOLS) as b:
        await b.say("how many?")
    assert "agent_1" in results(b)["spawn"] and "running" in results(b)["spawn"]
    assert "completed" in results(b)["wait"] and "Success: true" in results(b)["wait"]
    assert "Turns used: 2" in results(b)["wait"] and results(b)["wait"].endswith("Three files.")
    own = b.recorder.agent_turns["agent_1"]
    assert [turn.type for turn in own] == ["user", "assistant", "tool_results", "assistant"]
    assert isinstance(own[0], UserTurn) and own[0].content.endswith("count the files")
    assert "how many?" not in "".join(m.text for m in cast.agents["count"].requests[0].messages)
    assert "Three files." not in [t.content for t in b.recorder.turns if isinstance(t, AssistantTurn)]
    started, done = b.recorder.of(SubagentChanged)
    assert (started.status, started.call_id, started.task) == ("running", "spawn", "count the files")
    assert (done.status, done.output, done.turns_used) == ("completed", "Three files.", 2)


@pytest.mark.req("E7")
async def test_parallel_subagents_have_labelled_events_and_unique_ids() -> None:
    gates = Gate(), Gate()
    cast = Cast(
        [[spawn("east", "s1"), spawn("west", "s2")], [wait_for("agent_1", "w1"), wait_for("agent_2", "w2")]],
        {
            "east": [[text("e"), gates[0], tool_call("look", id="same")], text("east done")],
            "west": [[text("w"), gates[1], tool_call("look", id="same")], text("west done")],
        },
    )
    async with running_session(cast, LOOK, *SUBAGENT_TOOLS) as b:
        b.session.submit("go")
        for gate in gates:  # both stream at the same time
            await gate.reached.wait()
        assert [player.open_streams for player in cast.agents.values()] == [1, 1]
        for gate in gates:
            gate.open()
        await b.idle()
    of_agents = [envelope for envelope in b.recorder.envelopes if envelope.agent_id]
    assert {envelope.agent_id for envelope in of_agents} == {"agent_1", "agent_2"}
    assert not {envelope.kind for envelope in of_agents} & {
        "state",
        "user_input",
        "processing_end",
        "subagent",
    }
    mine = [envelope for envelope in b.recorder.envelopes if envelope.kind == "tool_call_start"]
    assert len({envelope.event.call_id for envelope in mine}) == len(mine) == 6  # type: ignore[union-attr]
    assert [envelope.seq for envelope in b.recorder.envelopes] == list(
        range(1, len(b.recorder.envelopes) + 1)
    )
    assert {envelope.turn_id for envelope in of_agents} == {b.recorder.envelopes[3].turn_id}
    assert results(b)["w1"].endswith("east done") and results(b)["w2"].endswith("west done")


@pytest.mark.req("E7", "E2")
async def test_deltas_of_a_subagent_contain_the_agent_id() -> None:
    cast = Cast([spawn("sing")], {"sing": [[text("la"), tool_call("look", '{"value": "x"}')]]})
    async with running_session(cast, LOOK, *SUBAGENT_TOOLS) as b:
        with b.session.subscribe() as events:
            b.session.submit("go")
            await b.idle()
            seen: list[Envelope] = []
            while not seen or seen[-1].kind != "processing_end":
                seen.append((await events.__anext__()).envelope)
    labels = {(it.kind, it.agent_id) for it in seen if it.seq is None}
    assert ("assistant_text_delta", "agent_1") in labels
    assert ("tool_call_args_delta", "agent_1") in labels
    assert ("tool_call_args_delta", "") in labels  # the call `spawn` itself


async def test_a_subagent_without_a_wait_call_reports_its_result_before_the_parent_turn_ends() -> None:
    gate = Gate()
    cast = Cast(
        [spawn("slow work"), text("I wait."), text("All done.")], {"slow": [[gate, text("Found it.")]]}
    )
    async with running_session(cast, *SUBAGENT_TOOLS) as b:
        b.session.submit("go")
        await b.until("assistant_text_end")
        assert b.session.state == "PROCESSING"
        gate.open()
        await b.idle()
    notices = [turn for turn in b.recorder.turns if isinstance(turn, SteeringTurn)]
    assert [turn.source for turn in notices] == ["subagent"]
    assert "agent_1" in notices[0].content and notices[0].content.endswith("Found it.")
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]
    assert len(cast.main.requests) == 3
    assert problem_of(cast.main.requests[-1].messages) == ""


@pytest.mark.req("L6")
@pytest.mark.parametrize("script", [[wait_for("agent_1")], [text("I wait.")]])
async def test_a_steer_ends_the_wait_for_a_subagent_which_continues(
    script: list[object],
) -> None:
    gate = Gate()
    cast = Cast(
        [spawn("slow work"), *script, wait_for("agent_1", "again")],  # type: ignore[list-item]
        {"slow": [[gate, text("Found it.")]]},
    )
    async with running_session(cast, *SUBAGENT_TOOLS) as b:
        b.session.submit("go")
        await gate.reached.wait()
        while len(cast.main.requests) < 2:
            await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        b.session.steer("be quick")
        await b.until("steering_injected")
        assert ends(b) == []
        gate.open()
        await b.idle()
    assert results(b)["again"].endswith("Found it.")
    assert problem_of(cast.main.requests[-1].messages) == ""


@pytest.mark.spec("loop 9.9.6")
async def test_send_input_reaches_a_running_subagent_with_its_next_call_and_restarts_an_ended_one() -> None:
    gate = Gate()
    cast = Cast(
        [spawn("search"), send("agent_1", "also the tests"), wait_for("agent_1", "w1"),
         send("agent_1", "and now the docs", "s2"), wait_for("agent_1", "w2"), text("ok")],
        {"search": [[gate, tool_call("look")], text("In a.py."), text("In docs.")]},
    )  # fmt: skip
    async with running_session(cast, LOOK, *SUBAGENT_TOOLS) as b:
        b.session.submit("go")
        await b.until("steering_queued")
        gate.open()
        await b.idle()
    injected = [envelope for envelope in b.recorder.envelopes if isinstance(envelope.event, SteeringInjected)]
    assert [(it.agent_id, it.event.text) for it in injected] == [("agent_1", "also the tests")]  # type: ignore[union-attr]
    assert results(b)["w1"].endswith("In a.py.") and results(b)["w2"].endswith("In docs.")
    said = [
        message.text for message in cast.agents["search"].requests[-1].messages if message.role is Role.USER
    ]
    assert said[-2:] == ["also the tests", "and now the docs"]
    assert "Turns used: 3" in results(b)["w2"]


@pytest.mark.spec("loop 9.9.6")
async def test_close_agent_ends_a_running_subagent_and_its_call_and_reports_the_end() -> None:
    gate = Gate()
    hangs = tool("hang", run=lambda arguments, context: anyio.sleep_forever())  # type: ignore[arg-type,return-value]
    cast = Cast([spawn("hang"), [gate, close("agent_1")], wait_for("agent_1")], {"hang": [tool_call("hang")]})
    async with running_session(cast, hangs, *SUBAGENT_TOOLS) as b:
        b.session.submit("go")
        await b.until("tool_call_start", 2)
        gate.open()
        await b.idle()
    assert "failed (closed)" in results(b)["close"] and "Success: false" in results(b)["wait"]
    assert ends(b) == [("agent_1", "failed", "closed")]
    starts = sorted(event.call_id for event in b.recorder.of(ToolCallStart))
    assert starts == sorted(event.call_id for event in b.recorder.of(ToolCallEnd))
    assert cast.open_streams == 0


@pytest.mark.req("L8", "L16")
@pytest.mark.parametrize("how", ["interrupt", "abort"])
async def test_subagents_end_with_their_parent_before_its_turn_ends(how: str) -> None:
    gates = Gate(), Gate()
    cast = Cast(
        [[spawn("one", "s1"), spawn("two", "s2")], wait_for("agent_1")],
        {"one": [[text("so far"), gates[0]]], "two": [[gates[1]]]},
    )
    async with running_session(cast, *SUBAGENT_TOOLS) as b:
        b.session.submit("go")
        for gate in gates:
            await gate.reached.wait()
        await b.until("tool_call_start", 3)
        getattr(b.session, how)()
        await b.idle()
        assert cast.open_streams == 0
    assert sorted(ends(b)) == [("agent_1", "failed", "interrupted"), ("agent_2", "failed", "interrupted")]
    last = max(i for i, kind in enumerate(b.kinds) if kind == "subagent")
    assert last < b.kinds.index("processing_end")
    assert problem_of(b.session.history.messages("")) == ""


@pytest.mark.spec("loop 9.9.4")
async def test_a_subagent_at_the_depth_limit_is_offered_no_subagent_tools_and_cannot_call_them() -> None:
    cast = Cast([spawn("nest"), wait_for("agent_1")], {"nest": [spawn("deeper"), text("could not")]})
    async with running_session(cast, *SUBAGENT_TOOLS) as b:
        await b.say("go")
    offered = {tool.name for tool in cast.agents["nest"].requests[0].tools}
    assert not offered & {"spawn_agent", "send_input", "wait", "close_agent"}
    refused = [end for end in b.recorder.of(ToolCallEnd) if end.is_error]
    assert [end.error_kind for end in refused] == ["unknown_tool"]


@pytest.mark.req("L2")
async def test_with_a_depth_limit_of_two_a_subagent_can_spawn_a_subagent() -> None:
    cast = Cast(
        [spawn("middle"), wait_for("agent_1")],
        {"middle": [spawn("inner"), wait_for("agent_2"), text("m")], "inner": [text("i")]},
    )
    async with running_session(cast, *SUBAGENT_TOOLS, config=SessionConfig(max_subagent_depth=2)) as b:
        await b.say("go")
    assert ends(b) == [("agent_2", "completed", ""), ("agent_1", "completed", "")]
    reporters = {
        (it.event.agent_id, it.agent_id)
        for it in b.recorder.envelopes
        if isinstance(it.event, SubagentChanged)
    }
    assert reporters == {("agent_1", ""), ("agent_2", "agent_1")}
    assert not [tool for tool in cast.agents["inner"].requests[0].tools if tool.name == "spawn_agent"]


@pytest.mark.spec("loop 9.9.4")
async def test_with_depth_zero_spawning_is_refused_with_a_message() -> None:
    cast = Cast([spawn("anything")], {})
    async with running_session(cast, *SUBAGENT_TOOLS, config=SessionConfig(max_subagent_depth=0)) as b:
        await b.say("go")
    assert "task yourself" in results(b)["spawn"]
    assert b.recorder.of(SubagentChanged) == []


@pytest.mark.parametrize(("of_task", "of_user"), [(2, 0), (0, 2), (5, 2), (2, 5)])
async def test_a_subagent_at_its_turn_limit_stops_and_its_parent_does_not(of_task: int, of_user: int) -> None:
    cast = Cast(
        [spawn("endless", max_turns=of_task), wait_for("agent_1")],
        {"endless": [tool_call("look", id=str(i)) for i in range(9)]},
    )
    config = SessionConfig(max_subagent_turns=of_user)
    async with running_session(cast, LOOK, *SUBAGENT_TOOLS, config=config) as b:
        await b.say("go")
    assert "failed (limit)" in results(b)["wait"] and "Turns used: 2" in results(b)["wait"]
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]


async def test_a_subagent_at_its_cost_limit_stops_and_its_parent_does_not() -> None:
    cast = Cast(
        [spawn("endless"), wait_for("agent_1"), text("ok")],
        {"endless": [tool_call("look", id=str(i)) for i in range(9)]},
    )
    config = SessionConfig(max_subagent_cost_usd=1.5)
    async with running_session(cast, LOOK, *SUBAGENT_TOOLS, config=config, cost_usd=lambda usage: 1.0) as b:
        await b.say("go")
    assert "failed (limit)" in results(b)["wait"] and "Turns used: 2" in results(b)["wait"]
    assert [(it.limit, it.count) for it in b.recorder.of(TurnLimit)] == [("cost", 200)]
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]


async def test_a_subagent_with_its_own_model_calls_that_model() -> None:
    cast = Cast([spawn("cheap", model="small-1"), wait_for("agent_1")], {"cheap": [text("ok")]})
    async with running_session(cast, *SUBAGENT_TOOLS) as b:
        await b.say("go")
    assert [request.model for request in cast.agents["cheap"].requests] == ["small-1"]
    assert {request.model for request in cast.main.requests} == {"model-1"}
    assert b.recorder.of(SubagentChanged)[0].model == "small-1"


async def test_a_subagent_with_its_own_folder_reads_everything_and_writes_only_there() -> None:
    environment = MemoryEnvironment({"/project/lib/a.txt": b"one\n", "/project/main.txt": b"main\n"})
    write = '{{"file_path": "{}", "content": "new\\n"}}'
    cast = Cast(
        [spawn("tidy", working_dir="lib"), wait_for("agent_1")],
        {
            "tidy": [
                [
                    tool_call("write_file", write.format("b.txt"), id="inside"),
                    tool_call("write_file", write.format("../c.txt"), id="outside"),
                ],
                text("ok"),
            ]
        },
    )
    async with running_session(cast, WRITE_FILE, *SUBAGENT_TOOLS, environment=environment) as b:
        await b.say("go")
    assert await environment.read_bytes("/project/lib/b.txt") == b"new\n"
    assert not await environment.file_exists("/project/c.txt")
    refused = next(end for end in b.recorder.of(ToolCallEnd) if end.call_id == "outside")
    assert refused.is_error and "/project/lib" in refused.output
    assert "/project/lib" in cast.agents["tidy"].requests[0].messages[-1].text


class SlowListing(MemoryEnvironment):
    def __init__(self) -> None:
        super().__init__({"/project/lib/a.txt": b"one\n"})
        self.may_list = anyio.Event()

    async def list_directory(self, path: str, depth: int = 1) -> Sequence[DirEntry]:
        await self.may_list.wait()
        return await super().list_directory(path, depth)


async def test_ids_of_parallel_subagents_are_in_the_order_of_their_calls() -> None:
    environment, started = SlowListing(), Gate()
    cast = Cast(
        [[spawn("east", "s1", working_dir="lib"), spawn("west", "s2")], text("both run")],
        {"east": [text("e")], "west": [[started, text("w")]]},
    )
    async with running_session(cast, *SUBAGENT_TOOLS, environment=environment) as b:
        b.session.submit("go")
        await started.reached.wait()
        environment.may_list.set()
        started.open()
        await b.idle()
    assert "agent_1" in results(b)["s1"] and "agent_2" in results(b)["s2"]


@pytest.mark.parametrize("folder", ["..", "/etc", "no-such-folder", "main.txt"])
async def test_spawn_agent_refuses_a_folder_that_is_missing_or_outside_the_parents_folder(
    folder: str,
) -> None:
    environment = MemoryEnvironment({"/project/main.txt": b"main\n"})
    cast = Cast([spawn("task", working_dir=folder)], {})
    async with running_session(cast, *SUBAGENT_TOOLS, environment=environment) as b:
        await b.say("go")
    assert results(b)["spawn"].startswith("Tool error (spawn_agent)")
    assert b.recorder.of(SubagentChanged) == []


async def test_a_subagent_started_with_history_gets_the_parents_conversation_tools_and_prompt() -> None:
    cast = Cast(
        [text("Noted."), spawn("use it", with_history=True), wait_for("agent_1")],
        {"use it": [text("You said 42.")]},
    )
    async with running_session(cast, LOOK, *SUBAGENT_TOOLS) as b:
        await b.say("the number is 42")
        await b.say("now use it")
    first = cast.agents["use it"].requests[0]
    said = [message.text for message in first.messages]
    assert said[:3] == ["You are a test.", "the number is 42", "Noted."]
    assert first.tools == cast.main.requests[-1].tools
    assert problem_of(first.messages) == ""
    assert "Turns used: 1" in results(b)["wait"]


@pytest.mark.req("T1", "H7")
async def test_effects_of_a_subagent_are_checked_by_the_parents_approver_with_the_agent_id() -> None:
    environment, approver = MemoryEnvironment(), DeniesWrites()
    cast = Cast(
        [spawn("write"), wait_for("agent_1")],
        {
            "write": [
                tool_call("write_file", '{"file_path": "a.txt", "content": "x"}', id="w"),
                text("denied"),
            ]
        },
    )
    async with running_session(
        cast, WRITE_FILE, *SUBAGENT_TOOLS, approver=approver, environment=environment
    ) as b:
        await b.say("go")
    asked = [question for question in approver.questions if isinstance(question.effect, WriteEffect)]
    assert [(question.agent_id, question.call_id) for question in asked] == [("agent_1", "w")]
    assert not await environment.file_exists("a.txt")


@pytest.mark.req("E6")
async def test_usage_of_a_subagent_counts_in_the_totals_of_the_session() -> None:
    cast = Cast(
        [[spawn("work"), end("stop", Usage(100, 10))], [wait_for("agent_1"), end("stop", Usage(100, 10))],
         [text("ok"), end("stop", Usage(100, 10))]],
        {"work": [[text("done"), end("stop", Usage(7, 3))]]},
    )  # fmt: skip
    async with running_session(cast, *SUBAGENT_TOOLS, cost_usd=lambda usage: usage.input_tokens / 100) as b:
        await b.say("go")
        assert b.session.usage == Usage(307, 33)
    reports = [(it.agent_id, it.event) for it in b.recorder.envelopes if isinstance(it.event, UsageReport)]
    of_agent = [event for agent_id, event in reports if agent_id == "agent_1"]
    assert [event.call for event in of_agent] == [Usage(7, 3)]
    assert reports[-1][1].total_cost_usd == pytest.approx(3.07)


async def test_a_subagent_whose_model_fails_ends_and_its_parent_continues() -> None:
    refused = AuthenticationError("no key", provider="fake", model="m")
    cast = Cast([spawn("work"), wait_for("agent_1"), text("I do it myself.")], {"work": [Fail(refused)]})
    async with running_session(cast, *SUBAGENT_TOOLS) as b:
        await b.say("go")
        assert b.session.state == "IDLE"
    assert "failed (error)" in results(b)["wait"] and "no key" in results(b)["wait"]


async def test_subagents_beyond_the_parallel_limit_are_refused() -> None:
    gate = Gate()
    cast = Cast(
        [[spawn(f"task {i}", f"s{i}") for i in range(9)], [gate, text("ok")]], {"task": [[Gate()]] * 9}
    )
    async with running_session(cast, *SUBAGENT_TOOLS) as b:
        b.session.submit("go")
        await gate.reached.wait()
        refused = [text for text in results(b).values() if "already running" in text]
        assert len(refused) == 1
        assert len(b.recorder.of(SubagentChanged)) == 8


@pytest.mark.parametrize("call", [wait_for("agent_9"), close("agent_9"), send("agent_9", "hi")])
async def test_an_unknown_subagent_id_is_answered_with_the_known_ones(call: object) -> None:
    cast = Cast([spawn("work"), call], {"work": [text("done")]})  # type: ignore[list-item]
    async with running_session(cast, *SUBAGENT_TOOLS) as b:
        await b.say("go")
    assert "Known: agent_1" in list(results(b).values())[1]


@pytest.mark.req("R4")
async def test_a_restored_subagent_reports_its_interruption_and_continues_its_history() -> None:
    stored = SubagentChanged(
        "agent_1", "failed", "c", "search", "model-1", "/project", "interrupted", "cut off"
    )
    turns = (UserTurn("The task:\n\nsearch", "t"),)
    cast = Cast(
        [wait_for("agent_1", "w1"), send("agent_1", "go on"), wait_for("agent_1", "w2"), spawn("other")],
        {"search": [text("Found.")]},
    )
    restored = RestoredSession((), 0, agents=(RestoredAgent(stored, turns),))
    async with running_session(cast, *SUBAGENT_TOOLS, restored=restored) as b:
        await b.say("go")
    assert "failed (interrupted)" in results(b)["w1"] and results(b)["w1"].endswith("cut off")
    assert results(b)["w2"].endswith("Found.")
    assert "agent_2" in results(b)["spawn"]
    asked = cast.agents["search"].requests[0].messages
    assert [message.text for message in asked if message.role is Role.USER] == [
        "The task:\n\nsearch",
        "go on",
    ]
