"""Notebooks as other tools have written, shown and broken them; more of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agent_ls.notebook.cells import NotebookError, parse_notebook
from agent_ls.notebook.notebook_text import TargetCell, build_notebook_text, target_cells
from agent_ls.notebook.render import render_notebook
from tests.notebook.test_notebook_reports import added, cell, notebook, replaced
from tests.support.reports import reported

pytestmark = pytest.mark.req("H15")


def shown(*outputs: dict[str, Any]) -> str:
    return render_notebook(parse_notebook(json.dumps(notebook(cell("x", outputs=[*outputs])))), "n.ipynb")


def stream(text: object, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


OUTPUTS = [
    reported("NousResearch/hermes-agent#80907", stream(["epoch 1\n", "loss 0.25\n"]), "loss 0.25", "", id="log"),
    pytest.param(stream("".join(f"\r{n}%|###" for n in range(100)) + "\rdone 100%\n"), "done 100%", "37%",
        id="progress"),
    reported("jjsantos01/jupyter-notebook-mcp#7",
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[0;31mE\x1b[0m: v"]},
        "E: v", "\x1b", id="colours"),
    reported("microsoft/vscode#280499",
        {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORw0KGgo" * 90_000}}, "image/png",
        "iVBORw0KGgo", id="picture"),
    pytest.param(
        {
            "output_type": "execute_result",
            "metadata": {},
            "execution_count": 1,
            "data": {"text/html": ["<table>" * 9000], "text/plain": ["   a\n", "0  1"]},
        },
        "0  1",
        "<table>",
        id="table",
    ),
    pytest.param(
        {
            "output_type": "display_data",
            "metadata": {},
            "data": {"application/vnd.plotly.v1+json": {"data": [1] * 9000}},
        },
        "plotly",
        "1, 1, 1, 1",
        id="json",
    ),
    reported("plotly/plotly.py#5056",
        {"output_type": "display_data", "metadata": {}, "data": {
            "application/vnd.plotly.v1+json": {"data": [{"x": [1] * 350_000}]},
            "text/html": ["<script>" + "x" * 500_000 + "</script>"]}},
        "vnd.plotly.v1+json|text/html", "1, 1, 1, 1", id="figure"),
    pytest.param({"output_type": "update_display_data", "data": None}, "update_display_data", "", id="no data"),
    pytest.param({"output_type": "stream", "name": "stdout"}, "x", "", id="no text"),
    pytest.param({"output_type": "error", "ename": "E", "evalue": "v", "traceback": None}, "E: v", "None",
        id="no traceback"),
    pytest.param({}, "x", "[None]", id="empty output"),
]  # fmt: skip


@pytest.mark.parametrize(("output", "has", "lacks"), OUTPUTS)
def test_outputs_are_shown_short_and_as_text(output: dict[str, Any], has: str, lacks: str) -> None:
    text = shown(output)
    assert all(words in text for words in has.split("|")) and len(text) < 4000
    assert not lacks or lacks not in text


UNUSUAL = [
    reported(
        "jupytext/jupytext#792",
        {
            "cells": [cell("a=5"), cell([]), cell([])],
            "metadata": {
                "kernelspec": {"argv": ["python"], "env": None, "metadata": None, "name": "python3"},
                "name": "u",
            },
            "nbformat": 4,
            "nbformat_minor": 2,
        },
        id="null in metadata",
    ),
    reported(
        "VRSEN/agency-swarm#41",
        {
            "cells": [
                {
                    "cell_type": "code",
                    "id": "b3bb4f042e4b3050",
                    "metadata": {"collapsed": False},
                    "outputs": [],
                    "source": "x",
                }
            ],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        },
        id="no count",
    ),
    reported(
        "googlecolab/colabtools#581",
        {
            "cells": [cell("x", metadata={"id": "same"}), cell("y", metadata={"id": "same"})],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 0,
        },
        id="same ids",
    ),
    pytest.param(notebook(cell("x", id="same"), cell("y", id="same")), id="same real ids"),
    reported(
        "AnswerDotAI/exhash#45",
        notebook(cell("# h", cell_type="markdown"), cell("", id="e")),
        id="empty last",
    ),
    reported(
        "rossant/ipymd#80",
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {},
            "cells": [cell("x", metadata={"deletable": True, "editable": True})],
        },
        id="other order",
    ),
    pytest.param(
        {
            "cells": [
                {"cell_type": "code", "source": None, "metadata": {}, "outputs": [], "execution_count": None}
            ],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 4,
        },
        id="null source",
    ),
    pytest.param({"cells": [{"cell_type": "code"}], "nbformat": 4}, id="bare"),
    pytest.param(
        {
            "cells": [cell("x", outputs=None, metadata=None)],
            "metadata": None,
            "nbformat": 4,
            "nbformat_minor": None,
        },
        id="nulls",
    ),
    pytest.param(
        {"cells": [cell("x", id=7)], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, id="number as id"
    ),
]


@pytest.mark.parametrize("before", UNUSUAL)
@pytest.mark.parametrize("indent", [None, 1])
def test_an_unusual_notebook_is_shown_and_a_change_keeps_the_rest(
    before: dict[str, Any], indent: int | None
) -> None:
    text = json.dumps(before, indent=indent)
    assert "=== cell 1" in render_notebook(parse_notebook(text), "n.ipynb")
    after = json.loads(replaced(text, 0, "new"))
    assert "".join(after["cells"][0].pop("source")) == "new"
    expected = json.loads(text)
    expected["cells"][0].pop("source", None)
    for name in ("execution_count", "outputs"):
        if name not in expected["cells"][0]:
            after["cells"][0].pop(name, None)
    assert after == expected
    assert len(added(text)["cells"]) == len(before["cells"]) + 1


REFUSED = [
    reported(
        "microsoft/vscode-python#7731",
        {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [{"cells": []}]},
        "nbformat 3",
        id="version 3",
    ),
    reported("ivanlen/pipreqsnb#21", {}, "", id="no cells"),
    reported("luk400/vim-jukit#94", {"cells": []}, "nbformat", id="no version"),
    reported("Nikoleta-v3/blackbook#23", {"nbformat": 4, "metadata": {}}, "cells", id="only version"),
    pytest.param({"nbformat": 4, "cells": {}}, "cells", id="cells as object"),
    pytest.param({"nbformat": "4", "cells": []}, "nbformat", id="version as text"),
    pytest.param({"nbformat": 5, "cells": []}, "nbformat 5", id="newer"),
]


@pytest.mark.parametrize(("data", "word"), REFUSED)
def test_what_is_no_notebook_of_version_4_is_refused_with_the_reason(data: dict[str, Any], word: str) -> None:
    with pytest.raises(NotebookError) as refused:
        parse_notebook(json.dumps(data))
    assert word in str(refused.value)


@pytest.mark.report("jupyter-ai-contrib/jupyter-ai-tools#23")
@pytest.mark.report("Arize-ai/tutorials#56")
def test_new_cells_have_all_that_their_kind_needs() -> None:
    found = parse_notebook(json.dumps(notebook(cell("x", id="a"))))
    made = [TargetCell(kind, "t") for kind in ("code", "markdown", "raw")]
    after = json.loads(build_notebook_text(found, [*made, *target_cells(found)]))["cells"]
    assert [it["cell_type"] for it in after] == ["code", "markdown", "raw", "code"]
    assert after[0]["execution_count"] is None and after[0]["outputs"] == []
    assert not [it for it in after[1:3] if "outputs" in it or "execution_count" in it]
    assert len({it["id"] for it in after}) == 4 and all(it["metadata"] == {} for it in after)


@pytest.mark.report("microsoft/vscode-jupyter#13522")
@pytest.mark.report("bouzidanas/pynote-notebook-editor#12")
@pytest.mark.parametrize("source", ["a", "a\n", "a\n\n", "", "\n", "a\r\nb", "\ta  ", "a\u2028b", "a\x0cb"])
def test_a_source_keeps_its_end_and_nothing_is_added(source: str) -> None:
    before = notebook(
        cell("x", id="a"), cell("y", id="b", cell_type="markdown", attachments={"p.png": {"image/png": "AA"}})
    )
    after = json.loads(replaced(json.dumps(before), 0, source))
    assert "".join(after["cells"][0]["source"]) == source
    assert after["cells"][1] == before["cells"][1] and "attachments" not in after["cells"][0]


@pytest.mark.report("microsoft/vscode-languageserver-node#1525")
def test_cells_are_moved_with_their_outputs() -> None:
    before = notebook(
        cell("def foo(): pass", id="a", outputs=[stream("1")]), cell("foo()", id="b"), cell("z", id="c")
    )
    found = parse_notebook(json.dumps(before, indent=1))
    first, second, third = target_cells(found)
    after = json.loads(
        build_notebook_text(
            found, [second, replace(first, source="def bar(): pass"), TargetCell("code", "mid"), third]
        )
    )["cells"]
    assert [it.get("id") for it in after if it["source"] != ["mid"]] == ["b", "a", "c"]
    assert after[1]["outputs"] == [stream("1")] and after[2]["source"] == ["mid"]
