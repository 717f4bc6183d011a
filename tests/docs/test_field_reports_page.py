"""Each report of docs/field-reports.md has its test, and each report that a test names its row."""

from __future__ import annotations

from tests.tools import field_reports


def test_the_page_lists_the_reports_that_tests_name() -> None:
    """After a change: `python -m tests.tools.field_reports`."""
    assert field_reports.written() == field_reports.PAGE.read_text(encoding="utf-8")
