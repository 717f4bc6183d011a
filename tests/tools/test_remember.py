"""The tool remember: each note is added once at the end of the memory file, without changing other content."""

from __future__ import annotations

import pytest

from agent_ls.environments.effects import NoEffect, WriteEffect
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.tools.remember import MEMORY_FILE, REMEMBER, remember_tool
from tests.support.tool_calls import ToolCalls

PATH = f"/project/{MEMORY_FILE}"


async def after(before: str | None, note: str) -> str:
    files = MemoryEnvironment({} if before is None else {MEMORY_FILE: before})
    await ToolCalls(files).call(REMEMBER, note=note)
    return (await files.read_bytes(PATH)).decode()


@pytest.mark.parametrize(
    ("before", "note", "end"),
    [
        (None, "Use tabs.", "as you like.\n\n- Use tabs.\n"),
        ("", "Use tabs.", "as you like.\n\n- Use tabs.\n"),
        ("- a\n", "Use\n\n tabs.", "- a\n- Use tabs.\n"),
        ("- a", "b", "- a\n- b\n"),
        ("- a\r\n", "b", "- a\r\n- b\r\n"),
        ("- a\n- b\n", "a", "- a\n- b\n"),
    ],
)
async def test_remember_appends_a_note_to_the_memory_file(before: str | None, note: str, end: str) -> None:
    text = await after(before, note)

    assert text.endswith(end) and text.startswith(before or "# Memory\n")


async def test_a_new_note_has_a_write_effect_and_a_repeated_note_has_no_effect() -> None:
    files = MemoryEnvironment({MEMORY_FILE: "- a\n"})

    new = (await ToolCalls(files).prepare(REMEMBER, note="b")).effect
    assert isinstance(new, WriteEffect) and [write.path for write in new.files] == [PATH]
    assert (await ToolCalls(files).prepare(REMEMBER, note="a")).effect == NoEffect()


@pytest.mark.req("H26")
async def test_a_note_of_scope_user_is_added_to_the_users_file() -> None:
    files = MemoryEnvironment({MEMORY_FILE: "- a\n"})
    tool = remember_tool("/state/memory.md")

    await ToolCalls(files).call(tool, note="Answer briefly.", scope="user")
    await ToolCalls(files).call(tool, note="Use tabs.")

    users = (await files.read_bytes("/state/memory.md")).decode()
    assert "in all projects" in users and users.endswith("\n- Answer briefly.\n")
    assert (await files.read_bytes(PATH)).decode() == "- a\n- Use tabs.\n"
