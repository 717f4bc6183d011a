"""Cut a log anywhere around approvals: a turn is suspended only while it waits for the user, and then completes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.environments.effects import CommandEffect, ReadEffect
from agent_ls.llm.messages import ImagePart
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
    ApprovalResolved,
    Envelope,
    ProcessingEnd,
    RecordedEvent,
    SessionEnd,
    ToolCallEnd,
    ToolCallStart,
)
from agent_ls.loop.restored import RestoredSession
from agent_ls.loop.session import Session
from agent_ls.loop.turns import AssistantTurn, ToolResultsTurn
from agent_ls.store.log import Header
from agent_ls.store.reader import read_session
from agent_ls.store.recovery import recover
from agent_ls.store.sessions import OpenSession, SessionStore
from agent_ls.tools.base import Tool, ToolContext, ToolOutput
from tests.support.fake_provider import FakeProvider, problem_of, tool_call
from tests.support.sessions import DEADLINE_S, AnyArguments, make_session, tool

pytestmark = pytest.mark.req("R3", "R4", "H7", "L16")

NOW = "2026-02-02T00:00:00.000Z"
ROUND = ["peek", "look", "peek", "slow", "shell", "edit"]
"""Two reads that need approval, one that is done, one that may hang; then a command that needs approval, and
an edit.
"""


@dataclass
class Person:
    """An approver that asks the user about reads and commands. Set `session` before the first decision."""

    session: Session | None = None
    approvals: PendingApprovals = field(init=False)

    def __post_init__(self) -> None:
        self.approvals = PendingApprovals(self._emit, lambda: bool(self.session and self.session.is_stopped))

    def _emit(self, event: RecordedEvent) -> None:
        assert self.session
        self.session.emit(event)

    async def allow_unasked(self, question: ApprovalQuestion) -> Allowed | None:
        return None

    async def decide(self, question: ApprovalQuestion) -> Decision:
        if any(request.digest == question.effect.digest for request in question.allowed):
            return Allowed()
        if isinstance(question.effect, ReadEffect | CommandEffect):
            return await self.approvals.ask(question, PolicyJudgement("ask", "it is asked about"))
        return Allowed()

    async def resume(self, request: ApprovalRequested, question: ApprovalQuestion | None) -> Decision:
        return await self.approvals.wait(request.request_id)

    def allow_all(self) -> int:
        waiting = self.approvals.pending()
        for request in waiting:
            self.approvals.answer(request.request_id, ApprovalAnswer("allow", decided_by="test"))
        return len(waiting)


def _tools(hang: Callable[[], bool]) -> list[Tool[Any]]:
    async def slow(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        context.on_output("stdout", "so far")
        if hang():
            await anyio.sleep_forever()
        return ToolOutput("slowly done")

    async def look(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("seen", images=(ImagePart(b"a picture", "image/png"),))

    return [
        tool("peek", effect=ReadEffect(("/outside",))),
        tool("look", look),
        tool("slow", slow),
        tool("shell", category="admin", effect=CommandEffect("make", "/project")),
        tool("edit", category="write"),
    ]


@dataclass
class Process:
    """A session on the log, in one simulated process."""

    session: Session
    person: Person
    provider: FakeProvider
    opened: OpenSession
    restored: RestoredSession | None

    async def play(self, *, answers: int, text: str = "") -> None:
        """Answer this many rounds of approvals, run until nothing else can run, and then end the process."""
        with anyio.fail_after(DEADLINE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(self.session.run)
                if self.restored and self.restored.suspended:
                    for request in self.restored.suspended.asked:
                        self.person.approvals.restore(request, self.restored.suspended.turn_id)
                if text:
                    self.session.submit(text)
                await anyio.wait_all_tasks_blocked()
                for _ in range(answers):
                    self.person.allow_all()
                    await anyio.wait_all_tasks_blocked()
                group.cancel_scope.cancel()
        self.opened.close()


def _process(opened: OpenSession, *, hangs: bool = False) -> Process:
    restored = recover(opened.stored, NOW) if opened.stored else None
    person = Person()
    first = [tool_call(name, f'{{"value": "{number}"}}', f"c{number}") for number, name in enumerate(ROUND)]
    provider = FakeProvider([] if opened.stored else [first])
    session = person.session = make_session(
        provider, *_tools(lambda: hangs), recorder=opened.recorder, restored=restored, approver=person
    )
    return Process(session, person, provider, opened, restored)


def _store(root: Path) -> SessionStore:
    return SessionStore(root, on_failure=lambda _, error: pytest.fail(str(error)))


def _create(root: Path) -> OpenSession:
    return _store(root).create(Header("s-1", NOW, "/w", "fake", "model-1"))


def _open(root: Path, log: bytes) -> OpenSession:
    store = _store(root)
    _create(root).close()
    (store.layout.session_folder("/w", "s-1") / "log.jsonl").write_bytes(log)
    return store.open("s-1")


def _log(opened: OpenSession) -> bytes:
    return (opened.folder / "log.jsonl").read_bytes()


def _envelopes(opened: OpenSession) -> list[Envelope]:
    stored = read_session(opened.folder / "log.jsonl")
    assert stored.problems == ()
    return [envelope for event in stored.events if (envelope := event_codec.decode(event.encoded))]


def _asked(envelopes: list[Envelope]) -> dict[str, str]:
    """Return the call of each pending request."""
    waiting: dict[str, str] = {}
    for envelope in envelopes:
        match envelope.event:
            case ApprovalRequested(request_id=request_id, call_id=call_id):
                waiting[request_id] = call_id
            case ApprovalResolved(request_id=request_id):
                waiting.pop(request_id)
            case _:
                pass
    return waiting


def _check(process: Process) -> None:
    """Check a turn that was continued to its end."""
    envelopes = _envelopes(process.opened)
    assert [envelope.seq for envelope in envelopes] == list(range(1, len(envelopes) + 1))
    assert {problem_of(request.messages) for request in process.provider.requests} <= {""}
    starts = [e.event.call_id for e in envelopes if isinstance(e.event, ToolCallStart)]
    assert sorted(starts) == sorted(e.event.call_id for e in envelopes if isinstance(e.event, ToolCallEnd))
    assert len(set(starts)) == len(starts)
    assert _asked(envelopes) == {}
    assert len([e for e in envelopes if isinstance(e.event, ProcessingEnd)]) == 1
    answered = False
    for turn in process.session.history.turns:
        if isinstance(turn, ToolResultsTurn):
            assert [result.tool_call_id for result in turn.results] == [f"c{i}" for i in range(len(ROUND))]
        answered = isinstance(turn, AssistantTurn) and not turn.tool_calls
    is_completed = envelopes[-1].event == SessionEnd("CLOSED", "completed")
    assert answered or not is_completed


async def test_a_turn_resumed_from_a_cut_log_is_suspended_only_if_an_approval_is_pending(
    tmp_path: Path,
) -> None:
    """Each cut is resumed, and suspended again in an orderly way; then everything is allowed."""
    first = _process(_create(tmp_path / "whole"))
    await first.play(answers=2, text="go")
    _check(first)
    log = _log(first.opened)
    lines = [i + 1 for i, byte in enumerate(log) if byte == 0x0A]
    seen = 0
    for number, end in enumerate(lines):
        opened = _open(tmp_path / str(number), log[:end])
        waiting = _asked(_envelopes(opened))
        again = _process(opened)
        suspended = again.restored.suspended if again.restored else None
        assert bool(suspended) == bool(waiting), log[:end].splitlines()[-1]
        if suspended is None:
            continue
        seen += 1
        assert {request.request_id: request.call_id for request in suspended.asked} == waiting
        await again.play(answers=0)
        assert again.provider.requests == []
        assert _envelopes(opened)[-1].event == SessionEnd("CLOSED", "suspended")
        last = _process(_store(tmp_path / str(number)).open("s-1"))
        assert last.restored and last.restored.suspended
        assert last.restored.suspended.asked == suspended.asked
        await last.play(answers=2)
        _check(last)
        assert len(last.provider.requests) == 1
    assert seen > 5


async def test_after_a_resume_a_tool_call_that_ran_during_a_pending_approval_is_interrupted(
    tmp_path: Path,
) -> None:
    for how in ("ended", "killed"):
        opened = _create(tmp_path / how)
        first = _process(opened, hangs=True)
        if how == "ended":
            await first.play(answers=0, text="go")
        else:
            async with anyio.create_task_group() as group:
                group.start_soon(first.session.run)
                first.session.submit("go")
                await anyio.wait_all_tasks_blocked()
                log = _log(opened)
                group.cancel_scope.cancel()
            opened = _open(tmp_path / "left-behind", log)
        opened.close()
        root = tmp_path / ("ended" if how == "ended" else "left-behind")
        last = _process(_store(root).open("s-1"))
        await last.play(answers=2)
        _check(last)
        results = next(t for t in last.session.history.turns if isinstance(t, ToolResultsTurn)).results
        assert [result.is_error for result in results] == [False, False, False, True, False, False]
        assert "nterrupted" in results[3].content
        assert results[1].images == (ImagePart(b"a picture", "image/png"),)


async def test_two_resumes_of_the_same_log_restore_the_same_tool_calls(tmp_path: Path) -> None:
    """A call that has not started has no id in the log. Ids in the log stay the same after a resume."""
    first = _process(_create(tmp_path / "whole"))
    await first.play(answers=0, text="go")
    log = _log(first.opened)
    found = []
    for number in range(2):
        process = _process(_open(tmp_path / str(number), log))
        assert process.restored and process.restored.suspended
        found.append(process.restored.suspended)
        process.opened.close()
    assert found[0] == found[1]
    assert [call.has_started for call in found[0].calls] == [True, True, True, True, False, False]
    assert (found[0].rounds, found[0].ends) == (0, ())
