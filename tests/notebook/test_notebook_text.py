from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given, strategies as st

from agent_ls.notebook.cell_alignment import EditorCell, align_cells, editor_cells
from agent_ls.notebook.cell_changes import CellChanges, CellReplacement, diff_cells
from agent_ls.notebook.cell_lines import map_source_lines
from agent_ls.notebook.cells import Cell, Kind, NotebookError, parse_notebook
from agent_ls.notebook.notebook_text import NEW_NOTEBOOK, TargetCell, build_notebook_text, target_cells
from agent_ls.notebook.render import render_notebook

pytestmark = pytest.mark.req("H15")

IMAGE = "iVBORw0KGgo="
CELLS: list[dict[str, Any]] = [
    {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Título\n", "\n", "text"]},
    {
        "cell_type": "code", "execution_count": 3, "id": "calc", "metadata": {"tags": ["keep"], "x": 1.50},
        "outputs": [
            {"name": "stdout", "output_type": "stream", "text": ["one\n", "two\n"]},
            {"data": {"image/png": IMAGE, "text/plain": ["<Figure>"]}, "metadata": {}, "output_type": "display_data"},
        ],
        "source": ["x = 1\n", "print(x)"],
    },
    {"cell_type": "raw", "id": "rest", "metadata": {"custom": {"deep": [1, {"a": None}]}}, "source": []},
]  # fmt: skip


def document(cells: list[dict[str, Any]] | None = None, minor: int = 5) -> dict[str, Any]:
    return {
        "cells": CELLS if cells is None else cells,
        "metadata": {"kernelspec": {"language": "python", "name": "k"}, "unknown": [1, 2]},
        "nbformat": 4,
        "nbformat_minor": minor,
        "zz_unknown": {"b": 1, "a": 2},
    }


LAYOUTS = {
    "jupyter": lambda d: json.dumps(d, indent=1, ensure_ascii=False) + "\n",
    "two spaces, no newline": lambda d: json.dumps(d, indent=2, ensure_ascii=False),
    "tabs and CRLF": lambda d: json.dumps(d, indent="\t", ensure_ascii=False).replace("\n", "\r\n") + "\r\n",
    "one line": lambda d: json.dumps(d, ensure_ascii=False),
    "one line, tight": lambda d: json.dumps(d, separators=(",", ":")),
    "escaped": lambda d: json.dumps(d, indent=1) + "\n",
    "sources as strings": lambda d: json.dumps(
        d | {"cells": [c | {"source": "".join(c["source"])} for c in d["cells"]]}, indent=1
    ),
}


def joined(data: dict[str, Any]) -> dict[str, Any]:
    """Return the notebook with each cell's source joined to one string. A list of strings means the same."""
    cells = [cell | {"source": "".join(cell["source"])} for cell in data["cells"]]
    return data | {"cells": cells}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_unchanged_parts_of_a_notebook_keep_their_bytes(layout: Any) -> None:
    text = layout(document())

    assert build_notebook_text(parse_notebook(text), target_cells(parse_notebook(text))) == text


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_changed_source_changes_nothing_else(layout: Any) -> None:
    text = layout(document())
    notebook = parse_notebook(text)
    wanted = target_cells(notebook)
    wanted[1] = replace(wanted[1], source="x = 1\ny = 'ü'\nprint(x)\n")

    changed = build_notebook_text(notebook, wanted)

    expected = joined(document())
    expected["cells"][1]["source"] = "x = 1\ny = 'ü'\nprint(x)\n"
    assert joined(json.loads(changed)) == expected
    value = notebook.cells[1].member("source")
    assert (
        value and changed.startswith(text[: value.value.start]) and changed.endswith(text[value.value.end :])
    )
    assert parse_notebook(changed).cells[1].source == "x = 1\ny = 'ü'\nprint(x)\n"


@pytest.mark.parametrize(
    "name", ["jupyter", "two spaces, no newline", "tabs and CRLF", "escaped", "one line"]
)
def test_changed_notebook_keeps_the_json_layout_of_the_file(name: str) -> None:
    notebook = parse_notebook(LAYOUTS[name](document()))
    wanted = [*target_cells(notebook), TargetCell("code", "new = 1\nother\n")]
    wanted[2] = replace(wanted[2], source="was empty\nno more")
    del wanted[0]

    changed = build_notebook_text(notebook, wanted)

    cells = json.loads(changed)["cells"]
    assert LAYOUTS[name](document(cells)) == changed
    assert [cell["cell_type"] for cell in cells] == ["code", "raw", "code"]
    assert [*cells[-1]] == ["cell_type", "execution_count", "id", "metadata", "outputs", "source"]


def test_a_changed_line_is_one_line_of_the_diff() -> None:
    text = LAYOUTS["jupyter"](document())
    notebook = parse_notebook(text)
    wanted = target_cells(notebook)
    wanted[1] = replace(wanted[1], source="x = 2\nprint(x)")

    old, new = text.splitlines(), build_notebook_text(notebook, wanted).splitlines()

    assert [(a, b) for a, b in zip(old, new, strict=True) if a != b] == [
        ('    "x = 1\\n",', '    "x = 2\\n",')
    ]


@pytest.mark.parametrize(
    ("at", "kind", "keys"),
    [
        (1, "markdown", ["cell_type", "id", "metadata", "source"]),
        (0, "code", ["cell_type", "execution_count", "id", "metadata", "outputs", "source"]),
    ],
)
@pytest.mark.parametrize("name", ["jupyter", "one line"])
def test_changing_a_cell_kind_gives_exactly_the_json_keys_of_the_new_kind(
    name: str, at: int, kind: Any, keys: list[str]
) -> None:
    notebook = parse_notebook(LAYOUTS[name](document()))
    wanted = target_cells(notebook)
    wanted[at] = replace(wanted[at], kind=kind)

    changed = build_notebook_text(notebook, wanted)

    data = json.loads(changed)
    assert [*data["cells"][at]] == keys and LAYOUTS[name](data) == changed
    assert data["cells"][at]["metadata"] == CELLS[at]["metadata"]


def test_cells_have_ids_only_where_the_format_has_them() -> None:
    old = [{key: value for key, value in cell.items() if key != "id"} for cell in CELLS]

    def made(cells: list[dict[str, Any]], minor: int) -> dict[str, Any]:
        notebook = parse_notebook(json.dumps(document(cells, minor)))
        found: dict[str, Any] = json.loads(
            build_notebook_text(notebook, [*target_cells(notebook), TargetCell("code", "a")])
        )
        last: dict[str, Any] = found["cells"][-1]
        return last

    assert "id" not in made(old, 4)
    assert made(CELLS, 5)["id"] == made(CELLS, 5)["id"], (
        "the same insertion is the same change: it was approved"
    )


def test_all_cells_can_be_deleted_and_a_first_one_added() -> None:
    notebook = parse_notebook(LAYOUTS["jupyter"](document()))

    empty = build_notebook_text(notebook, [])

    assert json.loads(empty) == document([]) and LAYOUTS["jupyter"](document([])) == empty
    filled = build_notebook_text(parse_notebook(NEW_NOTEBOOK), [TargetCell("markdown", "# Hi")])
    cells = json.loads(filled)["cells"]
    assert [cell["source"] for cell in cells] == [["# Hi"]]
    assert filled == json.dumps(json.loads(filled), indent=1) + "\n"


DAMAGED = [
    ("{", "is not valid JSON"),
    ('{"cells": [],\n "nbformat": 4,}', "line 2"),
    ("[" * 100_000, "nested too deeply"),
    ("[]", "not a JSON object"),
    ('{"nbformat": 3, "worksheets": []}', "--nbformat 4"),
    ('{"nbformat": 5, "cells": []}', "too new"),
    ('{"cells": []}', "no nbformat version"),
    ('{"nbformat": 4}', "no list of cells"),
    ('{"nbformat": 4, "cells": {}}', "no list of cells"),
    ('{"nbformat": 4, "cells": [{"cell_type": "code"}, 1]}', "cell 2"),
    ('{"nbformat": 4, "cells": [{"cell_type": "html", "source": ""}]}', "cell 1"),
    ('{"nbformat": 4, "cells": [{"cell_type": "raw", "source": [1]}]}', "source of cell 1"),
    ('{"nbformat": 4, "cells": []} {}', "not valid JSON"),
]


@pytest.mark.parametrize(("text", "words"), DAMAGED)
def test_invalid_notebook_is_refused_with_the_reason(text: str, words: str) -> None:
    with pytest.raises(NotebookError, match=words):
        parse_notebook(text)


def test_notebook_for_the_model_contains_cells_and_shortened_outputs() -> None:
    long = {"name": "stdout", "output_type": "stream", "text": [f"line {n}\n" for n in range(100)]}
    error = {"ename": "E", "evalue": "v", "output_type": "error", "traceback": ["\x1b[31mE\x1b[0m: v"]}
    cells = [*CELLS, CELLS[1] | {"outputs": [long, error], "id": "more", "source": "boom()"}]

    rendered = render_notebook(parse_notebook(json.dumps(document(cells))), "a.ipynb")

    assert rendered.startswith(
        "Notebook a.ipynb: 4 cells, python, nbformat 4.5.\n\n=== cell 1 (markdown, id intro)\n# T"
    )
    assert (
        "=== cell 2 (code, id calc, run as [3])\nx = 1\nprint(x)\n--- output of cell 2\none\ntwo\n"
        in rendered
    )
    assert "[image/png, 9 bytes]" in rendered and IMAGE not in rendered
    assert "line 9\n[... 80 more lines ...]\nline 90" in rendered and rendered.endswith("\nE: v")
    assert '"cell_type"' not in rendered


def test_lines_of_the_notebook_file_map_to_cell_lines() -> None:
    text = LAYOUTS["jupyter"](document())

    found = map_source_lines(parse_notebook(text))

    mapped = {
        text.splitlines()[at - 1].strip(): (line.cell, line.line, line.text) for at, line in found.items()
    }
    assert mapped['"print(x)"'] == (2, 2, "print(x)") and mapped['"# Título\\n",'] == (1, 1, "# Título")
    assert map_source_lines(parse_notebook(LAYOUTS["one line"](document()))).keys() <= {1}


def as_shown(cell: Cell, *, with_id: bool) -> EditorCell:
    return EditorCell(cell.kind, cell.source, cell.id if with_id else "")


@pytest.mark.parametrize("with_id", [True, False])
def test_the_editor_s_cells_are_found_in_the_file(with_id: bool) -> None:
    notebook = parse_notebook(LAYOUTS["jupyter"](document()))
    shown = [as_shown(cell, with_id=with_id) for cell in notebook.cells]
    typed = [replace(shown[0], source="# Other"), EditorCell("code", "new"), *shown[1:]]

    wanted = align_cells(editor_cells(notebook), typed)

    assert [(cell.origin, cell.source) for cell in wanted] == [
        (0, "# Other"), (None, "new"), (1, "x = 1\nprint(x)"), (2, "")
    ]  # fmt: skip
    assert '"keep"' in build_notebook_text(notebook, wanted)


KIND: st.SearchStrategy[Kind] = st.sampled_from(get_args(Kind))
SOURCE = st.text(alphabet='a\n\r"\\é\u2028', max_size=12)


@given(st.data())
def test_any_change_of_cells_gives_the_target_cells_and_keeps_ids_and_metadata(data: st.DataObject) -> None:
    layout: Any = LAYOUTS[data.draw(st.sampled_from([*LAYOUTS]))]
    notebook = parse_notebook(layout(document()))
    origins = data.draw(st.lists(st.sampled_from([0, 1, 2, None]), max_size=5))
    seen: set[int] = set()
    wanted: list[TargetCell] = []
    for origin in origins:
        if origin in seen:
            continue
        if origin is not None:
            seen.add(origin)
        wanted.append(TargetCell(data.draw(KIND), data.draw(SOURCE), origin))

    again = parse_notebook(build_notebook_text(notebook, wanted))

    assert [(cell.kind, cell.source) for cell in again.cells] == [(cell.kind, cell.source) for cell in wanted]
    assert [cell.id for cell in again.cells if cell.id in ("intro", "calc", "rest")] == [
        CELLS[cell.origin]["id"] for cell in wanted if cell.origin is not None
    ]
    assert json.loads(again.text) | {"cells": []} == document([])
    assert len({cell.id for cell in again.cells}) == len(wanted)


def cells(notation: str) -> list[EditorCell]:
    """Return code cells for a notation: `a=text` is a cell with the id `a`, `=text` a cell without an id."""
    return [
        EditorCell("code", text, name) for name, _, text in (cell.partition("=") for cell in notation.split())
    ]


CHANGES = [
    ("a=1 b=2 c=3", "a=1 b=9 c=3", [(1, "9")], []),
    ("a=1 b=2 c=3", "a=1 c=3", [], [(1, 1, "")]),
    ("a=1 b=2", "a=1 n=5 b=2", [], [(1, 0, "n=5")]),
    ("a=1 b=2", "a=1 b=2 n=5", [], [(2, 0, "n=5")]),
    ("a=1 b=2", "", [], [(0, 2, "")]),
    ("", "n=5", [], [(0, 0, "n=5")]),
    ("a=1 b=2", "n=1 b=2", [], []),  # only the id differs, because the editor assigns its own ids
    ("a=1 b=2", "n=5 b=2", [], [(0, 1, "n=5")]),
    ("a=1 =2 b=3", "a=1 made=2 b=3", [], []),  # a cell that the user made: only the file has its id
    ("a=1 =2 b=3", "a=1 made=9 b=3", [(1, "9")], []),
    ("=1 =2 =3", "=1 =9 =3", [(1, "9")], []),
    ("=1 =2 =3", "=1 =3", [], [(1, 1, "")]),
    ("a=1 b=2", "b=2 a=1", [], [(0, 1, ""), (2, 0, "a=1")]),
]


@pytest.mark.parametrize(("old", "new", "texts", "splices"), CHANGES)
def test_edit_for_the_editor_contains_only_changed_cells(
    old: str, new: str, texts: list[tuple[int, str]], splices: list[tuple[int, int, str]]
) -> None:
    changes = diff_cells(cells(old), align_cells(cells(old), cells(new)))

    assert [(text.at, text.text) for text in changes.texts] == texts
    assert changes.splices == tuple(
        CellReplacement(at, count, tuple(cells(notation))) for at, count, notation in splices
    )
    assert applied(cells(old), changes) == [cell.source for cell in cells(new)]


def applied(shown: list[EditorCell], changes: CellChanges) -> list[str]:
    """Apply the changes in the order in which an editor does. Return the texts of the cells."""
    sources = [cell.source for cell in shown]
    for text in changes.texts:
        assert sources[text.at] == text.was
        sources[text.at] = text.text
    for splice in reversed(changes.splices):
        sources[splice.start : splice.start + splice.delete] = [cell.source for cell in splice.cells]
    return sources


ROWS = st.lists(st.tuples(st.sampled_from(["", "a", "b", "c"]), KIND, st.sampled_from("12")), max_size=5)


def row_cells(rows: list[tuple[str, Kind, str]]) -> list[EditorCell]:
    """Return cells for the rows. A cell whose id is already in use gets no id."""
    found: list[EditorCell] = []
    for name, kind, text in rows:
        is_taken = name in {cell.id for cell in found}
        found.append(EditorCell(kind, text, "" if is_taken else name))
    return found


@given(ROWS, ROWS)
def test_after_any_change_the_editor_has_the_wanted_cells(
    before: list[tuple[str, Kind, str]], after: list[tuple[str, Kind, str]]
) -> None:
    old, new = row_cells(before), row_cells(after)

    wanted = align_cells(old, new)

    assert applied(old, diff_cells(old, wanted)) == [cell.source for cell in new]
    origins = [cell.origin for cell in wanted if cell.origin is not None]
    assert len(origins) == len(set(origins))
