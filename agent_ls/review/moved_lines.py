"""Pure: find the new position of a range of lines after the text around it was edited."""

from __future__ import annotations

from collections.abc import Iterable

from agent_ls.patch.hunks import LineHunk


def move_range(start: int, end: int, hunks: Iterable[LineHunk]) -> tuple[int, int] | None:
    """Return the new range of lines [start, end) after the edit `hunks` (sorted, disjoint).

    Return None if the edit changed one of these lines. Lines that are inserted directly before or after the
    range stay outside it.
    """
    shift = 0
    for hunk in hunks:
        if hunk.base_start >= end:
            break
        is_before = hunk.base_end <= start
        if not is_before:
            return None
        shift += len(hunk.added) - len(hunk.removed)
    return start + shift, end + shift
