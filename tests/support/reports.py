"""Rows of tables that are built from public reports of other projects."""

from __future__ import annotations

from typing import Any

import pytest


def reported(source: str, *values: Any, id: str | None = None) -> Any:
    """Return a row of a table that is built from the report `source`, which docs/field-reports.md has."""
    return pytest.param(*values, marks=pytest.mark.report(source), id=id)
