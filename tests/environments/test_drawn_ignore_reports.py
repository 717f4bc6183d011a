"""Ignore rules that others read in another way than git: searches show what `git ls-files` shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.environments.test_harvest_ignore_reports import (
    test_what_git_shows_is_shown as shows_what_git_shows,
)
from tests.support.reports import reported

RULES: list[Any] = [
    reported("libgit2/libgit2#4623", {".gitignore": "*.test\n!dir/*\n"}, ["dir/a.test", "dir/sub/b.test", "c.test"],
        id="one star"),
    reported("libgit2/libgit2#2746", {".gitignore": "foo/*\n!foo/bar\n!foo/baz/quux\n"},
        ["foo/bar", "foo/baz/quux", "foo/x", "y"], id="two steps"),
    reported("libgit2/libgit2#3393", {".gitignore": "code/**/packages/*\n!code/**/packages/repositories.config\n"},
        ["code/x/y/packages/repositories.config", "code/x/packages/z", "code/packages/repositories.config", "w"],
        id="stars in both"),
    reported("atom/tree-view#196", {".gitignore": "*\n!/**/\n!*.keep\n!.gitignore\n"},
        ["src/A", "src/A.keep", "x/y/z.keep", "b"], id="all but"),
    reported("kaelzhang/node-ignore#80", {".gitignore": "build\n!build/**\n"}, ["build/index.js", "a.js"],
        id="a folder again"),
    reported("monochromegane/the_platinum_searcher#49", {".gitignore": "/*\n!/img/\n"},
        ["img/a", "img/b/c", "doc/d", "e"],
        id="root only"),
    reported("libgit2/libgit2#5019", {".gitignore": "dir/*\n!dir/sub\n!dir/sub/keep.test\n"},
        ["dir/sub/keep.test", "dir/other.test", "z"], id="a file by name"),
    reported("BurntSushi/ripgrep#1174", {".gitignore": "**/**/*.gen\n"}, ["a/foo.gen", "foo.gen", "a/b/c.gen", "d"],
        id="stars twice"),
    pytest.param({".gitignore": "/a/b\n/a\n!a*/**/\n"}, ["a/x", "a/b/x", "ab/x", "x"], id="folders below"),
    pytest.param({".gitignore": "b/a\n!/*/a*/**\n"}, ["b/a/x", "b/x", "a/a/x"], id="below any"),
    pytest.param({".gitignore": "a/**/\n"}, ["a/x", "a/b/x", "x"], id="only folders below"),
]  # fmt: skip


@pytest.mark.parametrize("program", [None, ""], ids=["ripgrep", "without"])
@pytest.mark.parametrize(("rules", "names"), RULES)
async def test_rules_that_show_files_again_are_read_as_git_reads_them(
    tmp_path: Path, rules: dict[str, str], names: list[str], program: str | None
) -> None:
    await shows_what_git_shows(tmp_path, rules, names, program)
