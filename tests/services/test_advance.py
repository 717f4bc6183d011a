"""The review of one file as a pure function: any history of reports keeps the ledger valid and the effects in line."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import pytest
from hypothesis import given, strategies as st

from agent_ls.environments.base import Attribution, FileWrite
from agent_ls.review.decisions import Decision
from agent_ls.review.ledger import open_ledger
from agent_ls.review.proposals import propose, text_with_proposals
from agent_ls.services.review import advance as machine, reports
from agent_ls.services.review.advance import advance
from agent_ls.services.review.effects import Effect, Forget, NotifyModel, PublishChange, PublishHunks
from agent_ls.services.review.reports import Report
from agent_ls.services.review.reviewed_file import PendingWrite, Proposal, ReviewedFile
from tests.support.ledger_checks import problems

pytestmark = pytest.mark.req("H6")

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "}\n"]), max_size=6).map("".join)
TEXTS = st.none() | st.builds("".join, st.tuples(LINES, st.sampled_from(["", "", "a"])))
TURNS = st.sampled_from(["t1", "t2"])
CALLS = st.builds(Attribution, st.sampled_from(["s1", "s2"]), TURNS, st.sampled_from(["c1", "c2", "c3"]))


def reviewed(text: str | None) -> ReviewedFile:
    return ReviewedFile(open_ledger("/f", text))


def encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def run(file: ReviewedFile, *happened: Report) -> tuple[ReviewedFile, list[Effect]]:
    effects: list[Effect] = []
    for report in happened:
        file, more = advance(file, report)
        effects += more
    return file, effects


@st.composite
def next_report(draw: st.DrawFn, file: ReviewedFile) -> Report:
    """Draw a report that can follow; `before` of a write is often, but not always, the known text."""
    known = file.ledger.current_text
    before, after = draw(st.one_of(st.just(known), TEXTS)), draw(TEXTS)
    ids = frozenset(hunk.id for hunk in file.ledger.open_hunks)
    state: Literal["kept", "undone"] = draw(st.sampled_from(["kept", "undone"]))
    choices: list[Report] = [
        reports.TextSeen(after),
        reports.DiskSeen(after, None, is_unexpected=True),
        reports.AgentWrote(before, after, draw(CALLS)),
        reports.AgentWroteBytes(),
        reports.SavedByUs(),
        reports.RolledBack(file.ledger, before, known, "s1", frozenset(draw(st.sets(TURNS)))),
        reports.DecisionBegun(Decision(ids, state), ""),
        reports.EditorUndid(before or "", after or ""),
        reports.DecisionWritten(),
        reports.DecisionEnded(draw(st.booleans())),
        reports.SessionTaken("s2"),
        reports.ProposalsCompared(),
        reports.ProposalWritten(before, after),
        reports.WriteEnded(),
    ]
    if known != after:
        who = draw(CALLS)
        write = FileWrite("/f", encoded(after), encoded(known))
        choices.append(reports.Proposed(Proposal(who, write, (propose("/f", known, after, who),)), "agent"))
    for it in file.proposals:
        chosen = frozenset(hunk.id for hunk in it.pending_hunks)
        choices.append(reports.WriteBegun(PendingWrite(it.call, it.number, it.groups, chosen, {}, "")))
        choices.append(reports.ProposalClosed(it.with_states(chosen, "undone"), "user"))
    return draw(st.sampled_from(choices))


@given(data=st.data(), start=TEXTS)
def test_any_history_of_reports_keeps_the_ledger_valid_and_tells_each_change_of_it(
    data: st.DataObject, start: str | None
) -> None:
    file = reviewed(start)
    for _ in range(data.draw(st.integers(1, 8))):
        report = data.draw(next_report(file))
        after, effects = advance(file, report)
        assert (after, effects) == advance(file, report)  # depends on nothing else
        assert problems(after.ledger) == []
        published = [effect for effect in effects if isinstance(effect, PublishHunks)]
        ledgers = [file.ledger, *(effect.change.ledger for effect in published)]
        if not isinstance(report, reports.SessionTaken):  # its hunks go without a word
            assert [effect.before for effect in published] == ledgers[:-1]
            assert after.ledger == ledgers[-1]
        text_by_kind = {
            reports.TextSeen: getattr(report, "text", None),
            reports.DiskSeen: getattr(report, "text", None),
            reports.AgentWrote: getattr(report, "after", None),
            reports.EditorUndid: getattr(report, "after", None),
            reports.ProposalWritten: getattr(report, "after", None),
        }
        if type(report) in text_by_kind:
            assert after.ledger.current_text == text_by_kind[type(report)]
        file = after


@given(data=st.data(), start=TEXTS)
def test_after_any_history_of_reports_the_proposals_fit_the_text_of_the_ledger(
    data: st.DataObject, start: str | None
) -> None:
    file = reviewed(start)
    for _ in range(data.draw(st.integers(1, 8))):
        file, _ = advance(file, data.draw(next_report(file)))
        written = file.pending_write.number if file.pending_write else None
        groups = [it for made in file.proposals if made.number != written for it in made.groups]
        assert {group.current for group in groups} <= {file.ledger.current}
        for group in groups:  # what is proposed can be written
            text_with_proposals(
                file.ledger.current_text, (it for it in group.hunks if it.state == "proposed")
            )


def test_a_text_that_was_seen_during_a_failed_write_of_proposed_hunks_is_compared_after_it() -> None:
    """An editor applied one of two kept hunks, and the undo of the rest was an internal error."""
    old, new, half = "one\nkeep\ntwo\n", "ONE\nkeep\nTWO\n", "one\nkeep\nTWO\n"
    who = Attribution("s1", "t", "c1")
    proposal = Proposal(who, FileWrite("/f", new.encode(), old.encode()), (propose("/f", old, new, who),))
    file, _ = run(reviewed(old), reports.Proposed(proposal, "agent"))
    (it,) = file.proposals
    write = PendingWrite(it.call, it.number, it.groups, frozenset(hunk.id for hunk in it.hunks), {}, "")
    file, _ = run(file, reports.WriteBegun(write), reports.TextSeen(half), reports.WriteEnded())
    assert [hunk.state for hunk in file.proposals[0].hunks] == ["proposed", "kept"]


def test_a_hunk_whose_lines_went_during_its_own_write_counts_as_the_editor_reports_it() -> None:
    who = Attribution("s1", "t", "c1")
    proposal = Proposal(who, FileWrite("/f", b"b\n", b"a\n"), (propose("/f", "a\n", "b\n", who),))
    file, _ = run(reviewed("a\n"), reports.Proposed(proposal, "agent"))
    (it,) = file.proposals
    write = PendingWrite(it.call, it.number, it.groups, frozenset(hunk.id for hunk in it.hunks), {}, "")
    file, _ = run(file, reports.WriteBegun(write), reports.TextSeen(""), reports.ProposalWritten("", ""))
    assert [hunk.state for hunk in file.proposals[0].hunks] == ["kept"]


def test_the_same_change_that_a_call_makes_again_after_the_user_reverted_it_is_a_hunk_of_its_own() -> None:
    who = Attribution("s1", "t", "c1")
    wrote = reports.AgentWrote("b\n", "b\nb\n", who)
    file, _ = run(reviewed("b\n"), wrote, reports.TextSeen("a\n"), reports.TextSeen("b\n"), wrote)
    assert problems(file.ledger) == [] and len(file.all_hunks) == 2


def test_a_write_that_is_reported_twice_is_recorded_once() -> None:
    write = reports.AgentWrote("a\n", "b\n", Attribution("s1", "t1", "c1"))
    file, effects = run(reviewed("a\n"), write)
    assert [effect for effect in effects if isinstance(effect, PublishChange)] != []
    assert advance(file, write) == (file, ())


@pytest.mark.parametrize("is_written", [True, False], ids=["written", "not written"])
def test_a_decision_of_which_another_file_could_not_be_written_is_taken_back(is_written: bool) -> None:
    file, _ = run(reviewed("a\n"), reports.AgentWrote("a\n", "b\n", Attribution("s1", "t1", "c1")))
    (hunk,) = file.ledger.open_hunks
    decided, _ = run(
        file,
        reports.DecisionBegun(Decision(frozenset([hunk.id]), "undone"), ""),
        reports.EditorUndid("b\n", "a\n"),
        reports.TextSeen("a\n" if is_written else "b\n"),
        reports.DecisionEnded(is_written),
    )
    (now,) = (*decided.ledger.hunks, *decided.ledger.closed)
    assert now.state == ("undone" if is_written else "pending")


@pytest.mark.parametrize("is_unexpected", [True, False], ids=["unexpected", "asked for"])
def test_the_model_hears_only_of_hunks_that_went_unexpectedly(is_unexpected: bool) -> None:
    file, _ = run(reviewed("a\n"), reports.AgentWrote("a\n", "b\n", Attribution("s1", "t1", "c1")))
    _, effects = advance(file, reports.DiskSeen("a\n", None, is_unexpected))
    assert any(isinstance(effect, NotifyModel) for effect in effects) == is_unexpected


def test_a_file_of_which_nothing_is_left_is_forgotten() -> None:
    file, _ = run(reviewed("a\n"), reports.AgentWrote("a\n", "b\n", Attribution("s1", "t1", "c1")))
    for report in (reports.AgentWroteBytes(), reports.SessionTaken("s1")):
        assert Forget() in advance(file, report)[1]
    kept = replace(file, proposals=(Proposal(Attribution("s2"), FileWrite("/f", b"", b""), ()),))
    assert Forget() not in advance(kept, reports.SessionTaken("s1"))[1]


def test_each_kind_of_report_has_a_row_in_the_table() -> None:
    table = (machine.__doc__ or "").partition("Transitions by report.")[2]
    rows = {line.split()[0] for line in table.splitlines() if line.startswith("    ") and line[4] != " "}
    assert rows == {kind.__name__ for kind in get_args(Report)}
