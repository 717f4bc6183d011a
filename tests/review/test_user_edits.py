"""The user's typing is accepted text or makes a hunk `edited`; undo and redo of an editor are recognised."""

from __future__ import annotations

import pytest

from agent_ls.review.user_edits import apply_user_edit
from tests.review.ledger_stories import Step, closed, shown, story, text, words

pytestmark = pytest.mark.req("H6")


@pytest.mark.parametrize(
    ("before", "by_agent", "typed", "base", "hunks"),
    [
        pytest.param(
            "a b c d", "a B c d", "new a B c d", "new a b c d", ["pending c1 @2 b > B"], id="changed: above"
        ),
        pytest.param(
            "a b c d",
            "a B c d",
            "a new B c d",
            "a new b c d",
            ["pending c1 @2 b > B"],
            id="changed: directly above",
        ),
        pytest.param(
            "a b c d",
            "a B c d",
            "a B new c d",
            "a b new c d",
            ["pending c1 @1 b > B"],
            id="changed: directly below",
        ),
        pytest.param(
            "a b c d",
            "a B c d",
            "a B c d new",
            "a b c d new",
            ["pending c1 @1 b > B"],
            id="changed: at the end",
        ),
        pytest.param(
            "a b c d", "a B c d", "a B c D", "a b c D", ["pending c1 @1 b > B"], id="changed: elsewhere"
        ),
        pytest.param(
            "a b c d",
            "a B c d",
            "B c d",
            "b c d",
            ["pending c1 @0 b > B"],
            id="changed: a line above deleted",
        ),
        pytest.param(
            "a b c d", "a B c d", "a Bx c d", "a b c d", ["edited c1 @1 b > Bx"], id="changed: in the hunk"
        ),
        pytest.param(
            "a b c d",
            "a B c d",
            "a B1 B2 c d",
            "a b c d",
            ["edited c1 @1 b > B1 B2"],
            id="changed: a line broken in two",
        ),
        pytest.param(
            "a b c d", "a B c d", "a c d", "a b c d", ["edited c1 @1 b > "], id="changed: the hunk deleted"
        ),
        pytest.param(
            "a b c d", "a B c d", "a b c d", "a b c d", ["gone c1 @1 b > b"], id="changed: back at the base"
        ),
        pytest.param(
            "a b c d",
            "a B c d",
            "A Bx c d",
            "A b c d",
            ["edited c1 @1 b > Bx"],
            id="changed: across the border, line for line",
        ),
        pytest.param(
            "a b c d",
            "a B c d",
            "new c d",
            "a b c d",
            ["edited c1 @0 a b > new"],
            id="changed: across the border, otherwise",
        ),
        pytest.param(
            "a b c d",
            "a B c d",
            "a d",
            "a b d",
            ["edited c1 @1 b > "],
            id="changed: deleted with the line below",
        ),
        pytest.param(
            "a b c", "a c", "a new c", "a b new c", ["pending c1 @1 b > "], id="deleted: a line where it was"
        ),
        pytest.param("a b c", "a c", "a b c", "a b c", ["gone c1 @1 b > b"], id="deleted: the line itself"),
        pytest.param(
            "a b c", "a c", "a", "a b", ["pending c1 @1 b > "], id="deleted: the line after it deleted"
        ),
        pytest.param(
            "a b",
            "a x y b",
            "a x x y b",
            "a x b",
            ["pending c1 @2  > x y"],
            id="inserted: its first line again above",
        ),
        pytest.param(
            "a b",
            "a x y b",
            "a x y y b",
            "a y b",
            ["pending c1 @1  > x y"],
            id="inserted: its last line again below",
        ),
        pytest.param(
            "a b", "a x y b", "a x new y b", "a b", ["edited c1 @1  > x new y"], id="inserted: inside"
        ),
        pytest.param("a b", "a x y b", "a b", "a b", ["gone c1 @1  > "], id="inserted: all deleted"),
        pytest.param(
            "a b", "a x y b", "x y b", "b", ["pending c1 @0  > x y"], id="inserted: line above deleted"
        ),
    ],
)
def test_typing_around_a_hunk_moves_or_edits_it(
    before: str, by_agent: str, typed: str, base: str, hunks: list[str]
) -> None:
    ledger = story(before, ("agent", by_agent), ("user", typed))
    assert words(ledger.base) == base
    assert shown(ledger) == hunks


UNDONE = [
    ("a b c d e", "A b c D e"),
    ("a b c d e", "a c e"),
    ("a b c", "a x y b z c"),
    ("- a - - b -", "- - a - b"),
    ("a a a", "a a"),
    ("a a a", "a a a a"),
    ("- - x - -", "- - - x -"),
    ("a b c|", "a B c"),
    ("a b", "a b c|"),
    ("", "a b"),
    ("a b", ""),
]


@pytest.mark.parametrize(("before", "after"), UNDONE)
def test_editor_undo_of_an_agent_change_makes_hunks_gone_and_redo_makes_them_pending(
    before: str, after: str
) -> None:
    changed = story(before, ("agent", after))
    assert {hunk.state for hunk in changed.hunks} == {"pending"}
    undone = story(before, ("agent", after), ("user", before))
    assert {hunk.state for hunk in undone.hunks} == {"gone"}
    assert undone.base == undone.current
    redone = story(before, ("agent", after), ("user", before), ("user", after))
    assert redone == changed


@pytest.mark.parametrize(
    "steps",
    [
        [("agent", "a B c"), ("user", "a Bx c"), ("user", "a B c")],
        [("agent", "a B c"), ("user", "a c"), ("user", "a B c")],
        [("agent", "a B c"), ("user", "new"), ("user", "a B c")],
        [("agent", "a B c"), ("user", "1 2 3 4"), ("user", "a b c"), ("user", "a B c")],
    ],
    ids=["inside", "deleted", "all replaced", "all replaced, then the base"],
)
def test_reverted_typing_leaves_the_hunk_pending(steps: list[Step]) -> None:
    ledger = story("a b c", *steps)
    assert shown(ledger) == ["pending c1 @1 b > B"]
    assert words(ledger.base) == "a b c"


def test_two_hunks_are_undone_one_after_the_other() -> None:
    ledger = story("a b c d", ("agent", "A b c d"), ("agent", "A b c D"), ("user", "A b c d"))
    assert shown(ledger) == ["pending c1 @0 a > A", "gone c2 @3 d > d"]
    ledger = story("a b c d", ("agent", "A b c d"), ("agent", "A b c D"), ("user", "a b c d"))
    assert shown(ledger) == ["gone c1 @0 a > a", "gone c2 @3 d > d"]


def test_a_gone_hunk_keeps_its_position_while_the_user_types_elsewhere() -> None:
    ledger = story(
        "a b c", ("agent", "a B c"), ("user", "a b c"), ("user", "1 2 a b c 3"), ("user", "1 2 a B c 3")
    )
    assert shown(ledger) == ["pending c1 @3 b > B"]
    assert words(ledger.base) == "1 2 a b c 3"


def test_a_change_over_two_hunks_makes_one_edited_and_the_other_stale() -> None:
    ledger = story("a b c d", ("agent", "a B c d"), ("agent", "a B c D"), ("user", "a x y z 1 2"))
    assert shown(ledger) == ["edited c1 @1 b c d > x y z 1 2"]
    assert closed(ledger) == ["stale c2"]


def test_line_by_line_formatting_marks_hunks_as_edited_and_changes_the_rest_of_the_base() -> None:
    ledger = story("a b c d", ("agent", "a B c d"), ("agent", "a B c D"), ("user", "_a _B _c _D"))
    assert words(ledger.base) == "_a b _c d"
    assert shown(ledger) == ["edited c1 @1 b > _B", "edited c2 @3 d > _D"]


def test_a_hunk_undone_by_a_decision_stays_undone_after_the_editors_redo() -> None:
    ledger = story("a b c", ("agent", "a B c"), ("undo", "0"), ("user", "a B c"))
    assert shown(ledger) == []
    assert closed(ledger) == ["undone c1"]
    assert words(ledger.base) == "a B c"


def test_the_line_end_added_by_typing_after_the_last_line_survives_an_undo() -> None:
    ledger = story("a b|", ("agent", "a B"), ("user", "a B new"), ("undo", "0"))
    assert words(ledger.current) == "a b new"


def test_an_edit_reports_only_the_hunks_that_changed() -> None:
    ledger = story("a b c d", ("agent", "A b c d"), ("agent", "A b c D"))
    assert apply_user_edit(ledger, text("new A b c D")).changed == ()
    assert [hunk.call_id for hunk in apply_user_edit(ledger, text("A b c Dx")).changed] == ["c2"]
    assert apply_user_edit(ledger, text("A b c D")).ledger == ledger


@pytest.mark.parametrize(
    ("steps", "hunks", "current"),
    [
        ([("agent", "x y"), ("user", "x y")], ["pending create c1 @0  > x y"], "x y"),
        ([("agent", "x y"), ("user", "x z")], ["edited create c1 @0  > x z"], "x z"),
        ([("agent", "x y"), ("user", "x z"), ("user", "x y")], ["pending create c1 @0  > x y"], "x y"),
        ([("agent", "x"), ("user", None)], [], None),
        ([("agent", "x"), ("user", None), ("user", "x")], ["pending create c1 @0  > x"], "x"),
        ([("agent", "x"), ("user", None), ("user", "own")], [], "own"),
        ([("user", "own")], [], "own"),
        ([("user", None)], [], None),
    ],
)
def test_user_edits_of_a_created_file_change_its_hunk(
    steps: list[Step], hunks: list[str], current: str | None
) -> None:
    ledger = story(None, *steps)
    assert (shown(ledger), words(ledger.current)) == (hunks, current)
    assert ledger.base is None if hunks else ledger.base == ledger.current


@pytest.mark.parametrize(
    ("steps", "hunks", "current"),
    [
        ([("agent", None)], ["pending delete c1 @0 a b > "], None),
        ([("agent", None), ("user", "a b")], [], "a b"),
        ([("agent", None), ("user", "a b"), ("user", None)], ["pending delete c1 @0 a b > "], None),
        ([("agent", None), ("user", "own")], [], "own"),
        ([("agent", "a B"), ("user", None)], [], None),
    ],
)
def test_user_edits_of_a_deleted_file_change_its_hunk(
    steps: list[Step], hunks: list[str], current: str | None
) -> None:
    ledger = story("a b", *steps)
    assert (shown(ledger), words(ledger.current)) == (hunks, current)
    assert {state.split()[0] for state in closed(ledger)} <= {"gone"}
