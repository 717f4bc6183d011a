"""Notebooks that are open in an editor are read with its cells, and changed there by cell instead of on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from agent_ls.environments import notebooks
from agent_ls.environments.base import READ_LIMIT_BYTES, Attribution, FileWrite
from agent_ls.environments.editor_host import OpenNotebook
from agent_ls.environments.errors import CommitError, EditRefusedError, StaleFileError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.environments.notebooks import NotebookEnvironment
from agent_ls.notebook.cell_alignment import EditorCell
from agent_ls.notebook.notebook_text import TargetCell
from agent_ls.tools.base import ToolError
from agent_ls.tools.edit_notebook import EDIT_NOTEBOOK
from agent_ls.tools.read_file import READ_FILE
from agent_ls.tools.write_file import WRITE_FILE
from tests.support.tool_calls import ToolCalls

pytestmark = pytest.mark.req("H15")

PATH = "/project/a.ipynb"
OUTPUT = {"name": "stdout", "output_type": "stream", "text": ["1\n"]}
CELLS = [
    {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title"]},
    {
        "cell_type": "code", "execution_count": 1, "id": "calc", "metadata": {"tags": ["t"]}, "outputs": [OUTPUT],
        "source": ["print(1)"],
    },
]  # fmt: skip
TEXT = json.dumps({"cells": CELLS, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"
SHOWN = (EditorCell("markdown", "# Title", "intro"), EditorCell("code", "print(1)", "calc"))
CALL = Attribution("s", "t", "c")


class FakeNotebookHost:
    """An editor that reports true results. `before_change` simulates an action of its user before a change is
    applied.
    """

    def __init__(self, cells: tuple[EditorCell, ...] = SHOWN, path: str = PATH) -> None:
        self.path = path
        self.shown: OpenNotebook | None = OpenNotebook(path, 1, cells)
        self.asked: list[Sequence[TargetCell]] = []
        self.before_change: Callable[[], None] = lambda: None
        self.refusal = ""

    def cells(self) -> list[EditorCell]:
        assert self.shown
        return list(self.shown.cells)

    def type(self, at: int, source: str) -> None:
        cells = self.cells()
        cells[at] = replace(cells[at], source=source)
        assert self.shown
        self.shown = replace(self.shown, cells=tuple(cells), version=self.shown.version + 1)

    def open_notebook(self, path: str) -> OpenNotebook | None:
        return self.shown if path == self.path else None

    async def change_cells(self, notebook: OpenNotebook, wanted: Sequence[TargetCell]) -> OpenNotebook:
        self.before_change()
        if self.refusal:
            raise EditRefusedError(notebook.path, self.refusal)
        if notebook != self.shown:
            raise StaleFileError(notebook.path)
        self.asked.append(wanted)
        cells = tuple(
            EditorCell(
                cell.kind, cell.source, cell.id if cell.origin is None else notebook.cells[cell.origin].id
            )
            for cell in wanted
        )
        self.shown = OpenNotebook(self.path, notebook.version + 1, cells)
        return self.shown


@pytest.fixture
def disk() -> MemoryEnvironment:
    return MemoryEnvironment({"a.ipynb": TEXT})


@pytest.fixture
def host() -> FakeNotebookHost:
    return FakeNotebookHost()


@pytest.fixture
def calls(disk: MemoryEnvironment, host: FakeNotebookHost) -> ToolCalls:
    return ToolCalls(NotebookEnvironment(disk, host))  # type: ignore[arg-type]  # it only passes it on


async def test_unsaved_cells_are_read_and_outputs_come_from_the_file(
    calls: ToolCalls, host: FakeNotebookHost
) -> None:
    assert await calls.environment.read_bytes(PATH) == TEXT.encode(), "nothing was typed: the file as it is"
    host.type(1, "print(2)")

    content = (await calls.call(READ_FILE, file_path="a.ipynb")).text

    assert "print(2)\n--- output of cell 2\n1" in content and "print(1)" not in content


@pytest.mark.parametrize(
    ("arguments", "sources"),
    [
        ({"action": "replace", "cell": "2", "source": "print(3)"}, ["# Mine", "print(3)"]),
        ({"action": "insert", "cell": "1", "source": "new"}, ["# Mine", "new", "print(1)"]),
        ({"action": "delete", "cell": "calc"}, ["# Mine"]),
        ({"action": "change_kind", "cell": "2", "kind": "raw"}, ["# Mine", "print(1)"]),
    ],
)
async def test_a_cell_is_changed_in_the_editor_and_not_on_disk(
    calls: ToolCalls,
    host: FakeNotebookHost,
    disk: MemoryEnvironment,
    arguments: dict[str, str],
    sources: list[str],
) -> None:
    host.type(0, "# Mine")
    await calls.call(READ_FILE, file_path="a.ipynb")

    output = await calls.call(EDIT_NOTEBOOK, file_path="a.ipynb", **arguments)

    assert [cell.source for cell in host.cells()] == sources
    assert await disk.read_bytes(PATH) == TEXT.encode()
    (state,) = output.files
    assert state.after == await calls.environment.read_bytes(PATH) and "meanwhile" not in output.text


class SavingDisk(LocalEnvironment):
    """A real folder whose notebook is being saved: the first read gets half of the file, and then the rest is
    written.
    """

    is_saving = False

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        if not self.is_saving:
            return await super().read_bytes(path, max_bytes)
        file = anyio.Path(path)
        whole = await file.read_bytes()
        await file.write_bytes(whole[: len(whole) // 2])
        data = await super().read_bytes(path, max_bytes)
        await file.write_bytes(whole)
        self.is_saving = False
        return data


@pytest.mark.parametrize("tool", ["read_file", "edit_notebook"])
async def test_a_notebook_file_that_is_invalid_while_the_editor_saves_is_read_again(
    tmp_path: Path, tool: str
) -> None:
    (tmp_path / "a.ipynb").write_text(TEXT)
    disk = SavingDisk(str(tmp_path))
    host = FakeNotebookHost(path=str(tmp_path / "a.ipynb"))
    calls = ToolCalls(NotebookEnvironment(disk, host))  # type: ignore[arg-type]  # it only passes it on
    host.type(1, "print(2)")
    await calls.call(READ_FILE, file_path="a.ipynb")
    disk.is_saving = True

    if tool == "read_file":
        assert "print(2)" in (await calls.call(READ_FILE, file_path="a.ipynb")).text
    else:
        await calls.call(EDIT_NOTEBOOK, file_path="a.ipynb", action="replace", cell="2", source="print(3)")
        assert [cell.source for cell in host.cells()] == ["# Title", "print(3)"]

    assert not disk.is_saving, "the file was not read"
    assert (tmp_path / "a.ipynb").read_text() == TEXT


async def test_reading_a_notebook_whose_file_stays_invalid_json_is_a_tool_error(
    calls: ToolCalls, disk: MemoryEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notebooks, "SAVE_PAUSE_S", 0)
    await disk.commit([FileWrite(PATH, b"{", TEXT.encode())], CALL)

    with pytest.raises(ToolError, match="is not valid JSON"):
        await calls.call(READ_FILE, file_path="a.ipynb")


async def test_undoing_a_notebook_change_edits_the_cells_of_the_open_notebook(
    calls: ToolCalls, host: FakeNotebookHost
) -> None:
    await calls.call(READ_FILE, file_path="a.ipynb")
    output = await calls.call(EDIT_NOTEBOOK, file_path="a.ipynb", action="delete", cell="2")
    (state,) = output.files

    await calls.environment.commit([FileWrite(PATH, state.before, state.after)], CALL)

    assert tuple(host.cells()) == SHOWN


async def test_text_typed_by_the_user_during_an_edit_is_not_overwritten(
    calls: ToolCalls, host: FakeNotebookHost
) -> None:
    await calls.call(READ_FILE, file_path="a.ipynb")
    host.before_change = lambda: host.type(1, "typed")

    with pytest.raises(StaleFileError):
        await calls.call(EDIT_NOTEBOOK, file_path="a.ipynb", action="replace", cell="2", source="x")

    assert [cell.source for cell in host.cells()] == ["# Title", "typed"]


async def test_a_notebook_edit_that_the_editor_refuses_is_reported_and_nothing_is_written(
    calls: ToolCalls, host: FakeNotebookHost, disk: MemoryEnvironment
) -> None:
    await calls.call(READ_FILE, file_path="a.ipynb")
    host.refusal = "it is read only"

    with pytest.raises(EditRefusedError, match="read only"):
        await calls.call(EDIT_NOTEBOOK, file_path="a.ipynb", action="delete", cell="2")

    assert await disk.read_bytes(PATH) == TEXT.encode() and tuple(host.cells()) == SHOWN


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{}", "no nbformat version"),
        (b"no json", "not valid JSON"),
        (None, "close the notebook there first"),
    ],
)
async def test_writing_invalid_content_to_an_open_notebook_or_deleting_an_open_notebook_is_refused(
    calls: ToolCalls, disk: MemoryEnvironment, content: bytes | None, words: str
) -> None:
    with pytest.raises(EditRefusedError, match=words):
        await calls.environment.commit([FileWrite(PATH, content, TEXT.encode())], CALL)

    assert await disk.read_bytes(PATH) == TEXT.encode()


async def test_text_tools_do_not_change_an_open_notebook(calls: ToolCalls, host: FakeNotebookHost) -> None:
    await calls.call(READ_FILE, file_path="a.ipynb")

    with pytest.raises(ToolError, match="edit_notebook"):
        await calls.call(WRITE_FILE, file_path="a.ipynb", content=TEXT)

    assert host.asked == []


async def test_a_commit_is_refused_if_the_cells_of_the_open_notebook_are_unknown(
    calls: ToolCalls, host: FakeNotebookHost, disk: MemoryEnvironment
) -> None:
    assert host.shown
    host.shown = replace(host.shown, cells=(), problem="the editor did not tell all")

    with pytest.raises(EditRefusedError, match="did not tell all"):
        await calls.environment.commit([FileWrite(PATH, TEXT.encode(), TEXT.encode())], CALL)

    assert await disk.read_bytes(PATH) == TEXT.encode()


async def test_a_commit_of_a_notebook_and_other_files_is_all_or_nothing(
    calls: ToolCalls, host: FakeNotebookHost, disk: MemoryEnvironment
) -> None:
    writes = [
        FileWrite(PATH, TEXT.replace("# Title", "# T").encode(), TEXT.encode()),
        FileWrite("/project/b.txt", b"b", b"what it never was"),
    ]
    with pytest.raises(StaleFileError):
        await calls.environment.commit(writes, CALL)
    assert tuple(host.cells()) == SHOWN and len(host.asked) == 2

    await calls.environment.commit([writes[0], FileWrite("/project/b.txt", b"b", None)], CALL)

    assert host.cells()[0].source == "# T" and await disk.read_bytes("/project/b.txt") == b"b"


async def test_the_commit_error_names_a_notebook_that_cannot_be_restored(
    calls: ToolCalls, host: FakeNotebookHost
) -> None:
    def type_into_the_change() -> None:
        if host.asked:
            host.type(0, "typed")

    host.before_change = type_into_the_change
    writes = [
        FileWrite(PATH, TEXT.replace("# Title", "# T").encode(), TEXT.encode()),
        FileWrite("/project/b.txt", b"b", b"what it never was"),
    ]
    with pytest.raises(CommitError, match="Could not restore") as caught:
        await calls.environment.commit(writes, CALL)
    assert caught.value.unrestored == (PATH,)
    assert host.cells()[0].source == "typed"


async def test_a_notebook_that_is_not_open_is_changed_on_disk(
    calls: ToolCalls, host: FakeNotebookHost, disk: MemoryEnvironment
) -> None:
    host.shown = None
    await calls.call(READ_FILE, file_path="a.ipynb")

    await calls.call(EDIT_NOTEBOOK, file_path="a.ipynb", action="replace", cell="1", source="# New")

    assert await disk.read_bytes(PATH) == TEXT.replace("# Title", "# New").encode()
