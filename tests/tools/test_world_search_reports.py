"""Searches and listings of more reports, on real files, with and without ripgrep."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.errors import EnvError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.tools.base import ToolError
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP
from agent_ls.tools.list_dir import LIST_DIR
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls


@pytest.fixture(params=[None, ""], ids=["ripgrep", "without"])
def calls(request: pytest.FixtureRequest, tmp_path: Path) -> ToolCalls:
    real: Any = LocalEnvironment(str(tmp_path), ripgrep=request.param)
    return ToolCalls(real)


def write(folder: Path, **files: str) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


FOUND: list[Any] = [
    reported(
        "BurntSushi/ripgrep#1303",
        ".",
        ["a.py", ".github/w.yml", ".env.example"],
    ),
    reported(
        "SchneiderDaniel/cheasee-pi#971",
        ".",
        [".pi/extensions/x.ts", "src/a.ts"],
    ),
    pytest.param(".pi", [".pi/extensions/x.ts"], id="in the hidden folder"),
]


@pytest.mark.parametrize(("path", "names"), FOUND)
async def test_hidden_files_are_searched_and_ignored_ones_are_not(
    calls: ToolCalls, tmp_path: Path, path: str, names: list[str]
) -> None:
    write(tmp_path, **dict.fromkeys([*names, ".cache/no.txt", "out/no.txt"], "needle\n"))
    write(tmp_path, **{".gitignore": ".cache\nout/\n"})
    output = (await calls.call(GREP, pattern="needle", path=path)).text
    assert all(name in output for name in names) and "no.txt" not in output


@pytest.mark.report("google-gemini/gemini-cli#8596")
@pytest.mark.parametrize(
    "pattern",
    [
        "src/app/[locale]/(auth)/**",
        "src/app/[[...slug]]/*.tsx",
        "src/**/page.tsx",
        "src/app/[locale]/(auth)/page.tsx",
    ],
)
async def test_names_of_folders_may_have_brackets(calls: ToolCalls, tmp_path: Path, pattern: str) -> None:
    write(
        tmp_path,
        **{
            "src/app/[locale]/(auth)/page.tsx": "x",
            "src/app/[[...slug]]/page.tsx": "x",
            "src/app/l/page.tsx": "x",
        },
    )
    output = (await calls.call(GLOB, pattern=pattern)).text
    assert ("[[...slug]]" if "slug" in pattern else "[locale]/(auth)/page.tsx") in output


BROKEN: list[Any] = [
    reported("superagent-ai/grok-cli#263", "a["),
    reported(
        "Nano-Collective/nanocoder#1102",
        "(?P<",
    ),
    pytest.param("*x", id="star first"),
    pytest.param("a{2,1}", id="counts"),
]


@pytest.mark.parametrize("pattern", BROKEN)
async def test_an_invalid_pattern_is_no_search_without_results(
    calls: ToolCalls, tmp_path: Path, pattern: str
) -> None:
    write(tmp_path, a="a[\n")
    with pytest.raises((ToolError, EnvError)):
        await calls.call(GREP, pattern=pattern)


async def test_a_missing_folder_is_no_search_without_results(calls: ToolCalls) -> None:
    for tool, more in ((GREP, {"pattern": "x"}), (GLOB, {"pattern": "*"}), (LIST_DIR, {})):
        with pytest.raises((ToolError, EnvError)):
            await calls.call(tool, path="none/here", **more)


@pytest.mark.report("AltimateAI/altimate-code#1094")
@pytest.mark.report("openclaw/openclaw#131783")
async def test_odd_entries_hide_no_others(calls: ToolCalls, tmp_path: Path) -> None:
    write(
        tmp_path,
        **{"a.txt": "needle\n", "d/b.txt": "needle\n", "locked": "needle\n", "shut/c.txt": "needle\n"},
    )
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "up").symlink_to("..")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("needle\n")
    (tmp_path / "locked").chmod(0)
    (tmp_path / "shut").chmod(0)
    try:
        found = (await calls.call(GREP, pattern="needle")).text
        named = (await calls.call(GLOB, pattern="**/*.txt")).text
        listed = (await calls.call(LIST_DIR, path=".")).text
    finally:
        (tmp_path / "shut").chmod(0o700)
    assert all(name in output for name in ("a.txt", "d/b.txt") for output in (found, named))
    assert all(name in listed for name in ("a.txt", "d", "gone", "loop", "up", "pipe", "locked", "shut"))


LONG: list[Any] = [
    pytest.param(649_467),
    reported(
        "anthropics/claude-code#78827",
        5_000,
    ),
    pytest.param(100_000),
    reported(
        "zed-industries/zed#64030",
        2_100,
    ),
]


@pytest.mark.parametrize("width", LONG)
async def test_of_a_long_line_the_part_around_the_match_is_shown(
    calls: ToolCalls, tmp_path: Path, width: int
) -> None:
    write(tmp_path, **{"a.min.js": "é" * width + "NEEDLE" + "x" * width + "\n"})
    output = (await calls.call(GREP, pattern="NEEDLE")).text
    assert "éNEEDLEx" in output and len(output) < 3_000 and "\ufffd" not in output


@pytest.mark.report("bug-ops/zeph#725")
async def test_many_results_are_cut_and_the_cut_is_told(calls: ToolCalls, tmp_path: Path) -> None:
    write(tmp_path, **{f"f{n}.txt": "needle\n" * 200 for n in range(30)})
    output = (await calls.call(GREP, pattern="needle")).text
    assert len(output) < 60_000 and output.count("needle") < 6_000
    assert "first 100 matches" in output.split("\n")[-1]


PLACES: list[Any] = [
    reported("MoonshotAI/kimi-code#1068", "nowhere", "File not found"),
    ("dir/here.txt", "Not a directory"),
    reported("BurntSushi/ripgrep#2595", "dir", ""),
    ("dir/sub", ""),
]  # fmt: skip


@pytest.mark.parametrize(("path", "problem"), PLACES)
async def test_a_search_in_an_odd_folder_finds_or_says_why_not(
    calls: ToolCalls, tmp_path: Path, path: str, problem: str
) -> None:
    write(tmp_path, **{".gitignore": "dir\n", "dir/here.txt": "needle\n", "dir/sub/here.txt": "needle\n"})
    if problem:
        with pytest.raises((ToolError, EnvError), match=problem):
            await calls.call(GLOB, pattern="*.txt", path=path)
    else:
        assert f"{path}/here.txt:1:needle" in (await calls.call(GREP, pattern="needle", path=path)).text
        assert f"{path}/here.txt" in (await calls.call(GLOB, pattern="*.txt", path=path)).text
