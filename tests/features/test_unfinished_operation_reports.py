"""Reports about repositories in a special state: an unfinished operation, submodules, several, odd names, links."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.loop.events.types import FileChange, ToolCallEnd, Warning
from agent_ls.services.review.decision_request import Selection
from agent_ls.sessions.rollback import RollbackRequest
from agent_ls.sessions.workspaces.worktree import CODE
from tests.features.test_git_setting_reports import changes_of, state_of
from tests.features.test_worktrees import OLD, call, edit, repository, shell, tree
from tests.features.test_world_git_reports import submodule
from tests.support.fake_provider import text
from tests.support.git import git
from tests.support.reports import reported
from tests.support.session_rig import SessionRig, Talk, running

pytestmark = pytest.mark.req("H23", "O4")


async def back(rig: SessionRig, talk: Talk) -> None:
    turn = next(it.turn_id for it in talk.envelopes if it.turn_id)
    await rig.manager.revert(talk.session_id, RollbackRequest(turn, conversation=False, files="restore"))


def stopped(folder: Path, *words: str) -> None:
    """Run a git command that stops at a conflict, or waits for more."""
    (folder / ".git/hooks").mkdir(exist_ok=True)
    options = ["-c", "user.name=a", "-c", "user.email=a@b"]
    os.waitpid(os.spawnlp(os.P_NOWAIT, "git", "git", "-C", str(folder), *options, *words), 0)


OPERATIONS: list[Any] = [
    reported(
        "decocms/studio#5299",
        ("rebase", "-q", "main"),
        "rebase of topic",
    ),
    (("rebase", "-q", "--apply", "main"), "rebase of topic"),
    (("merge", "-q", "main"), "merge"),
    (("cherry-pick", "main"), "cherry-pick"),
    (("revert", "--no-edit", "HEAD~1"), "revert"),
    (("bisect", "start"), "bisect"),
    (("status", "-s"), ""),
]


@pytest.mark.parametrize(("words", "operation"), OPERATIONS)
async def test_an_unfinished_operation_is_known_and_stays(
    tmp_path: Path, words: tuple[str, ...], operation: str
) -> None:
    project = repository(tmp_path / "project", a_txt=OLD)
    git(project, "checkout", "-qb", "topic")
    for branch, word in (("topic", "2"), ("topic", "II"), ("main", "zwei")):
        git(project, "checkout", "-q", branch)
        (project / "a.txt").write_text(OLD.replace("two", word))
        git(project, "commit", "-qam", word)
    git(project, "checkout", "-q", "topic")
    stopped(project, *words)
    assert (
        (await state_of(project)).operation == (await state_of(project, trusted=False)).operation == operation
    )
    assert await changes_of(project) or operation in ("", "bisect", "rebase of topic")
    before = git(project, "status"), (project / ".git/index").read_bytes()
    async with running(tmp_path, [edit("e", "three", "THREE")[:1], text("ok")] * 2) as rig:
        await rig.talk("full", say="go")
        prompt = str(rig.model.requests[0].messages)
        assert (f"Unfinished git operation: {operation}" in prompt) is bool(operation)
        copy = await rig.talk("full", worktree="current", say="go")
        assert (tree(copy) / "a.txt").read_text() == (project / "a.txt").read_text()
    assert (git(project, "status"), (project / ".git/index").read_bytes()) == before


@pytest.mark.report("anthropics/claude-code#73533")
@pytest.mark.parametrize("start", ["current", "head"])
async def test_submodules_and_repositories_that_a_worktree_lacks_are_named(
    tmp_path: Path, start: Any
) -> None:
    project = submodule(tmp_path).parent
    async with running(tmp_path, [text("ok")]) as rig:
        talk = await rig.talk("full", worktree=start, say="go")
        assert [it.code for it in talk.of(Warning) if "lib/" in it.message] == [CODE]
        assert "lib/" in str(rig.model.requests[0].messages[1].text)
    git(project, "submodule", "deinit", "-q", "lib")
    async with running(tmp_path, [text("ok")]) as rig:
        assert (await rig.talk("full", worktree=start, say="go")).of(Warning) == []


@pytest.mark.report("openai/codex#14865")
async def test_changes_in_a_submodule_have_the_path_in_the_project(tmp_path: Path) -> None:
    lib = submodule(tmp_path)
    calls = [[it] for it in edit("e", "two", "TWO", "lib/a.txt")]
    async with running(tmp_path, [*calls, [shell("s", "echo n > lib/n.txt")], text("ok")]) as rig:
        talk = await rig.talk("full", say="go")
        assert [it.path for it in talk.of(FileChange)] == [str(lib / "a.txt"), str(lib / "n.txt")]
        await back(rig, talk)
        assert (lib / "a.txt").read_text() == OLD and not (lib / "n.txt").exists()


@pytest.mark.report("anomalyco/opencode#31044")
async def test_a_roll_back_restores_several_repositories_below_a_folder_without_one(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    first, second = (repository(tmp_path / "project" / name, a_txt=OLD) for name in ("first", "second"))
    (second / "a.txt").write_text("uncommitted\n")
    (second / "new.txt").write_text("untracked\n")
    lose = shell("s", "cd second && git checkout -q . && git clean -fdq && echo > made.txt")
    calls = [[it] for it in (*edit("e", "two", "TWO", "first/a.txt"), lose)]
    async with running(tmp_path, [*calls, text("ok")]) as rig:
        talk = await rig.talk("full", say="go")
        assert (second / "a.txt").read_text() == OLD
        await back(rig, talk)
    assert (first / "a.txt").read_text() == OLD and not (second / "made.txt").exists()
    assert (second / "a.txt").read_text() + (second / "new.txt").read_text() == "uncommitted\nuntracked\n"


@pytest.mark.report("jainal09/envdrift#601")
async def test_names_that_are_no_text_stop_neither_git_nor_a_search(tmp_path: Path) -> None:
    project = repository(tmp_path / "project", a_txt=OLD)
    odd = Path(os.fsdecode(os.fsencode(project) + b"/caf\xe9.txt"))
    odd.write_text("needle\n")  # noqa: ASYNC240
    git(project, "add", "-A")
    git(project, "commit", "-qm", "odd")
    odd.write_text("needle of the user\n")  # noqa: ASYNC240
    assert (await state_of(project)).changed == 1 and "of the user" in str(await changes_of(project))
    looks = [
        call("grep", "g", pattern="needle"),
        call("glob", "n", pattern="*"),
    ]
    async with running(
        tmp_path, [*map(list, zip(looks)), [shell("s", "git checkout -q .")], text("ok")]
    ) as rig:
        talk = await rig.talk("full", say="go")
        assert not any(it.is_error for it in talk.of(ToolCallEnd))
        assert all("caf" in str(it.content) for it in rig.results()[:2])
        await back(rig, talk)
        assert odd.read_text() == "needle of the user\n"  # noqa: ASYNC240
        copy = await rig.talk("full", worktree="current", say="go")
        assert (tree(copy) / odd.name).read_text() == "needle of the user\n"


@pytest.mark.report("dimileeh/agent-workspace-fabric#908")
@pytest.mark.parametrize("is_roll_back", [False, True])
async def test_nothing_behind_a_link_that_came_later_is_taken_back(
    tmp_path: Path, is_roll_back: bool
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("a.txt", "new.txt"):
        (outside / name).write_text("theirs\n")
    project = repository(tmp_path / "project", d__a_txt=OLD)
    new = call("write_file", "w", file_path="d/new.txt", content="theirs\n")
    async with running(
        tmp_path, [*[[it] for it in edit("e", "two", "TWO", "d/a.txt")], [new], text("ok")]
    ) as rig:
        talk = await rig.talk("full", say="go")
        (project / "d").rename(project / "e")
        (project / "d").symlink_to(outside)
        if is_roll_back:
            await back(rig, talk)
        else:
            await rig.manager.review.review("undo", Selection(session_id=talk.session_id))
    assert {it.name: it.read_text() for it in outside.iterdir()} == dict.fromkeys(
        ("a.txt", "new.txt"), "theirs\n"
    )
