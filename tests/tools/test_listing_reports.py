"""Reports about glob, grep, list_dir and read_file of other agents, on real files, with and without ripgrep."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.local import LocalEnvironment
from agent_ls.tools.glob import GLOB
from agent_ls.tools.grep import GREP
from agent_ls.tools.list_dir import LIST_DIR
from agent_ls.tools.read_file import READ_FILE
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls


@pytest.fixture(params=[None, ""], ids=["ripgrep", "without"])
def calls(request: pytest.FixtureRequest, tmp_path: Path) -> ToolCalls:
    real: Any = LocalEnvironment(str(tmp_path), ripgrep=request.param)
    return ToolCalls(real)


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("needle\n")


GLOBS: list[Any] = [
    reported("anomalyco/opencode#47421", "**/*.ts", ["visible.ts", ".hidden.ts", ".hidden/nested.ts"], ["a.js"],
        id="some hidden"),
    reported("BaseIntelligence/bounty-challenge#10595", ".cortex/**/*.txt", [".cortex/a/secret.txt"], ["b.txt"],
        id="in a hidden folder"),
    reported("terkelg/tiny-glob#78", "folder[1-3]/*/*.txt", ["folder[1-3]/sub/a.txt"], ["c.txt"],
        id="brackets in a name"),
    reported("BurntSushi/ripgrep#2822", "**/test.yml", [".github/test.yml", "test.yml"], ["b.txt"],
        id="workflows"),
    reported("MoonshotAI/kimi-code#1280", "{a,{b,c}}.ts", ["a.ts", "b.ts", "c.ts"], ["d.ts"], id="nested"),
    reported("Digital-Process-Tools/claude-supertool#161", "**/*.{json,xml}", ["x/a.json", "b.xml"], ["c.txt"],
        id="alternatives"),
    reported("justrach/codedb#511", "**/*.{yaml,yml}", [".github/workflows/release.yml", "config.yaml"],
        ["docs/readme.md"], id="hidden too"),
    reported("ahwurm/localharness#74", "agents/**", ["agents/a.yaml", "agents/x/b.yaml"], ["c.yaml"],
        id="two stars at the end"),
    reported("isaacs/node-glob#92", "{*}", ["a.txt", "b.txt"], [], id="one member"),
    reported("MarcusJellinghaus/mcp-workspace#249", ".claude/skills/{commit_push,issue_approve}/SKILL.md",
        [".claude/skills/commit_push/SKILL.md", ".claude/skills/issue_approve/SKILL.md"],
        [".claude/skills/other/SKILL.md"], id="folders in braces"),
    reported("MoonshotAI/kimi-code#1245", "ab{,c}.ts", ["ab.ts", "abc.ts"], ["abd.ts"], id="empty alternative"),
    reported("facelessuser/wcmatch#192", "{foo,}.txt", ["foo.txt", ".txt"], ["a.txt"], id="empty at the end"),
    pytest.param("./src/*.py", ["src/a.py"], ["b.py"], id="dot slash"),
    pytest.param("src//*.py", ["src/a.py"], ["b.py"], id="two slashes"),
    pytest.param("**", ["a.py", "x/b.py"], [], id="all"),
    pytest.param("*.PY", ["b.PY"], ["a.py"], id="case"),
    pytest.param("src/**/test/**/*.py", ["src/test/a.py", "src/x/test/y/b.py"], ["test/c.py"], id="stars within"),
    pytest.param("[0-9]*.md", ["1.md", "22.md"], ["a.md"], id="digits"),
    pytest.param("!(a).md", ["!(a).md"], ["b.md"], id="literal extglob"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "found", "others"), GLOBS)
async def test_glob_reads_the_pattern_as_a_shell_does(
    calls: ToolCalls, tmp_path: Path, pattern: str, found: list[str], others: list[str]
) -> None:
    write(tmp_path, *found, *others)
    lines = (await calls.call(GLOB, pattern=pattern)).text.split("\n")
    assert sorted(line for line in lines if line in {*found, *others}) == sorted(found), lines


GREPS: list[Any] = [
    reported("dgopsq/netgrep#44", b"x\r\nneedle\r\n", {"pattern": "needle$"}, 2, id="end"),
    reported("git-for-windows/git#1841", b"x\r\nneedle\r\ny\r\n", {"pattern": "^needle$"}, 2, id="whole line"),
    reported("AnswerDotAI/rgapi#41", b"abc\ndef\r\nghi\r\n", {"pattern": "^def$"}, 2, id="mixed"),
    reported("BurntSushi/ripgrep#1568", b"one two\r\none\r\n", {"pattern": "^(?:one)$"}, 2, id="line of windows"),
    reported("BurntSushi/ripgrep#2420", b"a\nb\nc\nd\n", {"pattern": "b\\nc"}, 2, id="a line end in the pattern"),
    pytest.param(b"a\r\nb.\r\nc\r\n", {"pattern": "b.\nc", "literal": True}, 2, id="a line end in a text"),
    pytest.param(b"a\nb\nc\nd\n", {"pattern": r"b[\s\S]*?d"}, 2, id="any character"),
    pytest.param(b"x\na = 'b\\nc'\n", {"pattern": r"b\\nc"}, 2, id="an escaped line end"),
    pytest.param(b"b\nab c\n", {"pattern": r"b[^\n]c"}, 2, id="all but a line end"),
    pytest.param(b"b.c\nx\nb-\nc\n", {"pattern": r"b.\nc"}, 3, id="a point ends at the line"),
    reported("dnGrep/dnGrep#1260", b"line1\r\nline2\r\n", {"pattern": "line1\\nline2", "multiline": True}, 1,
        id="two lines"),
    reported("stefankueng/grepWin#321", b"line1\nline2\n", {"pattern": "line1\\r\\nline2", "multiline": True}, 1,
        id="windows pattern"),
    reported("bojieli/ai-agent-book#717", b"def f(\n    a,\n):\n    pass\n",
        {"pattern": "def f\\(.*?\\):", "multiline": True}, 1, id="several lines"),
    reported("mattn/jvgrep#6", "x\nneedle é\n".encode("utf-16"), {"pattern": "needle"}, 2, id="utf-16"),
    reported("mbuilov/grep-windows#8", b"\xff\xfe" + "x\r\nneedle\r\n".encode("utf-16-le"), {"pattern": "needle$"}, 2,
        id="utf-16 of windows"),
    pytest.param(b"\xef\xbb\xbfneedle\n", {"pattern": "^needle"}, 1, id="mark"),
    pytest.param(b"a\xffb\nneedle \xfe\n", {"pattern": "needle"}, 2, id="not utf-8"),
    pytest.param("na\u00efve caf\u00e9\n".encode(), {"pattern": "CAF\u00c9", "case_insensitive": True}, 1,
        id="case of letters"),
    pytest.param(b"a.b*c(d\n", {"pattern": "a.b*c(d", "literal": True}, 1, id="literal"),
    pytest.param(b"one\n\n\ntwo\n", {"pattern": "^$"}, 2, id="empty line"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "arguments", "line"), GREPS)
async def test_grep_finds_the_line_whatever_its_end_and_encoding(
    calls: ToolCalls, tmp_path: Path, content: bytes, arguments: dict[str, Any], line: int
) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    assert (await calls.call(GREP, **arguments)).text.startswith(f"a.txt:{line}:")


@pytest.mark.report("xorbitsai/xagent#2543")
@pytest.mark.report("earendil-works/pi#7977")
@pytest.mark.report("use-agent-os/agent-os#844")
@pytest.mark.report("openclaw/openclaw#131776")
@pytest.mark.report("anomalyco/opencode#4689")
async def test_a_list_has_broken_links_loops_and_hidden_folders(calls: ToolCalls, tmp_path: Path) -> None:
    write(tmp_path, "real/a.txt", ".claude/commands/ship.md", "line\nend/x")
    os.symlink("/nonexistent/target", tmp_path / "real" / "broken")
    (tmp_path / "only").mkdir()
    os.symlink("gone", tmp_path / "only" / "link")
    os.symlink("loop", tmp_path / "real" / "loop")
    os.symlink("..", tmp_path / "real" / "up")
    os.mkfifo(tmp_path / "real" / "pipe")
    listed = (await calls.call(LIST_DIR, path="real", depth=5)).text
    assert all(name in listed for name in ("a.txt", "broken", "loop", "up", "pipe"))
    assert "up/real" not in listed
    assert "link" in (await calls.call(LIST_DIR, path="only")).text
    assert "ship.md" in (await calls.call(LIST_DIR, path=".claude/commands")).text
    assert "ship.md" in (await calls.call(LIST_DIR, path=".claude", depth=2)).text


@pytest.mark.report("OpenHands/openhands-aci#154")
@pytest.mark.report("QwenLM/qwen-code#5623")
async def test_a_range_behind_the_end_gives_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 7)))
    real: Any = LocalEnvironment(str(tmp_path))
    calls = ToolCalls(real)
    output = (await calls.call(READ_FILE, file_path="a.txt", offset=5, limit=900)).text
    assert "line 5" in output and "line 6" in output and "line 4" not in output
    for limit in (0, -3):
        with pytest.raises(Exception, match="limit"):
            await calls.call(READ_FILE, file_path="a.txt", limit=limit)


@pytest.mark.report("simonw/files-to-prompt#29")
@pytest.mark.report("BurntSushi/ripgrep#1029")
async def test_what_the_project_ignores_is_left_out(calls: ToolCalls, tmp_path: Path) -> None:
    write(tmp_path, "node_modules/a.js", "src/b.js", "deep/.env")
    (tmp_path / ".gitignore").write_text("node_modules\n.env\n")
    (tmp_path / ".git").mkdir()
    for output in (await calls.call(GLOB, pattern="**/*"), await calls.call(GREP, pattern="needle")):
        assert "src/b.js" in output.text and "node_modules/a" not in output.text and ".env" not in output.text


@pytest.mark.report("anthropics/claude-code#2224")  # fmt: skip
async def test_a_name_with_a_narrow_blank_is_found(calls: ToolCalls, tmp_path: Path) -> None:
    write(tmp_path, name := "Screenshot at 7.22.10\u202fPM.txt")
    assert name in (await calls.call(GLOB, pattern="*.txt")).text
    assert "needle" in (await calls.call(READ_FILE, file_path=name)).text
