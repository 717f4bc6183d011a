"""Searches with an editor: the unsaved text of open documents is searched instead of their text on disk."""

from __future__ import annotations

import pytest

from agent_ls.environments.base import GrepLine, GrepOptions
from agent_ls.environments.editor import EditorEnvironment
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.environments.memory import MemoryEnvironment
from tests.support.fake_editor_host import FakeEditorHost

DISK = {
    ".gitignore": "ignored.py\n",
    "ignored.py": "hit\n",
    "a.py": "hit saved\n",
    "b.py": "nothing\n",
    "c/[x] {y}.py": "nothing\n",
    "z.py": "one hit\n",
}
UNSAVED = {
    "/project/a.py": "no longer\n",
    "/project/b.py": "1\n2 hit\n3\n",
    "/project/c/[x] {y}.py": "hit in c\n",
    "/project/ignored.py": "hit, typed\n",
    "/project/new.txt": "hit new\r\n",
    "/project/z.py": "one hit\n",
    "/elsewhere/x.py": "hit\n",
}


def environment() -> EditorEnvironment:
    return EditorEnvironment(MemoryEnvironment(DISK), FakeEditorHost(UNSAVED))


async def found(
    pattern: str, path: str = ".", options: GrepOptions | None = None
) -> list[tuple[str, int, str]]:
    result = await environment().grep(pattern, path, options or GrepOptions())
    return [(line.path, line.line, line.text) for line in result.lines]


@pytest.mark.req("H4")
async def test_grep_searches_the_unsaved_text_of_open_documents() -> None:
    assert await found("hit") == [
        ("b.py", 2, "2 hit"),
        ("c/[x] {y}.py", 1, "hit in c"),
        ("new.txt", 1, "hit new"),
        ("z.py", 1, "one hit"),
    ]


@pytest.mark.parametrize(
    ("pattern", "path", "options", "paths"),
    [
        ("hit", "c", GrepOptions(), ["c/[x] {y}.py"]),
        ("hit", ".", GrepOptions(glob_filter="*.txt"), ["new.txt"]),
        ("hit", ".", GrepOptions(glob_filter="!*.py"), ["new.txt"]),
        ("HIT", ".", GrepOptions(), []),
        ("HIT", "b.py", GrepOptions(case_insensitive=True), ["b.py"]),
        ("h.t", "b.py", GrepOptions(literal=True), []),
        ("^hit new$", ".", GrepOptions(), ["new.txt"]),
        ("hit", "ignored.py", GrepOptions(), ["ignored.py"]),
        ("hit", "new.txt", GrepOptions(), ["new.txt"]),
        ("hit", "/project", GrepOptions(glob_filter="b.py"), ["b.py"]),
    ],
)
async def test_grep_of_unsaved_text_applies_the_path_glob_case_and_literal_options(
    pattern: str, path: str, options: GrepOptions, paths: list[str]
) -> None:
    assert [line[0] for line in await found(pattern, path, options)] == paths


async def test_grep_of_unsaved_text_gives_context() -> None:
    result = await environment().grep("hit", "b.py", GrepOptions(before_lines=1, after_lines=1))
    assert result.lines == (
        GrepLine("b.py", 1, "1", is_match=False),
        GrepLine("b.py", 2, "2 hit"),
        GrepLine("b.py", 3, "3", is_match=False),
    )


async def test_grep_stops_at_the_limit_and_reports_it() -> None:
    result = await environment().grep("hit", ".", GrepOptions(max_results=2))
    assert [line.path for line in result.lines] == ["b.py", "c/[x] {y}.py"]
    assert result.truncated


async def test_grep_of_a_missing_path_is_an_error() -> None:
    with pytest.raises(PathNotFoundError):
        await found("hit", "missing.py")
