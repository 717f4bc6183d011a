"""Reports of searches that found nothing: dashes, links, filters, long lines; with and without ripgrep."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.local import LocalEnvironment
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP
from tests.sessions.test_uncommitted_work import commit
from tests.support.git import git
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls
from tests.tools.test_listing_reports import write

pytestmark = pytest.mark.req("T6")
PROGRAMS = pytest.mark.parametrize("ripgrep", [None, ""], ids=["ripgrep", "without"])


def calls_in(folder: Path, ripgrep: str | None) -> ToolCalls:
    real: Any = LocalEnvironment(str(folder), ripgrep=ripgrep)
    return ToolCalls(real)


DASHES: list[Any] = [
    reported("SWE-agent/SWE-agent#65", "--flag", id="flag"),
    reported("BurntSushi/ripgrep#624", "-radius", id="letters"),
    reported("smithersai/smithers#695", "-world|--x", id="alternatives"),
    reported("ggreer/the_silver_searcher#875", "->my function(", id="arrow"),
    reported("mawww/kakoune#5254", "-f", id="short"),
]  # fmt: skip


@PROGRAMS
@pytest.mark.parametrize("pattern", DASHES)
async def test_a_pattern_that_looks_like_an_option_is_a_pattern(
    tmp_path: Path, ripgrep: str | None, pattern: str
) -> None:
    text = pattern.partition("|")[0]
    (tmp_path / "a.txt").write_text(f"nothing\nhere {text} is\n")
    is_literal = "(" in pattern
    found = (await calls_in(tmp_path, ripgrep).call(GREP, pattern=pattern, literal=is_literal)).text
    assert found.startswith("a.txt:2:")


LINKED: list[Any] = [
    reported("google-gemini/gemini-cli#29040", "view/**/*.txt", id="a linked subfolder"),
    reported("anthropics/claude-code#16507", "view/*", id="link and star"),
    reported("anthropics/claude-code#27254", "view/sub/file.txt", id="a whole name"),
    reported("anthropics/claude-code#27292", "deep/cat/foo/**/*.txt", id="a link deeper down"),
]  # fmt: skip


@PROGRAMS
@pytest.mark.parametrize("pattern", LINKED)
async def test_a_pattern_that_names_a_linked_folder_finds_its_files(
    tmp_path: Path, ripgrep: str | None, pattern: str
) -> None:
    write(tmp_path, "real/sub/file.txt", "real/top.txt")
    (tmp_path / "view").symlink_to("real")
    (tmp_path / "deep/cat").mkdir(parents=True)
    (tmp_path / "deep/cat/foo").symlink_to("../../real")
    found = (await calls_in(tmp_path, ripgrep).call(GLOB, pattern=pattern)).text
    wanted = "top.txt" if pattern == "view/*" else "sub/file.txt"
    assert any(line.endswith(f"/{wanted}") for line in found.split("\n")), found


@PROGRAMS
@pytest.mark.report("google-gemini/gemini-cli#28975")
async def test_a_project_behind_a_link_is_searched(tmp_path: Path, ripgrep: str | None) -> None:
    write(tmp_path, "real/src/a.ts")
    (tmp_path / "project").symlink_to("real")
    calls = calls_in(tmp_path / "project", ripgrep)
    assert (await calls.call(GLOB, pattern="**/*.ts")).text.split("\n")[0] == "src/a.ts"
    assert (await calls.call(GREP, pattern="needle")).text.startswith("src/a.ts:1:")


@PROGRAMS
@pytest.mark.report("oryx-labs/oryxos#149")
async def test_a_search_can_begin_at_a_linked_folder(tmp_path: Path, ripgrep: str | None) -> None:
    write(tmp_path, "skills/report/SKILL.md")
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents/report").symlink_to("../skills/report")
    calls = calls_in(tmp_path, ripgrep)
    assert "SKILL.md:1:" in (await calls.call(GREP, pattern="needle", path="agents/report")).text
    assert "SKILL.md" in (await calls.call(GLOB, pattern="**/*", path="agents/report")).text


@PROGRAMS
@pytest.mark.report("anomalyco/opencode#24972")
@pytest.mark.report("code-yeongyu/oh-my-openagent#3726")
async def test_broken_links_hide_no_other_file(tmp_path: Path, ripgrep: str | None) -> None:
    write(tmp_path, "real.txt", "sub/other.txt")
    for name in ("dangling.txt", "sub/dangling.txt"):
        os.symlink("/nowhere/at/all", tmp_path / name)
    os.symlink("loop", tmp_path / "loop")
    calls = calls_in(tmp_path, ripgrep)
    found = (await calls.call(GLOB, pattern="**/*.txt")).text.split("\n")
    assert {"real.txt", "sub/other.txt"} <= {*found}
    assert (await calls.call(GREP, pattern="needle", output_mode="count")).text.count("other.txt") == 1


FILTERS: list[Any] = [
    reported("BurntSushi/ripgrep#1210", "!*.build_info.c !*.bc.js", {}, ["foo.js", "FOO.JS"], id="two exclusions"),
    reported("BurntSushi/ripgrep#2252", "**", {}, ["foo.js", "FOO.JS", "foo.bc.js"], id="all files"),
    reported("BurntSushi/ripgrep#683", "*O*", {"case_insensitive": True}, ["FOO.JS"], id="case"),
]  # fmt: skip


@PROGRAMS
@pytest.mark.parametrize(("filter_", "more", "expected"), FILTERS)
async def test_a_filter_of_names_does_what_it_says(
    tmp_path: Path, ripgrep: str | None, filter_: str, more: dict[str, Any], expected: list[str]
) -> None:
    write(tmp_path, "foo.js", "FOO.JS", "foo.bc.js", "out/bar.js")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("out/\n")
    found = await calls_in(tmp_path, ripgrep).call(
        GREP, pattern="needle", glob_filter=filter_, output_mode="files_with_matches", **more
    )
    assert sorted(it for it in found.text.split("\n") if it.lower().endswith(".js")) == sorted(expected)


GLOBS: list[Any] = [
    reported("micromatch/picomatch#115", "{**/foo.md,bar.md}", ["bar.md", "foo.md", "sub/foo.md"]),
    reported("micromatch/micromatch#291", "a.00{0..1}", ["a.000", "a.001"]),
    reported("oven-sh/bun#32902", "src/{a}.ts", ["src/{a}.ts"]),
    ("{1..02}/[bar].md", []),
    ("{c..a}.00[1-2]", ["a.001", "a.002"]),
    ("a.{000..008..2}", ["a.000", "a.002"]),
    ("{{x}}/*.ts", ["{{x}}/b.ts"]),
    reported("nushell/nushell#14290", "{{w,W}orld}.txt", ["World.txt", "world.txt"]),
]  # fmt: skip


@PROGRAMS
@pytest.mark.parametrize(("pattern", "expected"), GLOBS)
async def test_glob_and_grep_read_a_pattern_in_the_same_way(
    tmp_path: Path, ripgrep: str | None, pattern: str, expected: list[str]
) -> None:
    write(tmp_path, "foo.md", "sub/foo.md", "bar.md", "sub/bar.md", "a.000", "a.001", "a.002", "src/{a}.ts",
        "src/a.ts", "{{x}}/b.ts", "world.txt", "World.txt")  # fmt: skip
    calls = calls_in(tmp_path, ripgrep)
    globbed = (await calls.call(GLOB, pattern=pattern)).text.split("\n")
    assert sorted(it for it in globbed if expected) == expected
    options = {"pattern": "needle", "glob_filter": f"./{pattern}", "output_mode": "files_with_matches"}
    found = (await calls.call(GREP, **options)).text.split("\n")
    assert sorted(it for it in found if expected) == expected


@PROGRAMS
@pytest.mark.report("watchexec/cargo-watch#303")
@pytest.mark.report("BurntSushi/ripgrep#2777")
async def test_rules_apply_in_a_linked_worktree_and_own_rules_come_last(
    tmp_path: Path, ripgrep: str | None
) -> None:
    write(tmp_path / "main", "a.txt")
    commit(tmp_path / "main", "-b", "main")
    git(tmp_path / "main", "worktree", "add", "-q", "../linked", "-b", "x")
    linked = tmp_path / "linked"
    write(linked, "hidden.txt", ".shown.txt")
    (linked / ".gitignore").write_text("*.txt\n")
    (linked / ".ignore").write_text("!.shown.txt\n")
    calls = calls_in(linked, ripgrep)
    for found in (await calls.call(GREP, pattern="needle"), await calls.call(GLOB, pattern="*.txt")):
        assert ".shown.txt" in found.text and "hidden.txt" not in found.text


NEAR: list[Any] = [
    reported("vedaant00/opendot#165", "aaa\nbbb\naaa\nccc\naaa\n", "aaa", {"context_lines": 2}, 5, 3, id="overlap"),
    reported("mastra-ai/mastra#17273", "MATCH_A\nx\nMATCH_B\ny\nz\n", "MATCH", {"context_lines": 2}, 5, 2,
        id="match as context"),
    reported("earendil-works/pi#7971", "m\n" * 3 + "x\n" * 30, "m", {"context_lines": 5, "max_results": 2}, 8, 2,
        id="limit"),
]  # fmt: skip


@PROGRAMS
@pytest.mark.parametrize(("content", "pattern", "more", "most", "matches"), NEAR)
async def test_a_line_near_several_matches_is_shown_once(
    tmp_path: Path,
    ripgrep: str | None,
    content: str,
    pattern: str,
    more: dict[str, Any],
    most: int,
    matches: int,
) -> None:
    (tmp_path / "f").write_text(content)
    found = (await calls_in(tmp_path, ripgrep).call(GREP, pattern=pattern, **more)).text
    lines = [line for line in found.split("\n") if line.startswith("f")]
    assert len(lines) <= most and len(lines) == len(set(lines))
    assert sum(line.startswith("f:") for line in lines) == matches


@PROGRAMS
@pytest.mark.report("anomalyco/opencode#13149")
async def test_the_match_of_a_very_long_line_is_shown(tmp_path: Path, ripgrep: str | None) -> None:
    (tmp_path / "min.js").write_text("x" * 50_000 + "needle();" + "y" * 50_000 + "\n")
    found = (await calls_in(tmp_path, ripgrep).call(GREP, pattern=r"needle\(\)")).text
    assert found.startswith("min.js:1:") and "needle();" in found and len(found) < 5_000


@PROGRAMS
@pytest.mark.report("anthropics/claude-code#82773")
async def test_a_file_with_a_nul_byte_is_searched_or_named(tmp_path: Path, ripgrep: str | None) -> None:
    (tmp_path / "early.mjs").write_bytes(b"hello\0world\nmatch line\n")
    (tmp_path / "late.txt").write_bytes(b"match\n" + b"x\n" * 90_000 + b"a\0b\nmatch again\n")
    calls = calls_in(tmp_path, ripgrep)
    named = (await calls.call(GREP, pattern="match", path="early.mjs")).text
    assert "NUL" in named and "early.mjs" in named
    found = (await calls.call(GREP, pattern="match", path="late.txt")).text
    assert found == "late.txt:1:match\nlate.txt:90003:match again"
    assert (await calls.call(GREP, pattern="match", path=".")).text == found
    assert "No matches" in (await calls.call(GREP, pattern="nowhere", path="late.txt")).text
