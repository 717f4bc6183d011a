"""docs/comparison.md says its date, and answers each cell of its table."""

from __future__ import annotations

import re

from tests.docs.pages import read, table

PAGE = read("docs/comparison.md")


def test_the_page_says_its_day_and_has_no_open_cell() -> None:
    assert re.search(r"as of \d+ \w+ \d{4}", PAGE)
    rows = table(PAGE, "feature")
    assert len(rows) > 10
    assert [row[0] for row in rows if not all(cell.strip() and cell.strip() != "?" for cell in row)] == []
    assert {len(row) for row in rows} == {8}
