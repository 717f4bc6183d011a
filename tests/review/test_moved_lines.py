"""The new position of a range of lines after edits around the range."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agent_ls.patch.line_diff import line_hunks
from agent_ls.review.moved_lines import move_range

OLD = ["a\n", "b\n", "c\n", "d\n", "e\n"]


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (OLD, (1, 3)),
        (["x\n", *OLD], (2, 4)),
        (["b\n", "c\n", "d\n", "e\n"], (0, 2)),
        (["a\n", "x\n", "b\n", "c\n", "d\n"], (2, 4)),
        (["a\n", "b\n", "c\n", "x\n", "d\n"], (1, 3)),
        (["a\n", "b\n", "c\n"], (1, 3)),
        (["a\n", "b\n", "x\n", "c\n", "d\n"], None),
        (["a\n", "b\n", "C\n", "d\n"], None),
        (["a\n", "d\n"], None),
        ([], None),
    ],
)
def test_range_moves_with_its_lines_or_is_dropped(new: list[str], expected: tuple[int, int] | None) -> None:
    assert move_range(1, 3, line_hunks(OLD, new)) == expected


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=12)


@given(LINES, LINES, st.data())
def test_a_moved_range_has_the_same_lines(old: list[str], new: list[str], data: st.DataObject) -> None:
    if not old:
        return
    start = data.draw(st.integers(0, len(old) - 1))
    end = data.draw(st.integers(start + 1, len(old)))

    moved = move_range(start, end, line_hunks(old, new))

    if moved is not None:
        assert new[moved[0] : moved[1]] == old[start:end]


@given(LINES, LINES, LINES)
def test_text_typed_above_and_below_moves_the_range_exactly(
    before: list[str], kept: list[str], after: list[str]
) -> None:
    """The first and the last line of the range occur once, so they cannot match other lines."""
    marked = ["<\n", *kept, ">\n"]
    hunks = line_hunks(marked, [*before, *marked, *after])

    assert move_range(0, len(marked), hunks) == (len(before), len(before) + len(marked))
