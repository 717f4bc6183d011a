from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from agent_ls.environments.local.environment import LocalEnvironment
from agent_ls.profiles.git_snapshot import GitSnapshot, take_git_snapshot
from tests.support.git import git

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init")
    (folder / "a.py").write_text("a\n")
    (folder / "same.py").write_text("same\n")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "Add a")
    (folder / "a.py").write_text("b\n")
    os.utime(folder / "same.py", (1, 1))  # its entry in the index is out of date: status would refresh it
    (folder / "new.py").write_text("")
    return folder


async def snapshot_of(folder: Path, *, trusted: bool = True) -> GitSnapshot:
    environment = LocalEnvironment(str(folder))
    await environment.initialize()
    try:
        return await take_git_snapshot(environment, trusted=trusted)
    finally:
        await environment.cleanup()


def stamp(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted((folder / ".git").rglob("*")) if path.is_file()}


@pytest.mark.req("O4")
async def test_snapshot_when_git_is_real_then_it_reports_the_state_and_leaves_the_repository_as_it_was(
    repository: Path,
) -> None:
    before = stamp(repository)
    head = git(repository, "rev-parse", "HEAD")
    snapshot = await snapshot_of(repository)
    assert (snapshot.root, snapshot.branch, snapshot.head) == (str(repository), "main", head)
    assert (snapshot.changed, snapshot.untracked) == (1, 1)
    assert [commit.split(" ", 1)[1] for commit in snapshot.commits] == ["Add a"]
    assert stamp(repository) == before


@pytest.mark.req("O4")
async def test_git_snapshot_from_files_has_the_same_branch_and_head_as_git(
    repository: Path,
) -> None:
    git(repository, "pack-refs", "--all")
    worktree = repository.parent / "worktree"
    git(repository, "worktree", "add", "-b", "side", str(worktree))
    for folder, branch in ((repository, "main"), (worktree, "side")):
        snapshot = await snapshot_of(folder, trusted=False)
        assert (snapshot.branch, snapshot.head) == (branch, git(folder, "rev-parse", "HEAD"))
        assert snapshot.commits == ()


@pytest.mark.req("O4")
@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(("core.fsmonitor", "{program}"), id="fsmonitor"),
        pytest.param(("filter.x.clean", "{program}"), id="filter"),
        pytest.param(("core.hooksPath", "{folder}"), id="hooks"),
    ],
)
async def test_snapshot_when_the_repository_names_a_program_then_it_is_not_started(
    repository: Path, tmp_path: Path, setting: tuple[str, str]
) -> None:
    trace = tmp_path / "started"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("program", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{trace}'\n")
        (hooks / name).chmod(0o755)
    (repository / ".gitattributes").write_text("* filter=x diff=x\n")
    git(repository, "config", setting[0], setting[1].format(program=hooks / "program", folder=hooks))
    assert (await snapshot_of(repository)).branch == "main"
    assert not trace.exists()
