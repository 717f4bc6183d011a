from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.environments.base import Attribution, FileWrite
from agent_ls.environments.effects import WriteEffect
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.tools.apply_patch import APPLY_PATCH
from agent_ls.tools.base import ToolError
from agent_ls.tools.edit_file import EDIT_FILE
from agent_ls.tools.edit_notebook import EDIT_NOTEBOOK
from agent_ls.tools.grep import GREP
from agent_ls.tools.read_file import READ_FILE
from agent_ls.tools.write_file import WRITE_FILE
from tests.support.tool_calls import ToolCalls

pytestmark = pytest.mark.req("H15")

PATH = "/project/a.ipynb"
CELLS: list[dict[str, Any]] = [
    {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title"]},
    {
        "cell_type": "code", "execution_count": 1, "id": "calc", "metadata": {}, "source": ["x = 1\n", "x + x"],
        "outputs": [{"data": {"text/plain": ["2"]}, "metadata": {}, "output_type": "execute_result"}],
    },
]  # fmt: skip


def text_of(cells: list[dict[str, Any]], minor: int = 5) -> str:
    return (
        json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": minor}, indent=1) + "\n"
    )


@pytest.fixture
def calls() -> ToolCalls:
    return ToolCalls(MemoryEnvironment({"a.ipynb": text_of(CELLS)}))


async def cells_in(calls: ToolCalls) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(await calls.environment.read_bytes(PATH))["cells"]
    return cells


EDITS: list[tuple[dict[str, Any], list[str], str]] = [
    ({"action": "replace", "cell": "2", "source": "y"}, ["# Title", "y"], "replaced the source of cell 2"),
    ({"action": "replace", "cell": 1, "source": "# New"}, ["# New", "x = 1\nx + x"], "cell 1"),
    (
        {"action": "replace", "cell": "calc", "old_string": "x + x", "source": "x * 3"},
        ["# Title", "x = 1\nx * 3"],
        "The outputs of the cell are from the last run",
    ),
    ({"action": "insert", "source": "end"}, ["# Title", "x = 1\nx + x", "end"], "inserted cell 3 (code)"),
    ({"action": "insert", "cell": "0", "source": "a"}, ["a", "# Title", "x = 1\nx + x"], "inserted cell 1"),
    (
        {"action": "insert", "cell": "intro", "source": "b", "kind": "raw"},
        ["# Title", "b", "x = 1\nx + x"],
        "(raw)",
    ),
    ({"action": "delete", "cell": "1"}, ["x = 1\nx + x"], "deleted cell 1 (markdown)"),
    (
        {"action": "change_kind", "cell": "2", "kind": "markdown"},
        ["# Title", "x = 1\nx + x"],
        "outputs of the cell were removed",
    ),
]


@pytest.mark.parametrize(("arguments", "sources", "phrase"), EDITS)
async def test_edit_notebook_changes_only_the_given_cell(
    calls: ToolCalls, arguments: dict[str, Any], sources: list[str], phrase: str
) -> None:
    await calls.call(READ_FILE, file_path="a.ipynb")

    output = await calls.call(EDIT_NOTEBOOK, file_path="a.ipynb", **arguments)

    cells = await cells_in(calls)
    assert ["".join(cell["source"]) for cell in cells] == sources
    assert phrase in output.text and [state.path for state in output.files] == [PATH]
    kept = [cell for cell in cells if cell["id"] == "calc" and cell["cell_type"] == "code"]
    assert all(cell["outputs"] == CELLS[1]["outputs"] and cell["execution_count"] == 1 for cell in kept)


async def test_inserting_a_cell_creates_a_missing_notebook(calls: ToolCalls) -> None:
    output = await calls.call(EDIT_NOTEBOOK, file_path="new.ipynb", action="insert", source="1 + 1")

    made = json.loads(await calls.environment.read_bytes("/project/new.ipynb"))
    assert [cell["source"] for cell in made["cells"]] == [["1 + 1"]] and made["nbformat"] == 4
    assert output.files[0].before is None


async def test_the_notebook_diff_contains_only_changed_lines_and_preparing_again_keeps_the_digest(
    calls: ToolCalls,
) -> None:
    await calls.call(READ_FILE, file_path="a.ipynb")
    arguments = {"file_path": "a.ipynb", "action": "insert", "cell": "1", "source": "n = 1"}

    first = await calls.prepare(EDIT_NOTEBOOK, **arguments)
    again = await calls.prepare(EDIT_NOTEBOOK, **arguments)

    assert isinstance(first.effect, WriteEffect) and first.effect.digest == again.effect.digest
    assert (
        '+    "n = 1"' in first.effect.files[0].diff and "-" not in first.effect.files[0].diff.split("@@")[2]
    )


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"action": "replace", "cell": "7", "source": "y"}, "validation", "cells 1 to 2"),
    ({"action": "replace", "source": "y"}, "validation", "id of the cell is missing"),
    ({"action": "replace", "cell": "2", "old_string": "z", "source": "y"}, "edit_conflict", "does not occur"),
    ({"action": "replace", "cell": "2", "old_string": "x", "source": "y"}, "edit_conflict", "3 times"),
    ({"action": "replace", "cell": "1", "source": "# Title"}, "edit_conflict", "already has this content"),
    ({"action": "insert", "cell": "gone", "source": "y"}, "validation", "no cell 'gone'"),
]


@pytest.mark.parametrize(("arguments", "kind", "words"), REFUSED)
async def test_an_invalid_cell_edit_changes_nothing_and_names_the_next_step(
    calls: ToolCalls, arguments: dict[str, Any], kind: str, words: str
) -> None:
    await calls.call(READ_FILE, file_path="a.ipynb")

    error = await calls.fails(EDIT_NOTEBOOK, file_path="a.ipynb", **arguments)

    assert error.kind == kind and words in str(error)
    assert await calls.environment.read_bytes(PATH) == text_of(CELLS).encode()


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "not valid JSON"), ('{"nbformat": 3}', "--nbformat 4"), ("[]", "not a notebook")],
)
async def test_an_invalid_notebook_can_be_neither_read_nor_edited(text: str, words: str) -> None:
    calls = ToolCalls(MemoryEnvironment({"a.ipynb": text}))

    for tool, arguments in ((READ_FILE, {}), (EDIT_NOTEBOOK, {"action": "insert", "source": "x"})):
        error = await calls.fails(tool, file_path="a.ipynb", **arguments)
        assert error.kind == "invalid_notebook" and words in str(error)


async def test_a_notebook_that_was_not_read_is_not_changed(calls: ToolCalls) -> None:
    error = await calls.fails(EDIT_NOTEBOOK, file_path="a.ipynb", action="delete", cell="1")

    assert error.kind == "not_read"


async def test_a_cell_number_is_stale_only_if_it_now_names_another_cell(
    calls: ToolCalls,
) -> None:
    await calls.call(READ_FILE, file_path="a.ipynb")
    new = {"cell_type": "raw", "id": "n", "metadata": {}, "source": ["new"]}
    moved = FileWrite(PATH, text_of([CELLS[0], new, CELLS[1]]).encode(), text_of(CELLS).encode())
    await calls.environment.commit([moved], Attribution())

    error = await calls.fails(EDIT_NOTEBOOK, file_path="a.ipynb", action="delete", cell="2")
    assert error.kind == "stale" and "cell_type" not in str(error)
    await calls.call(EDIT_NOTEBOOK, file_path="a.ipynb", action="replace", cell="calc", source="y")

    assert ["".join(cell["source"]) for cell in await cells_in(calls)] == ["# Title", "new", "y"]


PATCH = '*** Begin Patch\n*** Update File: a.ipynb\n@@\n-    "# Title"\n+    "# T"\n*** End Patch'
MISFIT = PATCH.replace("# Title", "no such")
OVER = "*** Begin Patch\n*** Add File: a.ipynb\n+{}\n*** End Patch"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (WRITE_FILE, {"file_path": "a.ipynb", "content": "{}"}),
        (WRITE_FILE, {"file_path": "a.ipynb", "content": "{}", "append": True}),
        (EDIT_FILE, {"file_path": "a.ipynb", "old_string": "Title", "new_string": "T"}),
        (APPLY_PATCH, {"patch": PATCH}),
        (APPLY_PATCH, {"patch": MISFIT}),
        (APPLY_PATCH, {"patch": OVER}),
    ],
)
async def test_text_tools_refuse_a_notebook_and_name_the_right_tool(
    calls: ToolCalls, tool: Any, arguments: dict[str, Any]
) -> None:
    await calls.call(READ_FILE, file_path="a.ipynb")

    error = await calls.fails(tool, **arguments)

    assert error.kind == "is_notebook" and "edit_notebook" in str(error) and '"cell_type"' not in str(error)
    assert await calls.environment.read_bytes(PATH) == text_of(CELLS).encode()


async def test_apply_patch_moves_a_notebook_without_changing_its_content(calls: ToolCalls) -> None:
    moved = "*** Begin Patch\n*** Update File: a.ipynb\n*** Move to: b.ipynb\n*** End Patch"

    await calls.call(APPLY_PATCH, patch=moved)

    assert await calls.environment.read_bytes("/project/b.ipynb") == text_of(CELLS).encode()


async def test_read_file_returns_notebook_cells_and_continues_at_a_line_offset(calls: ToolCalls) -> None:
    whole = (await calls.call(READ_FILE, file_path="a.ipynb")).text
    part = (await calls.call(READ_FILE, file_path="a.ipynb", offset=3, limit=2)).text

    assert "=== cell 2 (code, id calc, run as [1])\nx = 1\nx + x\n--- output of cell 2\n2" in whole
    assert part == "=== cell 1 (markdown, id intro)\n# Title\n\n[Lines 3-4 of 10. Continue with offset=5.]"


async def test_grep_names_cells_and_leaves_out_text_outside_sources(calls: ToolCalls) -> None:
    found = (await calls.call(GREP, pattern="x|cell_type")).text

    assert found.split("\n") == ["a.ipynb:cell 2:1:x = 1", "a.ipynb:cell 2:2:x + x"]


@pytest.mark.report("microsoft/azuredatastudio#4863")
async def test_a_new_cell_has_all_fields_that_the_format_demands(calls: ToolCalls) -> None:
    await calls.call(READ_FILE, file_path="a.ipynb")
    await calls.call(EDIT_NOTEBOOK, file_path="a.ipynb", action="insert", source="y = 1")
    new = (await cells_in(calls))[-1]
    assert (new["execution_count"], new["outputs"], new["metadata"]) == (None, [], {}) and new["id"]


@pytest.mark.report("microsoft/vscode#237299")
async def test_outputs_and_the_count_of_their_run_stay_together(calls: ToolCalls) -> None:
    await calls.call(READ_FILE, file_path="a.ipynb")
    await calls.call(EDIT_NOTEBOOK, file_path="a.ipynb", action="replace", cell="calc", source="y")
    cell = (await cells_in(calls))[1]
    assert (cell["execution_count"] is None) == (cell["outputs"] == [])


@pytest.mark.report("jupyterlab/jupyterlab#10933")
@pytest.mark.parametrize("action", ["replace", "delete", "insert", "change_kind"])
async def test_an_id_that_several_cells_have_names_none(action: str) -> None:
    cells = [{**CELLS[1], "id": "a", "source": [name]} for name in ("x", "y")]
    calls = ToolCalls(MemoryEnvironment({"a.ipynb": text_of(cells)}))
    await calls.call(READ_FILE, file_path="a.ipynb")
    with pytest.raises(ToolError, match="1, 2"):
        await calls.call(EDIT_NOTEBOOK, file_path="a.ipynb", action=action, cell="a", source="z")
    await calls.call(EDIT_NOTEBOOK, file_path="a.ipynb", action="replace", cell="2", source="z")
    assert ["".join(cell["source"]) for cell in await cells_in(calls)] == ["x", "z"]
