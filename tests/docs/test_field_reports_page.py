"""docs/field-reports.md is what the tests' own markers say."""

from __future__ import annotations

from tests.tools import field_reports


def test_the_page_is_written_from_the_markers() -> None:
    """After a change: `python -m tests.tools.field_reports`."""
    assert field_reports.written() == field_reports.PAGE.read_text(encoding="utf-8")
