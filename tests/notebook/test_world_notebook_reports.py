"""Notebooks of more reports, edited with the tool as a model does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.tools.base import ToolError
from agent_ls.tools.edit_notebook import EDIT_NOTEBOOK
from agent_ls.tools.read_file import READ_FILE
from tests.notebook.test_notebook_reports import cell, notebook
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls

pytestmark = pytest.mark.req("H15")

MARKDOWN = {"cell_type": "markdown", "metadata": {}, "source": ["# T\n", "words"]}
RESULT = {"output_type": "execute_result", "data": {"text/plain": "1"}, "metadata": {}, "execution_count": 1}


async def edited(before: str | dict[str, Any], **arguments: Any) -> tuple[dict[str, Any], str]:
    """Return the notebook after the edit, and its text."""
    text = before if isinstance(before, str) else json.dumps(before, indent=1) + "\n"
    calls = ToolCalls(MemoryEnvironment({"n.ipynb": text.encode()}))
    await calls.call(READ_FILE, file_path="n.ipynb")
    await calls.call(EDIT_NOTEBOOK, file_path="n.ipynb", **arguments)
    return json.loads(calls.text("n.ipynb")), calls.text("n.ipynb")


def check(document: dict[str, Any]) -> None:
    """Check what the schema of nbformat 4 asks of the fields of cells."""
    for it in document["cells"]:
        extra = {"outputs", "execution_count"} if it["cell_type"] == "code" else set()
        optional = {"id"} if document["nbformat_minor"] >= 5 else set()
        assert {*it} - {"attachments"} - optional == {"cell_type", "metadata", "source", *extra}
        assert not optional or it["id"]


def sources(document: dict[str, Any]) -> list[str]:
    return ["".join(it["source"]) for it in document["cells"]]


EDITS: list[Any] = [
    reported("kuds/mesozoic-labs#383", "replace", "1", "a = 1\nnew = 2\nb = 3\n", []),
    ("insert", "0", "x\ny", ["a = 1\nb = 3\n"]),
]  # fmt: skip


@pytest.mark.parametrize(("action", "at", "new", "rest"), EDITS)
async def test_a_cell_whose_source_is_one_text_is_edited(
    action: str, at: str, new: str, rest: list[Any]
) -> None:
    cells = [{**cell("a"), "source": "a = 1\nb = 3\n"}, {**MARKDOWN, "source": "# T\nwords"}]
    document, text = await edited({**notebook(), "cells": cells}, action=action, cell=at, source=new)
    assert sources(document) == [new, *rest, "# T\nwords"]
    assert json.dumps("# T\nwords") in text


NAMED: list[Any] = [
    reported(
        "esengine/DeepSeek-Reasonix#2491",
        {"action": "insert", "cell": "0", "source": "new"},
        ["new", "a", "b"],
        id="before the first",
    ),
    reported(
        "esengine/DeepSeek-Reasonix#2491",
        {"action": "replace", "cell": "1", "content": "new"},
        ["new", "b"],
        id="content",
    ),
    pytest.param({"action": "replace", "cell": "1", "new_source": "new"}, ["new", "b"], id="new_source"),
    pytest.param(
        {"action": "replace", "cell": "1", "old_string": "a", "new_string": "new"},
        ["new", "b"],
        id="new_string",
    ),
    pytest.param({"action": "replace", "cell_number": 1, "source": "new"}, ["new", "b"], id="cell_number"),
    pytest.param({"action": "replace", "cell_id": "x2", "source": "new"}, ["a", "new"], id="cell_id"),
    pytest.param(
        {"edit_mode": "replace", "cell_id": "x2", "new_source": "new"}, ["a", "new"], id="edit_mode"
    ),
    pytest.param(
        {"edit_mode": "insert", "cell_id": "x2", "new_source": "new", "cell_type": "markdown"},
        ["a", "b", "new"],
        id="cell_type",
    ),
    reported(
        "datalayer/jupyter-mcp-server#173",
        {"action": "insert", "source": "new"},
        ["a", "b", "new"],
        id="at the end",
    ),
    reported(
        "QwenLM/qwen-code#2812",
        {"action": "replace", "cell": "2", "source": "new"},
        ["a", "new"],
        id="by number",
    ),
]


@pytest.mark.parametrize(("arguments", "after"), NAMED)
async def test_a_cell_is_named_as_models_name_it(arguments: dict[str, Any], after: list[str]) -> None:
    document, _ = await edited(notebook(cell(["a"], id="x1"), cell(["b"], id="x2")), **arguments)
    assert sources(document) == after


@pytest.mark.parametrize(
    ("action", "cell"), [("insert", "-1"), ("insert", "end"), ("delete", "-1"), ("replace", "cell-1")]
)
async def test_a_name_that_tools_read_in_different_ways_is_refused(action: str, cell: str) -> None:
    with pytest.raises(ToolError, match="cells 1 to 1") as refused:
        await edited(notebook({**MARKDOWN, "id": "x1"}), action=action, cell=cell, source="new")
    assert ("no cell at the end" in str(refused.value)) is (action == "insert")


@pytest.mark.report("microsoft/azuredatastudio#14481")
async def test_a_notebook_with_crlf_keeps_it() -> None:
    text = json.dumps(notebook(cell(["a\n", "b"], id="x1")), indent=1).replace("\n", "\r\n") + "\r\n"
    _, after = await edited(text, action="replace", cell="1", source="c\nd")
    assert after == text.replace('"a\\n"', '"c\\n"').replace('"b"', '"d"')


@pytest.mark.report("microsoft/vscode#92878")
@pytest.mark.report("GoogleCloudPlatform/evalbench#573")
@pytest.mark.parametrize("kind", ["code", "markdown", "raw"])
async def test_cells_of_each_kind_have_the_fields_of_the_format(kind: str) -> None:
    before = notebook(cell(["a"], id="x1", outputs=[RESULT], execution_count=1), {**MARKDOWN, "id": "x2"})
    added, _ = await edited(before, action="insert", cell="1", source="new", kind=kind)
    assert sources(added) == ["a", "new", "# T\nwords"] and added["cells"][1]["cell_type"] == kind
    for document in (
        added,
        *[
            (await edited(before, action="change_kind", cell=at, kind=kind))[0]
            for at in ("1", "2")
            if at + kind not in ("1code", "2markdown")
        ],
    ):
        check(document)


@pytest.mark.report("ucbds-infra/otter-grader#701")
async def test_a_notebook_of_an_older_version_gets_no_ids() -> None:
    document, _ = await edited(notebook(cell(["a"]), minor=4), action="insert", source="new")
    check(document)
    assert document["nbformat_minor"] == 4 and not any("id" in it for it in document["cells"])


ODD: list[Any] = [
    reported(
        "ipython/ipython#7869",
        cell(["a"], id="x2", metadata=[]),
    ),
    reported(
        "ipython/ipython#12471",
        cell(["%ls\r\n", "b\r\n"], id="x2"),
    ),
    reported(
        "noahgift/spot_price_machine_learning#5",
        cell(["a"], id="x2", outputs=[{"output_type": "execute_result", "data": {}, "metadata": {}}]),
    ),
    reported(
        "GoogleCloudPlatform/evalbench#573",
        {"cell_type": "code", "id": "x2", "metadata": {}, "source": "a"},
    ),
]


@pytest.mark.parametrize("odd", ODD)
async def test_a_cell_of_odd_form_can_be_read_and_edited_and_is_else_left_alone(odd: dict[str, Any]) -> None:
    before = notebook(cell(["one"], id="x1"), odd)
    document, _ = await edited(before, action="replace", cell="1", source="two")
    assert document["cells"][1] == odd and sources(document)[0] == "two"
    document, _ = await edited(before, action="replace", cell="2", source="x\ny")
    assert (
        sources(document)[1].replace("\r", "") == "x\ny"
        and document["cells"][1]["metadata"] == odd["metadata"]
    )


BROKEN = (
    '{"cells": [{"cell_type": "code", "source": "a"}], "metadata": {}, "nbformat": 4 "nbformat_minor": 5}'
)


@pytest.mark.report("BaseIntelligence/bounty-challenge#24867")
@pytest.mark.parametrize("text", [BROKEN, '<<<<<<< HEAD\n{"cells": []}\n', "{"])
async def test_a_notebook_that_cannot_be_read_stays_as_it_is(text: str) -> None:
    calls = ToolCalls(MemoryEnvironment({"n.ipynb": text.encode()}))
    with pytest.raises(ToolError):
        await calls.call(READ_FILE, file_path="n.ipynb")
    with pytest.raises(ToolError):
        await calls.call(EDIT_NOTEBOOK, file_path="n.ipynb", action="replace", cell="1", source="b")
    assert calls.text("n.ipynb") == text


@pytest.mark.report("datalayer/jupyter-mcp-server#293")
@pytest.mark.parametrize("number", ["-1", "-7", "0", "3", -1])
async def test_a_number_of_no_cell_deletes_nothing(number: str | int) -> None:
    text = json.dumps(notebook(cell("a"), cell("b")))
    calls = ToolCalls(MemoryEnvironment({"n.ipynb": text.encode()}))
    await calls.call(READ_FILE, file_path="n.ipynb")
    with pytest.raises(ToolError):
        await calls.call(EDIT_NOTEBOOK, file_path="n.ipynb", action="delete", cell=number)
    assert calls.text("n.ipynb") == text


@pytest.mark.report("microsoft/azuredatastudio#8189")
@pytest.mark.parametrize("named", [{}, {"source": None}])
async def test_a_cell_without_a_source_is_empty_and_stays(named: dict[str, Any]) -> None:
    odd = {"cell_type": "code", "id": "x2", "metadata": {}, "outputs": [], "execution_count": None, **named}
    before = notebook(cell(["one"], id="x1"), odd)
    document, shown = await edited(before, action="replace", cell="1", source="two")
    assert document["cells"][1] == odd and "two" in shown
    document, _ = await edited(before, action="replace", cell="2", source="two")
    assert "".join(document["cells"][1]["source"]) == "two"


@pytest.mark.report("OpenBioLink/ThoughtSource#128")
@pytest.mark.parametrize("action", ["replace", "delete", "insert"])
async def test_an_id_of_two_cells_names_none(action: str) -> None:
    text = json.dumps(notebook(cell("a", id="x"), cell("b", id="x")))
    calls = ToolCalls(MemoryEnvironment({"n.ipynb": text.encode()}))
    await calls.call(READ_FILE, file_path="n.ipynb")
    with pytest.raises(ToolError, match="1, 2"):
        await calls.call(EDIT_NOTEBOOK, file_path="n.ipynb", action=action, cell="x", source="z")
    assert calls.text("n.ipynb") == text


@pytest.mark.report("microsoft/vscode-jupyter#16554")
async def test_outputs_of_other_cells_stay_to_the_letter() -> None:
    outputs = [
        {"output_type": "display_data", "metadata": {}, "data": {"image/png": data}}
        for data in ("aGk=\n", ["aG\n", "k="])
    ]
    before = notebook(cell("a", id="x1"), cell("b", id="x2", outputs=outputs))
    document, _ = await edited(before, action="replace", cell="1", source="c")
    assert document["cells"][1] == before["cells"][1]
