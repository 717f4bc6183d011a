"""Reports of searches and reads: patterns of other engines, last lines, and texts that look like escapes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.errors import EnvError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.tools.apply_patch import APPLY_PATCH
from agent_ls.tools.base import ToolError
from agent_ls.tools.grep import GREP
from agent_ls.tools.read_file import READ_FILE
from tests.patch.applying import patch
from tests.sessions.test_shell_reports import read_by_model
from tests.support.fake_provider import tool_call
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls

PATTERNS: list[Any] = [
    reported("BurntSushi/ripgrep#188", "foo(?!.*bar)", ["x foo y", "foo bar"], [1], id="negative lookahead"),
    reported("BurntSushi/ripgrep#644", "(?<!#)foobar", ["#foobar", " foobar"], [2], id="negative lookbehind"),
    reported("BurntSushi/ripgrep#571", r"def (?=[A-Z])[a-zA-Z_-]+\(.+\):", ["def a(x):", "def A(x):"], [2],
        id="lookahead"),
    reported("BurntSushi/ripgrep#276", r'(?<=/url\?q=)[^"]*', ['"/url?q=a"', "url"], [1], id="lookbehind and quotes"),
    reported("void-linux/void-packages#19365", "^((?!hello).)*$", ["hello world", "other"], [2],
        id="lines without a word"),
    reported("Lexus2016/hermes-agent-evolution#1484", r"raise (?!ValueError)\w+",
        ["raise ValueError", "raise KeyError"], [2], id="not this one"),
    reported("BurntSushi/ripgrep#1763", r"\<word\>", ["words", "a word."], [2], id="marks of words"),
    reported("Genivia/ugrep#273", r"emit.*\bfinish\b", ["emit('finish')", "emit('finished')"], [1], id="border within"),
    reported("BurntSushi/ripgrep#1982", r"(?<!\w) foo", ["-あいうえおかきくけこ foo", "- foo"], [2],
        id="lookbehind and kana"),
    pytest.param(r"(\w)\1z", ["aabz", "aaz"], [2], id="back reference"),
    pytest.param(r"(?<name>a)\k<name>", ["aba", "aa"], [2], id="named back reference"),
]  # fmt: skip


@pytest.mark.req("T6")
@pytest.mark.parametrize("ripgrep", [None, ""], ids=["ripgrep", "without"])
@pytest.mark.parametrize(("pattern", "lines", "found"), PATTERNS)
async def test_patterns_of_other_engines_find_their_lines(
    tmp_path: Path, ripgrep: str | None, pattern: str, lines: list[str], found: list[int]
) -> None:
    (tmp_path / "f").write_text("\n".join(lines) + "\n")
    real: Any = LocalEnvironment(str(tmp_path), ripgrep=ripgrep)
    output = (await ToolCalls(real).call(GREP, pattern=pattern, path="f")).text
    numbers = [int(line.split(":")[1]) for line in output.split("\n") if line.startswith("f:")]
    assert numbers == found, output


READS: list[Any] = [
    reported("NousResearch/hermes-agent#83022", "a\nb\nc", {"offset": 3}, ["3 | c"], "3", id="the last without end"),
    reported("NousResearch/hermes-agent#55697", "x1\nx2\nx3", {"limit": 2}, ["1 | x1", "2 | x2"], "3", id="a page"),
    reported("earendil-works/pi#7329", "".join(f"l{n}\n" for n in range(10)), {"limit": 2}, ["1 | l0", "2 | l1"], "10",
        id="how many"),
    reported("NousResearch/hermes-agent#107798", "a\nb\n", {}, ["1 | a", "2 | b"], "", id="no line more"),
]  # fmt: skip


@pytest.mark.req("T2")
@pytest.mark.parametrize(("content", "given", "shown", "says"), READS)
async def test_lines_are_counted_as_editors_count_them(
    tmp_path: Path, content: str, given: dict[str, int], shown: list[str], says: str
) -> None:
    (tmp_path / "f").write_text(content)
    real: Any = LocalEnvironment(str(tmp_path))
    output = (await ToolCalls(real).call(READ_FILE, file_path="f", **given)).text
    lines = [line.strip() for line in output.split("\n")]
    numbered = [line for line in lines if line[:1].isdigit() and " |" in line]
    rest = "\n".join(line for line in lines if line not in numbered)
    assert numbered == shown and says in rest
    assert says or not any(char.isdigit() for char in rest)


@pytest.mark.req("T2")
@pytest.mark.report("earendil-works/pi#8623")
@pytest.mark.report("langchain-ai/deepagents#4730")
@pytest.mark.parametrize("content", ["a\nb\n", "a\nb"])
async def test_a_read_behind_the_last_line_says_how_many_lines_there_are(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / "f").write_text(content)
    real: Any = LocalEnvironment(str(tmp_path))
    try:
        words = (await ToolCalls(real).call(READ_FILE, file_path="f", offset=3)).text
    except ToolError as error:
        words = str(error)
    assert "2" in words and "3 |" not in words


TEXTS: list[Any] = [
    reported("Kilo-Org/kilocode#4052", "<p>a &amp; b &lt;c&gt; &#39;</p>\n", id="entities"),
    reported("cline/cline#7698", "if (a &amp;&amp; b) { x = '&quot;' }\n", id="entities of another kind"),
    reported("sipeed/picoclaw#2320", 'printf("a\\n%s\\t\\\\\\"", s);\n', id="escapes"),
    reported("docker/docker-agent#99", "# Title\\n\\nText\n", id="escapes as text"),
    reported("NousResearch/hermes-agent#72797", "a = '<tool_call>{\"name\": \"x\"}</tool_call>';\n<think>b</think>\n",
        id="marks of calls"),
]  # fmt: skip


@pytest.mark.req("T3")
@pytest.mark.parametrize("content", TEXTS)
async def test_a_file_is_written_as_the_model_wrote_it(tmp_path: Path, content: str) -> None:
    project = tmp_path / "project"
    edit = {"file_path": "b.txt", "old_string": "OLD", "new_string": content}
    project.mkdir()
    (project / "b.txt").write_text("OLD")
    await read_by_model(
        tmp_path,
        tool_call("write_file", json.dumps({"file_path": "a.txt", "content": content})),
        tool_call("read_file", '{"file_path": "b.txt"}'),
        tool_call("edit_file", json.dumps(edit)),
        mode="full",
        trusted=True,
    )
    assert (project / "a.txt").read_text() == content == (project / "b.txt").read_text()


WHOLE: list[Any] = [
    reported("coder/coder#23493", ("*** Update File: f", "@@", "-a", "+A", "*** Update File: g", "@@", "-zzz", "+x"),
        id="the second file"),
    reported("bojieli/ai-agent-book#179", ("*** Add File: new", "+x", "*** Update File: g", "@@", "-zzz", "+x"),
        id="a new file"),
    reported("esengine/DeepSeek-Reasonix#1325", ("*** Update File: f", "@@", "-a", "+A", "*** Add File: g/below", "+x"),
        id="a file in the way"),
    pytest.param(("*** Delete File: f", "*** Update File: g", "@@", "-zzz", "+x"), id="a deletion"),
]  # fmt: skip


@pytest.mark.req("T4")
@pytest.mark.parametrize("lines", WHOLE)
async def test_a_patch_of_several_files_is_applied_whole_or_not_at_all(
    tmp_path: Path, lines: tuple[str, ...]
) -> None:
    for name in ("f", "g"):
        (tmp_path / name).write_text("a\n")
    real: Any = LocalEnvironment(str(tmp_path))
    with pytest.raises((ToolError, EnvError)):
        await ToolCalls(real).call(APPLY_PATCH, patch=patch(*lines))
    assert sorted(os.listdir(tmp_path)) == ["f", "g"]
    assert (tmp_path / "f").read_text() == (tmp_path / "g").read_text() == "a\n"
