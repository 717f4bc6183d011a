"""Tools of packs that work on files: moving, copying, deleting, adding, and parts of files (T8)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agent_ls.environments.base import Attribution, FileWrite
from agent_ls.environments.effects import WriteEffect
from agent_ls.environments.errors import AccessDeniedError
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.environments.wrappers.scoped import ScopedEnvironment
from agent_ls.tools.apply_patch import APPLY_PATCH
from agent_ls.tools.base import Tool
from agent_ls.tools.file_additions import APPEND_FILE, CREATE_FILE
from agent_ls.tools.file_moves import COPY_FILE, DELETE_FILE, MOVE_FILE
from agent_ls.tools.line_views import HEAD, READ_LINES, TAIL
from agent_ls.tools.read_file import READ_FILE
from tests.support.tool_calls import ToolCalls

pytestmark = pytest.mark.req("T8")

LINES = "".join(f"{number}\n" for number in range(1, 31))


def calls(**files: str | bytes) -> ToolCalls:
    return ToolCalls(MemoryEnvironment({name.replace("_", "."): text for name, text in files.items()}))


async def test_move_names_both_files_in_its_effect_and_keeps_every_byte() -> None:
    made = calls(a_bin=b"\0\1\2")
    prepared = await made.prepare(MOVE_FILE, source="a.bin", target="x/b.bin")
    assert isinstance(prepared.effect, WriteEffect)
    assert [file.path for file in prepared.effect.files] == ["/project/a.bin", "/project/x/b.bin"]
    output = await prepared.run()
    assert made.bytes("x/b.bin") == b"\0\1\2" and not made.exists("a.bin")
    assert output.text == "Moved a.bin to x/b.bin."


@pytest.mark.req("A1")
async def test_a_change_outside_the_folder_of_an_agent_is_refused_before_it_is_asked_about() -> None:
    made = calls(a_txt="one\n")
    await made.environment.commit([FileWrite("lib/b.txt", b"two\n", None)], Attribution("s", "t", "c"))
    made.context = replace(made.context, environment=ScopedEnvironment(made.environment, "/project/lib"))
    patch = "*** Begin Patch\n*** Update File: ../a.txt\n@@\n-one\n+two\n*** End Patch"
    refused: list[tuple[Tool[Any], dict[str, str]]] = [
        (DELETE_FILE, {"file_path": "../a.txt"}),
        (MOVE_FILE, {"source": "../a.txt", "target": "a.txt"}),
        (MOVE_FILE, {"source": "b.txt", "target": "../b.txt"}),
        (COPY_FILE, {"source": "b.txt", "target": "../b.txt"}),
        (CREATE_FILE, {"file_path": "../c.txt", "content": "x"}),
        (APPLY_PATCH, {"patch": patch}),
    ]
    for tool, arguments in refused:
        with pytest.raises(AccessDeniedError):
            await made.prepare(tool, **arguments)
    assert isinstance((await made.prepare(COPY_FILE, source="../a.txt", target="a.txt")).effect, WriteEffect)


async def test_copy_keeps_the_source_file() -> None:
    made = calls(a_txt="x\r\n")
    await made.call(COPY_FILE, source="a.txt", target="b.txt")
    assert made.bytes("a.txt") == made.bytes("b.txt") == b"x\r\n"


@pytest.mark.parametrize("tool", [MOVE_FILE, COPY_FILE], ids=lambda tool: str(tool.name))
@pytest.mark.parametrize("target", ["b.txt", "a.txt", "./a.txt"])
async def test_move_file_and_copy_file_never_replace_an_existing_target(tool: object, target: str) -> None:
    made = calls(a_txt="one", b_txt="two")
    chosen = MOVE_FILE if tool is MOVE_FILE else COPY_FILE
    error = await made.fails(chosen, source="a.txt", target=target)
    assert error.kind == "edit_conflict" and "another target" in str(error)


@pytest.mark.parametrize("tool", [MOVE_FILE, COPY_FILE, DELETE_FILE], ids=lambda tool: str(tool.name))
async def test_missing_source_is_an_error_with_similar_names(tool: object) -> None:
    made = calls(config_py="x")
    if tool is DELETE_FILE:
        error = await made.fails(DELETE_FILE, file_path="confg.py")
    else:
        error = await made.fails(
            MOVE_FILE if tool is MOVE_FILE else COPY_FILE, source="confg.py", target="b.py"
        )
    assert error.kind == "file_not_found" and "config.py" in str(error)


@pytest.mark.parametrize("tool", [MOVE_FILE, COPY_FILE, DELETE_FILE], ids=lambda tool: str(tool.name))
async def test_move_copy_and_delete_refuse_a_file_that_changed_since_the_last_read(tool: object) -> None:
    made = calls(a_txt="one\n")
    await made.call(READ_FILE, file_path="a.txt")
    await made.environment.commit([FileWrite("/project/a.txt", b"two\n", b"one\n")], made.context.attribution)
    if tool is DELETE_FILE:
        await made.fails(DELETE_FILE, file_path="a.txt")
    else:
        await made.fails(MOVE_FILE if tool is MOVE_FILE else COPY_FILE, source="a.txt", target="b.txt")
    assert made.text("a.txt") == "two\n"


async def test_delete_removes_one_file() -> None:
    made = calls(a_txt="one", b_txt="two")
    output = await made.call(DELETE_FILE, file_path="a.txt")
    assert not made.exists("a.txt") and made.exists("b.txt") and output.text == "Deleted a.txt."


async def test_create_refuses_an_existing_file_and_append_a_missing_one() -> None:
    made = calls(a_txt="one\n")
    assert (await made.fails(CREATE_FILE, file_path="a.txt", content="x")).kind == "edit_conflict"
    assert (await made.fails(APPEND_FILE, file_path="b.txt", content="x")).kind == "file_not_found"
    await made.call(CREATE_FILE, file_path="b.txt", content="x")
    await made.call(APPEND_FILE, file_path="a.txt", content="two\n")
    assert made.text("b.txt") == "x" and made.text("a.txt") == "one\ntwo\n"


async def test_head_tail_and_read_lines_return_the_line_numbers_of_the_file() -> None:
    made = calls(a_txt=LINES, empty_txt="", cut_txt="a\nb")
    assert (await made.call(READ_LINES, file_path="a.txt", first_line=7, last_line=8)).text.startswith(
        "7 | 7\n8 | 8"
    )
    assert (await made.call(HEAD, file_path="a.txt", lines=1)).text.startswith("1 | 1")
    assert (await made.call(TAIL, file_path="a.txt", lines=2)).text.startswith("29 | 29\n30 | 30")
    assert (await made.call(TAIL, file_path="a.txt", lines=99)).text.splitlines()[0].split() == [
        "1",
        "|",
        "1",
    ]
    assert (await made.call(TAIL, file_path="cut.txt", lines=1)).text.startswith("2 | b")
    assert "is empty" in (await made.call(TAIL, file_path="empty.txt")).text


async def test_lines_out_of_order_or_behind_the_end_are_refused() -> None:
    made = calls(a_txt=LINES)
    with pytest.raises(ValueError, match="last_line is before first_line"):
        await made.prepare(READ_LINES, file_path="a.txt", first_line=3, last_line=2)
    error = await made.fails(READ_LINES, file_path="a.txt", first_line=31, last_line=40)
    assert "past the end" in str(error)


async def test_tail_of_a_binary_or_missing_file_is_an_error() -> None:
    made = calls(a_bin=b"\0\1")
    assert (await made.fails(TAIL, file_path="a.bin")).kind == "binary_file"
    assert (await made.fails(TAIL, file_path="none.txt")).kind == "file_not_found"
