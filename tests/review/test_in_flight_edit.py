"""The outcome of an edit in flight: each transition of the module's table, and the behaviour of real editors."""

from __future__ import annotations

import pytest

from agent_ls.review.in_flight_edit import (
    Answered,
    Applied,
    Closed,
    EditEvent,
    GraceEnded,
    InFlightEdit,
    Observed,
    Outcome,
    Refused,
    Stale,
    TimedOut,
    Undecided,
    advance_edit,
    start_edit,
)

pytestmark = pytest.mark.req("H4")

OLD, OURS = "a\nb\nc\n", "a\nB\nc\n"
TYPED, BOTH, MIXED = "typed\na\nb\nc\n", "typed\na\nB\nc\n", "a\nxyz\nc\n"
YES, NO, FAILED = Answered(True), Answered(False, "stale"), Answered(False, "Document is out of date")
WITHOUT, WITH, UNCLEAR = Observed(2, TYPED), Observed(3, BOTH), Observed(2, MIXED)

WAITING, IN_GRACE = Undecided(), Undecided(in_grace=True)
APPLIED = Applied(OURS, OURS, 2)


def state_after(*happenings: EditEvent) -> tuple[InFlightEdit, Outcome]:
    """Return the state after the last event; the events before it must not decide the outcome."""
    edit = start_edit(OLD, OURS, 1)
    outcome: Outcome = WAITING
    for happening in happenings:
        assert isinstance(outcome, Undecided)
        edit, outcome = advance_edit(edit, happening)
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
            Refused(
                "the editor reported that it applied the edit, but the text of the document did not change: "
                "read the file again to see its state"
            ),
        ),
        ([YES, WITHOUT], IN_GRACE),
        ([YES, WITHOUT, GraceEnded()], Stale()),
        ([YES, WITHOUT, TimedOut()], Stale()),
        ([YES, WITHOUT, Observed(3, "more\n" + TYPED), GraceEnded()], Stale()),
        ([YES, WITHOUT, Observed(3, BOTH)], Applied(BOTH, BOTH, 3)),
        ([YES, GraceEnded()], WAITING),
        ([WITHOUT], WAITING),
        ([WITHOUT, YES], IN_GRACE),
        ([WITHOUT, YES, GraceEnded()], Stale()),
        ([WITHOUT, NO], IN_GRACE),
        ([WITHOUT, NO, GraceEnded()], Stale()),
        ([NO], WAITING),
        ([NO, WITHOUT], Stale()),
        ([NO, GraceEnded()], WAITING),
        ([NO, TimedOut()], Refused("stale")),
        ([FAILED, TimedOut()], Refused("Document is out of date")),
        ([NO, Observed(2, OURS)], APPLIED),
        ([NO, WITH], WAITING),
        ([Answered(False), TimedOut()], Refused("the editor did not apply the edit and gave no reason")),
        ([WITHOUT, GraceEnded()], WAITING),
        ([YES, Observed(1, OLD)], WAITING),
        ([YES, Observed(1, OLD), GraceEnded()], WAITING),
        ([YES, UNCLEAR, GraceEnded()], WAITING),
        ([NO, UNCLEAR, Observed(3, TYPED)], Stale()),
    ],
)
def test_in_flight_edit_has_the_expected_outcome_after_each_event_sequence(
    happenings: list[EditEvent], expected: Outcome
) -> None:
    assert state_after(*happenings)[1] == expected


@pytest.mark.parametrize(
    ("happenings", "reason"),
    [
        ([TimedOut()], "did not answer"),
        ([WITHOUT, TimedOut()], "did not answer"),
        ([YES, UNCLEAR, TimedOut()], "not at all"),
        ([NO, UNCLEAR, TimedOut()], "not at all"),
        ([Closed()], "closed"),
        ([YES, WITHOUT, Closed()], "closed"),
    ],
)
def test_an_edit_with_unknown_outcome_is_refused_with_a_reason(
    happenings: list[EditEvent], reason: str
) -> None:
    outcome = state_after(*happenings)[1]
    assert isinstance(outcome, Refused)
    assert reason in outcome.reason


def test_the_old_text_follows_changes_known_to_lack_the_edit() -> None:
    edit, _ = state_after(YES, WITHOUT)
    assert (edit.old, edit.expected) == (TYPED, BOTH)


def test_the_old_text_follows_typing_in_the_lines_of_the_edit() -> None:
    edit, outcome = state_after(YES, Observed(2, "a\nb typed\nc\n"))
    assert (edit.old, edit.expected, outcome) == ("a\nb typed\nc\n", OURS, IN_GRACE)


def test_an_edit_that_changes_nothing_is_not_sent() -> None:
    with pytest.raises(ValueError, match="changes nothing"):
        start_edit(OLD, OLD, 1)


def test_a_repeated_edit_is_not_reported_as_missing_if_the_first_attempt_may_be_at_a_wrong_position() -> None:
    first = start_edit("one\ntwo\nthree\n", "one\ntwo\nthree !\n", 1)
    first, _ = advance_edit(first, NO)
    first, outcome = advance_edit(first, Observed(2, "one\nthree ! \ntwo\nthree\n"))
    assert (outcome, first.is_in_doubt) == (Stale(), True)
    second = start_edit(first.old, first.expected, 2, follows_doubt=first.is_in_doubt)
    second, _ = advance_edit(second, YES)
    _, outcome = advance_edit(second, TimedOut())
    assert isinstance(outcome, Refused)
    assert "not at all" in outcome.reason


HALF_OLD, HALF_NEW = "a\nb\nc\n", "A\nb\nC\n"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(YES, "not at all"), (NO, Stale())],
    ids=["applied", "not applied"],
)
def test_partly_applied_edit_does_not_count_as_missing_unless_the_editor_denies_the_edit(
    answer: Answered, expected: object
) -> None:
    edit = start_edit(HALF_OLD, HALF_NEW, 1)
    outcome: Outcome = WAITING
    for happening in (answer, Observed(2, "A\nb\nc\n"), Observed(3, "atyped\nb\nc\n"), TimedOut()):
        if not isinstance(outcome, Undecided):
            break
        edit, outcome = advance_edit(edit, happening)
    assert outcome == expected or (isinstance(outcome, Refused) and str(expected) in outcome.reason)


@pytest.mark.parametrize(
    ("happenings", "expected"),
    [
        ([Observed(1, TYPED), YES, Observed(2, "x\n" + TYPED), GraceEnded()], WAITING),
        ([YES, WITHOUT, Observed(2, "x\n" + TYPED), GraceEnded()], WAITING),
        ([Observed(1, TYPED), Observed(2, "x\n" + TYPED), NO, GraceEnded()], Stale()),
        ([YES, Observed(1, TYPED), Observed(2, BOTH)], Applied(BOTH, BOTH, 2)),
    ],
)
def test_edit_is_not_resent_after_a_repeated_document_version_unless_the_editor_denies_the_edit(
    happenings: list[EditEvent], expected: Outcome
) -> None:
    edit, outcome = state_after(*happenings)
    assert outcome == expected
    if outcome == WAITING:
        timed_out = advance_edit(edit, TimedOut())[1]
        assert isinstance(timed_out, Refused) and "not at all" in timed_out.reason
