"""Notebooks that broke in other tools, each as its smallest input."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agent_ls.notebook.cells import NotebookError, parse_notebook
from agent_ls.notebook.notebook_text import TargetCell, build_notebook_text, target_cells
from agent_ls.notebook.render import render_notebook
from tests.support.reports import reported

pytestmark = pytest.mark.req("H15")


def cell(source: object, **more: object) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": source,
        **more,
    }


def notebook(*cells: dict[str, Any], minor: int = 5) -> dict[str, Any]:
    return {"cells": [*cells], "metadata": {}, "nbformat": 4, "nbformat_minor": minor}


ONE = notebook(cell(["x = 1"], id="c1"), cell(["y = 2\n", "z"], id="c2"))


def replaced(text: str, at: int, source: str) -> str:
    found = parse_notebook(text)
    wanted = target_cells(found)
    wanted[at] = replace(wanted[at], source=source)
    return build_notebook_text(found, wanted)


def added(text: str) -> dict[str, Any]:
    found = parse_notebook(text)
    document: dict[str, Any] = json.loads(
        build_notebook_text(found, [*target_cells(found), TargetCell("code", "new")])
    )
    return document


@pytest.mark.parametrize(
    "layout",
    [
        reported("jupyter/nbformat#228", lambda it: json.dumps(it, indent=4) + "\n", id="four"),
        reported("nteract/archived-desktop-app#4273", lambda it: json.dumps(it, indent=1) + "\n", id="one"),
        reported(
            "microsoft/vscode-python#7887", lambda it: json.dumps(it, separators=(",", ":")), id="one line"
        ),
        reported("jupyter/nbconvert#236", lambda it: json.dumps(it, indent=1), id="no final newline"),
        reported(
            "jsboige/CoursIA#13589", lambda it: json.dumps(it, indent=1).replace("\n", "\r\n"), id="crlf"
        ),
    ],
)
def test_a_change_of_one_cell_keeps_every_other_byte(layout: Callable[[object], str]) -> None:
    text = layout(ONE)
    assert replaced(text, 0, "x = 3") == text.replace("x = 1", "x = 3")


@pytest.mark.report("microsoft/vscode-jupyter#5933")
def test_ids_of_cells_are_kept() -> None:
    document = json.loads(replaced(json.dumps(ONE), 1, "changed"))
    assert [it["id"] for it in document["cells"]] == ["c1", "c2"]


@pytest.mark.parametrize(
    ("before", "has_id"),
    [
        reported("AnswerDotAI/nbdev#1553", notebook(cell("a"), minor=4), False, id="minor 4"),
        reported("holoviz-dev/nbsmoke#63", notebook(cell("a"), minor=2), False, id="minor 2"),
        reported(
            "datalayer/jupyter-mcp-server#449",
            notebook(cell("a"), cell("b"), minor=3),
            False,
            id="minor 3",
        ),
        reported(
            "jsboige/CoursIA#6285", notebook(cell("a"), cell("b", id="b"), minor=5), True, id="missing ids"
        ),
    ],
)
def test_a_new_cell_has_an_id_only_where_the_format_has_ids(before: dict[str, Any], has_id: bool) -> None:
    document = added(json.dumps(before))
    assert document["cells"][:-1] == before["cells"]
    assert ("id" in document["cells"][-1]) == has_id


@pytest.mark.parametrize(
    "text",
    [
        reported("vivek3141/dl-visualization#2", "", id="empty"),
        reported("interpretml/DiCE#425", json.dumps(notebook())[:-1] + ",}", id="comma"),
        reported("scipp/scipp#149", json.dumps(notebook(cell("'alice'"))).replace("'", '"'), id="quote"),
    ],
)
def test_a_damaged_notebook_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(NotebookError, match=r"\w"):
        parse_notebook(text)


@pytest.mark.parametrize(
    "one",
    [
        reported(
            "Bycelium/PyFlow#158",
            {"cell_type": "markdown", "id": "m", "metadata": {}, "source": []},
            id="empty markdown",
        ),
        reported(
            "interpretml/interpret-community#52",
            cell("x", id="l", outputs=[{"output_type": "stream", "name": "stdout", "text": "l" * 2_000_000}]),
            id="long line",
        ),
    ],
)
def test_an_unusual_cell_is_shown_and_can_be_replaced(one: dict[str, Any]) -> None:
    text = json.dumps(notebook(one), indent=1)
    assert one["id"] in render_notebook(parse_notebook(text), "a.ipynb")
    changed = json.loads(replaced(text, 0, "new\nlines"))["cells"][0]
    assert "".join(changed["source"]) == "new\nlines" and changed.get("outputs") == one.get("outputs")
