"""The review of one file: decide here, act elsewhere.

    file, effects = advance(file, report)

A pure function: no session, no clock, no disk, no editor. `state.py` keeps the value of each file, passes the
reports of editors, environments and users, and carries out the effects in their order. A report of a text does not
name the cause: what no other report explains counts as the user's edit.

Transitions by report. "Seen" means: the text replaces the ledger's text as an edit by the user. This publishes the
changed hunks, compares the proposals with the text, and reopens missing hunks, or hunks that the editor's own undo
restored. A text that the ledger has already changes nothing.

    TextSeen           seen
    DiskSeen           seen; the encoding is noted; hunks that are gone unexpectedly: a notice for the model
    AgentWrote         known already: nothing. Otherwise `before` is seen; new hunks, published with the change;
                       hunks that the call changed are published after it
    AgentWroteBytes    all hunks are gone; without proposals, the file is forgotten
    RolledBack         the session's hunks of these turns are gone, those of other turns keep what is left
    SavedByUs          noted, for an undo that has to be saved as well
    Restored           the ledger is replaced; hunks that are gone: a notice for the model
    HunksMissing       noted, until a text contains them
    SessionTaken       the session's hunks count as kept, its proposals are removed; nothing is published

    DecisionBegun      noted
    EditorUndid        `before` is seen, the decision is recorded (once), `after` is seen
    DecisionWritten    the decision is recorded, unless EditorUndid did it
    DecisionEnded      not written, but recorded: the ledger from before the decision, with the text of now

    Proposed           added, and published
    ProposalsCompared  proposals get new positions and states; hunks that the user typed are judged `made`
    ProposalClosed     published; a proposal without pending hunks is removed
    WriteBegun         noted; the proposal is not compared until WriteEnded, the others are now
    ProposalWritten    `before` is seen, the hunks are kept, the others stay proposed. The second time, `after` is
                       seen and the hunks are proposed again
    WriteEnded         the proposal is compared with the text, and removed if it has no pending hunks
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from agent_ls.review.agent_edits import apply_agent_edit, link_new_hunks
from agent_ls.review.decisions import Decision, apply_decision, narrow_to_lines
from agent_ls.review.ledger import LedgerChange
from agent_ls.review.proposals import mark_written, rebase_group, with_new_lines
from agent_ls.review.reopened_hunks import UndoneHunks, reopen_missing, reopen_undone
from agent_ls.review.rolled_back import apply_roll_back
from agent_ls.review.user_edits import apply_user_edit
from agent_ls.services.review import reports
from agent_ls.services.review.advance_proposals import (
    Advanced,
    add_proposal,
    compare_proposals,
    publish_news,
    remove_decided,
)
from agent_ls.services.review.effects import (
    By,
    Effect,
    Forget,
    HunksMoved,
    NotifyModel,
    PublishChange,
    PublishDelayedHunks,
    PublishHunks,
    RecordPositions,
    TextsChanged,
)
from agent_ls.services.review.notebooks import user_edited
from agent_ls.services.review.reports import Report
from agent_ls.services.review.reviewed_file import PendingDecision, PendingWrite, ReviewedFile, call_of

MOST_UNDOS = 20
"""Maximum number of undo decisions remembered per file, each with the text before the decision."""


def advance(file: ReviewedFile, report: Report) -> Advanced:
    """Return the file's next value, and what has to be done (see the table in the module docstring)."""
    match report:
        case reports.TextSeen(text):
            return _see(file, text)
        case reports.DiskSeen():
            return _see_disk(file, report)
        case reports.AgentWrote():
            return _record_write(file, report)
        case reports.AgentWroteBytes():
            file, effects = _replace_ledger(file, apply_user_edit(file.ledger, None), "agent")
            return file, effects if file.proposals else (*effects, Forget())
        case reports.RolledBack():
            return _record_roll_back(file, report)
        case reports.SavedByUs(form):
            return replace(file, is_saved_by_us=True, written_as=form or file.written_as), ()
        case reports.Restored(change):
            return _restore(file, change)
        case reports.HunksMissing(hunks):
            return replace(file, missing=(*file.missing, *hunks)), ()
        case reports.SessionTaken(session_id):
            return _drop_session(file, session_id)
        case reports.DecisionBegun(decision, comment):
            return replace(file, pending_decision=PendingDecision(decision, comment, file.ledger)), ()
        case reports.EditorUndid(before, after):
            return _in_turn(file, lambda it: _see(it, before), _record_seen, lambda it: _see(it, after))
        case reports.DecisionWritten():
            return _record_decision(file)
        case reports.DecisionEnded(is_written):
            return _end_decision(file, is_written=is_written)
        case reports.Proposed(proposal, by):
            return add_proposal(file, proposal, by)
        case reports.ProposalsCompared():
            return compare_proposals(file)
        case reports.ProposalClosed(proposal, by, comment):
            return _in_turn(file, lambda it: publish_news(it, proposal, by, comment), remove_decided)
        case reports.WriteBegun(write):
            return compare_proposals(replace(file, pending_write=write))
        case reports.ProposalWritten():
            return _record_kept(file, report)
        case reports.WriteEnded():
            return compare_proposals(replace(file, pending_write=None))
        case _:
            assert_never(report)


# -- texts


def _see(file: ReviewedFile, text: str | None) -> Advanced:
    if file.ledger.current_text == text:
        return file, ()
    return _in_turn(
        file,
        lambda it: _replace_ledger(it, user_edited(it.ledger, text), "editor"),
        _reopen_missing,
        _reopen_undone,
    )


def _reopen_missing(file: ReviewedFile) -> Advanced:
    back = reopen_missing(file.ledger, file.missing)
    return _replace_ledger(file, back, "editor") if back else (file, ())


def _reopen_undone(file: ReviewedFile) -> Advanced:
    """Reopen hunks that the user had undone and then restored with the editor's own undo."""
    for undone in reversed(file.undone):
        if change := reopen_undone(file.ledger, undone):
            ids = {hunk.id for hunk in undone.hunks}
            returned = tuple(hunk for hunk in change.changed if hunk.id in ids)
            file, effects = _replace_ledger(file, change, "editor")
            return file, (*effects, NotifyModel(returned, "returned"))
    return file, ()


def _see_disk(file: ReviewedFile, report: reports.DiskSeen) -> Advanced:
    before = file.ledger.open_hunks if report.is_unexpected else ()
    file, effects = _see(replace(file, written_as=report.form or file.written_as), report.text)
    found = (file.ledger.find(hunk.id) for hunk in before)
    gone = tuple(hunk for hunk in found if hunk and hunk.state == "gone")
    return file, (*effects, NotifyModel(gone, "gone")) if gone else effects


def _record_write(file: ReviewedFile, report: reports.AgentWrote) -> Advanced:
    call = call_of(report.attribution)
    if call in file.recorded and file.ledger.current_text == report.after:
        return file, ()
    file, seen = _see(file, report.before)
    made = link_new_hunks(apply_agent_edit(file.ledger, report.after, report.attribution), report.link)
    new = {hunk.id for hunk in made.new}
    others = replace(made, changed=tuple(hunk for hunk in made.changed if hunk.id not in new))
    file, effects = _replace_ledger(replace(file, recorded=file.recorded | {call}), others, "agent")
    change = PublishChange(*call, report.before, report.after, made)
    return file, (*seen, PublishDelayedHunks(), change, *effects, RecordPositions(call[0]))


def _record_roll_back(file: ReviewedFile, it: reports.RolledBack) -> Advanced:
    before = user_edited(it.ledger, it.before).ledger
    after = user_edited(before, it.after).ledger
    change = apply_roll_back(file.ledger, before, after, it.session_id, it.turns)
    return _replace_ledger(file, change, "editor") if change.changed else (file, ())


def _replace_ledger(file: ReviewedFile, change: LedgerChange, by: By, comment: str = "") -> Advanced:
    """Replace the ledger by its new version, and publish the changed hunks."""
    before, now = file.ledger, change.ledger
    effects: list[Effect] = [PublishHunks(before, change, by, comment)]
    file = replace(file, ledger=now)
    if file.proposals and before.current != now.current:
        file, compared = compare_proposals(file)
        effects += compared
    if before.current is not now.current:
        effects.append(HunksMoved())
    if before.base != now.base:
        effects.append(TextsChanged())
    return file, effects


# -- sessions


def _restore(file: ReviewedFile, change: LedgerChange) -> Advanced:
    # Saved, because the file had the changes when the session was opened.
    file, effects = _replace_ledger(replace(file, is_saved_by_us=True), change, "editor")
    gone = tuple(hunk for hunk in change.changed if hunk.state == "gone")
    return file, (*effects, PublishDelayedHunks(), NotifyModel(gone, "gone"))


def _drop_session(file: ReviewedFile, session_id: str) -> Advanced:
    missing = tuple(it for it in file.missing if it.hunk.session_id != session_id)
    file = replace(file, missing=missing)
    own = frozenset(hunk.id for hunk in file.ledger.hunks if hunk.session_id == session_id)
    left = tuple(it for it in file.proposals if it.call[0] != session_id)
    if not own and len(left) == len(file.proposals):
        return file, ()
    ledger = apply_decision(file.ledger, Decision(own, "kept")).ledger
    file = replace(file, ledger=ledger, proposals=left)
    return file, (TextsChanged(),) if ledger.hunks or left else (Forget(), TextsChanged())


# -- decisions about hunks in the text


def _record_seen(file: ReviewedFile) -> Advanced:
    pending = file.pending_decision
    if pending is None or pending.is_seen:
        return file, ()
    return _record_decision(replace(file, pending_decision=replace(pending, is_seen=True)))


def _record_decision(file: ReviewedFile) -> Advanced:
    """Record a decision that has been written to the file.

    The ledger still contains the previous text. If the user typed inside a hunk while some of its lines
    were being decided, the lines no longer match. In that case nothing is recorded, and the file's next
    text counts as an edit by the user.
    """
    pending = file.pending_decision
    if pending is None or pending.outcome:
        return file, ()
    try:
        divided, ids = narrow_to_lines(file.ledger, pending.decision)
        outcome = apply_decision(file.ledger, pending.decision)
    except ValueError:
        return file, ()
    hunks = tuple(hunk for hunk in divided.open_hunks if hunk.id in ids and hunk.what == "content")
    if pending.decision.state == "undone" and hunks:
        undone = (*file.undone, UndoneHunks(file.ledger.current or (), hunks))
        file = replace(file, undone=undone[-MOST_UNDOS:])
    file = replace(file, pending_decision=replace(pending, outcome=outcome))
    return _replace_ledger(file, outcome, "user", pending.comment)


def _end_decision(file: ReviewedFile, *, is_written: bool) -> Advanced:
    """Forget the decision. Revert it if another file of the same decision could not be written."""
    pending, file = file.pending_decision, replace(file, pending_decision=None)
    if is_written or pending is None or pending.outcome is None:
        return file, ()
    known = {hunk.id: hunk.state for hunk in file.all_hunks}
    change = user_edited(pending.before, file.ledger.current_text)
    now = (*change.ledger.hunks, *change.ledger.closed)
    back = tuple(hunk for hunk in now if hunk.state != known.get(hunk.id))
    return _replace_ledger(file, replace(change, changed=back), "agent")


# -- proposals


def _record_kept(file: ReviewedFile, report: reports.ProposalWritten) -> Advanced:
    """Record that the kept hunks are in the file, or, the second time, that they are out of it again."""
    write = file.pending_write
    if write is None or file.proposal(write.number) is None:  # the session was taken over during the write
        return _see(file, report.after)
    if write.is_done:
        return _in_turn(
            file,
            lambda it: _see(it, report.after),
            lambda it: _propose_again(it, write, report),
        )
    return _in_turn(
        file,
        lambda it: _see(it, report.before),
        lambda it: _replace_ledger(it, apply_user_edit(it.ledger, report.after), "user"),
        lambda it: _mark_kept(it, write, report),
    )


def _mark_kept(file: ReviewedFile, write: PendingWrite, report: reports.ProposalWritten) -> Advanced:
    proposal = file.proposal(write.number)
    assert proposal
    groups = tuple(
        part
        for group in write.groups
        for part in mark_written(
            with_new_lines(rebase_group(group, report.before), write.lines), write.ids, report.after
        )
    )
    done = replace(write, is_done=True, groups_before=proposal.groups)
    written = replace(proposal, groups=groups)
    # If the proposal was dropped while these hunks were being written, its other hunks are not proposed again.
    written = written.dropped() if proposal.is_dropped else written
    file, news = publish_news(replace(file, pending_write=done), written, "user", write.comment)
    return file, (*_publish_change(file, write, report), *news)


def _propose_again(file: ReviewedFile, write: PendingWrite, report: reports.ProposalWritten) -> Advanced:
    """Make the written hunks proposals again, because another file of the same decision could not be written."""
    proposal = file.proposal(write.number)
    assert proposal
    groups = tuple(rebase_group(group, report.after) for group in write.groups_before)
    file = replace(file, pending_write=replace(write, is_done=False))
    file, news = publish_news(file, replace(proposal, groups=groups), "agent")
    return file, (*_publish_change(file, write, report), *news)


def _publish_change(
    file: ReviewedFile, write: PendingWrite, report: reports.ProposalWritten
) -> tuple[Effect, ...]:
    if report.before == report.after:
        return ()
    return (PublishChange(*write.call, report.before, report.after, LedgerChange(file.ledger, ())),)


def _in_turn(file: ReviewedFile, *steps: Callable[[ReviewedFile], Advanced]) -> Advanced:
    """Take several steps, each from the value that the step before has left."""
    effects: list[Effect] = []
    for step in steps:
        file, more = step(file)
        effects += more
    return file, effects
