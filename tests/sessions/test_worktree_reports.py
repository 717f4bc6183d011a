"""Worktrees, submodules and folders in them, as users of other agents met them: root and branch are their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.environments.local import LocalEnvironment
from agent_ls.profiles.git_snapshot import take_git_snapshot
from tests.sessions.test_uncommitted_work import commit
from tests.support.git import git
from tests.support.reports import reported


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """Make a repository with a worktree beside it and one in it, and a submodule with a worktree of its own."""
    main, part = tmp_path / "main", tmp_path / "part"
    for folder in (main, part):
        folder.mkdir()
        git(folder, "init", "-q", "-b", "trunk")
        (folder / "a.txt").write_text("a\n")
        commit(folder)
    git(main, "worktree", "add", "-q", "-b", "beside", str(tmp_path / "beside"))
    git(main, "worktree", "add", "-q", "-b", "nested", str(main / "trees" / "nested"))
    git(main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "sub")
    git(main / "sub", "checkout", "-q", "-b", "of-sub")
    git(main / "sub", "worktree", "add", "-q", "-b", "sub-tree", str(tmp_path / "sub-tree"))
    (tmp_path / "beside" / "deep" / "er").mkdir(parents=True)
    return {
        "beside": tmp_path / "beside",
        "deeper": tmp_path / "beside" / "deep" / "er",
        "nested": main / "trees" / "nested",
        "sub": main / "sub",
        "sub-tree": tmp_path / "sub-tree",
    }


@pytest.mark.parametrize(
    ("place", "root", "branch"),
    [
        reported("earendil-works/pi#490", "beside", "beside", "beside", id="worktree"),
        reported(
            "BaseIntelligence/bounty-challenge#9209", "deeper", "beside", "beside", id="folder in a worktree"
        ),
        reported("The-PR-Agent/pr-agent#3437", "nested", "nested", "nested", id="worktree in the checkout"),
        reported("athal7/opencode-devcontainers#127", "sub", "sub", "of-sub", id="submodule"),
        reported(
            "GitoxideLabs/gitoxide#1759", "sub-tree", "sub-tree", "sub-tree", id="worktree of a submodule"
        ),
    ],
)
async def test_each_checkout_has_its_own_root_branch_and_status(
    places: dict[str, Path], place: str, root: str, branch: str
) -> None:
    (places[root] / "a.txt").write_text("changed\n")
    found = await take_git_snapshot(LocalEnvironment(str(places[place])), trusted=True)
    assert (found.root, found.branch) == (str(places[root]), branch)
    assert found.changed == 1
