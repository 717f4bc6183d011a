"""Globs whose brackets or braces are part of a name, in searches on disk with and without ripgrep and in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agent_ls.environments.globs import find_readings
from agent_ls.environments.local.environment import LocalEnvironment
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP
from agent_ls.tools.read_many_files import READ_MANY_FILES
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls

pytestmark = pytest.mark.req("T6")

Make = Callable[[Sequence[str]], ToolCalls]


@pytest.fixture(params=["ripgrep", "python", "memory"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    def calls(files: Sequence[str]) -> ToolCalls:
        if request.param == "memory":
            return ToolCalls(MemoryEnvironment(dict.fromkeys(files, "needle\n")))
        for file in files:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text("needle\n")
        made = ToolCalls()
        disk = LocalEnvironment(str(tmp_path), ripgrep=None if request.param == "ripgrep" else "")
        made.context = replace(made.context, environment=disk)
        return made

    return calls


NEXT = [
    "src/[id]/page.tsx",
    "src/i/page.tsx",
    "src/[...slug]/page.tsx",
    "src/[[...all]]/page.tsx",
    "src/s/x.ts",
]
CASES = [
    pytest.param("src/[id]/page.tsx", NEXT, ["src/[id]/page.tsx"], id="folder"),
    pytest.param("src/[id]/*", NEXT, ["src/[id]/page.tsx"], id="files-below"),
    pytest.param("**/[id]/*.tsx", NEXT, ["src/[id]/page.tsx"], id="any-depth"),
    pytest.param("src/[...slug]/page.tsx", NEXT, ["src/[...slug]/page.tsx"], id="dots"),
    reported(
        "PostHog/posthog-js#2737",
        "**/[[...all]]/page.tsx",
        NEXT,
        ["src/[[...all]]/page.tsx"],
        id="optional-catch-all",
    ),
    pytest.param("a/[ab].c", ["a/a.c", "a/b.c"], ["a/a.c", "a/b.c"], id="class-where-no-name-exists"),
    pytest.param("[a]/[xy].c", ["[a]/x.c", "a/y.c"], ["[a]/x.c"], id="name-then-class"),
    pytest.param("[id/*", ["[id/a"], ["[id/a"], id="open-bracket"),
    pytest.param(
        "{{cookiecutter.name}}/*",
        ["{{cookiecutter.name}}/a.py", "cookiecutter.name/b.py"],
        ["{{cookiecutter.name}}/a.py"],
        id="double-braces",
    ),
    pytest.param("{a,b}.txt", ["{a,b}.txt", "a.txt"], ["{a,b}.txt"], id="braces-with-comma"),
    pytest.param("*.{ts,js}", ["a.ts", "b.js"], ["a.ts", "b.js"], id="alternatives"),
]


@pytest.mark.report("Aider-AI/aider#5530")
@pytest.mark.parametrize(("pattern", "files", "found"), CASES)
async def test_glob_reads_brackets_and_braces_as_a_name_that_exists(
    pattern: str, files: Sequence[str], found: Sequence[str], make: Make
) -> None:
    output = await make(files).call(GLOB, pattern=pattern)
    assert sorted(output.text.split("\n")) == sorted(found)


@pytest.mark.parametrize(("pattern", "files", "found"), CASES)
async def test_filter_of_grep_reads_brackets_and_braces_as_a_name_that_exists(
    pattern: str, files: Sequence[str], found: Sequence[str], make: Make
) -> None:
    calls = make(files)
    output = await calls.call(GREP, pattern="needle", glob_filter=pattern, output_mode="files_with_matches")
    assert sorted(output.text.split("\n")) == sorted(found)


async def test_excluding_filter_reads_brackets_as_a_name_that_exists(make: Make) -> None:
    calls = make(["src/[id]/a.ts", "src/i/a.ts"])
    output = await calls.call(
        GREP, pattern="needle", glob_filter="*.ts !src/[id]/**", output_mode="files_with_matches"
    )
    assert output.text == "src/i/a.ts"


async def test_read_many_files_reads_brackets_as_a_name_that_exists(make: Make) -> None:
    calls = make(["src/[id]/a.ts", "src/i/a.ts"])
    output = await calls.call(READ_MANY_FILES, paths=["src/[id]/*.ts"])
    assert "src/[id]/a.ts" in output.text and "src/i/a.ts" not in output.text


def test_readings_are_limited_and_end_with_the_glob_itself() -> None:
    many = "/".join(["[a]"] * 12)
    assert len(find_readings(many)) == 2
    assert find_readings("[a]/b[c]")[-1] == "[a]/b[c]"
    assert find_readings(r"\[a\]/*.py") == (r"\[a\]/*.py",)
