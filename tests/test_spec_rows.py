"""Each row of the sources' checklists has a test, and no test names a row that there is not."""

from __future__ import annotations

from collections import Counter

from tests.spec_rows import IDS, ROWS
from tests.tools.requirements import spec_marks


def test_every_row_has_a_test() -> None:
    proofs = spec_marks()
    without = [f"{row.id}: {row.words}" for row in ROWS if row.id not in proofs]

    assert not without, f'mark a test of each with @pytest.mark.spec("<row>"): {without}'


def test_every_row_that_a_test_names_is_one() -> None:
    unknown = {row: tests for row, tests in spec_marks().items() if row not in IDS}

    assert not unknown, f"tests/spec_rows.py has no such rows: {unknown}"


def test_the_rows_are_those_of_the_sources_each_once() -> None:
    lists = Counter(row.id.rpartition(".")[0] if row.id[:3] != "004" else row.id[:6] for row in ROWS)

    assert len(IDS) == len(ROWS)
    assert lists == {
        "000 9.1": 8,
        "000 9.2": 6,
        "000 9.3": 5,
        "000 9.4": 6,
        "000 9.5": 6,
        "000 9.6": 4,
        "000 9.7": 3,
        "000 9.8": 6,
        "000 9.9": 6,
        "000 9.10": 4,
        "000 9.11": 5,
        "001 4": 14,
        "004 S5": 8,
        "004 S6": 14,
    }
