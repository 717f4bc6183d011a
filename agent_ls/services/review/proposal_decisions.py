"""Carry out decisions about proposed hunks.

Kept hunks are written at once like any other edit: announced in the log, subject to the session's path
policy, and complete when the text contains them. Hunks of one call that are kept together are written
together, all or nothing. Linked hunks (both ends of a move) are always written together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace as with_fields

from agent_ls.environments.base import FileState, FileWrite
from agent_ls.environments.errors import EnvError, StaleFileError
from agent_ls.loop.events.types import FileChange, Hunk
from agent_ls.review.decisions import replacement_lines
from agent_ls.review.proposals import HunkGroup, split_proposal, text_with_proposals, with_new_lines
from agent_ls.services.review.change_events import action, build_proposed_hunk
from agent_ls.services.review.decision_request import (
    CLOSED_SESSION,
    KEEPS_CHANGING,
    LINKED,
    TRIES,
    DecisionRequest,
)
from agent_ls.services.review.proposal_notes import JudgedHunk, orphan_notice
from agent_ls.services.review.proposals import Proposals
from agent_ls.services.review.reports import (
    ProposalClosed,
    ProposalWritten,
    SavedByUs,
    WriteBegun,
    WriteEnded,
)
from agent_ls.services.review.reviewed_file import Call, PendingWrite, Proposal, ReviewedFile, text_of
from agent_ls.services.review.state import ReviewedSession, ReviewState
from agent_ls.text import NotEncodableError, encode

ASKED_FIRST = (
    "changing this file needs your approval first: answer the approval request, then keep the change"
)
DOES_NOT_FIT = (
    "the lines of this change were edited since it was proposed: undo the change, which informs the "
    "agent, or restore the lines, then keep it"
)
NOT_YET = (
    "the session of this change was just opened and has other pending requests: answer these requests "
    "first, or try again"
)


@dataclass(slots=True)
class CallDecision:
    """A decision about hunks of one call, while it is carried out.

    `wanted` are the ids of the hunks. `refused` maps hunk ids to reasons. `judged` lists the decided hunks as
    they were displayed, `changed` lists the hunks in their new states.
    """

    call: Call
    wanted: frozenset[str]
    asked: DecisionRequest
    refused: dict[str, str] = field(default_factory=dict)
    judged: list[JudgedHunk] = field(default_factory=list)
    changed: list[Hunk] = field(default_factory=list)

    @property
    def open_ids(self) -> frozenset[str]:
        return self.wanted - self.refused.keys()


@dataclass(frozen=True, slots=True)
class _PlannedWrite:
    """Hunks to write to a file. `file` and `proposal` are the values for which the write was planned."""

    file: ReviewedFile
    proposal: Proposal
    pending: PendingWrite

    @property
    def path(self) -> str:
        return self.file.path


class ProposalDecisions:
    """Carries out decisions about proposed hunks."""

    def __init__(self, state: ReviewState, proposals: Proposals) -> None:
        self._state = state
        self._proposals = proposals

    async def carry_out(self, ids: Collection[str], asked: DecisionRequest) -> list[CallDecision]:
        """Carry out the decision for each call that proposed one of these hunks or a hunk linked to them."""
        tasks = [CallDecision(call, wanted, asked) for call, wanted in self._by_call(ids).items()]
        for task in tasks:
            session = self._state.find_session(task.call[0])
            if session is None:
                task.refused = dict.fromkeys(task.wanted, CLOSED_SESSION)
                continue
            if asked.decision == "keep" and (reason := await self._why_not_yet(task.call, session)):
                task.refused = dict.fromkeys(task.wanted, reason)
                continue
            async with AsyncExitStack() as locks:
                for file, _ in sorted(self._find_concerned(task), key=lambda it: it[0].path):
                    await locks.enter_async_context(self._state.deciding(file.path))
                # The session may have been closed during another decision.
                if self._state.find_session(task.call[0]) is not session:
                    task.refused = dict.fromkeys(task.wanted, CLOSED_SESSION)
                    continue
                try:
                    await (self._keep if asked.decision == "keep" else self._undo)(task, session)
                except (EnvError, NotEncodableError) as error:
                    task.refused |= dict.fromkeys(task.open_ids, str(error))
            if task.judged and not self._proposals.is_waiting(task.call):
                known = [with_fields(it, path=session.own_path(it.path)) for it in task.judged]
                session.notice(orphan_notice(known, session.files.working_directory()))
        return tasks

    async def _why_not_yet(self, call: Call, session: ReviewedSession) -> str:
        """Return why no hunk of this call may be written now, or ""."""
        if session.is_asked(call[1]):
            return ASKED_FIRST
        if await self._state.waits.is_admitted(call):
            return ""
        return ASKED_FIRST if session.is_asked(call[1]) else NOT_YET

    async def _undo(self, task: CallDecision, session: ReviewedSession) -> None:
        undone: list[FileState] = []
        for file, proposal in self._find_concerned(task):
            groups, ids = self._divide(proposal, task)
            divided = with_fields(proposal, groups=groups)
            hunks = [hunk for hunk in divided.pending_hunks if hunk.id in ids]
            comment = task.asked.comment
            judged = [
                JudgedHunk(file.path, build_proposed_hunk(file.ledger, hunk), "undone", comment=comment)
                for hunk in hunks
            ]
            closed = divided.with_states(ids, "undone")
            undone += _undo_of(file, divided, closed)
            self._state.report(file.path, ProposalClosed(closed, "user", comment))
            self._note(file, closed, judged, task)
        await session.follow_undo(undone)

    async def _keep(self, task: CallDecision, session: ReviewedSession) -> None:
        """Write the kept hunks.

        Raises:
            EnvError: a file cannot be read or written; then no file was changed.
        """
        for _ in range(TRIES):
            contents = {
                file.path: await self._state.catch_up(file.path, session.files)
                for file, _ in self._find_concerned(task)
            }
            self._refuse_unfit(task, contents)
            planned = [it for it in self._plan_writes(task) if it.pending.ids]
            if not planned:
                return
            try:
                await self._write(planned, contents, task, session)
            except StaleFileError:
                continue
            self._state.end_if_decided(task.call)
            return
        task.refused |= dict.fromkeys(task.open_ids, KEEPS_CHANGING)

    def _refuse_unfit(self, task: CallDecision, contents: Mapping[str, bytes | None]) -> None:
        wanted = [
            (hunk, hunk.state == "stale" or (it.is_opaque and contents[file.path] != it.write.base))
            for file, it in self._find_concerned(task)
            for hunk in it.pending_hunks
            if hunk.id in task.wanted
        ]
        unfit = {hunk.link for hunk, is_unfit in wanted if is_unfit and hunk.link}
        for hunk, is_unfit in wanted:
            if is_unfit or hunk.link in unfit:
                task.refused[hunk.id] = DOES_NOT_FIT

    def _plan_writes(self, task: CallDecision) -> list[_PlannedWrite]:
        """Return each file of the call with the hunks to write to it."""
        planned = []
        for file, proposal in self._find_concerned(task):
            groups, ids = self._divide(proposal, task)
            lines = {}
            if task.asked.replacement is not None:
                hunks = [hunk for group in groups for hunk in group.hunks if hunk.id in ids]
                text = file.ledger.current or ()
                lines = {
                    hunk.id: replacement_lines(
                        task.asked.replacement, hunk.agent_lines or hunk.base_lines, text or hunk.agent_lines
                    )
                    for hunk in hunks
                }
            pending = PendingWrite(task.call, proposal.number, groups, ids, lines, task.asked.comment)
            planned.append(_PlannedWrite(file, proposal, pending))
        return planned

    def _divide(self, proposal: Proposal, task: CallDecision) -> tuple[tuple[HunkGroup, ...], frozenset[str]]:
        """Return the proposal's groups, and the ids of the hunks to decide.

        If only some lines are decided, the hunk is split first.
        """
        ids = task.open_ids & {hunk.id for hunk in proposal.pending_hunks}
        if task.asked.lines is None or not ids:
            return proposal.groups, ids
        (id_,) = ids
        groups = list(proposal.groups)
        at, hunk = next((k, hunk) for k, it in enumerate(groups) for hunk in it.hunks if hunk.id == id_)
        try:
            if hunk.link:
                raise ValueError(LINKED)
            groups[at], chosen = split_proposal(groups[at], id_, *task.asked.lines)
        except ValueError as error:
            task.refused[id_] = str(error)
            return proposal.groups, frozenset()
        return tuple(groups), frozenset((chosen,))

    async def _write(
        self,
        planned: Sequence[_PlannedWrite],
        contents: Mapping[str, bytes | None],
        task: CallDecision,
        session: ReviewedSession,
    ) -> None:
        """Write the files, and note the result.

        Raises:
            StaleFileError: a file has changed since `contents` were read. EnvError: a file cannot
            be written.
        """
        writes = [_write_of(it, contents[it.path]) for it in planned]
        who = planned[0].proposal.attribution
        for it in planned:
            self._state.report(it.path, WriteBegun(it.pending))
        try:
            is_running = self._proposals.is_waiting(task.call)
            states = await session.apply(writes, who, is_running=is_running)
            for it, state in zip(planned, states, strict=True):
                self._record_kept(it, state)
                if it.pending.is_opaque:
                    what = action(state.before, state.after)
                    session.emit(FileChange(who.call_id, it.path, what, 0, 0, ""))
            for it in planned:
                self._note_kept(it, task)
        finally:
            for it in planned:
                self._state.report(it.path, WriteEnded())

    def _record_kept(self, it: _PlannedWrite, state: FileState) -> None:
        file = self._state.files.get(it.path)
        if file and file.pending_write and not file.pending_write.is_done:
            self._state.report(it.path, ProposalWritten(text_of(state.before), text_of(state.after)))
            self._state.report(it.path, SavedByUs())

    def _note_kept(self, it: _PlannedWrite, task: CallDecision) -> None:
        file = self._state.files.get(it.path)
        if file and (proposal := file.proposal(it.pending.number)):
            self._note(file, proposal, self._judge_kept_hunks(file, it.pending, task), task)

    def _judge_kept_hunks(
        self, file: ReviewedFile, pending_write: PendingWrite, task: CallDecision
    ) -> list[JudgedHunk]:
        hunks = [
            hunk for group in pending_write.groups for hunk in group.hunks if hunk.id in pending_write.ids
        ]
        asked = task.asked
        return [
            JudgedHunk(
                file.path, build_proposed_hunk(file.ledger, hunk), "kept", asked.replacement, asked.comment
            )
            for hunk in hunks
        ]

    def _note(
        self, file: ReviewedFile, proposal: Proposal, judged: list[JudgedHunk], task: CallDecision
    ) -> None:
        ids = {it.hunk.id for it in judged}
        task.judged += judged
        # The undecided part of a split hunk is reported too.
        reported = ids | (task.open_ids if ids else frozenset())
        task.changed += [
            build_proposed_hunk(file.ledger, hunk) for hunk in proposal.hunks if hunk.id in reported
        ]
        for it in judged:
            self._state.waits.judge(proposal.call, it)
        self._state.end_if_decided(proposal.call)

    def _by_call(self, ids: Collection[str]) -> dict[Call, frozenset[str]]:
        """Return the pending hunks with these ids, and hunks linked to them, by call."""
        proposals = [it for file in self._state.files.values() for it in file.proposals]
        found: dict[Call, frozenset[str]] = {}
        for call in dict.fromkeys(proposal.call for proposal in proposals):
            hunks = [hunk for it in proposals if it.call == call for hunk in it.pending_hunks]
            links = {hunk.link for hunk in hunks if hunk.id in ids and hunk.link}
            if own := frozenset(hunk.id for hunk in hunks if hunk.id in ids or hunk.link in links):
                found[call] = own
        return found

    def _find_concerned(self, task: CallDecision) -> list[tuple[ReviewedFile, Proposal]]:
        found = self._state.proposals_of(task.call)
        return [it for it in found if task.wanted & {hunk.id for hunk in it[1].pending_hunks}]


def _undo_of(file: ReviewedFile, before: Proposal, after: Proposal) -> Sequence[FileState]:
    """Return the undo of proposed hunks as a change of the file that the proposal would have made."""
    if before.is_opaque:
        return ()
    contents = []
    current = file.ledger.current_text
    for proposal in (before, after):
        hunks = [hunk for hunk in proposal.pending_hunks if hunk.state == "proposed"]  # stale ones do not fit
        text = text_with_proposals(current, hunks) if hunks else current
        try:
            contents.append(None if text is None else encode(with_fields(file.written_as, text=text)))
        except NotEncodableError:
            return ()  # such a proposal can be undone, but not be written
    return (FileState(file.path, contents[0], contents[1]),)


def _write_of(planned: _PlannedWrite, data: bytes | None) -> FileWrite:
    """Return the write that puts the kept hunks into a file with the content `data`."""
    file, pending_write, write = planned.file, planned.pending, planned.proposal.write
    if pending_write.is_opaque:
        if data != write.base:
            raise StaleFileError(file.path)
        return write
    groups = [with_new_lines(group, pending_write.lines) for group in pending_write.groups]
    hunks = [hunk for group in groups for hunk in group.hunks if hunk.id in pending_write.ids]
    text = text_with_proposals(file.ledger.current_text, hunks)
    if text is None:
        return FileWrite(file.path, None, data)
    # Content that is exactly what the tool proposed keeps the tool's encoding; other text uses the encoding of
    # the file.
    as_meant = write.content is not None and text == text_of(write.content)
    content = write.content if as_meant else encode(with_fields(file.written_as, text=text))
    return FileWrite(file.path, content, data, write.mode_from)
