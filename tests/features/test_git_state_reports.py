"""States of repositories that other tools misread: renames, conflicts, modes, links, bare clones, odd folders."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_ls.features.git.reader import GitFailedError
from agent_ls.features.git.reason import git_reason
from tests.features.test_git_setting_reports import changes_of, repository, state_of, worktree_of
from tests.support.git import git
from tests.support.reports import reported

pytestmark = pytest.mark.req("H23")

FOUND = "fatal: unknown repository extension found:"
LOCAL = "Your local changes to the following files would be overwritten by merge:"
REASONS: list[Any] = [
    reported("libgit2/libgit2#7254", f"{FOUND}\n\trelativeworktrees\n", f"{FOUND} relativeworktrees"),
    reported("arxanas/git-branchless#1628", f"{FOUND}\n\tcompatobjectformat\n\tother\n",
        f"{FOUND} compatobjectformat, other"),
    (f"error: {LOCAL}\n" + "".join(f"\t{at}.txt\n" for at in range(5)) + "Please commit them.\nAborting\n",
        f"error: {LOCAL} 0.txt, 1.txt, 2.txt, and 2 more"),
    ("error: patch failed: a:1\nerror: a: patch does not apply\n", "error: a: patch does not apply"),
    ("hint: a\nfatal: b\n  c\n", "fatal: b"),
    ("", "no message"),
]  # fmt: skip


@pytest.mark.parametrize(("errors", "reason"), REASONS)
def test_the_reason_of_git_has_the_names_that_it_lists(errors: str, reason: str) -> None:
    assert git_reason(errors) == reason


@pytest.mark.report("jikig-ai/soleur#7394")
async def test_a_worktree_of_a_repository_that_says_it_is_bare_shows_why_it_cannot_be_read(
    tmp_path: Path,
) -> None:
    work = repository(tmp_path / "work")
    git(work, "worktree", "add", "-q", "../linked", "-b", "x")
    git(work, "config", "extensions.worktreeConfig", "true")
    git(work, "config", "core.bare", "true")
    assert (await state_of(tmp_path / "linked")).branch == "x"
    with pytest.raises(GitFailedError, match="must be run in a work tree"):
        await changes_of(tmp_path / "linked")


LINES = "".join(f"line {number}\n" for number in range(20))


def copied(work: Path) -> None:
    git(work, "config", "diff.renames", "copies")
    git(work, "config", "status.renames", "copies")
    (work / "long.txt").write_text(LINES + "more\n")
    (work / "copy.txt").write_text(LINES)
    git(work, "add", "-A")


def renamed_unstaged(work: Path) -> None:
    (work / "long.txt").rename(work / "new.txt")
    git(work, "add", "-N", "new.txt")


def became_a_link(work: Path) -> None:
    (work / "long.txt").unlink()
    (work / "long.txt").symlink_to("a.txt")


def conflict(work: Path) -> None:
    git(work, "checkout", "-qb", "side")
    (work / "a.txt").write_text("one\nSIDE\n")
    git(work, "commit", "-qam", "side")
    git(work, "checkout", "-q", "main")
    (work / "a.txt").write_text("one\nMAIN\n")
    git(work, "commit", "-qam", "main")
    with pytest.raises(subprocess.CalledProcessError):
        git(work, "merge", "side")


def conflict_and_rename(work: Path) -> None:
    conflict(work)
    git(work, "mv", "long.txt", "moved.txt")


def mode_only(work: Path) -> None:
    (work / "a.txt").chmod(0o755)


def empty_file(work: Path) -> None:
    (work / "empty.txt").write_text("")
    git(work, "add", "empty.txt")


def picture(work: Path) -> None:
    git(work, "config", "diff.mnemonicPrefix", "true")
    (work / "p.png").write_bytes(b"\x89PNG\0\1")
    git(work, "add", "p.png")
    git(work, "commit", "-qm", "picture")
    (work / "p.png").write_bytes(b"\x89PNG\0\2")


def arrow_in_the_old_name(work: Path) -> None:
    git(work, "mv", "long.txt", "a -> b.txt")
    git(work, "commit", "-qm", "arrow")
    git(work, "mv", "a -> b.txt", "plain.txt")


def renamed_and_another(work: Path) -> None:
    git(work, "mv", "long.txt", "new name.txt")
    (work / "a.txt").write_text("one\nCHANGED\n")
    git(work, "add", "-A")


def odd_names(work: Path) -> None:
    git(work, "mv", "long.txt", "c -> d.txt")
    for name in ('q"u.txt', "tab\tx.txt", "ä.txt"):
        (work / name).write_text("1\n")
    git(work, "add", "-A")


STATES: list[Any] = [
    reported("dxos/dxos#11230", renamed_and_another, 2, "rename to new name.txt", id="a rename and a change"),
    reported("git-town/git-town#4878", copied, 2, "copy.txt", id="copies"),
    reported("muxy-app/muxy#122", renamed_unstaged, 1, "new.txt", id="a rename that is not staged"),
    reported("cfal/garcon#680", became_a_link, 1, "120000", id="a link in place of a file"),
    reported("cfal/garcon#680", conflict, 1, "a.txt", id="a conflict"),
    reported("NeogitOrg/neogit#1216", conflict_and_rename, 2, "moved.txt", id="a conflict after a rename"),
    reported("kuychaco/what-the-diff#8", mode_only, 1, "new mode 100755", id="mode"),
    reported("matiasb/python-unidiff#19", empty_file, 1, "empty.txt", id="empty file"),
    reported("ecomfe/gitdiff-parser#35", picture, 1, "Binary files a/p.png and b/p.png differ", id="picture"),
    reported("gfargo/coco#1597", odd_names, 4, "rename to c -> d.txt", id="names that git quotes"),
    reported("risa-labs-inc/BossConsole#1554", arrow_in_the_old_name, 1, "plain.txt", id="arrow"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "changed", "has"), STATES)
async def test_each_kind_of_change_is_counted_once_and_shown(
    tmp_path: Path, change: Callable[[Path], None], changed: int, has: str
) -> None:
    work = repository(tmp_path / "work", **{"long.txt": LINES})
    change(work)
    state = await state_of(work)
    assert (state.branch, state.changed, state.untracked) == ("main", changed, 0)
    changes = await changes_of(work)
    assert changes and has in changes.diff and not changes.new_files


@pytest.mark.report("matiasb/python-unidiff#147")
@pytest.mark.report("halfline/git-stage-batch#116")
async def test_a_new_submodule_and_one_with_changes_of_its_own_are_no_fault(tmp_path: Path) -> None:
    part = repository(tmp_path / "part")
    work = repository(tmp_path / "work")
    git(work, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "lib")
    changes = await changes_of(work)
    assert changes and "+++ b/.gitmodules" in changes.diff
    git(work, "commit", "-qm", "lib")
    (work / "lib/a.txt").write_text("changed\n")
    assert (await state_of(work)).branch == "main"
    changes = await changes_of(work)
    assert changes is None or (changes.diff, changes.new_files) == ("", ())


def bare_layout(folder: Path) -> Path:
    """Make a bare clone in `.bare`, beside it a `.git` file that points at it, and a worktree of its branch `main`."""
    source = repository(folder / "source")
    root = folder / "root"
    root.mkdir()
    git(folder, "clone", "-q", "--bare", str(source), str(root / ".bare"))
    (root / ".git").write_text("gitdir: ./.bare\n")
    git(root, "worktree", "add", "-q", "main", "main")
    return root / "main"


def bare_with_own_settings(folder: Path) -> Path:
    main = bare_layout(folder)
    git(main, "config", "extensions.worktreeConfig", "true")
    git(main, "config", "--worktree", "core.bare", "false")
    return main


def separate_folder(folder: Path) -> Path:
    """Make a repository whose settings name its folder of files by a relative path."""
    work = repository(folder / "work")
    (work / ".git").rename(folder / "store")
    (work / ".git").write_text(f"gitdir: {folder / 'store'}\n")
    git(work, "config", "core.worktree", "../work")
    return work


def newline_in_the_path(folder: Path) -> Path:
    return repository(folder / "two\nworktree lines")


LAYOUTS: list[Any] = [
    reported("zed-industries/zed#56860", bare_layout, id="bare beside its worktrees"),
    reported("jikig-ai/soleur#1393", bare_with_own_settings, id="bare and settings per worktree"),
    reported("ceilf6/FrontAgent#219", separate_folder, id="a relative core.worktree"),
    reported("QwenLM/qwen-code#6456", newline_in_the_path, id="a newline in the path"),
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_session_can_have_a_worktree_whatever_the_layout(
    tmp_path: Path, layout: Callable[[Path], Path]
) -> None:
    work = layout(tmp_path)
    (work / "a.txt").write_text("one\nTWO\n")
    assert ((await state_of(work)).branch, (await state_of(work)).changed) == ("main", 1)
    made = await worktree_of(work)
    assert sorted(it for it in os.listdir(made.root) if it != ".git") == ["a.txt"]
    assert git(Path(made.root), "rev-parse", "--show-toplevel") == made.root
    assert git(Path(made.root), "status", "--short").strip() in ("", "M a.txt")


@pytest.mark.report("anthropics/claude-code#69802")
@pytest.mark.parametrize("own_settings", [False, True])
async def test_a_worktree_changes_no_setting_of_the_repository(tmp_path: Path, own_settings: bool) -> None:
    work = repository(tmp_path / "work")
    if own_settings:
        git(work, "config", "extensions.worktreeConfig", "true")
    before = (work / ".git/config").read_text()
    made = await worktree_of(work)
    git(Path(made.root), "commit", "--allow-empty", "-qm", "in the worktree")
    git(work, "worktree", "remove", "--force", made.root)
    assert (work / ".git/config").read_text() == before
    assert (await state_of(work)).branch == "main"
