"""Lines of cells for hunks of a notebook's file, in each layout of its JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agent_ls.notebook.cell_alignment import EditorCell
from agent_ls.notebook.cells import parse_notebook
from agent_ls.notebook.hunk_cells import MAX_LINES, CellHunk, HunkMapper, compare_cells
from agent_ls.notebook.notebook_text import TargetCell, build_notebook_text, target_cells
from agent_ls.patch.splice import line_splice, text_hunks
from agent_ls.text import split_lines
from tests.notebook.test_notebook_text import CELLS, LAYOUTS, document

pytestmark = pytest.mark.req("H9", "H15")

TITLE = ("# Título\n", "\n", "text")


def targets(text: str) -> list[TargetCell]:
    return target_cells(parse_notebook(text))


def changed(text: str, wanted: list[TargetCell]) -> str:
    return build_notebook_text(parse_notebook(text), wanted)


def mapped(old: str, new: str) -> tuple[CellHunk, ...]:
    """Map the one hunk between two texts of a file."""
    back = line_splice(new, old)
    return HunkMapper(parse_notebook(new), old).map_hunk(back.start, back.end, back.lines)


def with_source(source: str) -> Callable[[list[TargetCell]], list[TargetCell]]:
    return lambda cells: [cells[0], replace(cells[1], source=source), *cells[2:]]


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(
            with_source("x = 1\nprint(x, 2)"), CellHunk(1, 1, 2, ("print(x, 2)",), ("print(x)",)), id="line"
        ),
        pytest.param(
            with_source("x = 1\nprint(x)\ny = 2\n"),
            CellHunk(1, 2, 4, ("y = 2\n", ""), ()),
            id="appended line",
        ),
        pytest.param(
            lambda cells: [cells[0], TargetCell("code", "import os\nos.getcwd()"), *cells[1:]],
            CellHunk(1, 0, 2, ("import os\n", "os.getcwd()"), ()),
            id="added cell",
        ),
        pytest.param(lambda cells: cells[1:], CellHunk(0, 0, 0, (), TITLE), id="removed cell"),
    ],
)
def test_a_hunk_has_the_changed_lines_of_its_cell(
    layout: Any, change: Callable[[list[TargetCell]], list[TargetCell]], expected: CellHunk
) -> None:
    old = layout(document())
    assert mapped(old, changed(old, change(targets(old)))) == (expected,)


def test_hunk_of_removed_last_cells_is_at_the_end_of_the_last_remaining_cell() -> None:
    old = LAYOUTS["jupyter"](document([CELLS[1], CELLS[0], CELLS[0] | {"id": "again"}]))

    found = mapped(old, changed(old, targets(old)[:1]))

    assert found == (CellHunk(0, 2, 2, (), (*TITLE, *TITLE)),)


def test_hunk_of_removed_cells_maps_to_nothing_if_no_cells_remain() -> None:
    old = LAYOUTS["jupyter"](document())

    assert mapped(old, changed(old, [])) == ()


def test_a_hunk_in_outputs_changes_no_cell() -> None:
    old = LAYOUTS["jupyter"](document())

    assert mapped(old, old.replace("two", "three")) == ()


def test_a_created_file_has_only_new_cells() -> None:
    notebook = parse_notebook(LAYOUTS["jupyter"](document()))

    found = HunkMapper(notebook, None).map_new_file()

    assert found == (CellHunk(0, 0, 3, TITLE, ()), CellHunk(1, 0, 2, ("x = 1\n", "print(x)"), ()))


def test_added_cell_is_mapped_although_undoing_only_it_would_give_invalid_json() -> None:
    """Undoing only the first added cell would leave the second one without a comma, which is invalid JSON."""
    old = LAYOUTS["jupyter"](document())
    one = changed(old, [*targets(old), TargetCell("code", "a = 1", id="first")])
    two = changed(one, [*targets(one), TargetCell("code", "b = 2", id="second")])
    lines = split_lines(two)
    start, end = (
        next(at for at, line in enumerate(lines) if f'"{name}"' in line) for name in ("first", "second")
    )
    found = HunkMapper(parse_notebook(two), old).map_hunk(start, end - 4, ())

    assert found == (CellHunk(3, 0, 1, ("a = 1",), ()),)


def test_a_hunk_maps_to_no_cells_if_the_old_text_was_not_a_notebook() -> None:
    new = LAYOUTS["jupyter"](document())

    assert (
        HunkMapper(parse_notebook(new), "no notebook").map_hunk(0, len(split_lines(new)), ("no notebook",))
        == ()
    )


def test_each_of_several_hunks_has_only_its_own_lines() -> None:
    source = [f"line {number}\n" for number in range(9)]
    old = LAYOUTS["jupyter"](document([CELLS[1] | {"source": source}]))
    new = old.replace("line 2\\n", "line two\\n").replace("line 7\\n", "line seven\\n")
    mapper = HunkMapper(parse_notebook(new), old)

    found = [mapper.map_hunk(it.base_start, it.base_end, it.added) for it in text_hunks(new, old)]

    assert found == [
        (CellHunk(0, 2, 3, ("line two\n",), ("line 2\n",)),),
        (CellHunk(0, 7, 8, ("line seven\n",), ("line 7\n",)),),
    ]


def test_unchanged_lines_within_a_hunk_are_not_in_its_cell_ranges() -> None:
    old = LAYOUTS["jupyter"](document([CELLS[1]]))
    wanted = [replace(targets(old)[0], source="# first\nx = 1\nprint(x)\nlast")]

    assert mapped(old, changed(old, wanted)) == (
        CellHunk(0, 0, 1, ("# first\n",), ()),
        CellHunk(0, 3, 4, ("last",), ()),
    )


def test_cell_source_over_the_line_limit_is_compared_as_one_range() -> None:
    lines = [f"{number}\n" for number in range(MAX_LINES + 1)]
    new = ["new\n", *lines[1:]]

    (found,) = compare_cells([EditorCell("code", "".join(lines))], [EditorCell("code", "".join(new))])

    assert (found.start, found.end) == (0, MAX_LINES + 2)


sources = st.lists(st.sampled_from(["a", "b", "", "c\r"]), max_size=5).map("\n".join)
cells = st.lists(st.builds(EditorCell, st.just("code"), sources, st.just("")), max_size=5)


@given(cells, cells)
def test_replacing_changed_ranges_by_their_old_lines_restores_the_old_cells(
    old: list[EditorCell], new: list[EditorCell]
) -> None:
    """Replacing each changed range by its `other_lines` gives the lines of the old cells, unless `new` is empty."""
    found = compare_cells(old, new)

    texts = [editor_lines(cell) for cell in new]
    for part in found:
        assert tuple(texts[part.cell][part.start : part.end]) == part.lines
        assert part.lines or part.other_lines
    if new:
        for part in reversed(found):
            texts[part.cell][part.start : part.end] = part.other_lines
        assert stripped(line for lines in texts for line in lines) == stripped(
            line for cell in old for line in editor_lines(cell)
        )


def stripped(lines: Iterable[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip()]


def editor_lines(cell: EditorCell) -> list[str]:
    lines = split_lines(cell.source)
    return [*lines, ""] if cell.source.endswith(("\n", "\r")) else lines
