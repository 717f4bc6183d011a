"""The tool rename_symbol: the editor's changes are checked, and applied to all files or to none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from agent_ls.environments.base import sha256
from agent_ls.environments.effects import WriteEffect
from agent_ls.environments.errors import NoAnswerError, StaleFileError
from agent_ls.environments.language_host import FileChanges, TextChange
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.tools.editor_edits import MAX_ATTEMPTS
from agent_ls.tools.rename_symbol import rename_symbol
from agent_ls.tools.text_changes import apply_text_changes
from tests.support.language_host import KnownCode
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls

FILES = {"a.py": "def add(x):\n    return x\n", "b.py": "import a\r\ns = '😀'; a.add(1); a.add(2)\r\n"}
ASKED = {"file_path": "a.py", "line": 1, "symbol": "add"}


def change(line: int, start: int, end: int, text: str = "plus") -> TextChange:
    return TextChange(line, start, line, end, text)


def answer(
    *files: tuple[str, Sequence[TextChange]], document: str | None = None
) -> Callable[[], list[FileChanges]]:
    return lambda: [FileChanges(f"/project/{name}", tuple(changes), document) for name, changes in files]


BOTH = answer(("b.py", [change(1, 22, 25), change(1, 12, 15)]), ("a.py", [change(0, 4, 7)]))


def failing(error: Exception) -> Callable[[], list[FileChanges]]:
    def rename() -> list[FileChanges]:
        raise error

    return rename


@pytest.mark.req("T14")
async def test_all_occurrences_in_all_files_are_changed_and_listed() -> None:
    calls, host = ToolCalls(MemoryEnvironment(FILES)), KnownCode(renames=[BOTH])

    output = await calls.call(rename_symbol(host), **ASKED, new_name="plus")

    assert calls.text("a.py") == "def plus(x):\n    return x\n"
    assert calls.text("b.py") == "import a\r\ns = '😀'; a.plus(1); a.plus(2)\r\n"
    assert output.text.splitlines() == [
        "Renamed add to plus in 2 files:",
        "",
        "a.py:1: def plus(x):",
        "b.py:2: s = '😀'; a.plus(1); a.plus(2)",
    ]
    assert {state.path for state in output.files} == {"/project/a.py", "/project/b.py"}


@pytest.mark.req("T14")
async def test_rename_symbol_has_a_write_effect_and_changes_nothing_before_approval() -> None:
    calls, host = ToolCalls(MemoryEnvironment(FILES)), KnownCode(renames=[BOTH])

    prepared = await calls.prepare(rename_symbol(host), **ASKED, new_name="plus")

    assert isinstance(prepared.effect, WriteEffect)
    assert [(file.path, file.action) for file in prepared.effect.files] == [
        ("/project/a.py", "modify"),
        ("/project/b.py", "modify"),
    ]
    assert "+def plus(x):" in prepared.effect.files[0].diff
    assert calls.text("a.py") == FILES["a.py"]


@pytest.mark.req("T14")
@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([("a.py", [change(0, 4, 7)]), ("b.py", [change(1, 12, 15), change(1, 14, 16)])], "same text twice"),
        ([("a.py", [change(0, 4, 7)]), ("b.py", [change(9, 0, 3)])], "outside of the file"),
        reported(
            "neovim/neovim#15467",
            [("a.py", [TextChange(1, 5, 0, 4, "plus")])],
            "outside of the file",
        ),
        (
            [("a.py", [change(0, 4, 7)]), ("b.py", [change(1, 0, 3)])],
            "line 2 has 's =' where it expects 'add'",
        ),
        ([("a.py", [change(0, 4, 7, "\ud800")])], "lone surrogate"),
        ([("bin.py", [change(0, 0, 1)])], "not valid UTF-8"),
        ([("a.py", [])], "returned no changes for 'add'"),
        ([("a.py", [change(0, 4, 7, "add")])], "returned no changes for 'add'"),
        ([], "returned no changes for 'add'"),
    ],
    ids=[
        "overlap",
        "no such line",
        "backwards",
        "other text",
        "surrogate",
        "bytes",
        "no edits",
        "same",
        "no files",
    ],
)
async def test_an_invalid_answer_of_the_editor_changes_nothing(
    files: list[tuple[str, Sequence[TextChange]]], words: str
) -> None:
    calls = ToolCalls(MemoryEnvironment({**FILES, "bin.py": b"\xff\xfa\x01 add"}))

    error = await calls.fails(rename_symbol(KnownCode(renames=[answer(*files)])), **ASKED, new_name="plus")

    assert words in str(error) and "grep" in str(error)


@pytest.mark.req("T14")
async def test_rename_symbol_without_a_response_of_the_editor_or_with_the_same_name_is_an_error() -> None:
    calls = ToolCalls(MemoryEnvironment(FILES))
    refusing = KnownCode(renames=[failing(NoAnswerError("It would also move files."))])

    silent = await calls.fails(rename_symbol(KnownCode()), **ASKED, new_name="plus")
    refused = await calls.fails(rename_symbol(refusing), **ASKED, new_name="plus")
    same = await calls.fails(rename_symbol(refusing), **ASKED, new_name="add")

    assert "answer within" in str(silent) and "Nothing was changed." in str(silent)
    assert "move files. Nothing was changed." in str(refused)
    assert "name 'add'" in str(same)


@pytest.mark.req("T14")
async def test_the_rename_is_requested_again_after_a_response_for_an_outdated_text() -> None:
    now = answer(("a.py", [change(0, 4, 7)]), document=FILES["a.py"])
    before = answer(("a.py", [change(3, 4, 7)]), document="# typed\n\n\n" + FILES["a.py"])
    stale = failing(StaleFileError("/project/a.py"))
    host = KnownCode(renames=[stale, before, now])
    calls = ToolCalls(MemoryEnvironment(FILES))

    await calls.call(rename_symbol(host), **ASKED, new_name="plus")

    assert calls.text("a.py").startswith("def plus(x)") and len(host.asked) == 3
    moving = KnownCode(renames=[failing(StaleFileError("/project/a.py"))])
    error = await ToolCalls(MemoryEnvironment(FILES)).fails(rename_symbol(moving), **ASKED, new_name="plus")
    assert (error.kind, len(moving.asked)) == ("stale", MAX_ATTEMPTS)


@pytest.mark.req("T14")
async def test_a_rename_does_not_count_as_reading_its_files() -> None:
    calls, host = ToolCalls(MemoryEnvironment(FILES)), KnownCode(renames=[BOTH])
    calls.reads.record("/project/a.py", sha256(FILES["a.py"].encode()), FILES["a.py"].encode())

    await calls.call(rename_symbol(host), **ASKED, new_name="plus")

    assert calls.reads.digest_of("/project/a.py") == sha256(calls.bytes("a.py"))
    assert calls.reads.digest_of("/project/b.py") is None


@pytest.mark.req("T14")
@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("a\r\nb", [TextChange(0, 0, 2, 0, "x\ny\n")], "x\r\ny\r\n"),
        ("ab", [change(0, 1, 1, "-"), change(0, 1, 2, "B")], "a-B"),
        ("ab", [change(0, 1, 2, "B"), change(0, 1, 1, "-")], "a-B"),
        ("one\ntwo", [TextChange(0, 3, 1, 0, " ")], "one two"),
        ("a\n", [TextChange(0, 0, 2_000_000_000, 0, "b\n")], "b\n"),
        ("a\n", [TextChange(1, 0, 1, 0, "b\n")], "a\nb\n"),
        ("é😀x", [change(0, 3, 4, "y")], "é😀y"),
        ("é😀x", [change(0, 2, 4, "y")], "éy"),
        ("a\u2028b\n", [change(0, 2, 3, "c")], "a\u2028c\n"),
        ("a", [], "a"),
    ],
)
def test_text_changes_are_applied_at_the_editors_positions(
    text: str, changes: list[TextChange], expected: str
) -> None:
    assert apply_text_changes(text, changes) == expected


@pytest.mark.report("microsoft/language-server-protocol#321")
def test_insertions_at_one_place_keep_their_order_and_precede_a_replacement() -> None:
    first, second = TextChange(0, 1, 0, 1, "1"), TextChange(0, 1, 0, 1, "2")
    replaced = TextChange(0, 1, 0, 2, "B")
    for changes in ([first, second, replaced], [replaced, first, second], [first, replaced, second]):
        assert apply_text_changes("ab\n", changes) == "a12B\n"
