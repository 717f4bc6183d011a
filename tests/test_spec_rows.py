"""Each row of the specifications' checklists has a test, and tests name only rows that exist."""

from __future__ import annotations

import re
from collections import Counter

from tests.spec_rows import IDS, ROWS
from tests.tools.requirements import spec_marks


def test_every_specification_row_has_a_test() -> None:
    proofs = spec_marks()
    without = [f"{row.id}: {row.words}" for row in ROWS if row.id not in proofs]

    assert not without, f'mark a test of each with @pytest.mark.spec("<row>"): {without}'


def test_every_specification_row_named_by_a_test_exists() -> None:
    unknown = {row: tests for row, tests in spec_marks().items() if row not in IDS}

    assert not unknown, f"tests/spec_rows.py has no such rows: {unknown}"


def test_the_list_of_specification_rows_is_complete_and_has_no_duplicates() -> None:
    lists = Counter(re.match(r"\w+ (?:S\d+|\d+(?:\.\d+(?=\.))?)", row.id)[0] for row in ROWS)  # type: ignore[index]

    assert len(IDS) == len(ROWS)
    assert lists == {
        "loop 9.1": 8,
        "loop 9.2": 6,
        "loop 9.3": 5,
        "loop 9.4": 6,
        "loop 9.5": 6,
        "loop 9.6": 4,
        "loop 9.7": 3,
        "loop 9.8": 6,
        "loop 9.9": 6,
        "loop 9.10": 4,
        "loop 9.11": 5,
        "conversation 4": 14,
        "safety S5": 8,
        "safety S6": 14,
    }
