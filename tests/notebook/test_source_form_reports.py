"""Notebooks that other agents broke: line ends of cells, forms of `source`, and what must stay."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.notebook.cells import parse_notebook
from agent_ls.notebook.render import render_notebook
from tests.notebook.test_notebook_reports import cell, notebook, replaced

pytestmark = pytest.mark.req("H15")
NEW = "def hello():\n    print('world')\n    return True"


def source(text: str, at: int = 0) -> Any:
    return json.loads(text)["cells"][at]["source"]


@pytest.mark.report("bojieli/ai-agent-book#86", "jsboige/CoursIA#413")
def test_lines_of_a_changed_cell_keep_their_ends_and_the_form_of_the_file() -> None:
    listed = source(replaced(json.dumps(notebook(cell(["a\n", "b"]))), 0, NEW))
    assert listed == NEW.splitlines(keepends=True)
    one = source(replaced(json.dumps(notebook(cell("a\nb"))), 0, NEW))
    assert "".join(one) == NEW


@pytest.mark.report("luk400/vim-jukit#121")
def test_ids_metadata_and_other_outputs_stay() -> None:
    other = cell(
        "y",
        id="b",
        metadata={"nbgrader": {"grade": True}},
        outputs=[{"output_type": "stream", "text": ["1"]}],
    )
    before = notebook(cell("x", id="a", metadata={"tags": ["t"]}), other)
    before["metadata"] = {"kernelspec": {"name": "python3"}, "own": {"x": 1}}
    after = json.loads(replaced(json.dumps(before), 0, "z"))
    assert after["metadata"] == before["metadata"] and after["cells"][1] == other
    assert (after["cells"][0]["id"], after["cells"][0]["metadata"]) == ("a", {"tags": ["t"]})


@pytest.mark.report("jupyterlab/jupyterlab#2751")
def test_a_list_of_lines_is_shown_without_blank_lines() -> None:
    shown = render_notebook(
        parse_notebook(json.dumps(notebook(cell(["one\n", "two\n", "three"])))), "n.ipynb"
    )
    assert "one\n" in shown and "\n\n" not in shown[shown.index("one") : shown.index("three")]


@pytest.mark.report("jsboige/CoursIA#6293")
@pytest.mark.report("ipython/ipython#9638")
def test_a_cell_without_an_id_can_be_changed_in_version_4_5() -> None:
    before = notebook(cell("x", id="a"), cell("y"))
    after = json.loads(replaced(json.dumps(before), 1, "z"))
    assert after["cells"][0] == before["cells"][0] and "".join(after["cells"][1]["source"]) == "z"


@pytest.mark.report("opendatahub-io/distributed-workloads#737")
@pytest.mark.parametrize("as_ascii", [True, False])
def test_letters_are_written_as_in_the_file(as_ascii: bool) -> None:
    text = json.dumps(notebook(cell("é ✓"), cell("x = 1")), indent=1, ensure_ascii=as_ascii)
    assert replaced(text, 1, "x = 3") == text.replace("x = 1", "x = 3")


@pytest.mark.report("microsoft/vscode#147252")  # fmt: skip
@pytest.mark.parametrize(
    "keys",
    [
        ("cell_type", "execution_count", "source", "outputs", "metadata", "id"),
        ("id", "source", "metadata", "outputs", "execution_count", "cell_type"),
    ],
)
def test_the_keys_of_cells_and_of_the_file_keep_their_order(keys: tuple[str, ...]) -> None:
    cells = [{key: cell(name, id=name)[key] for key in keys} for name in ("a", "b")]
    text = json.dumps(
        {"nbformat_minor": 5, "nbformat": 4, "metadata": {"z": 1, "a": 2}, "cells": cells}, indent=1
    )
    assert replaced(text, 1, "c") == text.replace('"source": "b"', '"source": "c"')


@pytest.mark.report("jsboige/CoursIA#5028")
def test_lines_without_ends_are_shown_as_they_run_and_stay() -> None:
    joined = cell(["# note", "x = 1"], id="a")
    text = json.dumps(notebook(joined, cell("y", id="b")))
    assert "# notex = 1" in render_notebook(parse_notebook(text), "n.ipynb")
    assert json.loads(replaced(text, 1, "z"))["cells"][0] == joined
