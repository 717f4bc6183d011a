"""Hunks of a notebook that an editor saved in another JSON layout stay pending, with their changes inside the cells."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

import pytest
from hypothesis import given, strategies as st

from agent_ls.environments.base import Attribution
from agent_ls.notebook.cells import Kind, parse_notebook
from agent_ls.notebook.notebook_text import TargetCell, build_notebook_text, target_cells
from agent_ls.review.agent_edits import apply_agent_edit
from agent_ls.review.decisions import Decision, apply_decision
from agent_ls.review.ledger import FileLedger, open_ledger
from agent_ls.review.user_edits import apply_user_edit
from agent_ls.services.review.notebooks import MAX_CELLS, user_edited

pytestmark = pytest.mark.req("H15", "H9")

PATH = "/project/a.ipynb"
Cells: TypeAlias = list[tuple[str, str]]
CELLS = [("markdown", "# One"), ("code", "a = 1\nb = 2\nc = 3"), ("raw", "as it is"), ("code", "print(a)")]
OUTPUT = {"name": "stdout", "output_type": "stream", "text": ["1\n"]}


def document(cells: Sequence[tuple[str, str]], *, has_ids: bool = True) -> dict[str, Any]:
    shown = []
    for at, (kind, source) in enumerate(cells):
        cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
        if has_ids:
            cell["id"] = f"c{at}"
        if kind == "code":
            cell |= {"execution_count": 1, "outputs": [OUTPUT]}
        shown.append(cell)
    return {"cells": shown, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 if has_ids else 4}


def spelled(document: dict[str, Any], indent: int = 1) -> str:
    return json.dumps(document, indent=indent, sort_keys=True) + "\n"


def saved(text: str, indent: int | None = 4, *, reverse: bool = False) -> str:
    """Return the notebook as an editor saves it: its own layout and metadata, and other outputs."""
    document = json.loads(text)
    for cell in document["cells"]:
        cell["metadata"]["editor"] = {"seen": True}
        if cell["cell_type"] == "code":
            cell["execution_count"] = 9
    if reverse:
        document = {
            **dict(sorted(document.items(), reverse=True)),
            "cells": [dict(sorted(cell.items(), reverse=True)) for cell in document["cells"]],
        }
    return json.dumps(document, indent=indent)


def cells(text: str | None) -> Cells:
    return [(cell.kind, cell.source) for cell in parse_notebook(text or "").cells]


def edited(ledger: FileLedger, call: int, wanted: Sequence[TargetCell]) -> FileLedger:
    after = build_notebook_text(parse_notebook(ledger.current_text or ""), wanted)
    return apply_agent_edit(ledger, after, Attribution("s", "t", f"call{call}")).ledger


def replaced(ledger: FileLedger, call: int, at: int, source: str) -> FileLedger:
    wanted = target_cells(parse_notebook(ledger.current_text or ""))
    wanted[at] = TargetCell(wanted[at].kind, source, wanted[at].origin)
    return edited(ledger, call, wanted)


def with_hunks(*, has_ids: bool = True) -> FileLedger:
    """Return a ledger with one hunk in each of two cells, and a new cell."""
    ledger = open_ledger(PATH, spelled(document(CELLS, has_ids=has_ids)))
    ledger = replaced(ledger, 1, 0, "# Two")
    ledger = replaced(ledger, 2, 1, "a = 1\nb = 20\nc = 3")
    wanted = target_cells(parse_notebook(ledger.current_text or ""))
    ledger = edited(ledger, 3, [*wanted[:3], TargetCell("markdown", "new"), *wanted[3:]])
    assert len(ledger.open_hunks) == 3
    return ledger


def states(ledger: FileLedger) -> list[tuple[str, str]]:
    return [(hunk.id, hunk.state) for hunk in ledger.hunks]


@pytest.mark.parametrize("has_ids", [True, False])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("indent", [1, 4])
def test_hunks_of_a_notebook_saved_in_a_new_layout_can_still_be_kept_or_undone(
    indent: int, reverse: bool, has_ids: bool
) -> None:
    ledger = with_hunks(has_ids=has_ids)
    text = saved(ledger.current_text or "", indent, reverse=reverse)

    change = user_edited(ledger, text)

    relaid = change.ledger
    assert relaid.current_text == text and states(relaid) == states(ledger) and not change.new
    for hunk in ledger.open_hunks:
        for state in ("undone", "kept"):
            was = apply_decision(ledger, Decision(frozenset({hunk.id}), state)).ledger
            now = apply_decision(relaid, Decision(frozenset({hunk.id}), state)).ledger
            assert cells(now.current_text) == cells(was.current_text)
            assert cells(now.base_text) == cells(was.base_text)
    every = frozenset(hunk.id for hunk in relaid.open_hunks)
    back = apply_decision(relaid, Decision(every, "undone")).ledger.current_text
    assert cells(back) == CELLS and json.loads(back or "")["cells"][0]["metadata"] == {
        "editor": {"seen": True}
    }


def test_a_line_diff_of_a_notebook_in_a_new_layout_changes_the_hunk_states() -> None:
    ledger = with_hunks()
    assert states(apply_user_edit(ledger, saved(ledger.current_text or "")).ledger) != states(ledger)


def test_undo_preserves_text_typed_before_a_notebook_was_saved_in_a_new_layout() -> None:
    ledger = with_hunks()
    document = json.loads(saved(ledger.current_text or ""))
    document["cells"][1]["source"][1] = "b = 21\n"  # inside a hunk
    document["cells"][-1]["source"] = ["typed"]  # outside all hunks
    text = json.dumps(document, indent=2)

    relaid = user_edited(ledger, text).ledger

    assert relaid.current_text == text
    first, second, *rest = [hunk.state for hunk in relaid.open_hunks]
    assert (first, second, set(rest)) == ("pending", "edited", {"pending"})
    pending = frozenset(hunk.id for hunk in relaid.open_hunks if hunk.state == "pending")
    back = apply_decision(relaid, Decision(pending, "undone")).ledger.current_text
    assert cells(back) == [CELLS[0], ("code", "a = 1\nb = 21\nc = 3"), CELLS[2], ("code", "typed")]


@pytest.mark.parametrize("reverse", [False, True])
def test_undo_of_a_replaced_cell_in_a_new_layout_restores_the_original_cell(reverse: bool) -> None:
    ledger = open_ledger(PATH, spelled(document(CELLS)))
    ledger = replaced(ledger, 1, 0, "# Two")
    wanted = target_cells(parse_notebook(ledger.current_text or ""))
    ledger = edited(ledger, 2, [*wanted[:2], TargetCell("code", "new"), *wanted[3:]])
    assert len(ledger.open_hunks) > 2, "id, kind and source are lines apart"
    text = saved(ledger.current_text or "", reverse=reverse)

    relaid = user_edited(ledger, text).ledger

    assert relaid.current_text == text and [hunk.state for hunk in relaid.open_hunks][:2] == ["pending"] * 2
    second = frozenset(hunk.id for hunk in relaid.open_hunks if hunk.call_id == "call2")
    back = apply_decision(relaid, Decision(second, "undone")).ledger.current_text
    assert cells(back) == [("markdown", "# Two"), *CELLS[1:]]


def test_undo_of_a_cell_deletion_in_a_new_layout_restores_the_cell_outputs() -> None:
    ledger = open_ledger(PATH, spelled(document(CELLS)))
    ledger = edited(ledger, 1, target_cells(parse_notebook(ledger.current_text or ""))[:3])
    relaid = user_edited(ledger, saved(ledger.current_text or "")).ledger

    every = frozenset(hunk.id for hunk in relaid.open_hunks)
    back = apply_decision(relaid, Decision(every, "undone")).ledger.current_text or ""

    assert cells(back) == CELLS and json.loads(back)["cells"][3]["outputs"] == [OUTPUT]


def test_hunks_close_when_the_user_restores_the_original_cells_in_a_new_layout() -> None:
    ledger = with_hunks()
    text = saved(ledger.base_text or "")
    relaid = user_edited(ledger, text).ledger
    assert relaid.current_text == text and not relaid.open_hunks


def test_a_notebook_created_by_the_agent_remains_one_pending_hunk_in_a_new_layout() -> None:
    made = apply_agent_edit(
        open_ledger(PATH, None), spelled(document(CELLS)), Attribution("s", "t", "c")
    ).ledger
    text = saved(made.current_text or "")
    relaid = user_edited(made, text).ledger
    assert relaid.current_text == text and [hunk.state for hunk in relaid.open_hunks] == ["pending"]


def test_a_hunk_with_only_output_changes_becomes_stale_in_a_new_layout() -> None:
    ledger = with_hunks()
    ran = (ledger.current_text or "").replace('"execution_count": 1', '"execution_count": 2')
    ledger = apply_agent_edit(ledger, ran, Attribution("s", "t", "command")).ledger
    found = [hunk for hunk in ledger.open_hunks if hunk.call_id == "command"]
    relaid = user_edited(ledger, saved(ledger.current_text or "")).ledger

    assert found and {hunk.state for hunk in relaid.closed if hunk.call_id == "command"} == {"stale"}
    assert {hunk.state for hunk in relaid.open_hunks} == {"pending"}


@pytest.mark.parametrize("text", ["", "{", '{"nbformat": 3}', "[1]\n" * 9])
def test_an_invalid_notebook_is_compared_by_lines(text: str) -> None:
    ledger = with_hunks()
    assert user_edited(ledger, text).ledger == apply_user_edit(ledger, text).ledger


def test_files_other_than_notebooks_are_compared_by_lines() -> None:
    ledger = apply_agent_edit(
        open_ledger("/project/a.json", "[1,\n 2]\n"), "[1,\n 3]\n", Attribution("s", "t", "c")
    ).ledger
    assert user_edited(ledger, "[1, 3]\n").ledger == apply_user_edit(ledger, "[1, 3]\n").ledger


SOURCES = st.lists(st.sampled_from(["a", "b", "c", "{", "}", ""]), max_size=4).map("\n".join)
KINDS: st.SearchStrategy[Kind] = st.sampled_from(["code", "markdown", "raw"])


@given(st.data())
def test_undo_of_all_hunks_in_a_new_layout_restores_the_original_cells(data: st.DataObject) -> None:
    drawn: Cells = [*data.draw(st.lists(st.tuples(KINDS, SOURCES), min_size=1, max_size=4))]
    has_ids = data.draw(st.booleans())
    ledger = open_ledger(PATH, spelled(document(drawn, has_ids=has_ids)))
    for call in range(data.draw(st.integers(1, 3))):
        wanted = target_cells(parse_notebook(ledger.current_text or ""))
        at = data.draw(st.integers(0, max(len(wanted) - 1, 0)))
        source = data.draw(SOURCES)
        match data.draw(st.sampled_from(["replace", "insert", "delete"])):
            case "replace" if wanted:
                wanted[at] = TargetCell(wanted[at].kind, source, wanted[at].origin)
            case "insert":
                wanted.insert(at, TargetCell(data.draw(KINDS), source))
            case _:
                del wanted[at : at + 1]
        ledger = edited(ledger, call, wanted)
    text = saved(
        ledger.current_text or "", data.draw(st.sampled_from([None, 1, 3])), reverse=data.draw(st.booleans())
    )

    relaid = user_edited(ledger, text).ledger

    assert relaid.current_text == text
    every = frozenset(hunk.id for hunk in relaid.open_hunks)
    back = apply_decision(relaid, Decision(every, "undone")).ledger
    assert cells(back.current_text) == cells(back.base_text) == cells(relaid.base_text)
    assert cells(relaid.base_text) == drawn


@pytest.mark.group("sweeps")
def test_a_very_large_notebook_is_compared_by_lines() -> None:
    many = [("code", f"x{at} = 1") for at in range(MAX_CELLS // 2 + 1)]
    ledger = replaced(open_ledger(PATH, spelled(document(many))), 1, 0, "y")
    text = saved(ledger.current_text or "")
    assert user_edited(ledger, text).ledger == apply_user_edit(ledger, text).ledger
    fewer = replaced(open_ledger(PATH, spelled(document(many[:-2]))), 1, 0, "y")
    assert states(user_edited(fewer, saved(fewer.current_text or "")).ledger) == states(fewer)
