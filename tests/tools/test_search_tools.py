from __future__ import annotations

from typing import Any

import pytest

from agent_ls.environments.effects import ReadEffect
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.tools.base import Tool
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP
from agent_ls.tools.list_dir import LIST_DIR
from tests.support.tool_calls import ToolCalls

FILES = {
    "src/a.py": "import os\n\ndef run():\n    TODO\n    return 1\n\nTODO\n",
    "src/b.py": "todo = 1\nTODO = 2\n",
    "src/c.txt": "TODO\n",
    "build/out.py": "TODO\n",
    ".gitignore": "build/\n",
}


ONE_IGNORED = "[1 that the project ignores is left out; set ignored to see them.]"


def calls() -> ToolCalls:
    return ToolCalls(MemoryEnvironment(FILES))


@pytest.mark.req("P3", "T6")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(
            {"pattern": "TODO"},
            "src/a.py:4:    TODO\nsrc/a.py:7:TODO\nsrc/b.py:2:TODO = 2\nsrc/c.txt:1:TODO",
            id="lines-with-path-and-number",
        ),
        pytest.param({"pattern": "TODO", "path": "src/b.py"}, "src/b.py:2:TODO = 2", id="one-file"),
        pytest.param(
            {"pattern": "^todo", "case_insensitive": True, "glob_filter": "*.py"},
            "src/a.py:7:TODO\nsrc/b.py:1:todo = 1\nsrc/b.py:2:TODO = 2",
            id="filter-and-case",
        ),
        pytest.param({"pattern": "run()", "literal": True}, "src/a.py:3:def run():", id="literal"),
        pytest.param(
            {"pattern": "TODO", "path": "src/a.py", "context_lines": 1},
            "src/a.py-3-def run():\nsrc/a.py:4:    TODO\nsrc/a.py-5-    return 1\nsrc/a.py-6-\nsrc/a.py:7:TODO",
            id="contexts-that-meet",
        ),
        pytest.param(
            {"pattern": "import|TODO", "path": "src/a.py", "context_lines": 0, "max_results": 2},
            "src/a.py:1:import os\nsrc/a.py:4:    TODO\n\n"
            "[Only the first 2 matches. Narrow the search, or raise max_results.]",
            id="limit",
        ),
        pytest.param(
            {"pattern": "absent", "path": "src", "glob_filter": "*.py"},
            "No matches for 'absent' in src in files that match '*.py'. Ignored and binary files are not searched.",
            id="nothing",
        ),
        pytest.param(
            {"pattern": "TODO", "output_mode": "files_with_matches"},
            "src/a.py\nsrc/b.py\nsrc/c.txt",
            id="files",
        ),
        pytest.param(
            {"pattern": "TODO", "output_mode": "count"}, "src/a.py:2\nsrc/b.py:1\nsrc/c.txt:1", id="counts"
        ),
        pytest.param(
            {"pattern": "TODO", "output_mode": "count", "max_results": 1},
            "src/a.py:2\n\n[Only the first 1 files. Narrow the search, or raise max_results.]",
            id="limit-counts-files",
        ),
        pytest.param(
            {"pattern": "TODO", "output_mode": "content", "path": "src/c.txt"},
            "src/c.txt:1:TODO",
            id="content",
        ),
    ],
)
async def test_grep_returns_lines_files_or_counts(arguments: dict[str, object], expected: str) -> None:
    assert (await calls().call(GREP, **arguments)).text == expected


async def test_grep_separates_context_blocks_that_are_not_adjacent_with_dashes() -> None:
    environment = MemoryEnvironment({"f": "x\n1\n2\n3\n4\nx\n"})
    output = await ToolCalls(environment).call(GREP, pattern="x", context_lines=1)
    assert output.text == "f:1:x\nf-2-1\n--\nf-5-4\nf:6:x"


@pytest.mark.req("T6", "T9")
async def test_grep_when_the_pattern_is_invalid_then_the_error_suggests_literal() -> None:
    error = await calls().fails(GREP, pattern="run(")
    assert error.kind == "invalid_pattern"
    assert "'run('" in str(error)
    assert str(error).endswith("Correct the regular expression, or set literal to search for plain text.")


@pytest.mark.req("T6")
async def test_glob_when_files_match_then_the_newest_is_first() -> None:
    session = calls()
    session.environment.put("src/a.py", "newer")
    assert (await session.call(GLOB, pattern="**/*.py")).text == "src/a.py\nsrc/b.py"
    assert (await session.call(GLOB, pattern="*.txt", path="src")).text == "src/c.txt"


@pytest.mark.req("T6")
async def test_glob_when_nothing_matches_then_the_searched_folder_is_named() -> None:
    assert (await calls().call(GLOB, pattern="*.rs", path="src")).text == (
        "No files match '*.rs' below src (ignored files are left out)."
    )


@pytest.mark.req("T6")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param({}, f"src/\n{ONE_IGNORED}", id="one-level"),
        pytest.param({"hidden": True}, f".gitignore (7 bytes)\nsrc/\n{ONE_IGNORED}", id="hidden"),
        pytest.param({"ignored": True}, "build/\nsrc/", id="ignored"),
        pytest.param({"path": "build"}, "out.py (5 bytes)", id="an-ignored-folder-that-is-named"),
        pytest.param({"depth": 2, "pattern": "out.py"}, ONE_IGNORED, id="only-an-ignored-one-matches"),
        pytest.param(
            {"depth": 2, "ignored": True},
            "build/\nbuild/out.py (5 bytes)\nsrc/\nsrc/a.py (50 bytes)\nsrc/b.py (18 bytes)\nsrc/c.txt (5 bytes)",
            id="two-levels",
        ),
        pytest.param({"depth": 2, "pattern": "*.txt"}, "src/c.txt (5 bytes)", id="pattern"),
        pytest.param(
            {"path": "src", "pattern": "*.rs"},
            "Nothing in src matches. It has entries that are hidden or do not match the pattern.",
            id="nothing-matches",
        ),
    ],
)
async def test_list_dir_returns_folders_and_file_sizes(arguments: dict[str, object], expected: str) -> None:
    assert (await calls().call(LIST_DIR, **arguments)).text == expected


IGNORING = {
    ".gitignore": "*.log\nout/\n/only-here\n",
    "a.log": "",
    "only-here": "",
    "out/x": "",
    "sub/.gitignore": "!kept.log\ndeep\n",
    "sub/kept.log": "",
    "sub/b.log": "",
    "sub/deep/y": "",
    "sub/only-here": "",
    "sub/plain": "",
}


@pytest.mark.req("T6")
@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"depth": 3}, ["sub/", "sub/kept.log", "sub/only-here", "sub/plain"]),
        ({"path": "sub"}, ["kept.log", "only-here", "plain"]),
        ({"path": "out"}, ["x"]),
    ],
    ids=["whole", "rules from above and its own", "an ignored folder that is named"],
)
async def test_list_dir_gives_ignore_rules_of_subfolders_precedence_over_parent_folders(
    arguments: dict[str, object], names: list[str]
) -> None:
    listed = await ToolCalls(MemoryEnvironment(IGNORING)).call(LIST_DIR, **arguments)
    lines = [line.partition(" (")[0] for line in listed.text.split("\n") if not line.startswith("[")]
    assert lines == names


async def test_list_dir_when_the_folder_is_empty_then_the_result_says_so() -> None:
    assert (await ToolCalls().call(LIST_DIR)).text == "The folder . is empty."


@pytest.mark.parametrize("tool", [GREP, GLOB, LIST_DIR], ids=lambda tool: tool.name)
async def test_search_when_the_path_is_missing_then_the_environments_error_passes_through(
    tool: Tool[Any],
) -> None:
    arguments = {} if tool is LIST_DIR else {"pattern": "x"}
    with pytest.raises(PathNotFoundError):
        await calls().call(tool, path="gone", **arguments)


@pytest.mark.parametrize("tool", [GREP, GLOB, LIST_DIR], ids=lambda tool: tool.name)
async def test_search_when_prepared_then_the_effect_is_a_read_of_the_absolute_path(tool: Tool[Any]) -> None:
    arguments = {} if tool is LIST_DIR else {"pattern": "x"}
    assert (await calls().prepare(tool, path="../up", **arguments)).effect == ReadEffect(("/up",))
    assert (await calls().prepare(tool, **arguments)).effect == ReadEffect(("/project",))
