"""Arguments of the search tools of Claude Code, codex and gemini-cli: with ripgrep, without it, and in memory."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.base import Attribution, ExecutionEnvironment
from agent_ls.environments.errors import InvalidPatternError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.local.ripgrep import candidates, find_working
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.loop.calls.arguments import ArgumentsError, parse_arguments
from agent_ls.loop.calls.reads import ReadFiles
from agent_ls.profiles.create import create_profile
from agent_ls.profiles.options import ProfileOptions
from agent_ls.tools.base import Tool, ToolContext, ToolError
from agent_ls.tools.edit_file import EDIT_FILE
from agent_ls.tools.file_types import FILE_TYPES, glob_of_type
from agent_ls.tools.shell import ShellArguments

pytestmark = pytest.mark.req("P7", "T6")

FILES = {
    "src/a.py": "import os\n\ndef run(\n    one,\n):\n    TODO\n    return 1\n\nTODO\n",
    "src/b.js": "// todo\nTODO();\n",
    "src/types.pyi": "TODO\n",
    "notes.md": "TODO\r\nmore\r\n",
}
Make = Callable[[Path], ExecutionEnvironment]


def in_memory(folder: Path) -> ExecutionEnvironment:
    return MemoryEnvironment(FILES)


def with_ripgrep(folder: Path) -> ExecutionEnvironment:
    return LocalEnvironment(str(written(folder)))


def without_ripgrep(folder: Path) -> ExecutionEnvironment:
    return LocalEnvironment(str(written(folder)), ripgrep="")


def written(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return folder


SEARCHES = [in_memory, with_ripgrep, without_ripgrep]


async def asked(environment: ExecutionEnvironment, family: str, **arguments: Any) -> str:
    """Return the answer to a call of the family's grep, as its model writes it."""
    grep = create_profile(family, "m", options=ProfileOptions(native_names=True)).registry.lookup("grep")
    assert grep
    return await answered(environment, grep, **arguments)


async def answered(environment: ExecutionEnvironment, tool: Tool[Any], **arguments: Any) -> str:
    parsed = parse_arguments(json.dumps(arguments), tool.arguments)
    reads = ReadFiles({}, lambda *_: None)
    context = ToolContext(environment, Attribution(), lambda *_: None, reads, read_first="overwrite")
    return (await (await tool.prepare(parsed, context)).run()).text


CLAUDE: list[tuple[dict[str, Any], list[str]]] = [
    ({"pattern": "TODO", "type": "py"}, ["src/a.py:6:    TODO", "src/a.py:9:TODO", "src/types.pyi:1:TODO"]),
    ({"pattern": "todo", "-i": True, "type": "js"}, ["src/b.js:1:// todo", "src/b.js:2:TODO();"]),
    ({"pattern": "TODO", "glob": "*.py", "type": "py", "-n": False}, ["src/a.py:    TODO", "src/a.py:TODO"]),
    (
        {"pattern": "import", "glob": "a.py", "-A": 1},
        ["src/a.py:1:import os", "src/a.py-2-"],
    ),
    (
        {"pattern": "return", "glob": "a.py", "-B": 1},
        ["src/a.py-6-    TODO", "src/a.py:7:    return 1"],
    ),
    (
        {"pattern": "one", "glob": "a.py", "-C": 1},
        ["src/a.py-3-def run(", "src/a.py:4:    one,", "src/a.py-5-):"],
    ),
    (
        {"pattern": r"def run\(.*?\):", "multiline": True},
        ["src/a.py:3:def run(", "src/a.py:4:    one,", "src/a.py:5:):"],
    ),
    ({"pattern": r"TODO\nmore", "multiline": True, "type": "md"}, ["notes.md:1:TODO", "notes.md:2:more"]),
    ({"pattern": "TODO", "output_mode": "files_with_matches", "type": "py"}, ["src/a.py", "src/types.pyi"]),
    ({"pattern": "TODO", "output_mode": "count", "glob": "*.py"}, ["src/a.py:2"]),
    ({"pattern": "TODO", "offset": 1, "type": "py"}, ["src/a.py:9:TODO", "src/types.pyi:1:TODO"]),
    (
        {"pattern": "TODO", "output_mode": "files_with_matches", "offset": 2, "head_limit": 1},
        ["src/b.js", "", "[Only the next 1 files. Narrow the search, or raise head_limit.]"],
    ),
]


@pytest.mark.parametrize("make", SEARCHES)
@pytest.mark.parametrize(("arguments", "lines"), CLAUDE, ids=lambda it: json.dumps(it)[:60])
async def test_grep_with_claude_code_arguments_returns_the_expected_lines(
    make: Make, arguments: dict[str, Any], lines: list[str], tmp_path: Path
) -> None:
    found = (await asked(make(tmp_path), "anthropic", **arguments)).splitlines()
    if arguments.get("output_mode") == "files_with_matches" and "offset" in arguments:
        assert len(found) == 3 and found[1:] == lines[1:]  # the order of files depends on the search
    else:
        assert found == lines


@pytest.mark.parametrize("make", SEARCHES)
async def test_grep_with_gemini_cli_arguments_returns_the_expected_matches(
    make: Make, tmp_path: Path
) -> None:
    environment = make(tmp_path)
    names = await asked(environment, "gemini", pattern="TODO", exclude_pattern="*.py", names_only=True)
    assert sorted(names.splitlines()) == ["notes.md", "src/b.js", "src/types.pyi"]
    both = await asked(environment, "gemini", pattern="TODO", include="*.{py,js}", exclude_pattern="*.js")
    assert {line.partition(":")[0] for line in both.splitlines()} == {"src/a.py"}
    folded = await asked(environment, "gemini", pattern="todo(", fixed_strings=True, case_sensitive=False)
    assert folded == "src/b.js:2:TODO();"
    around = await asked(environment, "gemini", pattern="return", dir_path="src", before=1, after=0)
    assert around.splitlines() == ["src/a.py-6-    TODO", "src/a.py:7:    return 1"]


async def test_an_unknown_file_type_is_refused_with_similar_ones() -> None:
    with pytest.raises(
        ArgumentsError, match=r"type: 'typescrip' is not a known file type. Do you mean typescript"
    ):
        await asked(MemoryEnvironment(FILES), "anthropic", pattern="x", type="typescrip")


def test_the_glob_of_each_file_type_is_accepted_by_ripgrep(tmp_path: Path) -> None:
    globs = [f"--glob={glob_of_type(file_type)}" for file_type in FILE_TYPES]
    command = [find_working(candidates()), "--files", *globs, str(written(tmp_path))]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(listed.stdout.splitlines()) == len(FILES)


@pytest.mark.parametrize("pattern", [r"[[:alpha:]]+", r"\p{Lu}"])
async def test_a_search_without_ripgrep_refuses_patterns_that_only_ripgrep_supports(
    pattern: str, tmp_path: Path
) -> None:
    assert await asked(with_ripgrep(tmp_path), "anthropic", pattern=pattern)
    with pytest.raises((InvalidPatternError, ToolError), match="works only with ripgrep"):
        await asked(without_ripgrep(tmp_path), "anthropic", pattern=pattern)


# --- other arguments of the families


@pytest.mark.req("P4", "T3")
async def test_an_edit_with_an_expected_number_of_replacements_needs_exactly_that_number() -> None:
    edit = create_profile("gemini").registry.lookup("edit_file")
    assert edit and edit.kind == EDIT_FILE.name
    environment = MemoryEnvironment({"a.py": "x = 1\ny = 1\nz = 1\n"})
    change = {"file_path": "a.py", "old_string": "= 1", "new_string": "= 2", "instruction": "Count."}
    with pytest.raises(ToolError, match=r"occurs 3 times in a\.py, not 2 times as expected_replacements"):
        await answered(environment, edit, **change, expected_replacements=2)
    with pytest.raises(ToolError, match=r"3 (matches|times)"):
        await answered(environment, edit, **change, expected_replacements=1)
    assert await environment.read_bytes("a.py") == b"x = 1\ny = 1\nz = 1\n"
    assert "3 replacements" in await answered(environment, edit, **change, expected_replacements=3)
    assert await environment.read_bytes("a.py") == b"x = 2\ny = 2\nz = 2\n"


@pytest.mark.req("P2")
@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["bash", "-lc", "ls | wc -l"], "ls | wc -l"),
        (["/bin/sh", "-c", "exit 3"], "exit 3"),
        (["git", "commit", "-m", "two words"], "git commit -m 'two words'"),
        ("ls -l", "ls -l"),
    ],
)
def test_a_command_may_be_an_argument_list(words: object, command: str) -> None:
    assert ShellArguments.model_validate({"command": words}).command == command
