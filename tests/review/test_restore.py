"""A ledger after a restart: a hunk is found by its lines if they occur at exactly one position."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_ls.review.ledger import FileLedger
from agent_ls.review.restore import StoredHunk, restore_ledger
from tests.review.ledger_stories import Step, closed, shown, story, text, words
from tests.support.ledger_checks import problems

pytestmark = pytest.mark.req("H6", "R3")


def stored(ledger: FileLedger) -> list[StoredHunk]:
    return [StoredHunk(hunk, ledger.lines_of(hunk)) for hunk in (*ledger.closed, *ledger.hunks)]


def restored(ledger: FileLedger, now: str | None, *, is_unchanged: bool = False) -> FileLedger:
    again = restore_ledger(
        "/f", stored(ledger), None if now is None else text(now), is_unchanged=is_unchanged
    )
    assert problems(again) == []
    assert words(again.current) == now
    return again


@pytest.mark.parametrize(
    ("now", "hunks", "lost"),
    [
        ("a B c x y d", ["pending c1 @1 b > B", "pending c1 @3  > x y"], []),
        ("1 2 a B 3 c x y", ["pending c1 @3 b > B", "pending c1 @6  > x y"], []),
        ("x y c B", ["pending c1 @0  > x y", "pending c1 @3 b > B"], []),
        ("a b c x y d", ["gone c1 @1 b > b", "pending c1 @3  > x y"], []),
        ("a b c d", ["gone c1 @1 b > b"], ["gone c1"]),
        ("a B c x y d x y", ["pending c1 @1 b > B"], ["stale c1"]),
        ("a B B c d", [], ["stale c1", "gone c1"]),
        ("a c d", [], ["stale c1", "gone c1"]),
        ("a b b c d", [], ["stale c1", "gone c1"]),
        (None, [], ["gone c1", "gone c1"]),
    ],
    ids=[
        "unchanged",
        "shifted",
        "moved",
        "one back at the base",
        "all back at the base",
        "one found twice",
        "found twice, the other not",
        "one nowhere",
        "base found twice",
        "file gone",
    ],
)
def test_hunks_of_a_possibly_changed_file_are_restored_by_searching_their_lines(
    now: str | None, hunks: list[str], lost: list[str]
) -> None:
    ledger = story("a b c d", ("agent", "a B c x y d"))
    again = restored(ledger, now)
    assert shown(again) == hunks
    assert closed(again) == lost


def test_an_edited_hunk_is_located_by_its_latest_text_or_by_the_agents_text() -> None:
    ledger = story("a b c", ("agent", "a B c"), ("user", "a Bx c"))
    assert shown(restored(ledger, "1 a Bx c")) == ["edited c1 @2 b > Bx"]
    assert shown(restored(ledger, "1 a B c")) == ["pending c1 @2 b > B"]


def test_hunk_of_deleted_lines_is_restored_as_pending_only_if_the_file_is_unchanged() -> None:
    ledger = story("a b c", ("agent", "a c"))
    assert shown(restored(ledger, "a c", is_unchanged=True)) == ["pending c1 @1 b > "]
    assert closed(restored(ledger, "a c")) == ["stale c1"]
    assert shown(restored(ledger, "a b c")) == ["gone c1 @1 b > b"]


def test_two_restored_hunks_that_match_the_same_lines_are_both_stale() -> None:
    ledger = story("a b c d e", ("agent", "a x y c d e"), ("agent", "a x y c y z e"))
    again = restored(ledger, "a x y z e")
    assert shown(again) == []
    assert closed(again) == ["stale c1", "stale c2"]


def test_decisions_are_final_after_a_restart() -> None:
    ledger = story("a b c", ("agent", "A b C"), ("undo", "0"))
    again = restored(ledger, "A b C")
    assert closed(again) == ["undone c1"]
    assert shown(again) == ["pending c1 @2 c > C"]


@pytest.mark.parametrize(
    ("start", "steps", "now", "hunks", "base"),
    [
        (None, [("agent", "a b")], "a b", ["pending create c1 @0  > a b"], None),
        (None, [("agent", "a b")], "a own", ["edited create c1 @0  > a own"], None),
        (None, [("agent", "a b")], None, [], None),
        ("a b", [("agent", None)], None, ["pending delete c1 @0 a b > "], "a b"),
        ("a b", [("agent", None)], "a b", [], "a b"),
    ],
)
def test_hunks_of_created_and_deleted_files_are_restored(
    start: str | None, steps: list[Step], now: str | None, hunks: list[str], base: str | None
) -> None:
    again = restored(story(start, *steps), now)
    assert (shown(again), words(again.base)) == (hunks, base)


def test_restored_hunk_found_by_search_does_not_take_the_position_of_a_placed_hunk() -> None:
    ledger = story("a b c", ("agent", "a x c"))
    (placed,) = stored(ledger)
    (elsewhere,) = stored(story("b x d", ("agent", "b x x d")))
    again = restore_ledger("/f", [elsewhere, replace(placed, is_placed=True)], text("a x c"))
    assert problems(again) == []
    assert shown(again) == ["pending c1 @1 b > x"]
    assert closed(again) == ["stale c1"]


def test_impossible_stored_positions_are_not_trusted() -> None:
    (one,) = stored(story("a b c", ("agent", "a x c")))
    twice = [replace(one, is_placed=True), replace(one, hunk=replace(one.hunk, id="other"), is_placed=True)]
    for now in ("a x c", "x a c", "a"):
        again = restore_ledger("/f", twice, text(now))
        assert problems(again) == []
        assert words(again.current) == now
        assert closed(again) == ["stale c1", "stale c1"]
