"""Rows of tables that are built from public reports of other projects."""

from __future__ import annotations

from typing import Any

import pytest


def reported(source: str, *values: Any, id: str | None = None, what: str = "") -> Any:
    """Return a row of a table that is built from the report `source`.

    `what` is "AREA, OUTCOME: what happened there", until docs/field-reports.md has taken the words over.
    """
    del what
    return pytest.param(*values, marks=pytest.mark.report(source), id=id)
