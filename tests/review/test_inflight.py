"""The fate of an edit on its way: every transition of the table in the module, and the editors it was made for."""

from __future__ import annotations

import pytest

from agent_ls.review.inflight import (
    Answered,
    Applied,
    Closed,
    Happening,
    InFlightEdit,
    Observed,
    Outcome,
    Refused,
    Settled,
    Stale,
    TimedOut,
    Waiting,
    advance,
    send,
)

pytestmark = pytest.mark.req("H4")

OLD, OURS = "a\nb\nc\n", "a\nB\nc\n"
TYPED, BOTH, MIXED = "typed\na\nb\nc\n", "typed\na\nB\nc\n", "a\nxyz\nc\n"
YES, NO, FAILED = Answered(True), Answered(False, "stale"), Answered(False, "Document is out of date")
WITHOUT, WITH, UNCLEAR = Observed(2, TYPED), Observed(3, BOTH), Observed(2, MIXED)

WAITING, SETTLING = Waiting(), Waiting(settling=True)
APPLIED = Applied(OURS, OURS, 2)


def fate(*happenings: Happening) -> tuple[InFlightEdit, Outcome]:
    """What is known after the last one; all before it decide nothing."""
    edit = send(OLD, OURS, 1)
    outcome: Outcome = WAITING
    for happening in happenings:
        assert isinstance(outcome, Waiting)
        edit, outcome = advance(edit, happening)
    return edit, outcome


@pytest.mark.parametrize(
    ("happenings", "expected"),
    [
        ([YES, Observed(2, OURS)], APPLIED),
        ([Observed(2, OURS)], APPLIED),
        ([YES, Observed(3, BOTH)], Applied(OURS, BOTH, 3)),
        ([YES], WAITING),
        (
            [YES, TimedOut()],
            Refused("the editor said that it applied the edit, but its text never showed it"),
        ),
        ([YES, WITHOUT], SETTLING),
        ([YES, WITHOUT, Settled()], Stale()),
        ([YES, WITHOUT, TimedOut()], Stale()),
        ([YES, WITHOUT, Observed(3, "more\n" + TYPED), Settled()], Stale()),
        ([YES, WITHOUT, Observed(3, BOTH)], Applied(BOTH, BOTH, 3)),
        ([YES, Settled()], WAITING),
        ([WITHOUT], WAITING),
        ([WITHOUT, YES], SETTLING),
        ([WITHOUT, YES, Settled()], Stale()),
        ([WITHOUT, NO], SETTLING),
        ([WITHOUT, NO, Settled()], Stale()),
        ([NO], WAITING),
        ([NO, WITHOUT], Stale()),
        ([NO, Settled()], WAITING),
        ([NO, TimedOut()], Refused("stale")),
        ([FAILED, TimedOut()], Refused("Document is out of date")),
        ([NO, Observed(2, OURS)], APPLIED),
        ([NO, WITH], WAITING),
        ([Answered(False), TimedOut()], Refused("the editor did not apply it and gave no reason")),
        ([WITHOUT, Settled()], WAITING),
        ([YES, Observed(1, OLD)], WAITING),
        ([YES, Observed(1, OLD), Settled()], WAITING),
        ([YES, UNCLEAR, Settled()], WAITING),
        ([NO, UNCLEAR, Observed(3, TYPED)], Stale()),
    ],
)
def test_what_is_known_after(happenings: list[Happening], expected: Outcome) -> None:
    assert fate(*happenings)[1] == expected


@pytest.mark.parametrize(
    ("happenings", "reason"),
    [
        ([TimedOut()], "did not answer"),
        ([WITHOUT, TimedOut()], "did not answer"),
        ([YES, UNCLEAR, TimedOut()], "cannot be told"),
        ([NO, UNCLEAR, TimedOut()], "cannot be told"),
        ([Closed()], "closed"),
        ([YES, WITHOUT, Closed()], "closed"),
    ],
)
def test_an_edit_of_unknown_fate_is_refused_and_says_why(happenings: list[Happening], reason: str) -> None:
    outcome = fate(*happenings)[1]
    assert isinstance(outcome, Refused)
    assert reason in outcome.reason


def test_the_old_text_follows_what_is_known_to_lack_the_edit() -> None:
    edit, _ = fate(YES, WITHOUT)
    assert (edit.old, edit.expected) == (TYPED, BOTH)


def test_the_old_text_stays_while_the_typing_conflicts_with_the_edit() -> None:
    edit, outcome = fate(YES, Observed(2, "a\nb typed\nc\n"))
    assert (edit.old, edit.expected, outcome) == (OLD, OURS, SETTLING)


def test_an_edit_that_changes_nothing_is_not_sent() -> None:
    with pytest.raises(ValueError, match="changes nothing"):
        send(OLD, OLD, 1)
