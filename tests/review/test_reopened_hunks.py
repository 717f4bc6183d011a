"""Hunks that are missing when a ledger is restored, and are reopened when a later text contains them."""

from __future__ import annotations

import pytest

from agent_ls.review.agent_edits import apply_agent_edit
from agent_ls.review.ledger import FileLedger
from agent_ls.review.reopened_hunks import is_missing, reopen_missing
from agent_ls.review.restore import StoredHunk, restore_ledger
from agent_ls.review.user_edits import apply_user_edit
from tests.review.ledger_stories import Step, closed, shown, story, text, words
from tests.support.ledger_checks import Call, problems

pytestmark = pytest.mark.req("H6", "R3")

START = "a b c d"
EDITS: list[Step] = [("agent", "a B c x y d")]  # one hunk replaces a line, one inserts lines


def stored(ledger: FileLedger) -> list[StoredHunk]:
    return [StoredHunk(hunk, ledger.lines_of(hunk)) for hunk in ledger.hunks]


def built_again(disk: str, start: str = START, *steps: Step) -> tuple[FileLedger, list[StoredHunk]]:
    """Return the ledger restored from the text on disk, and the hunks that are missing in it."""
    items = stored(story(start, *(steps or EDITS)))
    ledger = restore_ledger("/f", items, text(disk))
    return ledger, [item for item in items if is_missing(ledger, item)]


@pytest.mark.parametrize(
    ("saved", "hunks"),
    [
        ("a B c x y d", ["pending c1 @1 b > B", "pending c1 @3  > x y"]),
        ("own a B c x y d", ["pending c1 @2 b > B", "pending c1 @4  > x y"]),
        ("a b c x y d", ["gone c1 @1 b > b", "pending c1 @3  > x y"]),
        ("a b c x own d", ["gone c1 @1 b > b"]),
        ("a B c x y d x y", ["pending c1 @1 b > B"]),
        ("own", []),
    ],
)
def test_a_missing_hunk_that_a_later_text_contains_once_is_reopened(saved: str, hunks: list[str]) -> None:
    ledger, missing = built_again(START)
    assert len(missing) == 2
    edited = apply_user_edit(ledger, text(saved)).ledger
    change = reopen_missing(edited, missing)
    after = change.ledger if change else edited
    assert shown(after) == hunks
    assert problems(after) == [] and words(after.current) == saved
    moved = [hunk for hunk in after.hunks if edited.find(hunk.id) != hunk]
    assert {hunk.id for hunk in (change.changed if change else ())} >= {hunk.id for hunk in moved}


def test_reopening_a_hunk_leaves_hunks_of_earlier_edits_unchanged() -> None:
    ledger, missing = built_again(START)
    ledger = apply_agent_edit(ledger, text("a b c D"), Call("c9", "s1")).ledger
    change = reopen_missing(apply_user_edit(ledger, text("a b c x y D")).ledger, missing)
    assert change is not None and problems(change.ledger) == []
    assert shown(change.ledger) == ["gone c1 @1 b > b", "pending c1 @3  > x y", "pending c9 @5 d > D"]


def test_decided_and_present_hunks_do_not_count_as_missing() -> None:
    items = stored(story(START, *EDITS))
    assert not any(is_missing(restore_ledger("/f", items, text("a B c x y d")), item) for item in items)
    kept = story(START, *EDITS, ("keep", "0"))
    assert closed(kept)
    assert not any(is_missing(kept, item) for item in items)
    ledger, missing = built_again("a B c x y d")
    assert not missing and reopen_missing(ledger, missing) is None


def test_without_a_file_no_hunk_is_reopened() -> None:
    ledger, missing = built_again(START)
    assert reopen_missing(apply_user_edit(ledger, None).ledger, missing) is None
