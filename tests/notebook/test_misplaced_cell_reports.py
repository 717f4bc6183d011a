"""Notebooks in which agents put cells in a wrong place, or that they made invalid; with real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.local import LocalEnvironment
from agent_ls.tools.base import ToolError
from agent_ls.tools.edit_notebook import EDIT_NOTEBOOK
from agent_ls.tools.read_file import READ_FILE
from tests.notebook.test_notebook_reports import cell, notebook
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls

pytestmark = pytest.mark.req("H15")
Cells = list[dict[str, Any]]


def text_cell(source: str, **more: Any) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source, **more}


async def edited(folder: Path, before: Any, *edits: dict[str, Any]) -> dict[str, Any]:
    """Return the notebook after these edits, made one after the other."""
    path = folder / "n.ipynb"
    path.write_text(json.dumps(before, indent=1) + "\n")
    real: Any = LocalEnvironment(str(folder))
    calls = ToolCalls(real)
    await calls.call(READ_FILE, file_path="n.ipynb")
    for edit in edits:
        await calls.call(EDIT_NOTEBOOK, file_path="n.ipynb", **edit)
    after: dict[str, Any] = json.loads(path.read_text())
    return after


def sources(document: dict[str, Any]) -> list[str]:
    return ["".join(it["source"]) for it in document["cells"]]


ABC = notebook(text_cell("title", id="t"), cell("import a", id="i"), cell("run()", id="r"))
INSERTED: list[Any] = [
    reported("anthropics/claude-code#4613", ABC, {"edit_mode": "insert", "cell_type": "code"}, 3, id="no cell"),
    reported("anthropics/claude-code#2176", ABC, {"edit_mode": "insert", "cell_id": "i"}, 2, id="after an id"),
    reported("anthropics/claude-code#5197", ABC, {"edit_mode": "insert", "cell_number": 1}, 1, id="after a number"),
    reported("PostHog/posthog#101615", ABC, {"action": "insert", "cell": "t"}, 1, id="after a text"),
    reported("mito-ds/mito#2076",
        notebook(*(cell(f"x{at}", id=f"c{at}") for at in range(15)), *(cell("", id=f"e{at}") for at in range(3))),
        {"action": "insert", "cell": "15"}, 15, id="before empty cells"),
    reported("datalayer/jupyter-mcp-tools#2", ABC, {"action": "insert", "cell": 0}, 0, id="at the start"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "place", "at"), INSERTED)
async def test_a_cell_is_inserted_where_the_call_says(
    tmp_path: Path, before: dict[str, Any], place: dict[str, Any], at: int
) -> None:
    after = await edited(tmp_path, before, {**place, "source": "new"})
    expected = sources(before)
    expected.insert(at, "new")
    assert sources(after) == expected


RUN = {"execution_count": 3, "outputs": [{"output_type": "stream", "name": "stdout", "text": "1\n"}]}
KINDS: list[Any] = [
    reported("microsoft/vscode-python#8772", cell("# T", id="a", **RUN), "markdown", id="run code to text"),
    reported("seeM/Jim#9", cell("# T", id="a", **{**RUN, "outputs": []}), "raw", id="counted code to raw"),
    reported("microsoft/vscode-python#10084", cell(["# T\n", "more"], id="a"), "markdown", id="the text stays"),
    reported("jupyter-ai-contrib/jupyter-ai-tools#28", cell("# T", id="a", metadata={"tags": ["t"]}, **RUN), "raw",
        id="run code to raw"),
    reported("microsoft/vscode-jupyter#2673", text_cell("x = 1", id="a", attachments={"p": {}}), "code",
        id="text to code"),
]  # fmt: skip
ALLOWED = {
    "code": {"cell_type", "id", "metadata", "source", "execution_count", "outputs"},
    "markdown": {"cell_type", "id", "metadata", "source", "attachments"},
    "raw": {"cell_type", "id", "metadata", "source", "attachments"},
}


@pytest.mark.parametrize(("before", "kind"), KINDS)
async def test_a_cell_of_another_kind_has_the_keys_of_its_kind(
    tmp_path: Path, before: dict[str, Any], kind: str
) -> None:
    after = await edited(tmp_path, notebook(before), {"action": "change_kind", "cell": "1", "kind": kind})
    (changed,) = after["cells"]
    assert changed["cell_type"] == kind and {*changed} <= ALLOWED[kind]
    assert "".join(changed["source"]) == "".join(before["source"]) and changed["id"] == "a"
    assert kind != "code" or (changed["execution_count"] is None and changed["outputs"] == [])


@pytest.mark.report("kahliburke/KaimonSlate.jl#35")
@pytest.mark.report("nteract/archived-desktop-app#1306")
async def test_edits_one_after_the_other_keep_all_cells(tmp_path: Path) -> None:
    after = await edited(
        tmp_path,
        ABC,
        {"action": "replace", "cell": "r", "source": "run(2)"},
        {"action": "insert", "cell": "3", "source": "last", "kind": "markdown"},
        {"action": "replace", "cell": "t", "source": "TITLE"},
        {"action": "delete", "cell": "2"},
        {"action": "change_kind", "cell": "2", "kind": "markdown"},
    )
    assert sources(after) == ["TITLE", "run(2)", "last"]
    assert all({*it} <= ALLOWED["markdown"] for it in after["cells"])


WIDGETS = {"widgets": {"application/vnd.jupyter.widget-state+json": {"0a1b": {"model_name": "LayoutModel"}}}}
KEPT: list[Any] = [
    reported("MegaWiz-Dev-Team/agentic_rag_workshop#39", {**notebook(cell("x", id="a")), "metadata": WIDGETS},
        id="widgets"),
    reported("microsoft/vscode#230280",
        {**notebook(cell("x", id="a")), "metadata": {"kernelspec": {"name": "python3", "display_name": "P"}, "z": 1,
            "language_info": {"name": "python"}, "a": None}}, id="order"),
    pytest.param({**notebook(cell("x"), minor=4), "metadata": {}}, id="no ids"),
]  # fmt: skip


@pytest.mark.parametrize("before", KEPT)
async def test_what_belongs_to_the_whole_notebook_is_kept(tmp_path: Path, before: dict[str, Any]) -> None:
    after = await edited(tmp_path, before, {"action": "insert", "source": "new"})
    added = after["cells"].pop()
    assert json.dumps(after) == json.dumps(before)
    assert ("id" in added) == (before["nbformat_minor"] >= 5)


@pytest.mark.report("jupyterlab/jupyterlab#9933")
async def test_cells_without_outputs_are_kept(tmp_path: Path) -> None:
    bare = {"cell_type": "code", "metadata": {}, "source": ["x = 1"], "id": "b"}
    after = await edited(
        tmp_path, notebook(bare, cell("y", id="c")), {"action": "replace", "cell": "c", "new_source": "z"}
    )
    assert sources(after) == ["x = 1", "z"] and after["cells"][0] == bare


@pytest.mark.report("twosigma/beakerx#3771")
async def test_an_id_that_looks_like_a_number_names_its_cell(tmp_path: Path) -> None:
    before = notebook(cell("one", id="x"), cell("two", id="1"), cell("three", id="y"))
    after = await edited(tmp_path, before, {"action": "replace", "cell": "1", "source": "TWO"})
    assert sources(after) == ["one", "TWO", "three"]


@pytest.mark.parametrize("name", ["content", "new_source", "new_string", "source"])
async def test_the_words_of_other_tools_are_known(tmp_path: Path, name: str) -> None:
    after = await edited(tmp_path, ABC, {"edit_mode": "replace", "cell_number": 2, name: "import b"})
    assert sources(after) == ["title", "import b", "run()"]


PICTURE = "iVBORw0KGgo" * 40_000
HEAVY: list[Any] = [
    reported("jupyter-book/mystmd#554", text_cell("![](attachment:p.png)", id="a",
        attachments={"p.png": {"image/png": PICTURE}}), "attachment:p.png", id="attachment"),
    reported("JuliaPluto/advanced-vscode-extension#48", cell("plot()", id="a", outputs=[
        {"output_type": "display_data", "metadata": {}, "data": {"image/svg+xml": "<path d='M0 0'/>" * 9000}}]),
        "image/svg+xml", id="svg"),
    reported("innate-inc/innate-os#613", cell("plot()", id="a", outputs=[
        {"output_type": "display_data", "metadata": {}, "data": {"image/png": PICTURE, "text/plain": "<Figure 1>"}}]),
        "<Figure 1>", id="png"),
    reported("microsoft/vscode-jupyter#6589", cell("f()", id="a", outputs=[
        {"output_type": "stream", "name": "stdout", "text": [f"line {n}\n" for n in range(30_000)]}]), "line 0",
        id="long text"),
]  # fmt: skip


@pytest.mark.parametrize(("heavy", "has"), HEAVY)
async def test_heavy_contents_are_named_and_kept(tmp_path: Path, heavy: dict[str, Any], has: str) -> None:
    before = notebook(heavy, cell("y", id="b"))
    (tmp_path / "n.ipynb").write_text(json.dumps(before))
    real: Any = LocalEnvironment(str(tmp_path))
    output = (await ToolCalls(real).call(READ_FILE, file_path="n.ipynb")).text
    assert has in output and len(output) < 8_000 and PICTURE[:200] not in output
    after = await edited(tmp_path, before, {"action": "replace", "cell": "1", "source": "z"})
    expected = {**heavy, "source": ["z"] if isinstance(after["cells"][0]["source"], list) else "z"}
    assert after["cells"] == [expected, before["cells"][1]]


@pytest.mark.report("AnswerDotAI/pyskills#43")
async def test_a_cell_that_is_not_there_is_refused_with_what_there_is(tmp_path: Path) -> None:
    for named in ("9", "gone", "-1", ""):
        with pytest.raises(ToolError):
            await edited(tmp_path, ABC, {"action": "delete", "cell": named})
        assert json.loads((tmp_path / "n.ipynb").read_text()) == ABC
    after = await edited(tmp_path, ABC, {"action": "replace", "cell": "1", "source": "new"})
    assert "outputs" not in after["cells"][0]
