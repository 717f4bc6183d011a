"""A turn that waits for the user survives the end of its process: the question is repeated, the effect is computed
again, and the turn continues (R4).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.calls.dispatch import EVENT_SHARE_CHARS
from agent_ls.loop.events.types import (
    DECIDED_BY_POLICY,
    ApprovalRequested,
    ApprovalResolved,
    ProcessingEnd,
    SessionEnd,
    SteeringInjected,
    ToolCallEnd,
    ToolCallStart,
    UserInput,
)
from agent_ls.policy.situation import Mode
from tests.services.test_permissions import Script, call, edit, outside, read, shell, work
from tests.support.fake_provider import CallTool, problem_of, text, tool_call
from tests.support.session_rig import DEADLINE_S, SessionRig, Talk, running, wait

__all__ = ["work"]  # a fixture

pytestmark = pytest.mark.req("R4", "H7")

YES, NO = (
    ApprovalAnswer("allow", decided_by="test"),
    ApprovalAnswer("deny", reason="not like that", decided_by="test"),
)

hows = pytest.mark.parametrize("how", ["ended", "killed"])


@dataclass
class Left:
    """The state that an earlier process left: its session, its state folder, and the pending questions."""

    session_id: str
    state: Path
    asked: tuple[ApprovalRequested, ...]

    async def reopened(self, rig: SessionRig) -> Talk:
        talk = await rig.reopen(self.session_id, wait)
        assert talk.live.approver.pending() == self.asked
        assert talk.live.session.state == "AWAITING_INPUT"
        await anyio.wait_all_tasks_blocked()
        assert rig.model.requests == []
        return talk


async def left(
    folder: Path,
    script: Script,
    how: str = "killed",
    *,
    mode: Mode = "ask",
    count: int = 1,
    arrange: Callable[[Talk], Awaitable[None]] | None = None,
) -> Left:
    """Run a turn until its approval number `count` is pending, and return the state that its process leaves.

    `how`: "killed" leaves the state of this moment, "ended" the state after the session was suspended.
    """
    state = folder / "state"
    async with running(folder, script) as rig:
        talk = await rig.talk(mode, wait)
        talk.live.session.submit("go")
        if arrange:
            await arrange(talk)
        await talk.until("approval_requested", count)
        asked = talk.live.approver.pending()
        if how == "killed":
            state = shutil.copytree(state, folder / "left-behind", dirs_exist_ok=True)
    if how == "ended":
        assert talk.of(SessionEnd) == [SessionEnd("CLOSED", "suspended")]
        assert talk.of(ApprovalResolved) == [] or count > 1
        assert talk.of(ProcessingEnd) == []
    return Left(talk.session_id, state, asked)


async def answer(talk: Talk, answer: ApprovalAnswer, call_id: str = "") -> None:
    """Answer the pending approval of this call, or the first one."""
    request = next(it for it in talk.live.approver.pending() if call_id in ("", it.call_id))
    talk.live.approver.answer(request.request_id, answer)


def check(rig: SessionRig, talk: Talk) -> None:
    """Check the invariants after a resumed turn."""
    assert {problem_of(request.messages) for request in rig.model.requests} <= {""}
    starts = [start.call_id for start in talk.of(ToolCallStart)]
    assert sorted(starts) == sorted(end.call_id for end in talk.of(ToolCallEnd))
    assert len(set(starts)) == len(starts)
    seqs = [envelope.seq for envelope in talk.envelopes]
    assert seqs == list(range(1, len(seqs) + 1))


@hows
async def test_a_denial_after_a_restart_reaches_the_model_with_its_reason(how: str, work: Path) -> None:
    waiting = await left(work.parent, [[shell("rm a.txt"), shell("rm b.txt")]], how)
    async with running(work.parent, state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        await answer(talk, NO)
        await talk.until("approval_requested", 2)
        await answer(talk, NO)
        await talk.until("processing_end")
        check(rig, talk)
        assert ["not like that" in result.content for result in rig.results()] == [True, True]
        assert talk.of(ProcessingEnd) == [ProcessingEnd("refused")]
    assert (work / "a.txt").exists()


@hows
async def test_an_edit_needs_approval_again_if_the_file_changed_during_a_restart(
    how: str, work: Path
) -> None:
    waiting = await left(work.parent, [[read("a.txt")], [edit("a.txt", "on", "ON")]], how)
    (work / "a.txt").write_text("one more\n")
    async with running(work.parent, state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        await answer(talk, YES)
        await talk.until("approval_requested", 2)
        first, second = talk.of(ApprovalRequested)
        assert first.request_id != second.request_id
        assert first.digest != second.digest
        assert "+ONe more" in second.effect["files"][0]["diff"]
        assert (work / "a.txt").read_text() == "one more\n"
        await answer(talk, YES)
        await talk.until("processing_end")
        check(rig, talk)
    assert (work / "a.txt").read_text() == "ONe more\n"


@pytest.mark.req("X6")
async def test_an_edit_needs_approval_again_if_the_path_now_resolves_outside_the_workspace(
    work: Path,
) -> None:
    waiting = await left(work.parent, [[read("a.txt")], [edit("a.txt")]])
    (work / "a.txt").unlink()
    (work / "a.txt").symlink_to(outside(work))
    outside(work).write_text("one\n")  # so that the edit would apply
    async with running(work.parent, state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        await answer(talk, YES)
        await talk.until("approval_requested", 2)
        assert "outside the workspace" in talk.of(ApprovalRequested)[-1].reason
        await answer(talk, NO)
        await talk.until("processing_end")
        check(rig, talk)
    assert outside(work).read_text() == "one\n"


@pytest.mark.req("X8")
async def test_the_current_mode_applies_when_the_turn_continues(work: Path) -> None:
    waiting = await left(work.parent, [[shell("echo x > made")]])
    async with running(work.parent, state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        await talk.live.configure(mode="plan")
        await answer(talk, YES)
        await talk.until("processing_end")
        check(rig, talk)
        assert "plan mode" in rig.results()[0].content
    assert not (work / "made").exists()


@pytest.mark.req("X8")
@pytest.mark.parametrize("wanted", [shell("echo x > made"), edit("a.txt")], ids=["shell", "edit"])
async def test_nobody_is_asked_about_a_call_that_the_mode_refuses_after_a_restart(
    wanted: CallTool, work: Path
) -> None:
    waiting = await left(work.parent, [[read("a.txt"), wanted]])
    async with running(work.parent, state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        await talk.live.configure(mode="plan")
        await talk.until("processing_end")
        check(rig, talk)
        assert talk.live.approver.pending() == ()
        (resolved,) = talk.of(ApprovalResolved)
        assert (resolved.decision, resolved.decided_by) == ("deny", DECIDED_BY_POLICY)


async def test_an_approval_granted_before_a_restart_is_not_requested_again(work: Path) -> None:
    """An edit of a file outside the workspace needs one approval to read it and one to change it."""
    path = outside(work)
    path.write_text("")

    async def look(talk: Talk) -> None:
        await talk.until("approval_requested")
        await answer(talk, YES)

    write = call("write_file", file_path=str(path), content="mine\n")
    waiting = await left(work.parent, [[write]], count=2, arrange=look)
    assert [request.effect["type"] for request in waiting.asked] == ["WriteEffect"]
    async with running(work.parent, state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        await answer(talk, YES)
        await talk.until("processing_end")
        check(rig, talk)
        assert len(talk.of(ApprovalRequested)) == 2
    assert path.read_text() == "mine\n"


@hows
async def test_several_pending_approvals_are_answered_across_several_processes(how: str, work: Path) -> None:
    """Two reads outside are pending, one inside is done, and a command has not started."""
    other = outside(work).with_name("p.txt")
    other.write_text("other\n")
    calls = [
        tool_call("read_file", json.dumps({"file_path": str(outside(work))}), "r1"),
        tool_call("read_file", json.dumps({"file_path": "a.txt"}), "r2"),
        tool_call("read_file", json.dumps({"file_path": str(other)}), "r3"),
        tool_call("shell", json.dumps({"command": "echo made > made"}), "s"),
    ]

    async def read_inside(talk: Talk) -> None:
        await talk.until("tool_call_end")

    waiting = await left(work.parent, [calls], how, count=2, arrange=read_inside)
    assert {request.call_id for request in waiting.asked} == {"r1", "r3"}
    async with running(work.parent, state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        await answer(talk, YES, "r3")
        await talk.until("tool_call_end", 2)
        still = Left(waiting.session_id, waiting.state, talk.live.approver.pending())
        if how == "killed":
            still.state = shutil.copytree(waiting.state, work.parent / "left-again")
    assert [request.call_id for request in still.asked] == ["r1"]
    async with running(work.parent, state=still.state) as rig:
        talk = await still.reopened(rig)
        await answer(talk, NO)
        await talk.until("approval_requested", 3)
        assert not (work / "made").exists()
        await answer(talk, YES)
        await talk.until("processing_end")
        check(rig, talk)
        results = rig.results()
        assert [result.tool_call_id for result in results] == ["r1", "r2", "r3", "s"]
        assert [result.is_error for result in results] == [True, False, False, False]
        assert "one" in results[1].content
        assert "other" in results[2].content
    assert (work / "made").read_text() == "made\n"


async def test_tool_results_from_before_a_restart_are_sent_to_the_model_unchanged(work: Path) -> None:
    """Next to a pending command there are a result that is too long for its event, and one with an image."""
    (work / "long.txt").write_text("".join(f"{number:0400}\n" for number in range(200)))
    (work / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n and more")
    many = [
        tool_call("read_file", json.dumps({"file_path": "long.txt"}), "l"),
        tool_call("read_file", json.dumps({"file_path": "p.png"}), "p"),
        shell("rm a.txt"),
    ]
    async with running(work.parent, [many]) as rig:
        talk = await rig.talk("full", lambda _: NO, say="go")
        whole = rig.results()
    waiting = await left(work.parent, [many], mode="full")
    async with running(work.parent, state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        await answer(talk, NO)
        await talk.until("processing_end")
        again = rig.results()
    assert again == whole
    assert whole[1].images
    assert len(whole[0].content) > 2 * EVENT_SHARE_CHARS, "more than the event holds"


@hows
async def test_turn_and_session_approval_rules_apply_again_after_a_restart(how: str, work: Path) -> None:
    accepted: list[tuple[str, str]] = []

    async def by_rules(talk: Talk) -> None:
        for count, scope in ((1, "turn"), (2, "session")):
            await talk.until("approval_requested", count)
            (request,) = talk.live.approver.pending()
            exact = [rule for rule in request.rules if rule.id.startswith("command:")]
            rule = next(rule for rule in exact if rule.scope == scope)
            accepted.append((rule.id, rule.label))
            await answer(talk, ApprovalAnswer("allow", rule.scope, rule.id, decided_by="test"))

    script: Script = [[shell("touch t")], [shell("touch e")], [shell("rm a.txt")]]
    waiting = await left(work.parent, script, how, count=3, arrange=by_rules)
    later: Script = [
        [shell("touch t")],
        [shell("touch e")],
        text("done"),
        [shell("touch e")],
        [shell("touch t")],
    ]
    async with running(work.parent, later, state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        await answer(talk, YES)
        await talk.until("processing_end")
        assert len(talk.of(ApprovalRequested)) == 3
        held = talk.live.approver.grants.rules()
        assert {(it.id, it.label) for it in held} == set(accepted) and all(it.created for it in held)
        talk.live.session.submit("and now?")
        await talk.until("approval_requested", 4)
        assert talk.of(ApprovalRequested)[-1].effect["command"] == "touch t"
        await answer(talk, YES)
        await talk.until("processing_end", 2)
        check(rig, talk)


@pytest.mark.req("H2", "L16")
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "later"])
@pytest.mark.parametrize("stop", ["interrupt", "abort"])
async def test_a_suspended_turn_can_be_stopped(stop: str, at_once: bool, work: Path) -> None:
    waiting = await left(work.parent, [[shell("echo x > made"), read("a.txt")]])
    async with running(work.parent, [text("I see.")], state=waiting.state) as rig:
        talk = await rig.reopen(waiting.session_id, wait)
        if not at_once:
            await anyio.wait_all_tasks_blocked()
        getattr(talk.live.session, stop)()
        with anyio.fail_after(DEADLINE_S):
            if stop == "abort":
                await talk.live.ended.wait()
            else:
                await talk.until("processing_end")
        (resolved,) = talk.of(ApprovalResolved)
        assert (resolved.decision, resolved.decided_by) == ("deny", "interrupt")
        again = await rig.reopen(waiting.session_id, wait)
        assert again.live.session.state == "IDLE"
        await again.say("go on")
        check(rig, again)
        assert [result.is_error for result in rig.results()] == [True, True]
    reasons = {"interrupt": "interrupted", "abort": "aborted"}
    assert [end.reason for end in again.of(ProcessingEnd)] == [reasons[stop], "completed"]
    assert not (work / "made").exists()


@hows
@pytest.mark.req("L6")
async def test_steering_and_queued_messages_are_restored_with_a_suspended_turn(how: str, work: Path) -> None:
    async def say_more(talk: Talk) -> None:
        await talk.until("approval_requested")
        talk.live.session.steer("be quick")
        talk.live.session.follow_up("and then?")

    waiting = await left(work.parent, [[shell("echo x > made")]], how, arrange=say_more)
    async with running(work.parent, state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        session = talk.live.session
        assert [item.text for item in session.queue] == ["and then?"]
        assert session.submit("also this", when_busy="steer").steer_id
        assert session.submit("at last").queued_id
        await answer(talk, YES)
        await talk.until("processing_end")
        check(rig, talk)
        assert [event.text for event in talk.of(SteeringInjected)] == ["be quick", "also this"]
        assert [event.text for event in talk.of(UserInput)] == ["go", "and then?", "at last"]
        assert rig.user_texts() == ["go", "be quick", "also this", "and then?", "at last"]
        first = [message.text for message in rig.model.requests[0].messages if message.role.value == "user"]
        assert first == ["go", "be quick", "also this"]


async def test_a_restored_turn_keeps_the_old_model_after_another_model_was_selected(work: Path) -> None:
    async def choose(talk: Talk) -> None:
        await talk.until("approval_requested")
        assert await talk.live.configure(model="another-model") == "nextTurn"

    waiting = await left(work.parent, [[shell("touch t")]], arrange=choose)
    async with running(work.parent, state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        assert talk.live.summary().model == "another-model"
        await answer(talk, YES)
        await talk.until("processing_end")
        await talk.say("and now?")
        models = [request.model for request in rig.model.requests]
        assert models[0] != "another-model"
        assert models[1:] == ["another-model"]
        check(rig, talk)


async def test_a_turn_killed_right_after_an_approval_answer_is_interrupted_on_resume(work: Path) -> None:
    """The log ends right after the answer, so it is unknown whether the command had started."""

    async def answered(talk: Talk) -> None:
        await talk.until("approval_requested")
        await answer(talk, YES)

    state = work.parent / "state"
    async with running(work.parent, [[shell("touch begun; sleep 600")]]) as rig:
        talk = await rig.talk("ask", wait)
        talk.live.session.submit("go")
        await answered(talk)
        state = shutil.copytree(state, work.parent / "left-behind")
        talk.live.session.interrupt()
        await talk.until("processing_end")
    async with running(work.parent, state=state) as rig:
        again = await rig.reopen(talk.session_id, wait)
        assert again.live.session.state == "IDLE"
        assert again.live.approver.pending() == ()
        assert again.of(ProcessingEnd) == [ProcessingEnd("interrupted")]
        check(rig, again)
