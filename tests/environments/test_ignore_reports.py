"""Reports of ignore files that other programs read in another way than git."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.base import GrepOptions
from agent_ls.environments.local import LocalEnvironment

RULES: list[Any] = [
    pytest.param(
        {".gitignore": "*.txt\n!shown.txt\n"},
        ["shown.txt"],
        ["hidden.txt"],
        marks=pytest.mark.report("ggreer/the_silver_searcher#288"),
    ),
    pytest.param(
        {".gitignore": "*\n!*.txt\n"},
        ["shown.txt"],
        ["hidden.md"],
        marks=pytest.mark.report("ggreer/the_silver_searcher#521"),
    ),
    pytest.param(
        {".gitignore": "*\n!*.*\n!*/\n"},
        ["shown.txt", "src/shown.c"],
        ["binary"],
        marks=pytest.mark.report("ggreer/the_silver_searcher#1563"),
    ),
    pytest.param(
        {".gitignore": "/sdk/\n"},
        ["b/sdk/shown.js"],
        ["sdk/hidden.js"],
        marks=pytest.mark.report("ggreer/the_silver_searcher#194"),
    ),
    pytest.param(
        {".gitignore": "dist/\n", "app/.gitignore": ".output\n"},
        ["app/shown.js"],
        ["app/.output/hidden.js"],
        marks=pytest.mark.report("DeusData/codebase-memory-mcp#178"),
    ),
    pytest.param(
        {".gitignore": "**/vendor/\n", "a/.gitignore": "!vendor\n"},
        ["a/vendor/shown.txt"],
        ["b/vendor/hidden.txt"],
        marks=pytest.mark.report("libgit2/libgit2#7284"),
    ),
    pytest.param(
        {".gitignore": "foo\n!foo/bar\n"},
        ["shown.txt"],
        ["foo/bar/hidden.txt", "foo/hidden.txt"],
        marks=pytest.mark.report("libgit2/libgit2#2579"),
    ),
    pytest.param(
        {".gitignore": "build/\n!/some/build/\n"},
        ["some/build/shown.txt"],
        ["build/hidden.txt"],
        marks=pytest.mark.report("BurntSushi/ripgrep#2731"),
    ),
]


@pytest.mark.parametrize(("rules", "shown", "hidden"), RULES)
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
