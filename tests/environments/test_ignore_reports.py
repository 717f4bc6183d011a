"""Reports of ignore files that other programs read in another way than git."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.base import GrepOptions
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.local.search import LocalSearch
from tests.support.reports import reported

RULES: list[Any] = [
    reported("ggreer/the_silver_searcher#288", {".gitignore": "*.txt\n!shown.txt\n"}, ["shown.txt"], ["hidden.txt"]),
    reported("ggreer/the_silver_searcher#521", {".gitignore": "*\n!*.txt\n"}, ["shown.txt"], ["hidden.md"]),
    reported("ggreer/the_silver_searcher#1563", {".gitignore": "*\n!*.*\n!*/\n"}, ["shown.txt", "src/shown.c"],
        ["binary"]),
    reported("ggreer/the_silver_searcher#194", {".gitignore": "/sdk/\n"}, ["b/sdk/shown.js"], ["sdk/hidden.js"]),
    reported("DeusData/codebase-memory-mcp#178", {".gitignore": "dist/\n", "app/.gitignore": ".output\n"},
        ["app/shown.js"], ["app/.output/hidden.js"]),
    reported("libgit2/libgit2#7284", {".gitignore": "**/vendor/\n", "a/.gitignore": "!vendor\n"},
        ["a/vendor/shown.txt"], ["b/vendor/hidden.txt"]),
    reported("libgit2/libgit2#2579", {".gitignore": "foo\n!foo/bar\n"}, ["shown.txt"],
        ["foo/bar/hidden.txt", "foo/hidden.txt"]),
    reported("BurntSushi/ripgrep#2731", {".gitignore": "build/\n!/some/build/\n"}, ["some/build/shown.txt"],
        ["build/hidden.txt"]),
]  # fmt: skip


MARKED: dict[str, str] = {".gitignore": "\ufeff*.log\n"}


@pytest.mark.parametrize(
    ("rules", "shown", "hidden"), [*RULES, pytest.param(MARKED, ["a.txt"], ["a.log"], id="mark")]
)
async def test_a_search_hides_what_git_hides(
    tmp_path: Path, rules: dict[str, str], shown: list[str], hidden: list[str]
) -> None:
    (tmp_path / ".git").mkdir()
    for name, content in {**rules, **dict.fromkeys([*shown, *hidden], "needle\n")}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    environment = LocalEnvironment(str(tmp_path))
    found = await environment.grep("needle", ".", GrepOptions(max_results=9))
    assert sorted(line.path for line in found.lines) == sorted(shown)
    names = await environment.glob("**/*", ".")
    assert set(shown) <= set(names) and not set(hidden) & set(names)


@pytest.mark.parametrize("program", [None, ""], ids=["ripgrep", "without"])
@pytest.mark.report("BurntSushi/ripgrep#2075")
@pytest.mark.report("BurntSushi/ripgrep#31")
@pytest.mark.report("BurntSushi/ripgrep#1482")
async def test_a_tracked_file_is_found_although_it_is_ignored(tmp_path: Path, program: str | None) -> None:
    files = {
        ".gitignore": "*\n",
        "shown.txt": "needle",
        "foo/bar/deep é.txt": "needle",
        "foo/untracked.txt": "needle",
        "private/a.txt": "needle",
        ".ignore": "private/\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-f", "shown.txt", "foo/bar", "private")
    (tmp_path / "gone.txt").write_text("needle")
    git(tmp_path, "add", "-f", "gone.txt")
    (tmp_path / "gone.txt").unlink()
    search = LocalSearch(str(tmp_path), program)
    expected = ["foo/bar/deep é.txt", "shown.txt"]
    found = await search.grep("needle", str(tmp_path), ".", GrepOptions(max_results=9))
    assert sorted(it.path for it in found.lines) == expected
    assert sorted(await search.glob("**/*.txt", str(tmp_path), ".")) == expected
    assert sorted(await search.glob("foo/bar/**", str(tmp_path), ".")) == expected[:1]
    assert set(expected) <= set(await search.files(100))
    limited = await search.grep("needle", str(tmp_path), ".", GrepOptions(max_results=1))
    assert len(limited.lines) == 1 and limited.truncated


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), "-c", "core.quotePath=false", *words], check=True)


@pytest.mark.parametrize("program", [None, ""], ids=["ripgrep", "without"])
@pytest.mark.report("NousResearch/hermes-agent#30517")
async def test_a_folder_that_is_ignored_is_searched_if_it_is_named(
    tmp_path: Path, program: str | None
) -> None:
    files = {"venv/.gitignore": "*\n", "venv/lib/pkg.py": "needle\n", "a.py": "x\n"}
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    search = LocalSearch(str(tmp_path), program)
    for folder, count in ((".", 0), ("venv", 1), ("venv/lib", 1)):
        path = str(tmp_path / folder) if folder != "." else str(tmp_path)
        found = await search.grep("needle", path, folder, GrepOptions(max_results=9))
        assert len(found.lines) == count
        assert ("venv/lib/pkg.py" in await search.glob("**/*.py", path, folder)) is (count == 1)


DASHES = [
    reported("anomalyco/opencode#3524", "-e"),
    reported("NousResearch/hermes-agent#93750", "-77"),
    reported("i-am-bee/beeai-framework#1660", "--help"),
    reported("paperclipai/paperclip#10336", "--ctx-size|--n-predict"),
]


@pytest.mark.parametrize("pattern", DASHES)
async def test_a_pattern_that_looks_like_an_option_is_searched(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "a.txt").write_text("-e -77 --help --n-predict\n")
    found = await LocalEnvironment(str(tmp_path)).grep(pattern, ".", GrepOptions(max_results=9))
    assert [line.path for line in found.lines] == ["a.txt"]
