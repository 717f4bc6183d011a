"""Reports of searches: ignore files around the folder that is searched, counts, and flags within a pattern."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.environments.base import GrepOptions
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.local.search import LocalSearch
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP
from tests.environments.test_ignore_rule_reports import run_git
from tests.support.reports import reported
from tests.tools.test_empty_search_reports import PROGRAMS, calls_in
from tests.tools.test_listing_reports import write

pytestmark = pytest.mark.req("T6")


@PROGRAMS
@pytest.mark.report("BurntSushi/ripgrep#2489")  # fmt: skip
async def test_a_rule_from_the_root_holds_in_a_search_of_a_folder(
    tmp_path: Path, ripgrep: str | None
) -> None:
    run_git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("/a/b\n")
    write(tmp_path, "a/b/x.txt", "a/c/x.txt", "z/x.txt")
    calls = calls_in(tmp_path, ripgrep)
    for path in ("a", "a/", "./a", str(tmp_path / "a")):
        found = (await calls.call(GREP, pattern="needle", path=path)).text
        assert "c/x.txt:1:" in found and "b/x.txt" not in found
        assert "b/x.txt" not in (await calls.call(GLOB, pattern="**/*.txt", path=path)).text


def with_rules_above(folder: Path, *repositories: str) -> Path:
    """Make a project below a folder whose rules hide everything. `repositories` are folders with a repository."""
    (folder / ".gitignore").write_text("*\n")
    write(
        folder,
        "project/src/a.txt",
        "project/made/b.txt",
        "project/src/sub/made/c.txt",
        "project/src/sub/d.log",
    )
    (folder / "project/.gitignore").write_text("made/\n")
    (folder / "project/src/sub/.gitignore").write_text("*.log\n")
    for name in repositories:
        run_git(folder / name, "init", "-q")
    return folder / "project"


@PROGRAMS
@pytest.mark.parametrize("path", [".", "src"])
@pytest.mark.parametrize(
    "repositories", [["project"], [], [".", "project"], ["."]], ids=["own", "none", "both", "above"]
)
@pytest.mark.report("BurntSushi/ripgrep#815")  # fmt: skip
async def test_rules_above_the_project_do_not_hide_its_files(
    tmp_path: Path, ripgrep: str | None, repositories: list[str], path: str
) -> None:
    project = with_rules_above(tmp_path, *repositories)
    calls = calls_in(project, ripgrep)
    found = (await calls.call(GREP, pattern="needle", path=path)).text.split("\n")
    assert [line for line in found if "needle" in line] == ["src/a.txt:1:needle"]
    assert (await calls.call(GLOB, pattern="**/*.txt", path=path)).text.split("\n")[0] == "src/a.txt"
    listed = await LocalSearch(str(project), ripgrep).files(9)
    assert sorted(listed) == [".gitignore", "src/a.txt", "src/sub/.gitignore"]


@PROGRAMS
@pytest.mark.parametrize("path", [".", "src"])
async def test_rules_of_the_repository_apply_in_its_folders(
    tmp_path: Path, ripgrep: str | None, path: str
) -> None:
    run_git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("made/\n*.own\n")
    (tmp_path / ".git/info/exclude").write_text("*.tmp\n")
    write(tmp_path, *(f"part/src/{name}" for name in ("a.txt", "made/b.txt", "x.own", "c.tmp", "x/d.txt")))
    calls = calls_in(tmp_path / "part", ripgrep)
    found = (await calls.call(GREP, pattern="needle", path=path)).text.split("\n")
    assert [line for line in found if "needle" in line] == ["src/a.txt:1:needle", "src/x/d.txt:1:needle"]
    assert (await calls.call(GLOB, pattern="**/*", path=path)).text.count("src/") == 2


@PROGRAMS
@pytest.mark.report("anthropics/claude-code#16068")  # fmt: skip
async def test_a_count_in_one_file_has_no_other_sum(tmp_path: Path, ripgrep: str | None) -> None:
    (tmp_path / "a.md").write_text("Not Implemented\nx\n" * 21)
    found = (
        await calls_in(tmp_path, ripgrep).call(
            GREP, pattern="Not Implemented", path="a.md", output_mode="count"
        )
    ).text
    assert "21" in found and " 0 " not in f" {found} "


FLAGS = [
    reported("IntelligentElectron/universal-netlist#17", "(?i)gnd", [1, 2]),
    ("(?im)^gnd$", [1]),
    ("x(?i)y", [3]),
    ("x(?i)Y|gnd$", [1, 3]),
    ("(?:x(?i)Y|Gnd_)", [2, 3]),
    ("[(?i)]x|G(?-i)N(?i)d$|z", [1]),
    (r"\(?i|x(?i)[)y]", [3]),
    ("(?i:gnd)_a", [2]),
    ("(?s)GND.", [2]),
]  # fmt: skip


@PROGRAMS
@pytest.mark.parametrize(("pattern", "lines"), FLAGS)
async def test_flags_in_a_pattern_have_their_meaning(
    tmp_path: Path, ripgrep: str | None, pattern: str, lines: list[int]
) -> None:
    (tmp_path / "a.txt").write_text("GND\nGND_a\nxY\n")
    environment = LocalEnvironment(str(tmp_path), environ={}, ripgrep=ripgrep)
    found = await environment.grep(pattern, "", GrepOptions())
    assert [it.line for it in found.lines] == lines


@PROGRAMS
@pytest.mark.report("indexable-inc/index#1392")
@pytest.mark.parametrize("names", ["*.nix", "**/*.nix", "**.nix", "./**/*.nix"])
async def test_forms_of_one_filter_find_the_same(tmp_path: Path, ripgrep: str | None, names: str) -> None:
    write(tmp_path, "sub/a.nix", "sub/deep/b.nix", "sub/c.txt", "d.nix")
    found = await calls_in(tmp_path, ripgrep).call(GREP, pattern="needle", path="sub", glob_filter=names)
    assert sorted(line.split(":")[0] for line in found.text.split("\n") if "needle" in line) == [
        "sub/a.nix",
        "sub/deep/b.nix",
    ]


@PROGRAMS
@pytest.mark.report("NousResearch/hermes-agent#77890")
@pytest.mark.report("google-gemini/gemini-cli#18092")
async def test_alternatives_of_other_scripts_come_with_the_lines_around_them(
    tmp_path: Path, ripgrep: str | None
) -> None:
    (tmp_path / "a.md").write_text("x\n语音模式-功能参考\ny\nz\n唤醒词-Wake-Word\n", "utf-8")
    found = await calls_in(tmp_path, ripgrep).call(
        GREP, pattern="语音模式-功能参考|唤醒词-Wake-Word", path="a.md", context_lines=1
    )
    assert all(word in found.text for word in ("x", "语音模式-功能参考", "y", "z", "唤醒词-Wake-Word"))
