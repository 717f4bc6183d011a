"""docs/requirements.md lists each requirement once, with a known status."""

from __future__ import annotations

from collections import Counter

from tests.tools.requirements import STATUSES, read_requirements

REQUIREMENTS = read_requirements()


def test_requirement_ids_are_unique_and_have_a_promise_and_a_status() -> None:
    repeated = [id for id, count in Counter(it.id for it in REQUIREMENTS).items() if count > 1]
    incomplete = [it.id for it in REQUIREMENTS if not it.promise or it.status not in STATUSES]

    assert len(REQUIREMENTS) > 100
    assert not repeated and not incomplete, (
        f"repair these rows of docs/requirements.md: {repeated + incomplete}"
    )
