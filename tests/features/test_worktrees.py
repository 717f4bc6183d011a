"""Sessions in a git worktree: the user's folder receives their changes as hunks, and nothing else changes there."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_ls.features.worktrees.worktree import copy_index
from agent_ls.loop.events.types import ApprovalRequested, FileChange, ProcessingEnd, Warning
from agent_ls.policy.situation import Mode
from agent_ls.services.errors import BadChoiceError, UnappliedChangesError
from agent_ls.services.review.decision_request import Selection
from agent_ls.sessions.workspaces.worktree import CODE
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.fake_provider import CallTool, Piece, text, tool_call
from tests.support.git import git
from tests.support.session_rig import SessionRig, Talk, running

pytestmark = pytest.mark.req("H23")

OLD = "one\ntwo\nthree\nfour\nfive\nsix\n"


def repository(folder: Path, **files: str | bytes) -> Path:
    """Make a git repository with one commit."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "start")
    return folder


def call(name: str, id_: str, **arguments: Any) -> CallTool:
    return tool_call(name, json.dumps(arguments), id_)


def edit(id_: str, old: str, new: str, name: str = "a.txt") -> list[CallTool]:
    return [
        call("read_file", f"{id_}-r", file_path=name),
        call("edit_file", id_, file_path=name, old_string=old, new_string=new),
    ]


def shell(id_: str, command: str) -> CallTool:
    return call("shell", id_, command=command)


def tree(talk: Talk) -> Path:
    assert talk.live.worktree
    return Path(talk.live.worktree.worktree.folder)


def reports(talk: Talk) -> list[str]:
    return [it.message for it in talk.of(Warning) if it.code == CODE]


def pending(rig: SessionRig, talk: Talk) -> dict[str, list[str]]:
    found = rig.manager.review.open_hunks(session_id=talk.session_id)
    return {Path(path).name: [hunk.state for hunk in hunks] for path, hunks in found.items()}


async def test_a_worktree_is_refused_if_its_uncommitted_files_are_far_too_large(tmp_path: Path) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD)
    with (folder / "disk.img").open("wb") as file:
        file.truncate(2 << 30)
    async with running(tmp_path, [text("Done.")]) as rig:
        with pytest.raises(BadChoiceError, match="2048 MiB"):
            await rig.talk("edits", worktree="current")
        assert (await rig.talk("edits", worktree="head")).live.worktree
    assert "prunable" not in git(folder, "worktree", "list")


async def test_worktree_changes_become_hunks_in_the_users_folder_at_the_end_of_the_turn(
    tmp_path: Path,
) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD)
    script: list[Piece | Sequence[Piece]] = [
        *edit("c1", "two", "TWO"),
        call("write_file", "c2", file_path="new.txt", content="new\n"),
        text("Done."),
    ]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("edits", worktree="current")
        assert tree(talk).is_relative_to(tmp_path / "state" / "worktrees")
        await talk.say("change it")
        assert (folder / "a.txt").read_text() == OLD.replace("two", "TWO")
        assert (folder / "new.txt").read_text() == "new\n"
        assert pending(rig, talk) == {"a.txt": ["pending"], "new.txt": ["pending"]}
        assert any("a.txt, new.txt" in it for it in reports(talk))
        # changes in the worktree itself have no hunks
        own = [it for it in talk.of(FileChange) if str(tmp_path / "state") in it.path]
        assert own and not any(it.hunks for it in own)
        await rig.manager.review.review("undo", Selection(session_id=talk.session_id))
        assert (folder / "a.txt").read_text() == OLD
        assert not (folder / "new.txt").exists()
        assert git(folder, "status", "--porcelain") == ""


async def test_a_worktree_contains_uncommitted_untracked_and_unsaved_changes_of_the_user(
    tmp_path: Path,
) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD, b_txt="b\n", gone_txt="x\n", _gitignore="*.log\n")
    (folder / ".gitignore").write_text("*.log\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "more")
    (folder / "b.txt").write_text("changed\n")
    (folder / "untracked.txt").write_text("mine\n")
    (folder / "out.log").write_text("ignored\n")
    (folder / "gone.txt").unlink()
    host = FakeEditorHost({str(folder / "a.txt"): OLD + "unsaved\n"})
    async with running(tmp_path, [text("Hi."), text("Hi.")], host=host) as rig:
        talk = await rig.talk("edits", worktree="current")
        assert (tree(talk) / "a.txt").read_text() == OLD + "unsaved\n"
        assert (tree(talk) / "b.txt").read_text() == "changed\n"
        assert (tree(talk) / "untracked.txt").read_text() == "mine\n"
        assert not (tree(talk) / "gone.txt").exists()
        assert not (tree(talk) / "out.log").exists()
        await talk.say("do nothing")
        assert reports(talk) == [] and pending(rig, talk) == {}
        other = await rig.talk("edits", worktree="head")
        assert (tree(other) / "b.txt").read_text() == "b\n"
        assert (tree(other) / "gone.txt").exists()
        assert not (tree(other) / "untracked.txt").exists()
        assert tree(other) != tree(talk)


async def test_worktree_changes_merge_with_unsaved_text_and_skip_conflicting_files(tmp_path: Path) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD, b_txt=OLD)
    script: list[Piece | Sequence[Piece]] = [
        *edit("c1", "two", "TWO"),
        *edit("c2", "five", "FIVE", "b.txt"),
        text("Done."),
    ]
    a, b = str(folder / "a.txt"), str(folder / "b.txt")
    host = FakeEditorHost({a: OLD, b: OLD})
    async with running(tmp_path, script, host=host) as rig:
        talk = await rig.talk("edits", worktree="current")
        host.type(a, OLD.replace("five", "five, typed"))
        host.type(b, OLD.replace("five", "my five"))
        await talk.say("change both")
        assert host.text(a) == OLD.replace("five", "five, typed").replace("two", "TWO")
        assert host.text(b) == OLD.replace("five", "my five")
        assert (folder / "a.txt").read_text() == OLD, "the user's unsaved document is not saved"
        assert pending(rig, talk) == {"a.txt": ["pending"]}
        assert "same lines (line 5)" in reports(talk)[-1]
        # the user reverts their conflicting text and requests the changes again
        host.type(b, OLD)
        brought = await talk.live.bring_changes()
        assert [(Path(it.path).name, it.state) for it in brought] == [("b.txt", "brought")]
        assert host.text(b) == OLD.replace("five", "FIVE")
        assert await talk.live.bring_changes() == []


async def test_an_undone_hunk_is_not_applied_again(tmp_path: Path) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD)
    script: list[Piece | Sequence[Piece]] = [
        *edit("c1", "two", "TWO"),
        text("Done."),
        *edit("c2", "six", "SIX"),
        text("Done."),
    ]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("edits", worktree="current", say="first")
        await rig.manager.review.review("undo", Selection(session_id=talk.session_id))
        await talk.say("second")
        assert (folder / "a.txt").read_text() == OLD.replace("six", "SIX")


async def test_in_mode_ask_worktree_changes_are_applied_only_at_the_users_request(tmp_path: Path) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD)
    async with running(tmp_path, [*edit("c1", "two", "TWO"), text("Done.")]) as rig:
        talk = await rig.talk("ask", worktree="current", say="change it")
        assert (folder / "a.txt").read_text() == OLD
        assert "your folder: a.txt" in reports(talk)[-1]
        with pytest.raises(UnappliedChangesError):
            await rig.manager.delete_session(talk.session_id, force=False)
        asked = len(talk.of(ApprovalRequested))
        assert [it.state for it in await talk.live.bring_changes()] == ["brought"]
        assert len(talk.of(ApprovalRequested)) == asked
        assert (folder / "a.txt").read_text() == OLD.replace("two", "TWO")


async def test_with_review_before_worktree_changes_are_proposed_and_written_when_kept(tmp_path: Path) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD)
    script: list[Piece | Sequence[Piece]] = [
        *edit("c1", "two", "TWO"),
        *edit("c2", "six", "SIX"),
        call("write_file", "c3", file_path="new.txt", content="new\n"),
        text("Done."),
    ]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("ask", worktree="current", review="before", say="change it")
        assert (folder / "a.txt").read_text() == OLD
        assert pending(rig, talk) == {"a.txt": ["proposed", "proposed"], "new.txt": ["proposed"]}
        assert await talk.live.bring_changes() == [], "what is proposed is not proposed again"
    async with running(tmp_path) as rig:  # another process opens the session
        talk = await rig.reopen(talk.session_id)
        assert pending(rig, talk) == {"a.txt": ["proposed", "proposed"], "new.txt": ["proposed"]}
        hunks = rig.manager.review.open_hunks(session_id=talk.session_id)
        first = hunks[str(folder / "a.txt")][0].id
        _, refused = await rig.manager.review.review("keep", Selection(hunk_ids=[first]))
        assert not refused
        assert (folder / "a.txt").read_text() == OLD.replace("two", "TWO")
        _, refused = await rig.manager.review.review("keep", Selection(path=str(folder / "new.txt")))
        assert not refused
        assert (folder / "new.txt").read_text() == "new\n"


async def test_moves_deletions_modes_binary_files_and_line_ends_are_applied_exactly(tmp_path: Path) -> None:
    folder = repository(
        tmp_path / "project", old_txt=OLD, gone_txt="x\n", crlf_txt="a\r\nb\r\nc\r\n", bin_dat=b"\0\1\2" * 99
    )
    command = (
        "mkdir sub && mv old.txt sub/moved.txt && rm gone.txt && printf 'a\\r\\nB\\r\\nc\\r\\n' > crlf.txt && "
        "printf '\\0new' > bin.dat && printf '#!/bin/sh\\n' > run.sh && chmod +x run.sh && ln -s run.sh link"
    )
    async with running(tmp_path, [shell("c1", command), text("Done.")]) as rig:
        talk = await rig.talk("full", worktree="current", review="after", say="go")
        files = {Path(it.path).name: it for it in await talk.live.bring_changes()}
        assert (folder / "sub" / "moved.txt").read_text() == OLD
        assert not (folder / "old.txt").exists() and not (folder / "gone.txt").exists()
        assert (folder / "crlf.txt").read_bytes() == b"a\r\nB\r\nc\r\n"
        assert (folder / "bin.dat").read_bytes() == b"\0new"
        assert os.access(folder / "run.sh", os.X_OK)
        assert not (folder / "link").is_symlink()
        assert "symbolic link" in files["link"].reason


async def test_commands_and_git_work_in_the_worktree_without_touching_the_users_branch(
    tmp_path: Path,
) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD)
    hook = folder / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\n")
    hook.chmod(0o755)
    head = git(folder, "rev-parse", "HEAD")
    script: list[Piece | Sequence[Piece]] = [
        shell("c1", "git status --porcelain && git rev-parse --show-toplevel"),
        text("Done."),
    ]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("ask", worktree="current", say="look")
        assert str(tree(talk)) in rig.results()[-1].content
        assert not talk.of(ApprovalRequested), "looking at the repository needs no approval"
    assert git(folder, "rev-parse", "HEAD") == head
    assert git(folder, "branch", "--list") == "* main"
    assert not (tmp_path / "hook-ran").exists()


async def test_a_session_in_a_worktree_cannot_read_keys_in_the_state_folder(tmp_path: Path) -> None:
    repository(tmp_path / "project", a_txt=OLD)
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "keys.json").write_text("{}")
    script: list[Piece | Sequence[Piece]] = [
        call("read_file", "c1", file_path=str(tmp_path / "state" / "keys.json")),
        call("read_file", "c2", file_path=str(tmp_path / "project" / "a.txt")),
        text("Done."),
    ]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("full", worktree="current", say="look")
        refused, allowed = rig.results()[-2:]
        assert refused.is_error and "with keys" in refused.content
        asked = talk.of(ApprovalRequested)
        assert len(asked) == 1 and "outside the workspace" in asked[0].reason
        assert not allowed.is_error


async def test_a_sensitive_file_is_not_applied_without_an_approval(tmp_path: Path) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD)
    script: list[Piece | Sequence[Piece]] = [
        call("write_file", "c1", file_path=".vscode/tasks.json", content="{}\n"),
        text("Done."),
    ]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("full", worktree="current", say="go")
        assert not (folder / ".vscode").exists()
        assert ".vscode/tasks.json" in reports(talk)[-1]
        files = await talk.live.bring_changes(may_ask=False)
        assert [it.state for it in files] == ["left"]


@pytest.mark.report("openai/codex#42708")
async def test_a_worktree_session_without_a_usable_repository_is_refused_and_stores_nothing(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    async with running(tmp_path) as rig:
        with pytest.raises(BadChoiceError, match="not in a git repository"):
            await rig.talk(worktree="current")
        git(folder, "init", "-q")
        with pytest.raises(BadChoiceError, match="no commit yet"):
            await rig.talk(worktree="current")
        assert list((tmp_path / "state" / "worktrees").glob("*")) == []
        assert (await rig.manager.list_sessions(None, None, 9))[0] == []


async def test_an_untrusted_folder_gets_no_worktree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENT_LS_TRUSTED_FOLDERS")
    repository(tmp_path / "project", a_txt=OLD)
    async with running(tmp_path) as rig:
        with pytest.raises(BadChoiceError, match="not trusted"):
            await rig.talk(worktree="current")


async def test_a_resumed_session_continues_in_its_worktree_and_deletion_removes_it(tmp_path: Path) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD)
    async with running(tmp_path, [text("Hi.")]) as rig:
        talk = await rig.talk("edits", worktree="current", say="hello")
    async with running(tmp_path, [*edit("c2", "six", "SIX"), text("Done.")]) as rig:
        talk = await rig.reopen(talk.session_id)
        place = tree(talk).parent
        talk.live.approver.mode = "edits"
        await talk.say("go on")
        assert (folder / "a.txt").read_text() == OLD.replace("six", "SIX")
        with pytest.raises(BadChoiceError, match="cannot be forked"):
            await rig.manager.fork(talk.session_id)
        await rig.manager.review.review("keep", Selection(session_id=talk.session_id))
        await rig.manager.delete_session(talk.session_id, force=False)
        assert not place.exists()
        assert git(folder, "worktree", "list").count("\n") == 0


async def test_a_session_in_a_subfolder_applies_only_changes_below_it(tmp_path: Path) -> None:
    top = repository(tmp_path / "project", a_txt=OLD, sub__b_txt=OLD)
    script: list[Piece | Sequence[Piece]] = [
        shell("c1", "echo x >> b.txt; echo y >> ../a.txt"),
        text("Done."),
    ]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("full", worktree="current", workspace_folder=str(top / "sub"), say="go")
        assert (top / "sub" / "b.txt").read_text() == OLD + "x\n"
        assert (top / "a.txt").read_text() == OLD
        assert "outside of" in reports(talk)[-1]


async def test_changes_are_not_applied_twice_after_a_kill_between_writing_and_recording(
    tmp_path: Path,
) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD)
    script: list[Piece | Sequence[Piece]] = [*edit("c1", "two", "two\ntwo and a half"), text("Done.")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("edits", worktree="current")
        index = tree(talk).parent / "index"
        before = index.read_bytes()
        await talk.say("change it")
    index.write_bytes(before)  # as after a kill before the applied changes were recorded
    (index.parent / "index.lock").write_bytes(b"")
    brought = OLD.replace("two", "two\ntwo and a half")
    (folder / "a.txt").write_text(brought.replace("six", "six, typed"))
    async with running(tmp_path) as rig:
        talk = await rig.reopen(talk.session_id)
        assert await talk.live.bring_changes() == []
        assert (folder / "a.txt").read_text() == brought.replace("six", "six, typed")


def test_a_copied_index_keeps_its_time_so_that_git_compares_files_changed_at_that_time(
    tmp_path: Path,
) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD)
    index, copy = folder / ".git" / "index", tmp_path / "copy"
    os.utime(index, ns=(1_000_000_001, 1_000_000_001))
    copy_index(str(index), str(copy))
    assert copy.stat().st_mtime_ns == 1_000_000_001
    assert copy.read_bytes() == index.read_bytes()


async def test_a_worktree_that_was_removed_begins_no_turn_and_says_so(tmp_path: Path) -> None:
    folder = repository(tmp_path / "project", a_txt=OLD)
    async with running(tmp_path, [text("One."), text("Two.")]) as rig:
        talk = await rig.talk("edits", worktree="head")
        await talk.say("go")
        git(folder, "worktree", "remove", "--force", str(tree(talk)))
        with pytest.raises(BadChoiceError) as caught:
            await talk.live.bring_changes()
        assert "new session" in caught.value.hint
        await talk.say("go on")
        assert talk.of(ProcessingEnd)[-1].reason == "refused"
        assert "git worktree" in talk.of(Warning)[-1].message
        assert len(rig.model.requests) == 1


@pytest.mark.parametrize(
    ("mode", "when"), [("edits", "automatically"), ("full", "automatically"), ("ask", "asks")]
)
async def test_the_model_learns_when_its_changes_come_to_the_folder(
    tmp_path: Path, mode: Mode, when: str
) -> None:
    repository(tmp_path / "project", a_txt=OLD)
    async with running(tmp_path, [text("One.")]) as rig:
        talk = await rig.talk(mode, worktree="head")
        await talk.say("go")
        (notice,) = [
            it.text for it in rig.model.requests[0].messages if "git worktree of your own" in it.text
        ]
        assert f"to the user's folder {'when the user ' * (mode == 'ask')}{when}" in notice
