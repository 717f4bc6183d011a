"""Undo a change in the worktree that the user undid in their folder, so that later changes can be applied."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested
from agent_ls.policy.situation import Mode, ReviewSetting
from agent_ls.services.review.decision_request import Selection
from tests.features.test_worktrees import OLD, call, edit, repository, tree
from tests.support.fake_provider import Piece, text
from tests.support.session_rig import SessionRig, Talk, running, wait

pytestmark = pytest.mark.req("H23")

Script = list[Piece | Sequence[Piece]]


async def undo(rig: SessionRig, talk: Talk) -> None:
    _, refused = await rig.manager.review.review("undo", Selection(session_id=talk.session_id))
    assert refused == []


async def test_a_change_beside_an_undone_hunk_comes_to_the_folder(tmp_path: Path) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD)
    script: Script = [*edit("c1", "two", "TWO"), text("Done."), *edit("c2", "three", "THREE"), text("Done.")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("edits", worktree="current", say="first")
        await undo(rig, talk)
        assert (tree(talk) / "a.txt").read_text() == OLD
        assert await talk.live.waiting_changes() == []
        await talk.say("second")
        assert (folder / "a.txt").read_text() == OLD.replace("three", "THREE")
        (notice,) = [it for it in rig.user_texts() if "undid" in it]
        assert "changes in a.txt" in notice
        assert str(folder / "a.txt") not in notice


async def test_an_undone_hunk_leaves_the_worktree_with_changes_that_were_not_applied(tmp_path: Path) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD)
    script: Script = [*edit("c1", "two", "TWO"), text("Done."), *edit("c2", "six", "SIX"), text("Done.")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("ask", worktree="current", say="first")
        await talk.live.bring_changes()
        await talk.say("second")
        await undo(rig, talk)
        assert (tree(talk) / "a.txt").read_text() == OLD.replace("six", "SIX")
        assert (folder / "a.txt").read_text() == OLD
        assert [it.state for it in await talk.live.bring_changes()] == ["brought"]
        assert (folder / "a.txt").read_text() == OLD.replace("six", "SIX")


async def test_an_undo_keeps_lines_that_the_agent_has_changed_since_and_names_the_users_file(
    tmp_path: Path,
) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD)
    script: Script = [
        *edit("c1", "two", "TWO"),
        text("Done."),
        *edit("c2", "TWO", "2"),
        text("Done."),
        text("Ok."),
    ]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("ask", worktree="current", say="first")
        await talk.live.bring_changes()
        await talk.say("second")
        await undo(rig, talk)
        assert (tree(talk) / "a.txt").read_text() == OLD.replace("two", "2")
        assert [it.state for it in await talk.live.bring_changes()] == ["brought"]
        assert (folder / "a.txt").read_text() == OLD.replace("two", "2")
        await talk.say("third")
        assert any(str(folder / "a.txt") in it for it in rig.user_texts() if "undid" in it)


@pytest.mark.parametrize("mode, review", [("edits", "after"), ("ask", "before")])
async def test_undone_files_are_created_again_or_deleted_in_the_worktree(
    mode: Mode, review: ReviewSetting, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "project", a_txt=b"one\r\ntwo\r\n", old_txt="old\n", run_sh="#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    script: Script = [
        call("write_file", "c1", file_path="sub/new.txt", content="new\n"),
        *edit("c2", "two", "TWO"),
        call("shell", "c3", command="rm old.txt run.sh"),
        text("Done."),
    ]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk(mode, worktree="current", review=review, say="change it")
        await talk.live.bring_changes()  # deletions need an approval
        assert await talk.live.waiting_changes() == []
        await undo(rig, talk)
        own = tree(talk)
        assert (own / "a.txt").read_bytes() == (folder / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
        assert (own / "old.txt").read_text() == "old\n"
        assert not (own / "sub" / "new.txt").exists()
        assert (own / "run.sh").stat().st_mode == (folder / "run.sh").stat().st_mode
        assert await talk.live.waiting_changes() == []


async def test_an_undo_is_followed_if_filters_store_another_text(tmp_path: Path) -> None:
    folder = repository(tmp_path / "project", _gitattributes="*.txt text eol=crlf\n", a_txt="one\ntwo\n")
    async with running(tmp_path, [*edit("c1", "two", "TWO"), text("Done.")]) as rig:
        talk = await rig.talk("edits", worktree="head", say="change it")
        await undo(rig, talk)
        assert "TWO" not in (tree(talk) / "a.txt").read_text()
        assert await talk.live.waiting_changes() == []
        assert "TWO" not in (folder / "a.txt").read_text()


async def test_one_of_two_proposals_that_is_undone_leaves_the_other_to_keep(tmp_path: Path) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD)
    script: Script = [*edit("c1", "two", "TWO"), *edit("c2", "six", "SIX"), text("Done.")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("ask", worktree="current", review="before", say="change it")
        first, second = rig.manager.review.open_hunks(session_id=talk.session_id)[str(folder / "a.txt")]
        await rig.manager.review.review("undo", Selection(hunk_ids=[first.id]))
        assert (tree(talk) / "a.txt").read_text() == OLD.replace("six", "SIX")
        await rig.manager.review.review("keep", Selection(hunk_ids=[second.id]))
        assert (folder / "a.txt").read_text() == OLD.replace("six", "SIX")
        assert await talk.live.waiting_changes() == []


async def test_an_undo_while_changes_wait_for_an_approval_follows_when_they_are_done(tmp_path: Path) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD)
    script: Script = [
        *edit("c1", "two", "TWO"),
        text("Done."),
        call("write_file", "c2", file_path=".vscode/tasks.json", content="{}\n"),
        text("Done."),
    ]
    async with running(tmp_path, script) as rig, anyio.create_task_group() as group:
        talk = await rig.talk("edits", worktree="current", say="first")
        await talk.say("second")
        talk.answers = wait
        asked = len(talk.of(ApprovalRequested))
        group.start_soon(talk.live.bring_changes)
        await talk.until("approval_requested", asked + 1)
        await undo(rig, talk)
        assert (folder / "a.txt").read_text() == OLD
        (request,) = talk.live.approver.pending()
        talk.live.approver.answer(request.request_id, ApprovalAnswer("allow", decided_by="test"))
        assert await talk.live.bring_changes() == []
        assert (tree(talk) / "a.txt").read_text() == OLD
