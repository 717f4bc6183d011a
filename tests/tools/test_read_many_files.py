from __future__ import annotations

import pytest

from agent_ls.environments.base import sha256
from agent_ls.environments.effects import ReadEffect
from agent_ls.environments.errors import InvalidPatternError
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.tools.read_many_files import FILE_LIMIT_LINES, MAX_FILES, READ_MANY_FILES
from tests.support.tool_calls import ToolCalls

FILES = {"a.py": "1\n", "src/b.py": "2\n", "src/c.txt": "3\n", "long.txt": "x\n" * (FILE_LIMIT_LINES + 1)}


def calls() -> ToolCalls:
    return ToolCalls(MemoryEnvironment(FILES))


@pytest.mark.req("P4")
async def test_read_many_files_when_all_exist_then_each_is_listed_by_name_and_counts_as_read() -> None:
    session = calls()
    output = await session.call(READ_MANY_FILES, paths=["a.py", "src/b.py", "a.py"])
    assert output.text == "--- a.py ---\n1 | 1\n\n--- src/b.py ---\n1 | 2"
    assert (output.is_error, output.summary) == (False, "2 files")
    root = session.environment.working_directory()
    assert session.reads.digest_of(f"{root}/src/b.py") == sha256(b"2\n")


@pytest.mark.req("P4")
async def test_read_many_files_lists_the_files_that_match_a_pattern_in_the_effect() -> None:
    session = calls()
    prepared = await session.prepare(READ_MANY_FILES, paths=["**/*.py"])
    root = session.environment.working_directory()
    assert isinstance(prepared.effect, ReadEffect)
    assert set(prepared.effect.paths) == {f"{root}/a.py", f"{root}/src/b.py"}
    assert "2 | " not in (await prepared.run()).text


@pytest.mark.req("P4", "T1")
async def test_read_many_files_reports_a_file_that_fails_and_reads_the_remaining_files() -> None:
    output = await calls().call(READ_MANY_FILES, paths=["nowhere.py", "a.py"])
    assert "--- nowhere.py ---\n[Not read: " in output.text
    assert "--- a.py ---\n1 | 1" in output.text
    assert not output.is_error
    none = await calls().call(READ_MANY_FILES, paths=["nowhere.py"])
    assert (none.is_error, none.error_kind) == (True, "file_not_found")


async def test_read_many_files_when_nothing_matches_then_the_patterns_are_named() -> None:
    error = await calls().fails(READ_MANY_FILES, paths=["*.rs"])
    assert "*.rs" in str(error)


async def test_read_many_files_above_the_limits_reports_the_omitted_lines_and_files() -> None:
    long = await calls().call(READ_MANY_FILES, paths=["long.txt"])
    assert f"Continue with offset={FILE_LIMIT_LINES + 1}" in long.text
    many = ToolCalls(MemoryEnvironment({f"f{n}.py": "x\n" for n in range(MAX_FILES + 3)}))
    assert "[3 more files" in (await many.call(READ_MANY_FILES, paths=["*.py"])).text


@pytest.mark.req("P4")
async def test_read_many_files_applies_exclude_to_patterns_but_not_to_explicit_paths() -> None:
    session = calls()
    output = await session.call(READ_MANY_FILES, paths=["**/*", "src/c.txt"], exclude=["*.txt", "src/**"])
    assert output.text == "--- a.py ---\n1 | 1\n\n--- src/c.txt ---\n1 | 3"
    with pytest.raises(InvalidPatternError, match="a \\[ has no ]"):
        await calls().call(READ_MANY_FILES, paths=["**/*.py"], exclude=["[a"])


@pytest.mark.req("P4")
async def test_read_many_files_when_a_limit_is_set_then_each_file_is_cut_there() -> None:
    output = await calls().call(READ_MANY_FILES, paths=["long.txt"], limit=2)
    assert output.text.startswith("--- long.txt ---\n1 | x\n2 | x\n")
    assert "3 | x" not in output.text and "offset=3" in output.text
