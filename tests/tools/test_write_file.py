from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.base import sha256
from agent_ls.environments.effects import NoEffect, WriteEffect
from agent_ls.environments.errors import NotAFileError, StaleFileError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.tools.read_file import READ_FILE
from agent_ls.tools.write_file import WRITE_FILE
from tests.support.tool_calls import ToolCalls, TypingEnvironment


async def session(content: str | bytes, *, read: bool = True) -> ToolCalls:
    calls = ToolCalls(MemoryEnvironment({"f": content}))
    if read:
        await calls.call(READ_FILE, file_path="f")
    return calls


@pytest.mark.req("T3")
async def test_write_file_when_new_then_parent_folders_are_created_and_bytes_reported() -> None:
    calls = ToolCalls()
    output = await calls.call(WRITE_FILE, file_path="a/b/c.txt", content="hä\n")
    assert output.text == "Created a/b/c.txt: wrote 4 bytes."
    assert calls.text("a/b/c.txt") == "hä\n"
    assert [(state.path, state.before, state.after) for state in output.files] == [
        ("/project/a/b/c.txt", None, "hä\n".encode())
    ]


@pytest.mark.req("T3", "X9")
@pytest.mark.parametrize(
    ("old", "arguments", "new", "says"),
    [
        pytest.param(
            "old\n",
            {"content": "new\n"},
            b"new\n",
            "Wrote 4 bytes to f, which replace the former 4 bytes.",
            id="replace",
        ),
        pytest.param(
            "one\n",
            {"content": "two\n", "append": True},
            b"one\ntwo\n",
            "Appended 4 bytes to f, which now has 8.",
            id="append",
        ),
        pytest.param("a\r\nb\r\n", {"content": "x\ny\n"}, b"x\r\ny\r\n", "Wrote 6 bytes", id="crlf-kept"),
        pytest.param(
            "a\r\n", {"content": "b\n", "append": True}, b"a\r\nb\r\n", "Appended 3 bytes", id="crlf-appended"
        ),
        pytest.param("a\r\nb\n", {"content": "x\ny\n"}, b"x\ny\n", "Wrote", id="mixed-endings-as-written"),
        pytest.param("a\r\n", {"content": "x\r\ny\n"}, b"x\r\ny\n", "Wrote", id="endings-written-out"),
        pytest.param("\ufeffa\n", {"content": "b\n"}, "\ufeffb\n".encode(), "Wrote", id="bom-kept"),
        pytest.param("ä".encode("utf-16"), {"content": "ö"}, "ö".encode("utf-16"), "Wrote", id="utf-16-kept"),
        pytest.param(
            b"\xe9\n", {"content": "x", "append": True}, b"\xe9\nx", "Appended", id="undecodable-kept"
        ),
        pytest.param("", {"content": "x"}, b"x", "Wrote 1 bytes", id="empty-file"),
    ],
)
async def test_write_file_keeps_the_encoding_and_line_endings_of_an_existing_file(
    old: str | bytes, arguments: dict[str, object], new: bytes, says: str
) -> None:
    calls = await session(old)
    output = await calls.call(WRITE_FILE, file_path="f", **arguments)
    assert calls.bytes("f") == new
    assert output.text.startswith(says)


@pytest.mark.req("X9", "T9")
async def test_write_file_when_the_file_was_not_read_then_it_is_refused() -> None:
    error = await (await session("old", read=False)).fails(WRITE_FILE, file_path="f", content="new")
    assert error.kind == "not_read"
    assert "f exists and you have not read it in this session. Read the file first" in str(error)


@pytest.mark.req("X9", "T9")
async def test_write_file_refuses_a_file_that_changed_since_the_last_read_with_a_diff() -> None:
    calls = await session("one\ntwo\n")
    calls.environment.put("f", "one\n2\n")
    error = await calls.fails(WRITE_FILE, file_path="f", content="new")
    assert error.kind == "stale"
    assert "f has changed" in str(error)
    assert "-two\n+2" in str(error)


async def test_write_file_after_a_resume_refuses_a_changed_file_and_returns_no_diff() -> None:
    calls = await session("one\n")
    calls.reads.contents.clear()
    calls.environment.put("f", "two\n")
    error = await calls.fails(WRITE_FILE, file_path="f", content="new")
    assert error.kind == "stale"
    assert "What changed" not in str(error)


async def test_write_file_overwrites_a_file_that_the_session_wrote_earlier_without_a_read() -> None:
    calls = ToolCalls()
    await calls.call(WRITE_FILE, file_path="f", content="one")
    await calls.call(WRITE_FILE, file_path="f", content="two")
    assert calls.text("f") == "two"


@pytest.mark.parametrize(("append", "content"), [(False, "same\n"), (True, "")])
async def test_write_file_when_nothing_changes_then_no_approval_is_needed(append: bool, content: str) -> None:
    calls = await session("same\n")
    prepared = await calls.prepare(WRITE_FILE, file_path="f", content=content, append=append)
    assert prepared.effect == NoEffect()
    assert (await prepared.run()).text == "f already has exactly this content. Nothing was written."


@pytest.mark.req("X9")
async def test_write_file_when_the_file_changes_between_prepare_and_run_then_nothing_is_written() -> None:
    calls = await session("one\n")
    prepared = await calls.prepare(WRITE_FILE, file_path="f", content="new")
    calls.environment.put("f", "typed\n")
    with pytest.raises(StaleFileError):
        await prepared.run()
    assert calls.text("f") == "typed\n"


async def test_write_file_preparation_has_the_exact_diff_and_writes_nothing() -> None:
    calls = await session("one\ntwo\n")
    prepared = await calls.prepare(WRITE_FILE, file_path="f", content="one\n2\n")
    assert isinstance(prepared.effect, WriteEffect)
    (planned,) = prepared.effect.files
    assert (planned.path, planned.action) == ("/project/f", "modify")
    assert planned.diff == "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    assert calls.text("f") == "one\ntwo\n"


async def test_write_file_change_key_depends_on_the_binary_content_that_is_replaced() -> None:
    keys = set()
    for old in (b"\0\xfe", b"\0\xff"):
        calls = ToolCalls(MemoryEnvironment({"f": old}))
        calls.reads.record("/project/f", sha256(old), old)
        effect = (await calls.prepare(WRITE_FILE, file_path="f", content="text")).effect
        assert isinstance(effect, WriteEffect)
        assert "Binary files" in effect.files[0].diff
        keys.add(effect.files[0].change_key)
    assert len(keys) == 2


async def test_write_file_result_reports_changes_that_the_user_typed_at_the_same_time() -> None:
    calls = ToolCalls(TypingEnvironment())
    output = await calls.call(WRITE_FILE, file_path="f", content="x\n")
    assert "[f also contains" in output.text
    assert calls.reads.content_of("/project/f") == b"x\n"


async def test_write_file_when_the_path_is_a_folder_then_the_environments_error_passes_through() -> None:
    with pytest.raises(NotAFileError):
        await ToolCalls(MemoryEnvironment({"d/f": ""})).call(WRITE_FILE, file_path="d", content="x")


@pytest.mark.report("esengine/DeepSeek-Reasonix#3354")
@pytest.mark.report("NousResearch/hermes-agent#76447")
async def test_write_file_keeps_the_encoding_and_the_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes("// 中文注释说明\nint a;\n".encode("gbk"))
    (tmp_path / "link").symlink_to("real")
    real: Any = LocalEnvironment(str(tmp_path))
    calls = ToolCalls(real)
    await calls.call(READ_FILE, file_path="link")
    await calls.call(WRITE_FILE, file_path="link", content="// 中文注释说明\nint b;\n")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == "// 中文注释说明\nint b;\n".encode("gbk")
