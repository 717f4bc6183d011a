"""A call that waits for decisions survives the end of its process: its hunks are pending again, and the last
decision resumes the call (R4, H6).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

from agent_ls.loop.events.types import (
    ApprovalRequested,
    Hunk,
    HunkStateChanged,
    ProcessingEnd,
    SessionEnd,
    StateChanged,
)
from agent_ls.services.review.decision_request import Selection
from tests.sessions.test_suspended_turns import check as check_turn
from tests.support.fake_provider import CallTool, Piece, text, tool_call
from tests.support.session_rig import DEADLINE_S, SessionRig, Talk, deny, running, wait

pytestmark = pytest.mark.req("R4", "H6")

Script: TypeAlias = Sequence[Piece | Sequence[Piece]]

hows = pytest.mark.parametrize("how", ["ended", "killed"])


def call(name: str, **arguments: Any) -> CallTool:
    return tool_call(name, json.dumps(arguments), id=f"c-{name}")


READ = call("read_file", file_path="a.txt")
WHOLE = call("write_file", file_path="a.txt", content="ONE\nkeep\nLAST\n")
PATCH = "*** Begin Patch\n{}\n*** End Patch\n"


def patch(*lines: str) -> CallTool:
    return call("shell", command="apply_patch <<'EOF'\n" + PATCH.format("\n".join(lines)) + "EOF")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("one\nkeep\nlast\n")
    return folder


def hunks_of(rig: SessionRig) -> list[Hunk]:
    return [hunk for hunks in rig.manager.review.open_hunks().values() for hunk in hunks]


async def decide(
    rig: SessionRig, decision: Any, comment: str = "", replacement: str | None = None, **select: Any
) -> None:
    with anyio.fail_after(DEADLINE_S):
        _, refused = await rig.manager.review.review(
            decision, Selection(**select), comment=comment, replacement=replacement
        )
    assert not refused


@dataclass
class Left:
    """The state that an earlier process left: its session, its state folder, and the pending hunks."""

    session_id: str
    state: Path
    hunks: list[Hunk]

    async def reopened(self, rig: SessionRig, *, is_waiting: bool = True) -> Talk:
        talk = await rig.reopen(self.session_id, wait)
        await anyio.wait_all_tasks_blocked()
        assert rig.model.requests == [], "nothing is started again by itself"
        assert talk.live.session.state == ("AWAITING_INPUT" if is_waiting else "IDLE")
        return talk


async def left(
    folder: Path,
    script: Script,
    how: str = "killed",
    *,
    arrange: Callable[[SessionRig, Talk], Awaitable[None]] | None = None,
) -> Left:
    """Run a session until proposals are pending, and return the state that its process leaves.

    `how`: "killed" leaves the state of this moment, "ended" the state after the session was suspended.
    """
    state = folder / "state"
    async with running(folder, script) as rig:
        talk = await rig.talk("ask", wait, review="before")
        talk.live.session.submit("go")
        await talk.until("hunk_state")
        await anyio.wait_all_tasks_blocked()
        if arrange:
            await arrange(rig, talk)
        hunks = hunks_of(rig)
        if how == "killed":
            state = shutil.copytree(state, folder / "left-behind", dirs_exist_ok=True)
    if how == "ended":
        assert talk.of(SessionEnd)[-1] == SessionEnd("CLOSED", "suspended")
        assert talk.of(ProcessingEnd) == []
    return Left(talk.session_id, state, hunks)


def check(rig: SessionRig, talk: Talk) -> None:
    """Check the invariants after a resumed turn."""
    check_turn(rig, talk)
    assert hunks_of(rig) == []


@hows
async def test_a_resumed_turn_continues_after_the_last_proposed_hunk_is_decided(how: str, work: Path) -> None:
    waiting = await left(work.parent, [[READ], [WHOLE]], how)
    async with running(work.parent, [text("done")], state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        assert hunks_of(rig) == waiting.hunks
        first, last = waiting.hunks
        await decide(rig, "keep", hunk_ids=[first.id])
        assert talk.live.session.state == "AWAITING_INPUT"
        await decide(rig, "undo", hunk_ids=[last.id], comment="leave it")
        await talk.until("processing_end")
        check(rig, talk)
        assert (work / "a.txt").read_text() == "ONE\nkeep\nlast\n"
        result = rig.results()[-1].content
        assert "leave it" in result and "+ONE" in result
        assert not any("Review:" in words for words in rig.user_texts()), "told once, by the result"
        assert talk.of(ProcessingEnd) == [ProcessingEnd("completed")]
        states = [event.state for event in talk.of(StateChanged) if event.state != "CLOSED"]
        assert states == ["PROCESSING", "AWAITING_INPUT", "PROCESSING", "IDLE"]


@hows
async def test_review_decisions_in_three_processes_are_reported_in_one_tool_result(
    how: str, work: Path
) -> None:
    (work / "a.txt").write_text("one\nx\ntwo\ny\nthree\n")
    write = call("write_file", file_path="a.txt", content="ONE\nx\nTWO\ny\nTHREE\n")

    async def keep_first(rig: SessionRig, talk: Talk) -> None:
        await decide(rig, "keep", hunk_ids=[hunks_of(rig)[0].id], replacement="Eins\n")

    waiting = await left(work.parent, [[READ], [write]], how, arrange=keep_first)
    async with running(work.parent, [], state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        second, third = hunks_of(rig)
        await decide(rig, "undo", hunk_ids=[second.id], comment="no")
        if how == "killed":
            waiting.state = shutil.copytree(waiting.state, work.parent / "left-again")
    (work / "a.txt").write_text("mine\n" + (work / "a.txt").read_text())
    async with running(work.parent, [text("done")], state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        assert [(hunk.id, hunk.start) for hunk in hunks_of(rig)] == [(third.id, 5)]
        await decide(rig, "keep", hunk_ids=[third.id])
        await talk.until("processing_end")
        check(rig, talk)
        assert (work / "a.txt").read_text() == "mine\nEins\nx\ntwo\ny\nTHREE\n"
        result = rig.results()[-1].content
        assert "Eins" in result and "The user says: no" in result and "+THREE" in result and "-one" in result


@pytest.mark.parametrize("decision", ["keep", "undo"])
async def test_a_review_decision_right_after_a_resume_waits_for_the_policy_check(
    decision: str, work: Path
) -> None:
    waiting = await left(work.parent, [[READ], [WHOLE]])
    async with running(work.parent, [text("done")], state=waiting.state) as rig:
        talk = await rig.reopen(waiting.session_id, wait)
        await decide(rig, decision, session_id=waiting.session_id)
        await talk.until("processing_end")
        check(rig, talk)
    assert (work / "a.txt").read_text() == (
        "ONE\nkeep\nLAST\n" if decision == "keep" else "one\nkeep\nlast\n"
    )


async def test_a_tool_call_with_all_hunks_kept_after_a_restart_is_reported_as_written(work: Path) -> None:
    waiting = await left(work.parent, [[READ], [WHOLE]])
    async with running(work.parent, [text("done")], state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        await decide(rig, "keep", session_id=waiting.session_id)
        await talk.until("processing_end")
        check(rig, talk)
        assert rig.results()[-1].content == "a.txt: changed as you proposed."
        assert talk.of(ProcessingEnd) == [ProcessingEnd("completed")]


async def test_typing_between_two_processes_moves_proposals_even_with_repeated_lines(work: Path) -> None:
    (work / "a.txt").write_text("same\nsame\nsame\n")
    write = call("write_file", file_path="a.txt", content="same\nother\nsame\n")
    waiting = await left(work.parent, [[READ], [write]])
    (work / "a.txt").write_text("mine\nsame\nsame\nsame\n")
    async with running(work.parent, [text("done")], state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        assert [(hunk.state, hunk.start) for hunk in hunks_of(rig)] == [("proposed", 2)]
        await decide(rig, "keep", session_id=waiting.session_id)
        await talk.until("processing_end")
        check(rig, talk)
    assert (work / "a.txt").read_text() == "mine\nsame\nother\nsame\n"


async def test_a_proposal_whose_lines_changed_during_a_restart_is_stale_and_not_written(work: Path) -> None:
    waiting = await left(work.parent, [[READ], [WHOLE]])
    (work / "a.txt").write_text("ONE\nkeep\nrewritten\n")
    async with running(work.parent, [text("done")], state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        first, last = waiting.hunks
        assert [(hunk.id, hunk.state) for hunk in hunks_of(rig)] == [(last.id, "stale")]
        states = {hunk.id: hunk.state for event in talk.of(HunkStateChanged) for hunk in event.hunks}
        assert states == {first.id: "kept", last.id: "stale"}
        _, refused = await rig.manager.review.review("keep", Selection(hunk_ids=[last.id]))
        assert "were edited since" in refused[0][1]
        assert (work / "a.txt").read_text() == "ONE\nkeep\nrewritten\n"
        await decide(rig, "undo", hunk_ids=[last.id])
        await talk.until("processing_end")
        check(rig, talk)


async def test_a_suspended_turn_ends_if_the_user_typed_the_proposed_text_before_the_resume(
    work: Path,
) -> None:
    waiting = await left(work.parent, [[READ], [WHOLE]])
    (work / "a.txt").write_text("ONE\nkeep\nLAST\n")
    async with running(work.parent, [text("done")], state=waiting.state) as rig:
        talk = await waiting.reopened(rig, is_waiting=False)
        assert talk.of(ProcessingEnd) == [ProcessingEnd("interrupted")]
        await talk.say("and now?")
        check(rig, talk)
        assert rig.results()[-1].is_error


async def test_the_last_review_decision_before_a_kill_is_reported_and_the_turn_does_not_continue(
    work: Path,
) -> None:
    state = work.parent / "state"
    async with running(work.parent, [[READ], [WHOLE], text("done")]) as rig:
        talk = await rig.talk("ask", wait, review="before")
        talk.live.session.submit("go")
        await talk.until("hunk_state")
        await anyio.wait_all_tasks_blocked()
        await decide(rig, "undo", session_id=talk.session_id, comment="not so")
        state = shutil.copytree(state, work.parent / "left-behind")
    async with running(work.parent, [text("I see")], state=state) as rig:
        talk = await Left(talk.session_id, state, []).reopened(rig, is_waiting=False)
        await talk.say("and now?")
        check(rig, talk)
        assert "not so" in "\n".join(rig.user_texts())


@hows
async def test_a_proposed_deletion_of_a_binary_file_is_restored_and_applied_when_kept(
    how: str, work: Path
) -> None:
    blob = b"\x00\x01old"
    (work / "p.bin").write_bytes(blob)
    remove = patch("*** Delete File: p.bin", "*** Add File: new.txt", "+made")
    waiting = await left(work.parent, [[remove]], how)
    assert len(waiting.hunks) == 2
    async with running(work.parent, [text("done")], state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        assert sorted(hunk.what for hunk in hunks_of(rig)) == ["create", "delete"]
        assert (work / "p.bin").read_bytes() == blob
        await decide(rig, "keep", session_id=waiting.session_id)
        await talk.until("processing_end")
        check(rig, talk)
    assert not (work / "p.bin").exists()
    assert (work / "new.txt").read_text() == "made\n"


async def test_a_proposed_deletion_is_refused_if_the_binary_file_changed_during_a_restart(work: Path) -> None:
    (work / "p.bin").write_bytes(b"\x00\x01old")
    waiting = await left(work.parent, [[patch("*** Delete File: p.bin")]])
    (work / "p.bin").write_bytes(b"\x00\x01new")
    async with running(work.parent, [text("done")], state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        _, refused = await rig.manager.review.review("keep", Selection(session_id=waiting.session_id))
        assert "were edited since" in refused[0][1] and "undo" in refused[0][1]
        assert (work / "p.bin").read_bytes() == b"\x00\x01new"
        await decide(rig, "undo", session_id=waiting.session_id)
        await talk.until("processing_end")
        check(rig, talk)


@hows
async def test_a_move_kept_after_a_restart_is_complete_and_keeps_permission_bits(
    how: str, work: Path
) -> None:
    (work / "run.sh").write_text("#!/bin/sh\nold\n")
    (work / "run.sh").chmod(0o755)
    move = patch("*** Update File: run.sh", "*** Move to: bin/go.sh", "@@", "-old", "+new")
    waiting = await left(work.parent, [[move]], how)
    async with running(work.parent, [text("done")], state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        await decide(rig, "keep", hunk_ids=[hunks_of(rig)[0].id])
        await talk.until("processing_end")
        check(rig, talk)
    assert not (work / "run.sh").exists()
    assert (work / "bin/go.sh").read_text() == "#!/bin/sh\nnew\n"
    assert (work / "bin/go.sh").stat().st_mode & 0o777 == 0o755


async def test_keeping_a_proposal_after_a_restart_preserves_a_latin_1_encoding(work: Path) -> None:
    (work / "a.txt").write_bytes("é one\nkeep\n".encode("latin-1"))
    change = patch("*** Update File: a.txt", "@@", "-keep", "+kept")
    waiting = await left(work.parent, [[change]])
    async with running(work.parent, [text("done")], state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        await decide(rig, "keep", session_id=waiting.session_id)
        await talk.until("processing_end")
        check(rig, talk)
    assert (work / "a.txt").read_bytes() == "é one\nkept\n".encode("latin-1")


@pytest.mark.req("X8")
async def test_a_restored_proposal_is_refused_if_the_current_mode_is_plan(work: Path) -> None:
    waiting = await left(work.parent, [[READ], [WHOLE]])
    log = next(waiting.state.rglob("log.jsonl"))
    with log.open("ab") as file:
        file.write(b'{"config":{"mode":"plan"}}\n')
    async with running(work.parent, [text("done")], state=waiting.state) as rig:
        talk = await rig.reopen(waiting.session_id, wait)
        await talk.until("processing_end")
        check(rig, talk)
        assert "plan mode" in rig.results()[-1].content
    assert (work / "a.txt").read_text() == "one\nkeep\nlast\n"


@pytest.mark.req("X6")
async def test_a_restored_proposal_needs_approval_if_the_path_now_resolves_outside_the_workspace(
    work: Path,
) -> None:
    waiting = await left(work.parent, [[READ], [WHOLE]])
    outside = work.parent / "outside.txt"
    outside.write_text((work / "a.txt").read_text())
    (work / "a.txt").unlink()
    (work / "a.txt").symlink_to(outside)
    async with running(work.parent, [text("done")], state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        await talk.until("approval_requested")
        (request,) = talk.of(ApprovalRequested)
        assert "outside the workspace" in request.reason
        _, refused = await rig.manager.review.review("keep", Selection(session_id=waiting.session_id))
        assert refused and all("approval request" in reason for _, reason in refused)
        talk.live.approver.answer(request.request_id, deny(request))
        await talk.until("processing_end")
        check(rig, talk)
    assert outside.read_text() == "one\nkeep\nlast\n"


@pytest.mark.req("H2", "L16")
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "later"])
@pytest.mark.parametrize("stop", ["interrupt", "abort"])
async def test_a_stop_drops_pending_proposals(stop: str, at_once: bool, work: Path) -> None:
    waiting = await left(work.parent, [[READ], [WHOLE]])
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
        again = await rig.reopen(waiting.session_id, wait)
        assert again.live.session.state == "IDLE"
        check(rig, again)
        await again.say("go on")
        check(rig, again)
        assert rig.results()[-1].is_error
    assert (work / "a.txt").read_text() == "one\nkeep\nlast\n"


async def test_tool_calls_not_started_before_a_restart_run_after_the_review_decision(work: Path) -> None:
    other = tool_call(
        "edit_file", json.dumps({"file_path": "a.txt", "old_string": "LAST", "new_string": "END"}), id="c-2"
    )
    waiting = await left(work.parent, [[READ], [WHOLE, other]])
    async with running(work.parent, [text("done")], state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        assert {hunk.call_id for hunk in hunks_of(rig)} == {"c-write_file"}
        await decide(rig, "keep", session_id=waiting.session_id)
        with anyio.fail_after(DEADLINE_S):
            while {hunk.call_id for hunk in hunks_of(rig)} != {"c-2"}:
                await talk.until("hunk_state", len(talk.of(HunkStateChanged)) + 1)
        await decide(rig, "keep", session_id=waiting.session_id)
        await talk.until("processing_end")
        check(rig, talk)
    assert (work / "a.txt").read_text() == "ONE\nkeep\nEND\n"


async def test_deleting_a_session_does_not_write_its_proposals(work: Path) -> None:
    waiting = await left(work.parent, [[READ], [WHOLE]])
    async with running(work.parent, [], state=waiting.state) as rig:
        await rig.manager.delete_session(waiting.session_id, force=True)
    assert (work / "a.txt").read_text() == "one\nkeep\nlast\n"
