"""Messages about files that no tool can handle: read-only, huge, or with a name that is not UTF-8."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.environments.base import GrepOptions, GrepResult
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.tools import grep
from agent_ls.tools.apply_patch import APPLY_PATCH
from agent_ls.tools.base import Tool, ToolError
from agent_ls.tools.edit_file import EDIT_FILE
from agent_ls.tools.read_file import READ_FILE
from tests.support import REPOSITORY
from tests.support.tool_calls import ToolCalls


async def refused(calls: ToolCalls, tool: Tool[Any], **arguments: str) -> str:
    with pytest.raises(ToolError) as caught:
        await calls.call(tool, **arguments)
    return str(caught.value)


@pytest.mark.req("T2")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has file names that are not text")
async def test_a_file_whose_name_is_not_utf_8_is_said_to_need_a_command(tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.mkdir()
    for name in (b"bad\xff.txt", b"bad1.txt"):
        (odd / os.fsdecode(name)).write_text("x\n")
    calls = ToolCalls(LocalEnvironment(str(tmp_path), environ={}))  # type: ignore[arg-type]
    for tool, more in ((READ_FILE, {}), (EDIT_FILE, {"old_string": "x", "new_string": "y"})):
        words = await refused(calls, tool, file_path="odd/bad\ufffd.txt", **more)
        assert "not UTF-8" in words and "Did you mean" not in words and "bad?.txt" in words
    other = await refused(calls, READ_FILE, file_path="odd/bad.txt")
    assert "bad1.txt" in other and "\ufffd" not in other


@pytest.mark.req("T2", "T4", "T9")
async def test_a_link_without_its_target_is_named_instead_of_suggested(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").symlink_to("moved.txt")
    (tmp_path / "note.txt").write_text("x\n")
    calls = ToolCalls(LocalEnvironment(str(tmp_path), environ={}))  # type: ignore[arg-type]
    patch = "*** Begin Patch\n*** Update File: notes.txt\n@@\n-x\n+y\n*** End Patch"
    for words in (
        await refused(calls, READ_FILE, file_path="notes.txt"),
        await refused(calls, EDIT_FILE, file_path="notes.txt", old_string="x", new_string="y"),
        await refused(calls, APPLY_PATCH, patch=patch),
    ):
        assert "link" in words and "Did you mean" not in words


@pytest.mark.req("T6", "T9")
@pytest.mark.parametrize("pattern", ["a\nb", r"a\nb"])
async def test_a_pattern_of_several_lines_searches_over_lines(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "a.txt").write_text("a\nb\n")
    calls = ToolCalls(LocalEnvironment(str(tmp_path)))  # type: ignore[arg-type]
    for arguments in ({}, {"multiline": True}):
        found = await calls.call(grep.GREP, pattern=pattern, **arguments)
        assert "a.txt:1:a" in found.text


@pytest.mark.req("T6", "T9")
async def test_a_pattern_that_neither_search_knows_is_not_blamed_on_a_missing_program(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    calls = ToolCalls(LocalEnvironment(str(tmp_path)))  # type: ignore[arg-type]
    words = await refused(calls, grep.GREP, pattern=r"(?<=b)a|\p{Lu}")
    assert "look-around" in words and "not installed" not in words


class SlowSearches(MemoryEnvironment):
    async def grep(self, pattern: str, path: str, options: GrepOptions) -> GrepResult:
        await anyio.sleep_forever()
        raise AssertionError("this point is never reached")


@pytest.mark.req("T6")
@pytest.mark.parametrize(("path", "word"), [("big.txt", "a command"), (".", "smaller folder")])
async def test_a_search_that_takes_too_long_says_what_helps_for_a_file_and_for_a_folder(
    path: str, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grep, "SEARCH_LIMIT_S", 0.01)
    calls = ToolCalls(SlowSearches({"big.txt": "x\n"}))
    reason = await refused(calls, grep.GREP, pattern="x", path=path)
    assert word in reason and ("big.txt" in reason) == (path == "big.txt")


WRITE = """
import anyio, sys
from agent_ls.environments.base import Attribution, FileWrite
from agent_ls.environments.local import LocalEnvironment

async def main():
    place = LocalEnvironment(sys.argv[1], environ={})
    await place.commit([FileWrite("new.txt", b"x", None)], Attribution())

try:
    anyio.run(main)
except Exception as error:
    print(error)
"""


@pytest.mark.req("E4")
@pytest.mark.group("processes")
def test_a_failed_write_into_a_read_only_folder_says_that_nothing_was_changed(tmp_path: Path) -> None:
    folder = tmp_path / "ro"
    folder.mkdir()
    script = 'mount -t tmpfs -o ro none "$1" && exec "$2" -c "$3" "$1"'
    words = ["unshare", "-rm", "sh", "-c", script, "sh", str(folder), sys.executable, WRITE]
    if not shutil.which("unshare") or subprocess.run([*words[:2], "true"], check=False).returncode:
        pytest.skip("needs the right to mount")
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environ, timeout=240)
    assert "new.txt" in done.stdout and "Could not restore" not in done.stdout, done
    assert "Nothing was changed" in done.stdout
