"""docs/requirements.md lists every requirement that a test proves, each once, with a known status."""

from __future__ import annotations

from collections import Counter

from tests.tools.requirements import STATUSES, all_marks, read_requirements

REQUIREMENTS = read_requirements()


def test_requirement_ids_are_unique_and_have_a_promise_and_a_status() -> None:
    repeated = [id for id, count in Counter(it.id for it in REQUIREMENTS).items() if count > 1]
    incomplete = [it.id for it in REQUIREMENTS if not it.promise or it.status not in STATUSES]

    assert len(REQUIREMENTS) > 100
    assert not repeated and not incomplete, (
        f"repair these rows of docs/requirements.md: {repeated + incomplete}"
    )


def test_requirement_ids_in_test_marks_are_on_the_page() -> None:
    unknown = sorted(set(all_marks()) - {it.id for it in REQUIREMENTS})

    assert not unknown, f"docs/requirements.md has no rows for {unknown}, which tests name"


def test_each_requirement_with_status_tests_is_named_in_a_test_mark() -> None:
    proofs = all_marks()
    without = [it.id for it in REQUIREMENTS if it.status == "tests" and it.id not in proofs]

    assert not without, f"mark tests with @pytest.mark.req, or change the status of {without}"
