"""The tiers: each listed file exists, and `make test` proves each requirement."""

from __future__ import annotations

import re
from pathlib import Path

from tests.tiers import GROUPS, INNER, group_of
from tests.tools.requirements import all_marks, read_requirements

TESTS = Path(__file__).parent
LISTED = [*INNER, *(path for group in GROUPS.values() for path in (*group.files, *group.kept))]


def test_each_listed_file_exists() -> None:
    assert [path for path in LISTED if not any(TESTS.glob(path))] == []


def test_each_kept_file_is_within_its_group() -> None:
    for group in GROUPS.values():
        assert all(path.startswith(tuple(f"{file}/" for file in group.files)) for path in group.kept)


def test_requirement_ids_in_test_marks_are_in_the_list_of_requirements() -> None:
    unknown = sorted(set(all_marks()) - {it.id for it in read_requirements()})

    assert not unknown, f"docs/requirements.md has no rows for {unknown}, which tests name"


def test_each_requirement_is_proved_by_make_test() -> None:
    """A test named by a marker counts if neither its file nor the test itself is in a group."""
    marks, grouped = all_marks(), _grouped_tests()
    without = [
        requirement.id
        for requirement in read_requirements()
        if requirement.status != "not yet"
        and not any(_is_in_make_test(test) and test not in grouped for test in marks.get(requirement.id, ()))
    ]
    assert not without, "keep one of their tests in tests/tiers.py"


def _is_in_make_test(test: str) -> bool:
    file = re.split("::|:", test)[0]
    return not file.startswith("tests/") or group_of(file.removeprefix("tests/")) is None


def _grouped_tests() -> set[str]:
    """Return the tests with a marker `group`."""
    found = set[str]()
    for path in TESTS.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"mark\.group\(.*\n(?:@.*\n|    .*\n|\)\n)*(?:async )?def (\w+)", text):
            found.add(f"{path.relative_to(TESTS.parent).as_posix()}::{name}")
    return found
