"""Atomic hunks of plans, their ids, and the result of applying any subset of them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agent_ls.patch.hunks import LineHunk, hunk_ids
from agent_ls.patch.line_diff import apply_hunks
from agent_ls.text import split_lines
from tests.patch.applying import change_set, patch, update


def hunks(body: str, before: str) -> list[tuple[int, int, str, str]]:
    (change,) = change_set(update(body), {"f": before}).changes
    return [(h.base_start, h.base_end, "".join(h.removed), "".join(h.added)) for h in change.hunks]


PLANNED = [
    ("replace", "@@\n a\n-b\n+c", "a\nb\n", [(1, 2, "b\n", "c\n")]),
    ("context_divides", "@@\n-a\n+1\n b\n-c\n+3", "a\nb\nc\n", [(0, 1, "a\n", "1\n"), (2, 3, "c\n", "3\n")]),
    (
        "equal_lines_divide",
        "@@\n-a\n-b\n-c\n+1\n+b\n+3",
        "a\nb\nc\n",
        [(0, 1, "a\n", "1\n"), (2, 3, "c\n", "3\n")],
    ),
    ("chunks_that_touch_are_one", "@@\n-a\n+1\n@@\n-b\n+2", "a\nb\n", [(0, 2, "a\nb\n", "1\n2\n")]),
    ("insertion_is_where_the_plan_put_it", "@@\n a\n+a\n b", "a\nb\n", [(1, 1, "", "a\n")]),
    ("same_lines", "@@\n-a\n-b\n+a\n+c", "a\nb\n", [(1, 2, "b\n", "c\n")]),
    ("append_after_no_ending", "@@\n+c", "a\nb", [(2, 2, "", "c\n")]),
]


@pytest.mark.req("T4", "H6")
@pytest.mark.parametrize(
    ("body", "before", "expected"), [c[1:] for c in PLANNED], ids=[c[0] for c in PLANNED]
)
def test_hunks_of_a_planned_change_are_the_edits_in_the_patch(
    body: str, before: str, expected: list[tuple[int, int, str, str]]
) -> None:
    assert hunks(body, before) == expected


def test_hunks_of_several_sections_for_one_file_are_combined() -> None:
    text = patch(
        "*** Update File: f", "-b", "+x", "*** Update File: f", " x", "+y", "*** Update File: f", "-a"
    )
    (change,) = change_set(text, {"f": "a\nb\nc"}).changes
    assert change.hunks == (LineHunk(0, 2, ("a\n", "b\n"), ("x\n", "y\n")),)
    assert "".join(apply_hunks(["a\n", "b\n", "c"], change.hunks)) == "x\ny\nc"


def test_line_ending_that_remains_after_adding_and_removing_a_line_is_a_hunk() -> None:
    text = patch("*** Update File: f", "@@", "+c", "*** Update File: f", "-c")
    (change,) = change_set(text, {"f": "a\nb"}).changes
    assert change.after == b"a\nb\n"
    assert change.hunks == (LineHunk(1, 2, ("b",), ("b\n",)),)


@pytest.mark.req("T4", "H6")
@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=8), st.booleans(), st.data())
def test_applying_all_hunks_gives_the_planned_file_and_applying_none_the_base(
    lines: list[str], is_ended: bool, data: st.DataObject
) -> None:
    before = "\n".join(lines) + ("\n" if is_ended else "")
    body = ["@@"]
    for line in lines:
        body += data.draw(
            st.sampled_from([[f" {line}"], [f"-{line}"], [f"-{line}", "+x"], ["+y", f" {line}"]])
        )
    result = change_set(update("\n".join(body)), {"f": before})
    for change in result.changes:
        base = split_lines(before)
        assert "".join(apply_hunks(base, change.hunks)).encode() == change.after
        assert "".join(apply_hunks(base, ())) == before
    assert result.changes or all(line.startswith((" ", "@")) for line in body)


ONE = LineHunk(3, 4, ("a\n",), ("b\r\n",))


def test_hunk_ids_are_stable_and_do_not_depend_on_line_numbers() -> None:
    moved = LineHunk(30, 31, ("a\n",), ("b\n",))
    assert hunk_ids("call", "f", [ONE]) == hunk_ids("call", "f", [moved]) == ("heb3caf792ba0",)


def test_hunk_ids_differ_by_tool_call_file_and_repetition() -> None:
    ids = [*hunk_ids("call", "f", [ONE, ONE]), *hunk_ids("other", "f", [ONE]), *hunk_ids("call", "g", [ONE])]
    assert len(set(ids)) == 4
    assert all(len(one) == 13 and one.startswith("h") for one in ids)


def test_lines_that_cannot_be_decoded_have_ids() -> None:
    assert hunk_ids("call", "f", [LineHunk(0, 0, (), ("\udcff\n",))])[0].startswith("h")
