"""Features that only the in-memory environment has: mode bits, a clock, and commands as a callable."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.environments.base import Attribution, CommandOptions, ExecResult, FileWrite, OutputSink
from agent_ls.environments.errors import AccessDeniedError, NotAFolderError, PathNotFoundError
from agent_ls.environments.memory import DEFAULT_MODE, MemoryEnvironment

pytestmark = pytest.mark.req("X1")

WHO = Attribution()


async def test_file_modes_are_kept_by_writes_and_moved_with_renamed_files() -> None:
    env = MemoryEnvironment()
    env.put("run.sh", "1", mode=0o755)
    env.put("old.sh", "2", mode=0o700)
    await env.commit(
        [
            FileWrite("run.sh", b"!", b"1"),
            FileWrite("new.sh", b"2", None, "old.sh"),
            FileWrite("old.sh", None, b"2"),
            FileWrite("plain", b"", None),
        ],
        WHO,
    )
    modes = {path: file.mode for path, file in env.files.items()}
    assert modes == {"/project/run.sh": 0o755, "/project/new.sh": 0o700, "/project/plain": DEFAULT_MODE}


async def test_a_write_of_unchanged_content_keeps_the_modification_time() -> None:
    env = MemoryEnvironment({"a": "1", "b": "2"})
    before = env.files["/project/a"]
    await env.commit([FileWrite("a", b"1", b"1"), FileWrite("b", b"3", b"2")], WHO)
    assert env.files["/project/a"] == before
    assert env.files["/project/b"].mtime > before.mtime


async def test_a_read_only_file_is_not_overwritten() -> None:
    env = MemoryEnvironment()
    env.put("a", "1", mode=0o444)
    with pytest.raises(AccessDeniedError, match="read-only"):
        await env.commit([FileWrite("a", b"2", b"1")], WHO)
    await env.commit([FileWrite("a", None, b"1")], WHO)
    assert env.files == {}


async def test_commands_are_passed_to_the_run_command_callable_with_their_working_folder() -> None:
    seen: list[tuple[str, str]] = []

    async def run(command: str, options: CommandOptions, on_output: OutputSink | None) -> ExecResult:
        seen.append((command, options.working_dir))
        if on_output:
            on_output("stdout", "hi")
        return ExecResult("hi", "", "hi", 0, False, 1)

    pieces: list[str] = []
    env = MemoryEnvironment({"sub/a": ""}, run_command=run)
    await env.exec_command("one", CommandOptions(), lambda _, text: pieces.append(text))
    await env.exec_command("two", CommandOptions(working_dir="sub"))
    assert seen == [("one", "/project"), ("two", "/project/sub")]
    assert pieces == ["hi"]
    with pytest.raises(PathNotFoundError):
        await env.exec_command("three", CommandOptions(working_dir="missing"))
    with pytest.raises(NotAFolderError):
        await env.exec_command("four", CommandOptions(working_dir="sub/a"))


def test_a_file_that_is_no_text_or_outside_of_the_folder_is_refused() -> None:
    wrong: Any = 5
    env = MemoryEnvironment({"/etc/hosts": "", "sub/../a": ""})
    with pytest.raises(TypeError, match="content"):
        env.put("q", wrong)
    with pytest.raises(TypeError, match="path"):
        env.put("sub/../../up", "")
    with pytest.raises(TypeError, match="path"):
        MemoryEnvironment({"../up": ""})
    assert sorted(env.files) == ["/etc/hosts", "/project/a"]
