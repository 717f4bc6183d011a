"""An agent's changes become hunks. Its later changes inside a hunk become part of that hunk."""

from __future__ import annotations

import pytest

from agent_ls.patch.hunks import LineHunk, hunk_ids
from agent_ls.review.agent_edits import apply_agent_edit
from agent_ls.review.ledger import open_ledger
from tests.review.ledger_stories import Step, closed, shown, story, text, words
from tests.support.ledger_checks import Call

pytestmark = pytest.mark.req("H6")


@pytest.mark.parametrize(
    ("before", "after", "hunks"),
    [
        ("a b c", "a B c", ["pending c1 @1 b > B"]),
        ("a b c", "a x y b c", ["pending c1 @1  > x y"]),
        ("a b c", "a c", ["pending c1 @1 b > "]),
        ("a b c d e", "A b c x d", ["pending c1 @0 a > A", "pending c1 @3  > x", "pending c1 @5 e > "]),
        ("a b", "a b", []),
        ("a|", "a", ["pending c1 @0 a| > a"]),
        ("", "a", ["pending c1 @0  > a"]),
        (None, "a b", ["pending create c1 @0  > a b"]),
        (None, "", ["pending create c1 @0  > "]),
        ("a b", None, ["pending delete c1 @0 a b > "]),
        (None, None, []),
    ],
)
def test_a_first_change_gives_a_hunk_for_each_run_of_changed_lines(
    before: str | None, after: str | None, hunks: list[str]
) -> None:
    ledger = story(before, ("agent", after))
    assert shown(ledger) == hunks
    assert words(ledger.base) == before


def test_hunk_ids_follow_the_specification_and_differ_for_equal_changes() -> None:
    call = Call("c9")
    change = apply_agent_edit(open_ledger("/f", text("a b a b")), text("A b A b"), call)
    runs = [LineHunk(0, 1, ("a\n",), ("A\n",)), LineHunk(2, 3, ("a\n",), ("A\n",))]
    expected = hunk_ids(f"{call.session_id}/c9", "/f", runs)
    assert tuple(hunk.id for hunk in change.new) == expected
    again = apply_agent_edit(change.ledger, text("A b A B"), Call("c9"))
    assert len({*expected, *(hunk.id for hunk in again.new)}) == 3


@pytest.mark.parametrize(
    ("second", "hunks", "gone"),
    [
        ("a B2 c d", ["pending c1 @1 b > B2"], []),
        ("a B B2 c d", ["pending c1 @1 b > B", "pending c2 @2  > B2"], []),
        ("a x B c d", ["pending c2 @1  > x", "pending c1 @2 b > B"], []),
        ("a b c d", ["gone c1 @1 b > b"], []),
        ("a c d", ["pending c1 @1 b > "], []),
        ("a B C d", ["pending c1 @1 b > B", "pending c2 @2 c > C"], []),
        ("new d", ["pending c1 @0 a b c > new"], []),
        ("a B c D", ["pending c1 @1 b > B", "pending c2 @3 d > D"], []),
        (None, ["pending delete c2 @0 a b c d > "], ["gone c1"]),
    ],
    ids=["inside", "below", "above", "back", "deleted", "next line", "around", "elsewhere", "file deleted"],
)
def test_second_tool_call_at_a_hunk_updates_the_hunk_or_adds_another_hunk(
    second: str | None, hunks: list[str], gone: list[str]
) -> None:
    ledger = story("a b c d", ("agent", "a B c d"), ("agent", second))
    assert shown(ledger) == hunks
    assert closed(ledger) == gone
    assert words(ledger.base) == "a b c d"


def test_a_hunk_changed_again_keeps_its_id_and_is_reported() -> None:
    before = story("a b c", ("agent", "a B c"))
    change = apply_agent_edit(before, text("a B2 c"), Call("c2"))
    assert [hunk.id for hunk in change.changed] == [before.hunks[0].id]
    assert change.new == ()


@pytest.mark.parametrize(
    ("steps", "hunks", "lost"),
    [
        (
            [("agent", "A b c d"), ("agent", "A b C d"), ("agent", "new d")],
            ["pending c1 @0 a b c > new"],
            ["gone c2"],
        ),
        ([("agent", "a c d"), ("agent", "a x c d")], ["pending c1 @1 b > x"], []),
        ([("agent", "a c d"), ("agent", "a b c d")], ["gone c1 @1 b > b"], []),
        (
            [("agent", "a B c d"), ("user", "a b c d"), ("agent", "a x c d")],
            ["pending c3 @1 b > x"],
            ["gone c1"],
        ),
        ([("agent", "a B c d"), ("agent", "a b c d"), ("user", "a B c d")], ["pending c1 @1 b > B"], []),
    ],
    ids=[
        "two swallowed",
        "put where it deleted",
        "its deletion taken back",
        "over a gone one",
        "redone by the user",
    ],
)
def test_agent_changes_inside_its_earlier_hunks_update_them(
    steps: list[Step], hunks: list[str], lost: list[str]
) -> None:
    ledger = story("a b c d", *steps)
    assert shown(ledger) == hunks
    assert closed(ledger) == lost


def test_a_user_edited_hunk_stays_edited_when_the_agent_changes_it() -> None:
    ledger = story("a b c", ("agent", "a 1 2 3 c"), ("user", "a 1 2own 3 c"), ("agent", "a X 2own 3 c"))
    assert shown(ledger) == ["edited c1 @1 b > X 2own 3"]
    assert words(ledger.hunks[0].agent_lines) == "X 2 3"


@pytest.mark.parametrize(
    ("second", "hunks", "lost"),
    [
        ("a B2 c d", ["edited c1 @1 b > B2"], []),
        ("a B c D", ["pending c1 @1 b > B", "pending c2 @3 d > D"], []),
        ("a new d", ["edited c2 @1 b c > new"], ["stale c1"]),
    ],
    ids=["inside", "elsewhere", "around"],
)
def test_an_edit_of_another_session_in_a_hunk_counts_as_a_user_edit(
    second: str, hunks: list[str], lost: list[str]
) -> None:
    ledger = story("a b c d", ("agent", "a B c d"), ("other agent", second))
    assert shown(ledger) == hunks
    assert closed(ledger) == lost


def test_lines_added_by_another_session_at_a_deletion_belong_to_that_session() -> None:
    ledger = story("a b c", ("agent", "a c"), ("other agent", "a x c"))
    assert shown(ledger) == ["pending c1 @1 b > ", "pending c2 @1  > x"]


@pytest.mark.parametrize(
    ("steps", "hunks"),
    [
        ([("agent", "a"), ("agent", "a b")], ["pending create c1 @0  > a b"]),
        ([("agent", "a"), ("user", "a own"), ("agent", "A own")], ["edited create c1 @0  > A own"]),
        ([("agent", "a"), ("user", "a own"), ("agent", "a")], ["pending create c1 @0  > a"]),
        ([("agent", "a"), ("other agent", "b")], ["edited create c1 @0  > b"]),
        ([("agent", "a"), ("user", "b"), ("other agent", "a")], ["pending create c1 @0  > a"]),
        ([("agent", "a"), ("agent", None)], []),
    ],
    ids=[
        "changed",
        "after the user",
        "user's part removed",
        "by another",
        "made again by another",
        "deleted",
    ],
)
def test_agent_edits_of_a_created_file_stay_one_hunk(steps: list[Step], hunks: list[str]) -> None:
    assert shown(story(None, *steps)) == hunks


def test_a_file_deleted_and_written_again_has_hunks_for_its_differences_from_the_base() -> None:
    ledger = story("a b c", ("agent", None), ("agent", "a B c"))
    assert shown(ledger) == ["pending c2 @1 b > B"]
    assert closed(ledger) == ["gone c1"]


def test_file_deletion_by_the_agent_keeps_text_typed_in_hunks_in_the_base() -> None:
    ledger = story(
        "a b c", ("agent", "A b C"), ("user", "A own b C"), ("user", "Ax own b C"), ("agent", None)
    )
    assert closed(ledger) == ["stale c1", "gone c1"]
    assert words(ledger.base) == "Ax own b c"
