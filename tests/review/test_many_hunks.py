"""Displaying the hunks of a file takes less than quadratic work. The test counts calls instead of time."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from agent_ls.environments.base import Attribution
from agent_ls.review.agent_edits import apply_agent_edit
from agent_ls.review.ledger import open_ledger

HUNKS = 200


@pytest.mark.req("H6")
def test_lines_of_all_hunks_are_computed_in_one_pass() -> None:
    lines = [f"line {number}\n" for number in range(HUNKS * 10)]
    changed = [f"changed {line}" if at % 10 == 4 else line for at, line in enumerate(lines)]
    ledger = apply_agent_edit(
        open_ledger("/a.txt", "".join(lines)), "".join(changed), Attribution("s")
    ).ledger
    steps = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal steps
        steps += event == "call"

    sys.setprofile(count)
    try:
        shown = [ledger.lines_of(hunk) for hunk in ledger.hunks]
    finally:
        sys.setprofile(None)
    assert shown == [(f"changed line {number * 10 + 4}\n",) for number in range(HUNKS)]
    assert steps < HUNKS * 5
