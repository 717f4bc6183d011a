"""Reports of ignore rules: search and list_dir show what `git ls-files` shows, with and without ripgrep."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.base import GrepOptions
from agent_ls.environments.local import LocalEnvironment
from agent_ls.tools.list_dir import LIST_DIR
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls

BOM = "\ufeff"


def run_git(folder: Path, *words: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["git", "-C", str(folder), "-c", "core.quotePath=false", *words],
        check=True,
        capture_output=True,
        env=clean,
    ).stdout.decode()


RULES: list[Any] = [
    reported("kaelzhang/node-ignore#166", {".gitignore": f"{BOM}node_modules/\r\ndist/\r\n*.log\r\n"},
        ["node_modules/a.js", "tests/example/file.http", "a.log", "dist/b"], id="mark and crlf"),
    reported("libgit2/libgit2sharp#1793", {".gitignore": f"{BOM}[Bb]in/\n"},
        ["TestFolder/bin/test", "Bin/a", "bin2/b"], id="class"),
    reported("BurntSushi/ripgrep#2177", {".gitignore": f"{BOM}ignoreme\n", "sub/.gitignore": f"{BOM}x.txt\n"},
        ["ignoreme", "sub/x.txt", "x.txt"], id="mark"),
    reported("libgit2/libgit2#5071", {".git/info/exclude": f"{BOM}x.txt\n"}, ["x.txt", "y.txt"],
        id="mark in exclude"),
    reported("google-gemini/gemini-cli#29290", {"pkg/.gitignore": "build/\n"},
        ["pkg/build/out.js", "pkg/tools/build/out.js", "build/out.js"], id="slash at the end"),
    reported("libgit2/libgit2#2423", {".gitignore": "parent/*\n!parent/child1\n!parent/child2/\n"},
        ["parent/a", "parent/child1/a", "parent/child2/b"], id="shown again"),
    reported("jelmer/dulwich#530", {".gitignore": "bar\n"}, ["foo/bar/x", "bar2/x", "z/bar"], id="folder or file"),
    reported("jelmer/dulwich#529", {".gitignore": "foo/\n"}, ["test/foo/x", "foo", "a/foo"], id="folders only"),
    reported("jelmer/dulwich#700", {".gitignore": "a?b\n"}, ["axb", "a/b"], id="question mark"),
    reported("cpburnz/python-pathspec#76", {".gitignore": "foo\\ \nbar \n"}, ["foo ", "foo", "bar ", "bar"],
        id="blank at the end"),
    reported("google-gemini/gemini-cli#5444", {".gitignore": "*\n!/tools/\n!/tools/**\n"},
        ["a.js", "tools/sub/helper.js", "x/tools/b"]),
    reported("Houseofmvps/codesight#42",
        {".gitignore": ".source/testfolder/*\n.source/testfolder*\n.source/testfolder\n!.source\n"},
        [".source/shown.js", ".source/testfolder/hidden.js"]),
    reported("npm/ignore-walk#17", {".gitignore": "bin/\n**/[Pp]ackages/*\n!**/[Pp]ackages/build/\n"},
        ["bin/some.thing", "foo.txt", "x/Packages/a", "x/packages/build/b"]),
    reported("kaelzhang/node-ignore#24", {".gitignore": "node_modules/*\n!node_modules\n"},
        ["node_modules/a.js", "b.js"]),
    reported("nathankleyn/gitignore.rs#12", {".gitignore": "*\n!assets/\n!assets/**\n!.git*\n"},
        ["assets/foo/bar.html", "a.html"]),
    reported("microsoft/vscode#291157",
        {".gitignore": "test.txt\nnode_modules\n", "Node_Modules/.gitignore": "!test.txt\n"},
        ["test.txt", "Node_Modules/test.txt", "node_modules/a"]),
    reported("google-gemini/gemini-cli#26773", {".gitignore": "bin/*\n!bin/res/*\n!bin/www/*\n"},
        ["bin/a", "bin/www/index.html", "b"]),
    pytest.param({".gitignore": "foo\nlast   "}, ["foo", "last", "last   "], id="blanks at the end"),
    reported("siers/nix-gitignore#2", {".gitignore": ".stack-work/\n"}, [".stack-work/a", "x/.stack-work/b", "y"],
        id="dot folder"),
    pytest.param({".gitignore": "\\#a\n\\!b\n# c\n"}, ["#a", "!b", "# c", "c"], id="escaped first"),
    pytest.param({".gitignore": "a/**/b\n**/c/**\n/d/**\n"},
        ["a/b", "a/x/y/b", "c/x", "x/c/y/z", "d/e", "x/d/e", "c2"], id="stars"),
    pytest.param({".gitignore": "[!a]x\n[^b]y\n[]]z\n[a-c]w\n"}, ["ax", "bx", "ay", "by", "]z", "bw", "dw", "!x"],
        id="classes"),
    pytest.param({".gitignore": "foo/*\n!foo/keep.txt\n", "foo/.gitignore": "*.txt\n"},
        ["foo/keep.txt", "foo/a.md", "foo/b.txt"], id="inner wins"),
    pytest.param({".gitignore": "a\\\n[unclosed\nb\\*c\n"}, ["a", "a\\", "[unclosed", "b*c", "bxc"], id="broken"),
    pytest.param({".gitignore": "/*\n!/src\n/src/*\n!/src/keep\n"}, ["a", "src/b", "src/keep/c", "src/keep/d/e"],
        id="ladder"),
    pytest.param({".gitignore": "*\n!*/\n!*.py\n"}, ["a.py", "x/b.py", "x/c.txt", "d"], id="only python"),
    pytest.param({".gitignore": "caf\u00e9/\n日本*.txt\n"}, ["caf\u00e9/a", "日本語.txt", "x日本.txt"], id="letters"),
    pytest.param({".gitignore": "A.TXT\n"}, ["a.txt", "A.TXT"], id="case"),
    pytest.param({".gitignore": "x/\n", "x/.gitignore": "!*\n"}, ["x/a", "b"], id="inner of a hidden folder"),
    pytest.param({".gitignore": "***\n!a***\n"}, ["a", "abc", "b"], id="three stars"),
    pytest.param({".gitignore": "*.[oa]\nlib?.so\n"}, ["x.o", "x.a", "x.oa", "lib1.so", "lib.so"], id="objects"),
]  # fmt: skip


@pytest.mark.parametrize("program", [None, ""], ids=["ripgrep", "without"])
@pytest.mark.parametrize(("rules", "names"), RULES)
async def test_what_git_shows_is_shown(
    tmp_path: Path, rules: dict[str, str], names: list[str], program: str | None
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    run_git(folder, "init", "-q")
    for name, content in {**dict.fromkeys(names, "needle\n"), **rules}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, newline="")
    shown = run_git(folder, "ls-files", "-z", "-co", "--exclude-standard").split("\0")
    expected = sorted(set(shown) & set(names))
    assert expected != sorted(names)
    await check_shown(folder, program, names, expected)


async def check_shown(folder: Path, program: str | None, names: list[str], expected: list[str]) -> None:
    environment = LocalEnvironment(str(folder), ripgrep=program)
    found = await environment.grep("needle", ".", GrepOptions(max_results=99))
    assert sorted(line.path for line in found.lines) == expected, "grep"
    assert sorted(set(await environment.glob("**/*", ".")) & set(names)) == expected, "glob"
    real: Any = environment
    listed = (await ToolCalls(real).call(LIST_DIR, path=".", depth=10, hidden=True)).text.split("\n")
    assert (
        sorted(name for name in names if any(line.startswith(f"{name} (") for line in listed)) == expected
    ), "list_dir"


@pytest.mark.parametrize("program", [None, ""], ids=["ripgrep", "without"])
async def test_list_dir_shows_a_tracked_file_that_a_rule_hides(tmp_path: Path, program: str | None) -> None:
    folder = tmp_path / "project"
    names = ["build/keep.txt", "build/other.txt", "kept.log", "lost.log", "a.txt"]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("needle\n")
    (folder / ".gitignore").write_text("build/\n*.log\n")
    run_git(folder, "init", "-q")
    run_git(folder, "add", "-f", "build/keep.txt", "kept.log")
    await check_shown(folder, program, names, ["a.txt", "build/keep.txt", "kept.log"])


SETTINGS: list[Any] = [
    reported("JetBrains/idea-gitignore#574", {".config/git/ignore": "*.mine\n"}, ["a.txt", "c.other"]),
    reported(
        "ggreer/the_silver_searcher#174",
        {".gitconfig": "[core]\n\texcludesfile = ~/rules\n", "rules": "*.other\r\n"},
        ["a.txt", "b.mine"],
    ),
    reported(
        "BurntSushi/ripgrep#191",
        {
            ".gitconfig": "[core]\n    excludesfile = ~/first\n    excludesfile = ~/rules\n",
            "first": "*.mine\n",
            "rules": "*.other\n",
        },
        ["a.txt", "b.mine"],
    ),
    reported(
        "DeusData/codebase-memory-mcp#499",
        {
            ".gitconfig": "[include]\n\tpath = more\n",
            "more": '[core]\nexcludesFile = "~/my rules" ; mine\n',
            "my rules": "*.mine\nx\n",
        },
        ["a.txt", "c.other"],
    ),
    ({".config/git/config": "[core]\nexcludesfile=~/rules\n", "rules": "*.txt"}, ["b.mine", "c.other"]),
    ({".gitconfig": "[core]\nexcludesfile = ~/gone\n"}, ["a.txt", "b.mine", "c.other"]),
    (
        {".gitconfig": "[core]\nexcludesfile =\n", ".config/git/ignore": "*.mine"},
        ["a.txt", "b.mine", "c.other"],
    ),
    ({".gitconfig": "[broken\nexcludesfile = ~/rules\n", "rules": "*.mine"}, ["a.txt", "b.mine", "c.other"]),
]


@pytest.mark.parametrize("program", [None, ""], ids=["ripgrep", "without"])
@pytest.mark.parametrize(("settings", "expected"), SETTINGS)
async def test_rules_of_the_user_count(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    expected: list[str],
    program: str | None,
) -> None:
    folder, home = tmp_path / "project", tmp_path / "home"
    folder.mkdir()
    run_git(folder, "init", "-q")
    for name in ("a.txt", "b.mine", "c.other"):
        (folder / name).write_text("needle\n")
    for name, content in settings.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(content, newline="")
    monkeypatch.setenv("HOME", str(home))
    for variable in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"):
        monkeypatch.delenv(variable, raising=False)
    environment = LocalEnvironment(str(folder), ripgrep=program)
    assert sorted(await environment.glob("*.*", ".")) == expected
    found = await environment.grep("needle", ".", GrepOptions(max_results=9))
    assert sorted(line.path for line in found.lines) == expected
    assert sorted(it for it in await environment.list_files(9) if "/" not in it) == expected


@pytest.mark.parametrize("program", [None, ""], ids=["ripgrep", "without"])
async def test_rules_of_the_user_can_be_lifted_and_folders_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str | None
) -> None:
    (tmp_path / ".config/git").mkdir(parents=True)
    (tmp_path / ".config/git/ignore").write_text("*.mine\nbuild\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    folder = tmp_path / "project"
    (folder / "build").mkdir(parents=True)
    run_git(folder, "init", "-q")
    (folder / ".gitignore").write_text("!keep.mine\n")
    for name in ("keep.mine", "other.mine", "build/x.txt"):
        (folder / name).write_text("needle\n")
    environment = LocalEnvironment(str(folder), ripgrep=program)
    for place, expected in ((".", ["keep.mine"]), ("build", ["build/x.txt"])):
        found = await environment.grep("needle", place, GrepOptions(max_results=9))
        assert [line.path for line in found.lines] == expected
        assert list(await environment.glob("*.*", place)) == [*expected, *([".gitignore"] * (place == "."))]


@pytest.mark.report("anthropics/claude-code#8600")
@pytest.mark.parametrize("program", [None, ""], ids=["ripgrep", "without"])
async def test_rules_for_search_programs_count(tmp_path: Path, program: str | None) -> None:
    names = ["файл.txt", "文件.log", "file@test.txt", "a.txt"]
    for name in names:
        (tmp_path / name).write_text("needle\n")
    (tmp_path / ".rgignore").write_text("\n\nфайл.txt\n\n文件.log\nfile@test.txt\n")
    await check_shown(tmp_path, program, names, ["a.txt"])
