"""Ignore rules that others read in another way than git: searches show what `git ls-files` shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.base import GrepOptions
from agent_ls.environments.local import LocalEnvironment
from tests.environments.test_ignore_rule_reports import (
    run_git,
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
    reported("libgit2/libgit2#7283", {".gitignore": "d/\n!d/sub/*\n"}, ["d/sub/f.txt", "d/f.txt", "e"],
        id="a file below a hidden folder"),
    reported("boyter/gocodewalker#27", {".gitignore": "assets/**\n!assets/keep.txt\n"},
        ["assets/keep.txt", "assets/a.txt", "assets/b/keep.txt", "c"], id="all below a folder but one file"),
    reported("kaelzhang/node-ignore#160", {".gitignore": "a[!b]c\n"}, ["a/c", "axc", "abc"], id="no slash in a class"),
    pytest.param({".gitignore": "[!a]b\nx[!]y]z\nq[!-]r[^s]t\n!c[!d]e\n"},
        ["ab", "cb", "d/b", "xyz", "x/z", "x]z", "xaz", "q/r/t", "q/rxt", "q-r1t", "q1r1t", "q1rst"],
        id="several negated classes"),
    pytest.param({".gitignore": "*.log\n!a[!b]c.log\n"}, ["a/c.log", "axc.log", "abc.log"], id="shown by a class"),
    reported("jelmer/dulwich#2404", {".gitignore": "build/\n!\n/\n"}, ["build/a", "b", "sub/build/c"],
        id="lines without a pattern"),
    pytest.param({".gitignore": "build/\n! \n!/\n//\n"}, ["build/a", "b", "sub/build/c"], id="only slashes and blanks"),
    reported("BurntSushi/ripgrep#3477", {".gitignore": "foo\\   \n"}, ["foo ", "foo", "foo   ", "foo\\"],
        id="more blanks after an escaped one"),
    pytest.param({".gitignore": "a\\\\ \nb\\\\\\   \nc\\ d  \n"}, ["a\\", "b\\ ", "b\\", "c d", "c"],
        id="blanks after escaped backslashes"),
    reported("cpburnz/python-pathspec#145", {".gitignore": "bar\\  \nfoo\\\\ \n"}, ["bar ", "bar", "foo\\", "foo"],
        id="one blank of two is escaped"),
    reported("BurntSushi/ripgrep#3263", {".gitignore": "cat/*/*\n"}, ["cat/bat/x", "cat/y", "cat/bat/z/w"],
        id="two stars in two steps"),
    reported("BurntSushi/ripgrep#1897", {".gitignore": "/a/**\n"}, ["a/a/a.txt", "b/a/a.txt"], id="stars at the root"),
    reported("libgit2/libgit2#5069", {".gitignore": " !x.txt\n"}, [" !x.txt", "x.txt", "!x.txt"],
        id="a blank before an exclamation mark"),
    reported("libgit2/libgit2#2536", {".gitignore": "Icon\r\r\n"}, ["Icon\r", "Icon", "src/Icon/a.tsx", "src/Icon\r"],
        id="a carriage return at the end"),
    pytest.param({".gitignore": "Icon[\r]\nb\n"}, ["Icon\r", "Icon", "b"], id="a carriage return in a class"),
    pytest.param({".gitignore": "Icon\r\r"}, ["Icon\r", "Icon", "Icon\r\r"], id="without the end of the line"),
    pytest.param({".gitignore": "a\t\nb\t \nc\\\t\nd\f\ne\u00a0\n"},
        ["a\t", "a", "b\t", "b", "c\t", "c", "d\f", "d", "e\u00a0", "e"], id="other white space at the end"),
    pytest.param({".gitignore": "a\t\r\nb \r\n"}, ["a\t", "a", "a\t\r", "b", "b "], id="before line ends of Windows"),
    pytest.param({".gitignore": "a\\/b\nc\\\n"}, ["a/b", "a/c", "b", "c"], id="an escaped slash"),
    reported("QwenLM/qwen-code#7765", {".gitignore": "\\!keep\n\\#x\na\\*b\n\\ lead\nq\\?\n"},
        ["!keep", "keep", "#x", "x", "a*b", "aXb", " lead", "lead", "q?", "qq"], id="escapes"),
    pytest.param({".gitignore": "[\\]]x\n[\\[]y\n"}, ["]x", "\\x", "x", "[y", "\\y"], id="escaped brackets in classes"),
    pytest.param({".gitignore": "[a\\-z]x\n[!\\]]y\n"}, ["ax", "-x", "bx", "zx", "\\x", "]y", "by"],
        id="an escaped range"),
    pytest.param({".gitignore": "[\\\\]x\n[]\\]]y\n"}, ["\\x", "ax", "]x", "]y", "\\y", "\\]y"],
        id="an escaped backslash in a class"),
    pytest.param({".gitignore": "[[:digit:]]x\n[[:alpha:]-]y\n"}, ["1x", "ax", ":x", "by", "-y", "1y"],
        id="classes with names"),
    pytest.param({".gitignore": "[a/b]x\na[/]b\nq\n"}, ["ax", "bx", "a/bx", "a/b", "ab", "q"], id="slashes in classes"),
    pytest.param({".gitignore": "[\n]x\n[z-a]y\n[a-]w\n"}, ["[", "]x", "ay", "zy", "aw", "-w"],
        id="a range that goes down"),
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


BELOW: list[Any] = [
    ({".gitignore": "build/\n!/dir/sub/build/\n"}, ["dir/sub/build/a", "dir/build/b"], "dir"),
    ({".gitignore": "build/\n!/dir/sub/build/\n"}, ["dir/sub/build/a", "dir/sub/b"], "dir/sub"),
    ({".gitignore": "/dir/*\n!/dir/keep\n"}, ["dir/keep/a", "dir/other/a"], "dir"),
    ({".gitignore": "dir/sub/*.txt\n"}, ["dir/sub/a.txt", "dir/a.txt", "dir/x/dir/sub/b.txt"], "dir"),
    ({".gitignore": "/a/**/c\nsub/x.txt\n"}, ["dir/a/z/c", "dir/sub/x.txt"], "dir"),
    ({".gitignore": "dir/sub/*.txt\n", "dir/sub/.gitignore": "!keep.txt\n"}, ["dir/sub/keep.txt", "dir/sub/a.txt"],
        "dir"),
    ({".gitignore": "dir/sub/*.txt\n", "dir/.ignore": "!keep.txt\nno.md\n"},
        ["dir/sub/a.txt", "dir/sub/no.md", "dir/b.md"], "dir"),
    ({".gitignore": "!.other/a\n/*/sub/x\n"}, ["dir/sub/x/a", "dir/x/a"], "dir"),
    ({"dir/.gitignore": "/sub/deep/*.txt\n"}, ["dir/sub/deep/a.txt", "dir/sub/b.txt"], "dir/sub"),
]  # fmt: skip


@pytest.mark.parametrize("program", [None, ""], ids=["ripgrep", "without"])
@pytest.mark.parametrize(("rules", "names", "folder"), BELOW)
async def test_a_search_of_a_folder_knows_the_rules_above_it(
    tmp_path: Path, rules: dict[str, str], names: list[str], folder: str, program: str | None
) -> None:
    run_git(tmp_path, "init", "-q")
    for name, content in {**dict.fromkeys(names, "needle\n"), **rules}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    shown = {*run_git(tmp_path, "ls-files", "-co", "--exclude-standard", folder).splitlines()} & {*names}
    environment = LocalEnvironment(str(tmp_path), ripgrep=program)
    found = {line.path for line in (await environment.grep("needle", folder, GrepOptions())).lines}
    listed = {*await environment.glob("**/*", folder)} & {*names}
    expected = shown - {name for name in names if name.endswith("no.md")}
    assert found == expected and listed == expected
