"""The displayed diff of a notebook shows the lines of its cells, not the JSON of the file."""

from __future__ import annotations

import json

import pytest

from agent_ls.environments.base import Attribution
from agent_ls.loop.events.types import FileChange
from agent_ls.review.agent_edits import apply_agent_edit
from agent_ls.review.ledger import open_ledger
from agent_ls.services.review.change_events import file_change

pytestmark = pytest.mark.req("H9", "H15")

PATH = "/project/a.ipynb"


def notebook(*sources: str, ran: int = 1) -> str:
    cells = [
        {"cell_type": "code", "execution_count": ran, "metadata": {}, "outputs": [], "source": [source]}
        for source in sources
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, indent=1)


def changed(before: str | None, after: str | None, path: str = PATH) -> FileChange:
    change = apply_agent_edit(open_ledger(path, before), after, Attribution("s", "t", "c"))
    return file_change(before, after, change, call_id="c", folder="/project")


def test_the_diff_of_a_changed_notebook_cell_contains_source_lines_without_json() -> None:
    found = changed(notebook("x = 1", "y = 2"), notebook("x = 1", "y = 3", ran=2))

    assert (found.added, found.removed) == (1, 1)
    assert "-y = 2\n+y = 3\n" in found.diff and "=== cell 2 (code)" in found.diff
    assert "execution_count" not in found.diff and '"' not in found.diff


def test_the_diff_of_a_new_notebook_contains_cell_lines_without_json() -> None:
    found = changed(None, notebook("x = 1"))

    assert "+x = 1\n" in found.diff and "cell_type" not in found.diff


@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        (notebook("x = 1"), notebook("x = 1", ran=2), PATH),
        ("{}", '{"cells": 1}', PATH),
        ("not json", "nor this", PATH),
        (notebook("x = 1"), notebook("x = 2"), "/project/a.json"),
    ],
)
def test_a_notebook_change_outside_the_cell_sources_is_displayed_as_a_plain_file_diff(
    before: str, after: str, path: str
) -> None:
    assert "cell 1" not in changed(before, after, path).diff
    assert changed(before, after, path).diff
