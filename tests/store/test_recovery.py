"""Resume a log that is cut anywhere: it is readable, history and numbers are valid, and nothing runs unasked."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.loop.calls.approval import (
    Allowed,
    ApprovalAnswer,
    ApprovalQuestion,
    Decision,
    PendingApprovals,
    PolicyJudgement,
)
from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.types import (
    ApprovalRequested,
    AssistantTextEnd,
    Envelope,
    ProcessingEnd,
    RecordedEvent,
    SessionStart,
    StateChanged,
    SteeringInjected,
    ToolCallEnd,
    ToolCallStart,
    UsageReport,
    UserInput,
)
from agent_ls.loop.inbox import Input
from agent_ls.loop.restored import MissingRecords, Submitted
from agent_ls.loop.session import Session
from agent_ls.loop.turns import AssistantTurn, SteeringTurn, ToolResultsTurn, UserTurn
from agent_ls.store.log import Header
from agent_ls.store.recovery import recover
from agent_ls.store.sessions import OpenSession, SessionStore
from agent_ls.tools.base import Tool, ToolContext, ToolOutput
from tests.support.fake_clock import FakeClock
from tests.support.fake_provider import FakeProvider, Gate, problem_of, reasoning, text, tool_call
from tests.support.sessions import DEADLINE_S, AnyArguments, Run, make_session, tool

NOW = "2026-02-02T00:00:00.000Z"


def _store(root: Path) -> SessionStore:
    return SessionStore(root, on_failure=lambda _, error: pytest.fail(str(error)))


def _tools(run: Run) -> list[Tool[Any]]:
    effect = CommandEffect("make", "/project")
    return [tool("look"), tool("edit", category="write"), tool("shell", run, category="admin", effect=effect)]


class CommandApprover:
    """Asks for approval of commands; the test allows them."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.approvals = PendingApprovals(self._emit, lambda: bool(self.session and self.session.is_stopped))

    def _emit(self, event: RecordedEvent) -> None:
        assert self.session
        self.session.emit(event)

    async def allow_unasked(self, question: ApprovalQuestion) -> Allowed | None:
        return None

    async def decide(self, question: ApprovalQuestion) -> Decision:
        if question.allowed or not isinstance(question.effect, CommandEffect):
            return Allowed()
        async with anyio.create_task_group() as group:
            group.start_soon(self._allow)
            decision = await self.approvals.ask(question, PolicyJudgement("ask", "a command"))
        return decision

    async def resume(self, request: ApprovalRequested, question: ApprovalQuestion | None) -> Decision:
        return await self.approvals.wait(request.request_id)

    async def _allow(self) -> None:
        while not self.approvals.pending():
            await anyio.lowlevel.checkpoint()
        self.allow()

    def allow(self) -> None:
        for request in self.approvals.pending():
            self.approvals.answer(request.request_id, ApprovalAnswer("allow", decided_by="test"))


@dataclass
class Story:
    """The log of one long session, and the state of the session at its end."""

    log: bytes
    session: Session


async def _story(root: Path) -> Story:
    """Record a session with calls of all kinds, an approval, a steer, a follow-up, an interrupt and partial texts."""
    gates = {name: Gate() for name in ("text", "last")}
    running, go_on = anyio.Event(), anyio.Event()

    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        context.on_output("stdout", "tests: ")
        running.set()
        await go_on.wait()
        return ToolOutput("tests: fine", exit_code=0)

    provider = FakeProvider(
        [
            [
                reasoning("let ", "me see"),
                text("First "),
                tool_call("look", '{"value": "a"}', "c0"),
                tool_call("look", '{"value": "b"}', "c1"),
                tool_call("shell", id="c2"),
                tool_call("edit", id="c3"),
            ],
            [text("Then", " more", gates["text"], "."), tool_call("look", id="c0")],
            text("Done."),
            text("Second."),
            [text("A last ", gates["last"], "word.")],
        ]
    )
    store, clock, approver = _store(root), FakeClock(), CommandApprover()
    opened = store.create(Header("s-1", clock.now(), "/w", "fake", "model-1"))
    session = make_session(provider, *_tools(run), recorder=opened.recorder, clock=clock, approver=approver)
    approver.session = session

    async def tick() -> None:
        await anyio.wait_all_tasks_blocked()
        clock.advance(1)
        await anyio.wait_all_tasks_blocked()

    with anyio.fail_after(DEADLINE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(session.run)
            session.submit("go", client_key="k1")
            await running.wait()
            await tick()
            session.steer("look closer", client_key="k2")
            session.follow_up("and then", client_key="k3")
            go_on.set()
            await gates["text"].reached.wait()
            await tick()
            gates["text"].open()
            await anyio.wait_all_tasks_blocked()
            session.submit("something else")
            await gates["last"].reached.wait()
            session.interrupt()
            await anyio.wait_all_tasks_blocked()
            session.abort()
    log = (opened.folder / "log.jsonl").read_bytes()
    opened.close()
    return Story(log, session)


def _resumed(root: Path, log: bytes) -> OpenSession:
    store = _store(root)
    store.create(Header("s-1", "", "/w", "fake", "model-1")).close()
    (store.layout.session_folder("/w", "s-1") / "log.jsonl").write_bytes(log)
    return store.open("s-1")


async def _go_on(opened: OpenSession) -> tuple[Session, FakeProvider]:
    """Resume the session, allow its pending requests, send one message, and close it."""
    assert opened.stored is not None
    provider, approver, has_leave = FakeProvider(), CommandApprover(), False

    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        assert has_leave, "nothing is started again by itself"
        return ToolOutput("tests: fine", exit_code=0)

    restored = recover(opened.stored, NOW)
    session = approver.session = make_session(
        provider, *_tools(run), recorder=opened.recorder, restored=restored, approver=approver
    )
    with anyio.fail_after(DEADLINE_S):
        async with anyio.create_task_group() as group:
            with session.subscribe() as events:
                group.start_soon(session.run)
                if restored.suspended:
                    for request in restored.suspended.asked:
                        approver.approvals.restore(request, restored.suspended.turn_id)
                    await anyio.wait_all_tasks_blocked()
                    assert (session.state, provider.requests) == ("AWAITING_INPUT", [])
                    has_leave = True
                    approver.allow()
                session.submit("still there?")
                async for item in events:
                    if item.envelope.kind == "processing_end" and session.queue == ():
                        if session.state == "IDLE":
                            session.abort()
    opened.close()
    return session, provider


def _events(opened: OpenSession, root: Path) -> list[Envelope]:
    stored = _store(root).read("s-1")
    assert stored.problems == ()
    found = [event_codec.decode(event.encoded) for event in stored.events]
    return [envelope for envelope in found if envelope]


def _check(envelopes: list[Envelope], session: Session, provider: FakeProvider) -> None:
    assert [envelope.seq for envelope in envelopes] == list(range(1, len(envelopes) + 1))
    assert {problem_of(request.messages) for request in provider.requests} == {""}
    starts = [e.event.call_id for e in envelopes if isinstance(e.event, ToolCallStart)]
    ends = [e.event.call_id for e in envelopes if isinstance(e.event, ToolCallEnd)]
    assert sorted(starts) == sorted(ends)
    assert len(set(starts)) == len(starts)
    kinds = [envelope.kind for envelope in envelopes]
    for opening, closing in (
        ("assistant_text_start", "assistant_text_end"),
        ("reasoning_start", "reasoning_end"),
        ("terminal_open", "terminal_exit"),
        ("approval_requested", "approval_resolved"),
    ):
        assert kinds.count(opening) == kinds.count(closing), opening
    asked: list[str] = []
    for turn in session.history.turns:
        if isinstance(turn, ToolResultsTurn):
            assert [result.tool_call_id for result in turn.results] == asked
        else:
            assert asked == []
        asked = [call.id for call in turn.tool_calls] if isinstance(turn, AssistantTurn) else []
    said = [turn.content for turn in session.history.turns if isinstance(turn, UserTurn)]
    texts = [e.event.text for e in envelopes if isinstance(e.event, UserInput)]
    assert said == texts
    steered = [turn.content for turn in session.history.turns if isinstance(turn, SteeringTurn)]
    assert steered == [e.event.text for e in envelopes if isinstance(e.event, SteeringInjected)]
    assert steered.count("look closer") <= 1
    assert said.count("and then") <= 1


@pytest.mark.req("R3", "R4", "L16")
async def test_a_log_cut_at_or_inside_any_line_can_be_resumed(tmp_path: Path) -> None:
    story = await _story(tmp_path / "story")
    ends = [i + 1 for i, byte in enumerate(story.log) if byte == 0x0A]
    assert len(ends) > 50
    cuts = [cut for start, end in itertools.pairwise(ends) for cut in (end, (start + end) // 2, end - 1)]
    for number, cut in enumerate(cuts):
        root = tmp_path / str(number)
        opened = _resumed(root, story.log[:cut])
        session, provider = await _go_on(opened)
        _check(_events(opened, root), session, provider)


@pytest.mark.req("R3", "R4")
@pytest.mark.parametrize(
    "kind", ["approval_requested", "tool_call_start", "assistant_text_start", "terminal_open"]
)
async def test_an_interrupted_resume_can_be_resumed(tmp_path: Path, kind: str) -> None:
    story = await _story(tmp_path / "story")
    cut = story.log.index(b'"kind":"%s"' % kind.encode())
    opened = _resumed(tmp_path / "once", story.log[: story.log.index(b"\n", cut) + 1])
    await _go_on(opened)
    log = (opened.folder / "log.jsonl").read_bytes()
    ends = [i + 1 for i, byte in enumerate(log) if byte == 0x0A and i > cut]
    for number, end in enumerate(ends):
        root = tmp_path / str(number)
        again = _resumed(root, log[:end])
        session, provider = await _go_on(again)
        _check(_events(again, root), session, provider)


@pytest.mark.req("R3", "L3")
async def test_a_completed_session_is_resumed_unchanged(tmp_path: Path) -> None:
    story = await _story(tmp_path / "story")
    stored = _store(tmp_path / "story").read("s-1")
    restored = recover(stored, NOW)
    assert restored.turns == tuple(story.session.history.turns)
    assert restored.usage == story.session.usage
    assert restored.last_seq == story.session.last_seq
    assert (restored.prefix.text, restored.prefix.model) == ("You are a test.", "model-1")
    assert (restored.queue, restored.steers, restored.was_closed) == ((), (), True)
    assert restored.missing == MissingRecords()
    assert {key: bool(answer.turn_id) for key, answer in restored.answers.items()} == {
        "k1": True,
        "k2": False,
        "k3": False,
    }
    before = story.session.history.messages("p")
    opened = _resumed(tmp_path / "again", story.log)
    _, provider = await _go_on(opened)
    assert provider.requests[0].messages[1 : len(before)] == before[1:]
    added = [e.event for e in _events(opened, tmp_path / "again")][restored.last_seq :]
    assert added[0] == SessionStart("fake", "model-1", "/project", resumed=True)
    assert added[1] == StateChanged("IDLE")
    assert not any(
        line.startswith(b'{"prompt"')
        for line in (opened.folder / "log.jsonl").read_bytes()[len(story.log) :].split(b"\n")
    )


async def _cut_where(
    tmp_path: Path, is_last: Callable[[dict[str, Any]], bool]
) -> tuple[list[Envelope], Session]:
    """Resume from the log up to the first line for which `is_last` returns True. Return only the new events."""
    story = await _story(tmp_path / "story")
    lines = story.log.splitlines(keepends=True)
    number = next(i for i, line in enumerate(lines) if is_last(json.loads(line)))
    opened = _resumed(tmp_path / "cut", b"".join(lines[: number + 1]))
    assert opened.stored is not None
    known = opened.stored.last_seq
    session, _ = await _go_on(opened)
    return _events(opened, tmp_path / "cut")[known:], session


def _is_event(record: dict[str, Any], kind: str, **data: object) -> bool:
    event = record.get("event", {})
    return bool(event.get("kind") == kind and data.items() <= event["data"].items())


@pytest.mark.req("R3", "R4")
async def test_after_a_resume_a_partially_streamed_text_ends_as_interrupted_with_the_logged_part(
    tmp_path: Path,
) -> None:
    events, session = await _cut_where(
        tmp_path, lambda record: record.get("partial", {}).get("text") == "Then more"
    )
    first, cut, *last = (envelope.event for envelope in events[:4])
    assert isinstance(first, AssistantTextEnd)
    assert (first.text, first.interrupted) == ("Then more", True)
    assert isinstance(cut, UsageReport) and cut.estimated
    assert last == [StateChanged("IDLE"), ProcessingEnd("interrupted")]
    assert events[0].turn_id == events[3].turn_id != ""
    answers = [turn for turn in session.history.turns if isinstance(turn, AssistantTurn)]
    assert answers[1].content == "Then more"
    assert answers[1].finish_reason.raw == "interrupted"


@pytest.mark.req("R4")
async def test_after_a_resume_ended_tool_calls_keep_their_results_and_unfinished_calls_fail(
    tmp_path: Path,
) -> None:
    events, session = await _cut_where(tmp_path, lambda record: "partial" in record)
    results = next(turn for turn in session.history.turns if isinstance(turn, ToolResultsTurn)).results
    assert [result.content for result in results[:2]] == ["did a", "did b"]
    assert results[2].content.startswith("tests: \n\nInterrupted: ")
    assert results[3].content.startswith("Not run: agent-ls ended")
    assert [result.is_error for result in results] == [False, False, True, True]
    kinds = [envelope.kind for envelope in events[:6]]
    assert kinds == [
        "terminal_exit",
        "tool_call_end",
        "tool_call_start",
        "tool_call_end",
        "state",
        "processing_end",
    ]


@pytest.mark.req("R4", "H7")
async def test_after_a_resume_a_pending_approval_waits_again_and_the_answer_continues_the_turn(
    tmp_path: Path,
) -> None:
    events, session = await _cut_where(tmp_path, lambda record: _is_event(record, "approval_requested"))
    kinds = [envelope.kind for envelope in events]
    assert kinds[: kinds.index("tool_call_end") + 1] == [
        "session_start",
        "state",
        "approval_resolved",
        "state",
        "queue",
        "terminal_open",
        "terminal_exit",
        "tool_call_end",
    ]
    assert [e.event.state for e in events if isinstance(e.event, StateChanged)] == [
        "AWAITING_INPUT",
        "PROCESSING",
        "IDLE",
        "CLOSED",
    ]
    results = next(turn for turn in session.history.turns if isinstance(turn, ToolResultsTurn)).results
    assert [result.content for result in results] == ["did a", "did b", "tests: fine", "did"]


async def test_after_a_resume_queued_prompts_are_kept_and_no_model_call_starts(tmp_path: Path) -> None:
    story = await _story(tmp_path / "story")
    lines = story.log.splitlines(keepends=True)
    number = next(i for i, line in enumerate(lines) if _is_event(json.loads(line), "queue"))
    opened = _resumed(tmp_path / "cut", b"".join(lines[: number + 1]))
    assert opened.stored is not None
    restored = recover(opened.stored, NOW)
    assert [item.text for item in restored.queue] == ["and then"]
    assert isinstance(restored.queue[0], Input)
    assert restored.answers["k3"] == Submitted(queued_id=restored.queue[0].queued_id)
    assert [steer.text for steer in restored.steers] == ["look closer"]
    provider = FakeProvider()
    session = make_session(provider, recorder=opened.recorder, restored=restored)
    async with anyio.create_task_group() as group:
        group.start_soon(session.run)
        await anyio.wait_all_tasks_blocked()
        assert provider.requests == []
        assert session.submit("go", client_key="k1") == restored.answers["k1"]
        assert provider.requests == []
        session.abort()
    opened.close()
