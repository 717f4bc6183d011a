"""Repositories that broke in other tools, each as its smallest input."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ls.environments.base import GrepOptions
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.local.search import LocalSearch
from agent_ls.features.git.reader import GitReader
from agent_ls.policy.situation import Allow
from tests.services.test_shown_secrets import judged
from tests.sessions.test_uncommitted_work import changed, commit
from tests.support.git import git
from tests.support.reports import reported


@pytest.mark.parametrize(
    "name",
    [
        reported("OpenHands/software-agent-sdk#4321", "äfile.txt"),
        reported("wkentaro/git-hunk#10", "a b/c.txt"),
        reported("coollabsio/jean#647", "два слова.txt"),
        reported("cline/kanban#147", "資料/一.txt"),
        reported("ruby-git/ruby-git#418", 'my_"file"_\\_☠'),
    ],
)
async def test_a_changed_file_with_an_unusual_name_has_its_own_name_everywhere(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    os.makedirs(path.parent, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    reader = GitReader(LocalEnvironment(str(tmp_path)), str(tmp_path))
    git(tmp_path, "init", "-q")
    assert [*await reader.new_names()] == [name]
    commit(tmp_path)
    os.truncate(path, 9)
    assert [*await reader.changed_names("diff")] == [name]
    os.truncate(path, 0)
    found, _ = await changed(tmp_path, lambda: os.unlink(path))
    assert [it.path for it in found.states] == [str(path)]
    assert isinstance(judged("git diff", tmp_path), Allow)


@pytest.mark.parametrize("program", [None, ""], ids=["ripgrep", "without"])
@pytest.mark.parametrize(
    ("ignore", "found"),
    [
        reported(
            "ggreer/the_silver_searcher#288",
            "*.txt\n!foo.txt\n",
            ["build/foo.txt", "buildtools/foo.txt", "foo.txt"],
        ),
        reported("ggreer/the_silver_searcher#521", "*\n!*.txt\n", ["bar.txt", "foo.txt"]),
        reported(
            "BurntSushi/ripgrep#778", "build*\n!buildtools\n", ["bar.txt", "buildtools/foo.txt", "foo.txt"]
        ),
        reported("BurntSushi/ripgrep#1173", "**\n", []),
        reported("BurntSushi/ripgrep#3059", "*\n!buildtools\n", []),
    ],
)
async def test_a_search_ignores_what_git_ignores(
    tmp_path: Path, program: str | None, ignore: str, found: list[str]
) -> None:
    for name in ("foo.txt", "bar.txt", "build/foo.txt", "buildtools/foo.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("word\n")
    (tmp_path / ".gitignore").write_text(ignore)
    git(tmp_path, "init", "-q")
    matches = await LocalSearch(str(tmp_path), program).grep("word", str(tmp_path), ".", GrepOptions())
    assert sorted({line.path for line in matches.lines}) == found


@pytest.mark.report("BurntSushi/ripgrep#2329")
async def test_a_tracked_file_that_is_also_ignored_comes_back_after_a_command(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("one\n")
    commit(tmp_path)
    (tmp_path / ".gitignore").write_text("/*\n!/*/\n")
    (tmp_path / "README.md").write_text("work\n")
    found, _ = await changed(tmp_path, lambda: git(tmp_path, "checkout", "-q", "--", "."))
    assert [(it.before, it.after) for it in found.states] == [(b"work\n", b"one\n")]


@pytest.mark.parametrize("kind", ["worktree", "submodule"])
@pytest.mark.report("agent-of-empires/agent-of-empires#139", "anthropics/claude-code#42732")
async def test_work_in_a_folder_whose_git_entry_is_a_file_is_read_and_comes_back(
    tmp_path: Path, kind: str
) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    for folder in (inner, outer):
        folder.mkdir()
        (folder / "a.txt").write_text("one\n")
        commit(folder)
    if kind == "worktree":
        git(inner, "worktree", "add", "-q", str(outer / "sub"))
    else:
        git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    place = outer / "sub"
    (place / "a.txt").write_text("work\n")
    assert isinstance(judged("git diff", place), Allow)
    (place / ".env").write_text("A=1\n")
    git(place, "add", ".env")
    assert not isinstance(judged("git diff --cached", place), Allow)
    found, _ = await changed(outer, lambda: git(place, "checkout", "-q", "--", "a.txt"))
    assert [it.before for it in found.states] == [b"work\n"]
