"""Interrupt and abort at any moment: work in flight is settled, each call has one result, and the history is valid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from agent_ls.environments.effects import CommandEffect
from agent_ls.loop.calls.approval import (
    Allowed,
    ApprovalAnswer,
    ApprovalQuestion,
    Decision,
    PendingApprovals,
    PolicyJudgement,
)
from agent_ls.loop.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    AssistantTextEnd,
    Envelope,
    ProcessingEnd,
    SessionEnd,
    StateChanged,
    TerminalExit,
    ToolCallEnd,
)
from agent_ls.loop.turns import AssistantTurn, ToolResultsTurn
from agent_ls.tools.base import Tool, ToolContext, ToolOutput
from tests.support.fake_provider import FakeProvider, Gate, problem_of, reasoning, text, tool_call
from tests.support.sessions import (
    AnyArguments,
    MemoryRecorder,
    RunningSession,
    make_session,
    running_session,
    started_and_ended,
    tool,
)


class AskingApprover:
    """Asks for approval of commands through real PendingApprovals."""

    def __init__(self) -> None:
        self.approvals: PendingApprovals | None = None

    async def decide(self, question: ApprovalQuestion) -> Decision:
        if self.approvals and isinstance(question.effect, CommandEffect):
            return await self.approvals.ask(question, PolicyJudgement("ask", "it runs a command"))
        return Allowed()

    async def resume(self, request: ApprovalRequested, question: ApprovalQuestion | None) -> Decision:
        raise AssertionError("no turn was suspended")


async def _patient(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
    context.on_output("stdout", "half ")
    await checkpoint()
    context.on_output("stderr", "done\n")
    await checkpoint()
    return ToolOutput("half done\nwhole", exit_code=0)


def _tools() -> list[Tool[Any]]:
    command = CommandEffect("make", "/project")
    return [
        tool("look"),
        tool("edit", category="write"),
        tool("shell", _patient, category="admin", effect=command),
    ]


def _script() -> FakeProvider:
    return FakeProvider(
        [
            [
                reasoning("h", "m"),
                text("First ", "this."),
                tool_call("look", '{"value": "a"}', "c1"),
                tool_call("look", '{"value": "b"}', "c2"),
                tool_call("shell", id="c3"),
                tool_call("edit", '{"value": "d"}', "c4"),
            ],
            [text("Then."), tool_call("nothing", id="c1")],
            text("Done."),
        ]
    )


async def _answer_approvals(b: RunningSession, approvals: PendingApprovals) -> None:
    with b.session.subscribe() as events:
        async for item in events:
            if item.envelope.kind == "approval_requested":
                await checkpoint()
                for request in approvals.pending():
                    approvals.answer(request.request_id, ApprovalAnswer("allow", decided_by="test"))


async def _played(arrange: Callable[[RunningSession], None], *, goes_on: bool) -> MemoryRecorder:
    """Run the script; `arrange` sets up the stop. If the session `goes_on`, send one more message."""
    provider, approver = _script(), AskingApprover()
    async with running_session(provider, *_tools(), approver=approver) as b:
        approver.approvals = PendingApprovals(b.session.emit)
        async with anyio.create_task_group() as group:
            group.start_soon(_answer_approvals, b, approver.approvals)
            arrange(b)
            b.session.submit("go")
            await b.until("processing_end")
            b.recorder.on_event = lambda _: None
            if goes_on:
                await b.say("and now?")
            group.cancel_scope.cancel()
        assert provider.open_streams == 0
        problems = {problem_of(request.messages) for request in provider.requests}
        assert problems <= {""}
        assert problem_of(b.session.history.messages("p")) == ""
    return b.recorder


def _check(recorder: MemoryRecorder) -> None:
    """Check the invariants after a stop."""
    starts, ends = started_and_ended(recorder)
    assert sorted(starts) == sorted(ends)
    assert len(set(starts)) == len(starts)
    answers = [turn for turn in recorder.turns if isinstance(turn, AssistantTurn)]
    results = [turn for turn in recorder.turns if isinstance(turn, ToolResultsTurn)]
    asked = [[call.id for call in turn.tool_calls] for turn in answers if turn.tool_calls]
    assert asked == [[result.tool_call_id for result in turn.results] for turn in results]
    assert len(starts) == sum(map(len, asked))
    seqs = [envelope.seq for envelope in recorder.envelopes]
    assert seqs == list(range(1, len(seqs) + 1))
    over: set[str] = set()
    for envelope in recorder.envelopes:
        assert envelope.turn_id not in over, f"{envelope.kind} after its turn's end"
        if isinstance(envelope.event, ProcessingEnd):
            over.add(envelope.turn_id)
    opened = recorder.kinds.count("assistant_text_start") + recorder.kinds.count("reasoning_start")
    assert opened == recorder.kinds.count("assistant_text_end") + recorder.kinds.count("reasoning_end")
    assert recorder.kinds.count("terminal_open") == recorder.kinds.count("terminal_exit")
    assert recorder.kinds.count("approval_requested") == recorder.kinds.count("approval_resolved")
    assert recorder.kinds.count("session_end") == 1


STOPS: dict[str, Callable[[RunningSession], None]] = {
    "interrupt": lambda b: b.session.interrupt(),
    "abort": lambda b: b.session.abort(),
}
REASONS = {"interrupt": "interrupted", "abort": "aborted"}


async def _number_of_events() -> int:
    recorder = await _played(lambda _: None, goes_on=True)
    return recorder.kinds.index("processing_end")


@pytest.mark.req("L16", "H2")
@pytest.mark.parametrize("how", STOPS)
async def test_stop_at_every_event_leaves_a_valid_history(how: str) -> None:
    for number in range(1, await _number_of_events() + 2):

        def arrange(b: RunningSession, number: int = number) -> None:
            def stop_there(envelope: Envelope) -> None:
                if envelope.seq == number:
                    STOPS[how](b)

            b.recorder.on_event = stop_there

        recorder = await _played(arrange, goes_on=how == "interrupt")
        _check(recorder)
        if 1 < number < recorder.kinds.index("processing_end"):
            assert recorder.of(ProcessingEnd)[0].reason == REASONS[how]


@pytest.mark.spec("conversation 4.14")
@pytest.mark.req("L16")
@pytest.mark.parametrize("how", STOPS)
async def test_stop_at_every_step_of_the_event_loop_leaves_a_valid_history(how: str) -> None:
    ended_by_itself = 0
    for steps in range(400):
        async with anyio.create_task_group() as group:

            async def stop_later(b: RunningSession, steps: int = steps) -> None:
                for _ in range(steps):
                    await checkpoint()
                STOPS[how](b)

            def arrange(b: RunningSession, group: TaskGroup = group) -> None:
                group.start_soon(stop_later, b)

            recorder = await _played(arrange, goes_on=how == "interrupt")
            group.cancel_scope.cancel()
        _check(recorder)
        ended_by_itself += recorder.of(ProcessingEnd)[0].reason == "completed"
        if ended_by_itself > 3:
            return
    pytest.fail("the script is longer than the sweep")


@pytest.mark.spec("conversation 4.12", "safety S5.5")
@pytest.mark.req("H2", "L3")
async def test_interrupt_during_a_stream_keeps_the_partial_text_and_the_session_continues() -> None:
    gate = Gate()
    provider = FakeProvider([[text("Whole."), tool_call("look")], [text("Well, ", "I"), gate], text("Yes.")])
    async with running_session(provider, tool("look")) as b:
        b.session.submit("go")
        await gate.reached.wait()
        b.session.interrupt()
        await b.idle()
        await b.say("again")
    assert b.recorder.of(ProcessingEnd)[0] == ProcessingEnd("interrupted")
    partial = b.recorder.turns[3]
    assert isinstance(partial, AssistantTurn)
    assert partial.content == "Well, I"


@pytest.mark.req("L16")
async def test_interrupt_during_an_open_text_ends_the_part_as_interrupted() -> None:
    async with running_session(FakeProvider([[text("never said")]])) as b:
        with b.session.subscribe() as events:
            b.session.submit("go")
            async for item in events:
                if item.envelope.kind == "assistant_text_delta":
                    b.session.interrupt()
                if item.envelope.kind == "processing_end":
                    break
    assert b.recorder.of(AssistantTextEnd) == [
        AssistantTextEnd(b.recorder.of(AssistantTextEnd)[0].part_id, "never said", interrupted=True)
    ]
    assert [turn.type for turn in b.recorder.turns] == ["user", "assistant"]


@pytest.mark.spec("safety S5.8")
@pytest.mark.req("L16")
async def test_interrupt_during_a_command_keeps_its_output_and_informs_the_model() -> None:
    running = anyio.Event()

    async def hang(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        context.on_output("stdout", "42 tests\n")
        running.set()
        await anyio.sleep_forever()
        return ToolOutput("")

    shell = tool("shell", hang, category="admin", effect=CommandEffect("pytest", "/project"))
    async with running_session(
        FakeProvider([[tool_call("shell", id="a"), tool_call("shell", id="b")]]), shell
    ) as b:
        b.session.submit("go")
        await running.wait()
        b.session.interrupt()
        await b.idle()
        results = b.recorder.turns[-1]
    assert isinstance(results, ToolResultsTurn)
    first, second = results.results
    assert first.content.startswith("42 tests\n")
    assert "Interrupted by" in first.content
    assert second.content == "Not run: interrupted by the user."
    assert [end.error_kind for end in b.recorder.of(ToolCallEnd)] == ["interrupted", "interrupted"]
    assert b.recorder.of(TerminalExit) == [TerminalExit("a", None)]


@pytest.mark.req("L16", "H7")
async def test_interrupt_denies_a_pending_approval_with_decided_by_interrupt() -> None:
    approver = AskingApprover()
    async with running_session(FakeProvider([tool_call("shell")]), *_tools(), approver=approver) as b:
        approver.approvals = PendingApprovals(b.session.emit)
        b.session.submit("go")
        await b.until("approval_requested")
        b.session.interrupt()
        await b.idle()
        assert approver.approvals.pending() == ()
    resolved = b.recorder.of(ApprovalResolved)
    assert [(event.decision, event.decided_by) for event in resolved] == [("deny", "interrupt")]
    assert isinstance(results := b.recorder.turns[-1], ToolResultsTurn)
    assert results.results[0].is_error


@pytest.mark.spec("loop 9.1.6")
@pytest.mark.req("L3", "R2")
async def test_abort_ends_first_the_turn_and_then_the_session() -> None:
    gate = Gate()
    async with running_session(FakeProvider([[text("a"), gate]])) as b:
        b.session.submit("go")
        await gate.reached.wait()
        b.session.abort()
        b.session.abort()
        await b.ended.wait()
        assert b.session.state == "CLOSED"
    assert b.kinds[-3:] == ["state", "processing_end", "session_end"]
    assert b.recorder.of(StateChanged)[-1] == StateChanged("CLOSED")
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("aborted")]
    assert b.recorder.of(SessionEnd) == [SessionEnd("CLOSED", "aborted")]


@pytest.mark.req("R2")
async def test_cancelling_run_closes_the_session_in_an_orderly_way() -> None:
    gate, recorder = Gate(), MemoryRecorder()
    provider = FakeProvider([[text("a"), gate]])
    session = make_session(provider, recorder=recorder)
    async with anyio.create_task_group() as group:
        group.start_soon(session.run)
        session.submit("go")
        await gate.reached.wait()
        group.cancel_scope.cancel()
    assert session.state == "CLOSED"
    assert recorder.kinds[-3:] == ["state", "processing_end", "session_end"]
    assert recorder.of(ProcessingEnd) == [ProcessingEnd("interrupted")]
    assert provider.open_streams == 0


@pytest.mark.req("H2")
async def test_interrupt_while_idle_changes_nothing() -> None:
    async with running_session(FakeProvider([text("a")])) as b:
        await b.say("one")
        count = len(b.kinds)
        b.session.interrupt()
        assert len(b.kinds) == count
        await b.say("two")
    assert {event.reason for event in b.recorder.of(ProcessingEnd)} == {"completed"}


async def test_output_after_the_end_of_its_call_is_not_published() -> None:
    sinks = []

    async def leak(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        sinks.append(context.on_output)
        return ToolOutput("ok")

    async with running_session(FakeProvider([tool_call("look")]), tool("look", leak)) as b:
        await b.say("go")
        sinks[0]("stdout", "late")
        assert b.session.open_parts() == ()
