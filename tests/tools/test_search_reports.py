"""Reports of users about the search tools of other agents, each in its smallest form, on real files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.local import LocalEnvironment
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP
from tests.support.tool_calls import ToolCalls

pytestmark = pytest.mark.anyio


def local_calls(folder: Path) -> ToolCalls:
    real: Any = LocalEnvironment(str(folder))
    return ToolCalls(real)


DASHES: list[Any] = [
    pytest.param(
        "- \\[ \\]",
        marks=pytest.mark.report(
            "NousResearch/hermes-agent#85795",
            "a search for a task box, which begins with a dash, finds nothing",
            area="search",
            before="passed",
        ),
        id="task box",
    ),
    pytest.param(
        "--pdf-engine",
        marks=pytest.mark.report(
            "NousResearch/hermes-agent#93750",
            "a search for the name of an option is read as an option of the search program",
            area="search",
            before="passed",
        ),
        id="option",
    ),
    pytest.param(
        "->",
        marks=pytest.mark.report(
            "anomalyco/opencode#3524",
            "a pattern that begins with a dash is read as a flag",
            area="search",
            before="passed",
        ),
        id="arrow",
    ),
]


@pytest.mark.parametrize("pattern", DASHES)
async def test_a_pattern_that_begins_with_a_dash_is_searched_for(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "notes.md").write_text("x\n- [ ] a -> b --pdf-engine\n")
    found = await local_calls(tmp_path).call(GREP, pattern=pattern)
    assert found.text.startswith("notes.md:2:")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        pytest.param(
            ".github/workflows/*.yml",
            ".github/workflows/ci.yml",
            marks=pytest.mark.report(
                "anomalyco/opencode#45911",
                "glob finds no hidden files, even if the pattern names them",
                area="search",
                before="passed",
            ),
            id="workflow",
        ),
        pytest.param(
            ".ai/*.md",
            ".ai/current-task.md",
            marks=pytest.mark.report(
                "anomalyco/opencode#32669",
                "glob finds no files below a folder that begins with a dot",
                area="search",
                before="passed",
            ),
            id="dot folder",
        ),
    ],
)
async def test_glob_finds_hidden_files_that_the_pattern_names(
    tmp_path: Path, pattern: str, path: str
) -> None:
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text("needle\n")
    calls = local_calls(tmp_path)
    assert path in (await calls.call(GLOB, pattern=pattern)).text


@pytest.mark.report(
    "anthropics/claude-code#16936",
    "a search in a hidden folder that is named by its path finds nothing and says no word about it",
    area="search",
    before="passed",
)
async def test_grep_searches_a_hidden_folder_that_is_named(tmp_path: Path) -> None:
    (tmp_path / ".config").mkdir()
    (tmp_path / ".config" / "init.lua").write_text("needle\n")
    found = await local_calls(tmp_path).call(GREP, pattern="needle", path=".config")
    assert ".config/init.lua:1:" in found.text
