"""Settings and states of repositories that broke other tools: commit messages, the git state and worktrees."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import anyio
import pytest

from agent_ls.environments.local import LocalEnvironment
from agent_ls.features.git.reader import GitFailedError
from agent_ls.features.suggestions.git_changes import GitChanges, read_changes
from agent_ls.features.worktrees.git import LocalGit
from agent_ls.features.worktrees.merge import merge
from agent_ls.features.worktrees.worktree import Worktree, make_worktree
from agent_ls.profiles.git_snapshot import GitSnapshot, take_git_snapshot
from agent_ls.services.errors import BadChoiceError
from tests.sessions.test_uncommitted_work import changed, commit
from tests.support.git import git
from tests.support.reports import reported

pytestmark = pytest.mark.req("H23")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return repository(tmp_path / "work")


def repository(folder: Path, *options: str, **files: str) -> Path:
    for name, content in {"a.txt": "one\ntwo\n", **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    commit(folder, "-b", "main", *options)
    return folder


def give_away(folder: Path) -> None:
    subprocess.run(["chown", "-R", "12345:12345", str(folder)], check=True)


async def changes_of(folder: Path) -> GitChanges | None:
    return await read_changes(LocalEnvironment(str(folder)), str(folder), lambda name: True)


async def state_of(folder: Path, *, trusted: bool = True) -> GitSnapshot:
    return await take_git_snapshot(LocalEnvironment(str(folder)), trusted=trusted)


async def worktree_of(folder: Path, number: int = 0) -> Worktree:
    async def read(path: str) -> bytes | None:
        place = anyio.Path(path)
        return await place.read_bytes() if await place.exists() else None

    place = folder.parent / "state" / str(number)
    return await make_worktree(LocalGit(os.environ), place, str(folder), "current", read, ())


@pytest.mark.parametrize(
    "settings",
    [
        reported("folke/snacks.nvim#2174", {"diff.noprefix": "true"}, id="no prefix"),
        reported("superset-sh/superset#7596", {"diff.mnemonicPrefix": "true"}, id="other prefix"),
        reported("fwdai/fletch#617", {"diff.external": "false"}, id="external"),
        reported("nilbuild/diffity#31", {"color.ui": "always", "diff.colorMoved": "zebra"}, id="colours"),
        reported(
            "HISKP-LQCD/hadron#120",
            {"status.showUntrackedFiles": "no", "status.short": "true", "status.branch": "true"},
            id="untracked",
        ),
        pytest.param(
            {"log.showSignature": "true", "format.pretty": "fuller", "log.decorate": "full"}, id="log"
        ),
    ],
)
async def test_settings_of_the_user_do_not_change_what_is_read(work: Path, settings: dict[str, str]) -> None:
    for name, value in settings.items():
        git(work, "config", name, value)
    (work / "a.txt").write_text("one\nTWO\n")
    (work / "new é.txt").write_text("x\n")
    changes = await changes_of(work)
    assert changes and changes.new_files == ("new é.txt",)
    assert "diff --git a/a.txt b/a.txt\n" in changes.diff and "\n+TWO" in changes.diff
    state = await state_of(work)
    assert (state.branch, state.changed, state.untracked) == ("main", 1, 1)
    assert [it.partition(" ")[2] for it in state.commits] == ["one"]


NAMES = [
    reported("MiniMax-AI/minimax-code#183", "中文.txt"),
    reported("alibaba/open-code-review#1498", "tab\tname.go"),
    reported("HamedMP/matrix-os#764", "foo b/bar.txt"),
    'quote".py',
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
async def test_a_file_of_any_name_is_in_the_changes_and_in_the_worktree(work: Path, name: str) -> None:
    (work / name).parent.mkdir(exist_ok=True)
    git(work, "mv", "a.txt", name)
    changes = await changes_of(work)
    assert changes and "a.txt" in changes.diff and not changes.new_files
    git(work, "commit", "-qm", "renamed")
    worktree = await worktree_of(work)
    (Path(worktree.folder) / name).write_text("one\nTWO\n")
    (change,) = await worktree.changes()
    assert change.path == name and await worktree.texts(change) == (b"one\ntwo\n", b"one\nTWO\n")
    (work / f"new-{Path(name).name}").write_text("x\n")
    found = await changes_of(work)
    assert found and found.new_files == (f"new-{Path(name).name}",)


@pytest.mark.report("nilbuild/diffity#21")
async def test_variables_of_the_user_do_not_change_what_is_read(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "a.txt").write_text("one\nTWO\n")
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER"):
        monkeypatch.setenv(name, "false")
    changes = await changes_of(work)
    assert changes and "diff --git a/a.txt b/a.txt\n" in changes.diff


@pytest.mark.report("microsoft/vscode#323751", "stablyai/orca#9347")
async def test_a_detached_head_and_a_hook_that_fails_are_no_obstacle_to_a_worktree(work: Path) -> None:
    git(work, "checkout", "-q", "--detach")
    hook = work / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    worktree = await worktree_of(work)
    assert (Path(worktree.folder) / "a.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize("scope", ["--global", "--local"])
@pytest.mark.report("PostHog/code#1729", "microsoft/vscode#325591")
async def test_without_git_lfs_a_worktree_has_the_pointers_of_the_users_folder(
    work: Path, scope: str
) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 5\n"
    (work / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    (work / "b.bin").write_text(pointer)
    git(work, "add", "-A")
    git(work, "commit", "-qm", "large files")
    for name, value in {
        "process": "no-git-lfs filter-process",
        "smudge": "no-git-lfs smudge -- %f",
        "clean": "no-git-lfs clean -- %f",
        "required": "true",
    }.items():
        git(work, "config", scope, f"filter.lfs.{name}", value)
    worktree = await worktree_of(work)
    folder = Path(worktree.folder)
    assert (folder / "b.bin").read_text() == pointer
    (folder / "a.txt").write_text("changed\n")
    (folder / "b.bin").write_text(pointer.replace("size 5", "size 6"))
    changes = await worktree.changes()
    assert [it.path for it in changes] == ["a.txt", "b.bin"]
    assert await worktree.texts(changes[1]) == (pointer.encode(), (folder / "b.bin").read_bytes())


@pytest.mark.parametrize("layout", ["beside", "in the folder"])
@pytest.mark.report("get-bb/bb#1595", "jikig-ai/soleur#607")
async def test_a_bare_repository_has_no_worktree_but_its_worktrees_have(work: Path, layout: str) -> None:
    root = work.parent / "root"
    if layout == "beside":
        root.mkdir()
        git(root, "clone", "-q", "--bare", str(work), str(root / ".git-files"))
        (root / ".git").write_text("gitdir: ./.git-files\n")
    else:
        os.rename(work, root)
        git(root, "config", "core.bare", "true")
    git(root, "worktree", "add", "-q", "-b", "side", str(root / "side"), "main")
    with pytest.raises(BadChoiceError, match="is bare"):
        await worktree_of(root, 1)
    assert (await state_of(root)).changed is None
    state = await state_of(root / "side")
    assert (state.branch, state.changed) == ("side", 0)
    assert (Path((await worktree_of(root / "side", 2)).folder) / "a.txt").exists()


@pytest.mark.parametrize("index", [[], ["--sparse-index"]], ids=["full", "sparse"])
@pytest.mark.report("Dimillian/CodexMonitor#172", "gastownhall/gastown#3403")
async def test_files_that_are_not_checked_out_are_no_deletions(tmp_path: Path, index: list[str]) -> None:
    files = {"in/x.txt": "x\n", "out/y.txt": "y\n", "out/deep/z.txt": "z\n"}
    work = repository(tmp_path / "work", **files)
    git(work, "sparse-checkout", "set", "--cone", *index, "in")
    assert not (work / "out").exists()
    state = await state_of(work)
    assert (state.changed, state.untracked) == (0, 0)
    worktree = await worktree_of(work)
    (Path(worktree.folder) / "in" / "x.txt").write_text("changed\n")
    (Path(worktree.folder) / "in" / "new.txt").write_text("new\n")
    assert [it.path for it in await worktree.changes()] == ["in/new.txt", "in/x.txt"]
    (work / "in" / "x.txt").write_text("work\n")
    found, _ = await changed(work, lambda: git(work, "checkout", "-q", "--", "."))
    assert [(it.path, it.before) for it in found.states] == [(str(work / "in" / "x.txt"), b"work\n")]


@pytest.mark.report("MitMaro/git-interactive-rebase-tool#950")
async def test_a_repository_with_long_object_names_is_read_like_others(tmp_path: Path) -> None:
    work = repository(tmp_path / "work", "--object-format=sha256")
    state = await state_of(work)
    assert (len(state.head), state.branch, state.changed) == (64, "main", 0)
    worktree = await worktree_of(work)
    (Path(worktree.folder) / "a.txt").write_text("two\n")
    [change] = await worktree.changes()
    assert await worktree.texts(change) == (b"one\ntwo\n", b"two\n")
    found, _ = await changed(work, (work / "a.txt").unlink)
    assert [it.before for it in found.states] == [b"one\ntwo\n"]


@pytest.mark.parametrize(
    "named",
    [
        reported("microsoft/vscode#327270", "../../../../side/.git\n"),
        reported("tpope/vim-fugitive#751", ".git\n"),
    ],
)
async def test_a_worktree_may_name_its_repository_by_a_relative_path(work: Path, named: str) -> None:
    side = work.parent / "side"
    git(work, "worktree", "add", "-q", "-b", "side", str(side))
    (side / ".git").write_text("gitdir: ../work/.git/worktrees/side\n")
    (work / ".git" / "worktrees" / "side" / "gitdir").write_text(named)
    state = await state_of(side)
    assert (state.branch, len(state.head), state.changed) == ("side", 40, 0)
    (side / "a.txt").write_text("work\n")
    (side / "new.txt").write_text("new\n")
    state, changes = await state_of(side), await changes_of(side)
    assert (state.root, state.changed, state.untracked) == (str(side), 1, 1)
    assert changes and [*changes.new_files] == ["new.txt"]
    assert changes.diff.count("diff --git") == changes.diff.count("diff --git a/a.txt b/a.txt") == 1
    found, _ = await changed(side, lambda: git(side, "checkout", "-q", "--", "."))
    assert [it.before for it in found.states] == [b"work\n"]


@pytest.mark.report("manaflow-ai/cmux#10324")
async def test_the_name_that_stands_for_references_in_tables_is_no_branch(work: Path) -> None:
    (work / ".git" / "HEAD").write_text("ref: refs/heads/.invalid\n")
    for is_trusted in (True, False):
        state = await state_of(work, trusted=is_trusted)
        assert (state.root, state.branch, state.head) == (str(work), "", "")


@pytest.mark.report("laurentftech/pi-outpost#201", "ship-studio/ship-studio#377")
async def test_reading_needs_no_lock_and_leaves_the_index_as_it_is(work: Path) -> None:
    (work / "a.txt").write_text("work\n")
    (work / "new.txt").write_text("new\n")
    index, lock = work / ".git" / "index", work / ".git" / "index.lock"
    before = index.stat().st_mtime_ns
    state = await state_of(work)
    worktree = await worktree_of(work, 1)
    assert index.stat().st_mtime_ns == before
    lock.touch()
    assert await state_of(work) == state and (state.changed, state.untracked) == (1, 1)
    assert await changes_of(work)
    for tree in (worktree, await worktree_of(work, 2)):
        assert (Path(tree.folder) / "a.txt").read_text() == "work\n"
        assert (Path(tree.folder) / "new.txt").read_text() == "new\n"
    assert lock.exists()


@pytest.mark.report("anthropics/claude-plugins-official#295")
async def test_before_the_first_commit_everything_but_a_worktree_works(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "work")
    work = tmp_path / "work"
    (work / "a.txt").write_text("x\n")
    state = await state_of(work)
    assert (state.branch, state.head, state.changed, state.untracked) == ("main", "", 0, 1)
    git(work, "add", "a.txt")
    changes = await changes_of(work)
    assert changes and "+x" in changes.diff
    with pytest.raises(BadChoiceError, match="no commit"):
        await worktree_of(work)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a folder away")
@pytest.mark.report("microsoft/vscode#336048")
async def test_git_refuses_the_folder_of_another_user_and_the_error_says_how_to_trust_it(work: Path) -> None:
    (work / "a.txt").write_text("work\n")
    give_away(work)
    state = await state_of(work)
    assert (state.branch, state.changed) == ("main", None)
    trusting = f"safe.directory {work}"
    with pytest.raises(GitFailedError, match=trusting):
        await changes_of(work)
    with pytest.raises(BadChoiceError, match=trusting):
        await worktree_of(work)
    found, _ = await changed(work, lambda: (work / "a.txt").write_text("one\ntwo\n"))
    assert [it.before for it in found.states] == [b"work\n"]


@pytest.mark.group("races")
@pytest.mark.report("agent-tools-org/ai-dispatch#32")
async def test_several_worktrees_of_a_repository_can_be_made_at_the_same_time(work: Path) -> None:
    async def make(number: int) -> None:
        worktree = await worktree_of(work, number)
        (Path(worktree.folder) / "a.txt").write_text(f"{number}\n")
        assert [it.path for it in await worktree.changes()] == ["a.txt"]

    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(make, number)


@pytest.mark.parametrize("setting", ["true", "input", "false"])
@pytest.mark.report("openai/codex#4395")
async def test_a_change_of_a_worktree_keeps_the_line_endings_of_the_users_file(
    work: Path, setting: str
) -> None:
    git(work, "config", "core.autocrlf", setting)
    (work / "w.txt").write_bytes(b"a\r\nb\r\n")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "endings of Windows")
    worktree = await worktree_of(work)
    assert await worktree.changes() == []
    copy = Path(worktree.folder) / "w.txt"
    copy.write_bytes(copy.read_bytes().replace(b"b", b"B"))
    [change] = await worktree.changes()
    assert merge(*await worktree.texts(change), b"a\r\nb\r\n") == b"a\r\nB\r\n"
