"""Reports about searches of a folder below ignore files: what git shows from there is found, with and without rg."""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.base import GrepOptions
from agent_ls.environments.local import LocalEnvironment
from agent_ls.tools.list_dir import LIST_DIR
from tests.environments.test_ignore_rule_reports import run_git
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls


async def listing(environment: Any, folder: str) -> list[str]:
    return (await ToolCalls(environment).call(LIST_DIR, path=folder, depth=9, hidden=True)).text.split("\n")


HTML = ["rust/source.rs", "rust/target/x.html"]
HOME = [".emacs.d/elpa/x.el", ".emacs.d/init.el"]
PLACES: list[Any] = [
    ({".gitignore": "**/bar/*\n"}, ["foo/bar/baz", "foo/a"], "", "foo"),
    reported("BurntSushi/ripgrep#2770", {".gitignore": "**/bar/*\n"}, ["foo/bar/baz", "foo/a"], "foo", "."),
    ({".ignore": "rust/target\n"}, HTML, "", "rust"),
    reported("BurntSushi/ripgrep#1757", {".ignore": "rust/target\n"}, HTML, "rust", "."),
    reported("BurntSushi/ripgrep#79", {".gitignore": "/test/\n"}, ["test/a", "src/test/b", "src/c"], "src", "."),
    ({".gitignore": "/test/\n"}, ["test/a", "src/test/b", "src/c"], "src", "test"),
    reported("ggreer/the_silver_searcher#1193", {".gitignore": "node_modules/\n"},
        ["packages/a/node_modules/x.js", "packages/a/x.js"], "packages/a", "."),
    ({".gitignore": "gen/\n", "p/a/.gitignore": "!gen/\n"}, ["p/a/gen/x", "p/a/y"], "p/a", "."),
    ({".gitignore": "/p/a/b/*.o\n"}, ["p/a/b/x.o", "p/a/b/y"], "p/a", "b"),
    ({".git/info/exclude": "gen\n"}, ["p/a/gen/x", "p/a/y"], "p/a", "."),
    reported("BurntSushi/ripgrep#1840", {}, HOME, ".emacs.d", "."),
    ({}, HOME, ".emacs.d", "elpa"),
    reported("google-gemini/gemini-cli#1788", {"my folder /.gitignore": "no\n"},
        ["my folder /a", "my folder /b /no", "my folder /b /c"], "my folder ", "."),
    ({}, ["my folder /a", "my folder /b /c"], "my folder ", "b "),
]  # fmt: skip


@pytest.mark.parametrize("program", [None, ""], ids=["ripgrep", "without"])
@pytest.mark.parametrize(("rules", "names", "workspace", "folder"), PLACES)
async def test_a_workspace_below_ignore_files_knows_them(
    tmp_path: Path, rules: dict[str, str], names: list[str], workspace: str, folder: str, program: str | None
) -> None:
    run_git(tmp_path, "init", "-q")
    for name, content in {**dict.fromkeys(names, "needle\n"), **rules}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    root = tmp_path / workspace
    ignored = ["rust/target/x.html", "target/x.html"]  # .ignore is no file of git
    shown = {*run_git(root, "ls-files", "-z", "-co", "--exclude-standard", folder).split("\0")} - {
        *ignored,
        "",
    }
    files = {
        str((tmp_path / name).relative_to(root)) for name in names if (tmp_path / name).is_relative_to(root)
    }
    environment = LocalEnvironment(str(root), ripgrep=program)
    found = {line.path for line in (await environment.grep("needle", folder, GrepOptions())).lines}
    listed = {*await environment.glob("**/*", folder)} & files
    assert found == shown & files and listed == shown & files
    entries = await listing(environment, folder)
    assert {
        posixpath.normpath(f"{folder}/{entry.split(' (')[0]}") for entry in entries
    } & files == shown & files
    if folder == ".":
        assert {*await environment.list_files(100)} & files == shown & files


@pytest.mark.parametrize("program", [None, ""], ids=["ripgrep", "without"])
async def test_rules_of_search_programs_above_the_workspace_hide_tracked_files(
    tmp_path: Path, program: str | None
) -> None:
    run_git(tmp_path, "init", "-q")
    (tmp_path / "src/gen").mkdir(parents=True)
    (tmp_path / ".ignore").write_text("src/gen\n")
    for name in ("src/gen/x", "src/a"):
        (tmp_path / name).write_text("needle\n")
    run_git(tmp_path, "add", "-A")
    environment = LocalEnvironment(str(tmp_path / "src"), ripgrep=program)
    assert [line.path for line in (await environment.grep("needle", ".", GrepOptions())).lines] == ["a"]
    assert [*await environment.glob("**/*", ".")] == [*await environment.list_files(9)] == ["a"]
    assert [entry for entry in await listing(environment, ".") if "gen/x" in entry] == []


@pytest.mark.parametrize("program", [None, ""], ids=["ripgrep", "without"])
async def test_rules_of_another_repository_apply_to_a_search_in_it(
    tmp_path: Path, program: str | None
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "other/sub").mkdir(parents=True)
    run_git(tmp_path / "other", "init", "-q")
    (tmp_path / "other/.gitignore").write_text("sub/x\n")
    for name in ("x", "a"):
        (tmp_path / "other/sub" / name).write_text("needle\n")
    environment = LocalEnvironment(str(tmp_path / "mine"), ripgrep=program)
    folder = tmp_path / "other/sub"
    found = await environment.grep("needle", str(folder), GrepOptions())
    assert (
        [line.path for line in found.lines] == [*await environment.glob("*", str(folder))] == [f"{folder}/a"]
    )
