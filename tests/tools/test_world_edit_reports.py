"""More reports about edits of files: moves, patches of odd form, links, owners and line numbers; with real files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.errors import EnvError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.tools.apply_patch import APPLY_PATCH
from agent_ls.tools.base import ToolError
from agent_ls.tools.edit_file import EDIT_FILE
from agent_ls.tools.grep import GREP
from agent_ls.tools.read_file import READ_FILE
from agent_ls.tools.write_file import WRITE_FILE
from tests.patch.applying import patch
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls

pytestmark = pytest.mark.req("T3")


@pytest.fixture
def calls(tmp_path: Path) -> ToolCalls:
    real: Any = LocalEnvironment(str(tmp_path))
    return ToolCalls(real)


def update(*lines: str) -> str:
    return patch("*** Update File: f", *lines)


PATCHED: list[Any] = [
    reported(
        "coddy-project/coddy-agent#57",
        b"a\r\nb\r\n\r\n\r\n",
        update("@@", " a", "-b", "+B"),
        b"a\r\nB\r\n\r\n\r\n",
        id="CRLF and blank lines at the end",
    ),
    reported(
        "Kuberwastaken/claurst#225",
        b"a\r\nb\r\nc\r\nd\r\n",
        update("@@", "-a", "+A", "+A2", "@@", " c", "+x"),
        b"A\r\nA2\r\nb\r\nc\r\nx\r\nd\r\n",
        id="CRLF, two hunks",
    ),
    reported(
        "NousResearch/hermes-agent#63678",
        b"a\nb\nc\n",
        update("@@", " a", "@@", "-c", "+C"),
        b"a\nb\nC\n",
        id="a hunk without a change beside one with",
    ),
    reported(
        "OpenHands/software-agent-sdk#4163",
        b"a\nb",
        update("@@", " b", "+c"),
        b"a\nb\nc\n",
        id="at the end without a newline",
    ),
    reported(
        "wkentaro/git-hunk#9",
        b"a\nb",
        update("@@", " a", "-b", "\\ No newline at end of file", "+B", "\\ No newline at end of file"),
        b"a\nB",
        id="marks of no newline on both sides",
    ),
    reported(
        "BaseIntelligence/bounty-challenge#19647",
        b"a\nb\n",
        update("@@", " a", "-b", "+B", "\\ No newline at end of file"),
        b"a\nB",
        id="the newline is taken away",
    ),
    reported(
        "bobmatnyc/trusty-tools#2150",
        b"a\nb",
        update("@@ -1,2 +1,2 @@", "-a", "+A", " b", "\\ No newline at end of file"),
        b"A\nb",
        id="mark after context",
    ),
    reported(
        "aakarim/OpenLore#91",
        b"a\nb\nc\n",
        update("@@ -1,2 +1,2 @@", " a", "-b", "+B", "", ""),
        b"a\nB\nc\n",
        id="blank lines after the last hunk",
    ),
    reported(
        "aakarim/OpenLore#91",
        b"a\nb\nc\nd\ne\n",
        update("@@ -1,2 +1,2 @@", " a", "-b", "+B", "", "@@ -4,2 +4,2 @@", " d", "-e", "+E", ""),
        b"a\nB\nc\nd\nE\n",
        id="blank lines between hunks",
    ),
]


@pytest.mark.parametrize(("before", "text", "after"), PATCHED)
async def test_a_patch_changes_these_bytes_only(
    calls: ToolCalls, tmp_path: Path, before: bytes, text: str, after: bytes
) -> None:
    (tmp_path / "f").write_bytes(before)
    await calls.call(READ_FILE, file_path="f")
    await calls.call(APPLY_PATCH, patch=text)
    assert (tmp_path / "f").read_bytes() == after


REFUSED: list[Any] = [
    reported(
        "NousResearch/hermes-agent#40237",
        "@@ -1,1 +1,1 @@\n-a\n+A\n",
        "Begin Patch",
        id="no file header",
    ),
    reported(
        "NousResearch/hermes-agent#63678",
        update("@@", " a", " b"),
        "changes nothing",
        id="context only",
    ),
    reported(
        "NousResearch/hermes-agent#108351",
        update("@@", "-a", "+A", "@@", " zzz", "+y"),
        "zzz",
        id="the second hunk",
    ),
    reported(
        "openai/openai-agents-python#4919",
        patch("*** Update File: f", "*** Move to: g", "@@", "-a", "+A"),
        "g",
        id="moved onto another file",
    ),
]


@pytest.mark.parametrize(("text", "says"), REFUSED)
async def test_a_patch_that_cannot_be_applied_whole_changes_nothing(
    calls: ToolCalls, tmp_path: Path, text: str, says: str
) -> None:
    (tmp_path / "f").write_text("a\nb\nc\n")
    (tmp_path / "g").write_text("important\n")
    await calls.call(READ_FILE, file_path="f")
    with pytest.raises(ToolError, match=says):
        await calls.call(APPLY_PATCH, patch=text)
    assert (tmp_path / "f").read_text() == "a\nb\nc\n" and (tmp_path / "g").read_text() == "important\n"


@pytest.mark.report("cline/cline#12998")
@pytest.mark.parametrize("target", ["./f", "f", "sub/../f", "link"])
async def test_a_file_moved_to_itself_stays(calls: ToolCalls, tmp_path: Path, target: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "f").write_text("a\n")
    (tmp_path / "link").symlink_to("f")
    await calls.call(READ_FILE, file_path="f")
    moved = patch("*** Update File: f", f"*** Move to: {target}", "@@", "-a", "+b")
    try:
        await calls.call(APPLY_PATCH, patch=moved)
    except ToolError:
        assert (tmp_path / "f").read_text() == "a\n"
    else:
        assert (tmp_path / "f").read_text() == "b\n"


@pytest.mark.report("imtms/tagent-core#77")
@pytest.mark.report("QwenLM/qwen-code#4431")
@pytest.mark.parametrize("mode", [0o755, 0o640, 0o4755, 0o666])
async def test_an_edited_file_keeps_its_mode_and_owner(calls: ToolCalls, tmp_path: Path, mode: int) -> None:
    path = tmp_path / "f"
    path.write_text("a\n")
    if os.geteuid() == 0:
        os.chown(path, 12345, 54321)
    path.chmod(mode)
    owner = (path.stat().st_uid, path.stat().st_gid)
    await calls.call(READ_FILE, file_path="f")
    await calls.call(APPLY_PATCH, patch=update("@@", "-a", "+b"))
    await calls.call(EDIT_FILE, file_path="f", old_string="b", new_string="c")
    await calls.call(WRITE_FILE, file_path="f", content="d\n")
    assert path.read_text() == "d\n" and path.stat().st_mode & 0o7777 == mode
    assert (path.stat().st_uid, path.stat().st_gid) == owner
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.report("NVIDIA-NeMo/labs-OO-Agents#94")
@pytest.mark.report("coctostan/pi-hashline-readmap#153")
async def test_an_edit_reaches_the_file_behind_all_its_names(calls: ToolCalls, tmp_path: Path) -> None:
    (tmp_path / "real").write_text("a\n")
    (tmp_path / "hard").hardlink_to(tmp_path / "real")
    (tmp_path / "one").symlink_to("real")
    (tmp_path / "two").symlink_to("one")
    await calls.call(READ_FILE, file_path="two")
    await calls.call(EDIT_FILE, file_path="two", old_string="a", new_string="b")
    assert [(tmp_path / name).read_text() for name in ("real", "hard", "two")] == ["b\n"] * 3
    assert (tmp_path / "one").is_symlink() and (tmp_path / "two").is_symlink()
    assert (tmp_path / "real").samefile(tmp_path / "hard")


@pytest.mark.report("langchain-ai/deepagents#5589")
@pytest.mark.parametrize("everywhere", [True, False])
async def test_an_empty_old_text_is_refused(calls: ToolCalls, tmp_path: Path, everywhere: bool) -> None:
    (tmp_path / "f").write_text("abc")
    await calls.call(READ_FILE, file_path="f")
    with pytest.raises(ToolError):
        await calls.call(EDIT_FILE, file_path="f", old_string="", new_string="X", replace_all=everywhere)
    assert (tmp_path / "f").read_text() == "abc"


NUMBERED: list[Any] = [
    reported(
        "langchain-ai/deepagents#5787",
        b"a\n\n\x0c\nb\n    target\n",
        5,
    ),
    reported(
        "oraios/serena#1699",
        b"line0\n\x0cline1\ntarget\n",
        3,
    ),
    reported(
        "use-agent-os/agent-os#3176",
        b"a\nb\rc\ntarget\n",
        4,
    ),
    reported(
        "Digital-Process-Tools/claude-supertool#1060",
        "a\u2028b\u2029c\x0b\x1c\x85d\ntarget\n".encode(),
        2,
    ),
    pytest.param(b"10%\r50%\rtarget\rdone\nend\n", 3, id="within a line"),
    pytest.param(b"a\rb\rtarget\r", 3, id="CR only"),
    pytest.param("\ufeffa\nb\rc\ntarget\n".encode("utf-16-le"), 4, id="UTF-16"),
    pytest.param(b"a\r\nb\r\ntarget\r\n", 3, id="CRLF"),
]


@pytest.mark.parametrize("ripgrep", [None, ""], ids=["ripgrep", "without"])
@pytest.mark.parametrize(("content", "line"), NUMBERED)
async def test_all_tools_count_the_same_lines(
    tmp_path: Path, content: bytes, line: int, ripgrep: str | None
) -> None:
    real: Any = LocalEnvironment(str(tmp_path), ripgrep=ripgrep)
    calls = ToolCalls(real)
    (tmp_path / "f").write_bytes(content)
    found = (await calls.call(GREP, pattern="target", path="f")).text
    shown = (await calls.call(READ_FILE, file_path="f", offset=line, limit=1)).text
    edited = (await calls.call(EDIT_FILE, file_path="f", old_string="target", new_string="goal")).text
    assert f"{line}:" in found.replace(" ", "") and "target" in shown
    code = "utf-16-le" if b"\0" in content else "utf-8"
    after = content.replace("target".encode(code), "goal".encode(code))
    assert f"line {line}." in edited and (tmp_path / "f").read_bytes() == after


READ: list[Any] = [
    reported(
        "lloydzhou/bash-agent#50",
        "// 你好，世界\nint a;\n".encode("gbk"),
        "你好，世界",
    ),
    reported(
        "anthropics/anthropic-sdk-typescript#1195",
        "x = '\ufffd'\n".encode(),
        "'\ufffd'",
    ),
]


@pytest.mark.parametrize(("content", "shown"), READ)
async def test_the_model_reads_the_text_and_an_edit_keeps_the_bytes(
    calls: ToolCalls, tmp_path: Path, content: bytes, shown: str
) -> None:
    (tmp_path / "f").write_bytes(content + b"y = 1\n")
    assert shown in (await calls.call(READ_FILE, file_path="f")).text
    await calls.call(EDIT_FILE, file_path="f", old_string="y = 1", new_string="y = 2")
    assert (tmp_path / "f").read_bytes() == content + b"y = 2\n"


async def test_a_character_cut_at_the_end_of_a_file_is_kept(calls: ToolCalls, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes("x = 1\n# 你好".encode()[:-1])
    await calls.call(READ_FILE, file_path="f")
    await calls.call(EDIT_FILE, file_path="f", old_string="x = 1", new_string="x = 2")
    assert (tmp_path / "f").read_bytes() == "x = 2\n# 你好".encode()[:-1]


@pytest.mark.report("use-agent-os/agent-os#1909")
async def test_a_file_is_written_with_the_line_ends_that_were_given(calls: ToolCalls, tmp_path: Path) -> None:
    for name, content in {"new": "a\r\nb\nc\r\n", "lf": "a\nb\n"}.items():
        await calls.call(WRITE_FILE, file_path=name, content=content)
        assert (tmp_path / name).read_bytes() == content.encode()


@pytest.mark.report("langchain-ai/deepagents#2463")
@pytest.mark.parametrize("path", ["/mail_05?", "a/b/\u2028/c", "x" * 300, "nul\0byte", "f/below", ""])
async def test_a_path_that_is_no_file_is_an_error_for_the_model(
    calls: ToolCalls, tmp_path: Path, path: str
) -> None:
    (tmp_path / "f").write_text("a\n")
    for tool, more in ((EDIT_FILE, {"old_string": "a", "new_string": "b"}), (READ_FILE, {})):
        with pytest.raises((ToolError, EnvError)):
            await calls.call(tool, file_path=path, **more)
