"""Keep and undo: their effect on the base and the current text, and on other hunks."""

from __future__ import annotations

import pytest

from agent_ls.review.ledger import FileLedger
from tests.review.ledger_stories import Step, closed, shown, story, words
from tests.support.ledger_decisions import keep_hunks, undo_hunks

pytestmark = pytest.mark.req("H6")

TWO_HUNKS: tuple[Step, ...] = (("agent", "A b c d e"), ("agent", "A b c D x e"))


def ids(ledger: FileLedger) -> list[str]:
    return [hunk.id for hunk in ledger.open_hunks]


@pytest.mark.parametrize(
    ("decision", "base", "current", "hunks"),
    [
        (("keep", "0"), "A b c d e", "A b c D x e", ["pending c2 @3 d > D x"]),
        (("keep", "1"), "a b c D x e", "A b c D x e", ["pending c1 @0 a > A"]),
        (("undo", "0"), "a b c d e", "a b c D x e", ["pending c2 @3 d > D x"]),
        (("undo", "1"), "a b c d e", "A b c d e", ["pending c1 @0 a > A"]),
        (("undo", "0 1"), "a b c d e", "a b c d e", []),
        (("keep", "0 1"), "A b c D x e", "A b c D x e", []),
    ],
)
def test_a_decision_about_some_hunks_leaves_the_others_open(
    decision: Step, base: str, current: str, hunks: list[str]
) -> None:
    ledger = story("a b c d e", *TWO_HUNKS, decision)
    assert (words(ledger.base), words(ledger.current), shown(ledger)) == (base, current, hunks)


def test_keep_of_an_edited_hunk_keeps_the_current_text() -> None:
    ledger = story("a b c", ("agent", "a B c"), ("user", "a Bx own c"), ("keep", "0"))
    assert words(ledger.base) == "a Bx own c"
    assert closed(ledger) == ["kept c1"]


@pytest.mark.parametrize(
    ("start", "steps", "kept", "put_back"),
    [
        (None, [("agent", "a b")], "a b", None),
        (None, [("agent", "a b"), ("user", "a own")], "a own", None),
        ("a b", [("agent", None)], None, "a b"),
    ],
    ids=["created", "created and edited", "deleted"],
)
def test_a_decision_about_a_file_resolves_its_hunks(
    start: str | None, steps: list[Step], kept: str | None, put_back: str | None
) -> None:
    ledger = story(start, *steps)
    accepted = keep_hunks(ledger, ids(ledger)).ledger
    assert (words(accepted.base), words(accepted.current), accepted.hunks) == (kept, kept, ())
    reversed_ = undo_hunks(ledger, ids(ledger)).ledger
    assert (words(reversed_.base), words(reversed_.current)) == (put_back, put_back)


def test_decisions_about_closed_hunks_change_nothing() -> None:
    ledger = story("a b c", ("agent", "A b C"), ("keep", "0"), ("user", "A b c"))
    assert closed(ledger) == ["kept c1"]
    everything = [hunk.id for hunk in (*ledger.hunks, *ledger.closed)] + ["unknown"]
    for change in (keep_hunks(ledger, everything), undo_hunks(ledger, everything)):
        assert (change.ledger, change.changed) == (ledger, ())


def test_a_stale_hunk_is_closed_by_keep_and_cannot_be_undone() -> None:
    ledger = story("a b c", ("agent", "A b C"), ("user", "1 2 3 4"))
    (stale,) = (hunk.id for hunk in ledger.closed)
    assert undo_hunks(ledger, [stale]).changed == ()
    change = keep_hunks(ledger, [stale])
    assert [(hunk.id, hunk.state) for hunk in change.changed] == [(stale, "kept")]
    assert change.ledger.current == ledger.current
