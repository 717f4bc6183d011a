"""Reports about search: names and lines that break the parser of the search program's output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.base import GrepOptions
from agent_ls.environments.local import LocalEnvironment
from agent_ls.tools.read_file import READ_FILE
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls


@pytest.fixture(params=[None, ""], ids=["ripgrep", "without"])
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> LocalEnvironment:
    return LocalEnvironment(str(tmp_path), environ={}, ripgrep=request.param)


@pytest.mark.parametrize(
    "name",
    [
        reported("QwenLM/qwen-code#5370", "dir:name/file.txt", id="colon"),
        reported("andrewyng/openworker#17", "C:12:x.txt", id="drive letter"),
        pytest.param("-n.txt", id="dash"),
        reported("phiresky/ripgrep-all#261", "--sample.txt", id="two dashes"),
        pytest.param("line\nend.txt", id="line end"),
        pytest.param("a-3-b.txt", id="looks like context"),
    ],
)
async def test_a_match_has_the_path_and_line_of_its_file(
    environment: LocalEnvironment, tmp_path: Path, name: str
) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("no\n12:needle: here:34\nno\n")
    for path in ("", name):
        found = await environment.grep("needle", path, GrepOptions())
        assert [(line.path, line.line, line.text) for line in found.lines] == [
            (name, 2, "12:needle: here:34")
        ]
    real: Any = environment
    assert "12:needle: here:34" in (await ToolCalls(real).call(READ_FILE, file_path=name)).text


@pytest.mark.report("code-yeongyu/oh-my-openagent#2962")
async def test_lines_of_a_windows_file_end_without_a_carriage_return(
    environment: LocalEnvironment, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_bytes(b"x\r\nneedle\r\ny\r\n")
    found = await environment.grep("needle$", "", GrepOptions())
    assert [(line.line, line.text) for line in found.lines] == [(2, "needle")]


@pytest.mark.report("lobehub/lobehub#14965")
async def test_a_pattern_with_a_hidden_folder_and_braces_finds_its_files(
    environment: LocalEnvironment, tmp_path: Path
) -> None:
    for name in (".github/workflows/a.yml", ".github/workflows/b.yaml", ".github/x.yml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = await environment.glob(".github/workflows/*.{yml,yaml}", "")
    assert sorted(found) == [".github/workflows/a.yml", ".github/workflows/b.yaml"]
