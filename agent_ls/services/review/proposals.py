"""Proposals: changes that are displayed before they are written, and the calls that wait for
decisions about them.

With the review setting `before`, a call proposes its writes and waits until each hunk is decided
(proposal_decisions.py). If the process ends before that, the proposals stay in the log; a resume
restores them, and the call waits again. If the user stops the call, its proposals are dropped.
Decisions about proposals of a call that no longer waits are sent to the model as a notice.
"""

from __future__ import annotations

import os.path
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace as with_fields
from typing import Literal

import anyio

from agent_ls.environments.base import Attribution, FileState, FileWrite
from agent_ls.environments.errors import EnvError, StaleFileError
from agent_ls.loop.events.types import HunkStateChanged
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.ledger import LedgerChange
from agent_ls.review.proposals import (
    ProposalSheet,
    mark_decided,
    mark_written,
    propose,
    propose_bytes,
    rebase_sheet,
    with_new_lines,
)
from agent_ls.review.user_edits import apply_user_edit
from agent_ls.services.review.change_events import build_proposed_hunk, file_change
from agent_ls.services.review.hunk_events import By
from agent_ls.services.review.proposal_notes import JudgedHunk, note_of_file, stopped_notice
from agent_ls.services.review.reviewed_file import (
    Call,
    PendingWrite,
    Proposal,
    ReviewedFile,
    is_text,
    maybe_bytes,
    text_of,
)
from agent_ls.services.review.state import ReviewedSession, ReviewState

ADMISSION_S = 5
"""How many seconds a decision waits for the policy check of its call after a resume."""


@dataclass(slots=True)
class CallReview:
    """A call that waits until each of its hunks is decided.

    `is_admitted` is set when the policy allows the call; after a resume, the policy checks the call again.
    """

    attribution: Attribution
    writes: Sequence[FileWrite]
    judged: list[JudgedHunk] = field(default_factory=list)
    is_over: anyio.Event = field(default_factory=anyio.Event)
    is_admitted: anyio.Event = field(default_factory=anyio.Event)


class Proposals:
    """The proposals of all calls.

    When the text of a file changes, its proposals are moved with the text.
    """

    def __init__(self, state: ReviewState) -> None:
        self._state = state
        state.follow_texts(self.follow)
        self._waits: dict[Call, CallReview] = {}

    # -- calls

    async def review_first(
        self, writes: Sequence[FileWrite], attribution: Attribution, session: ReviewedSession
    ) -> list[FileState]:
        """Propose these writes (absolute paths), wait for the decisions, and return the resulting files.

        Raises:
            StaleFileError: the change does not fit the current file. EnvError: a file cannot be
            read.
        """
        proposals = await self._proposals(writes, attribution, session)
        self.wait_again(CallReview(attribution, writes), proposals, "agent")
        return await self.wait_for_decisions(attribution, session)

    async def propose(
        self, writes: Sequence[FileWrite], attribution: Attribution, session: ReviewedSession
    ) -> None:
        """Propose these writes of text files.

        No call waits for the decisions, so the model gets them in a notice.

        Raises:
            StaleFileError: the change does not fit the current file. EnvError: a file cannot be
            read.
        """
        self._add(await self._proposals(writes, attribution, session), "agent")

    async def _proposals(
        self, writes: Sequence[FileWrite], attribution: Attribution, session: ReviewedSession
    ) -> list[Proposal]:
        links = links_of(writes)
        return [
            Proposal(attribution, write, (with_fields(sheet, hunks=_link_moves(sheet, links)),))
            for write in writes
            if (sheet := await self._sheet(write, attribution, session))
        ]

    def wait_again(self, wait: CallReview, proposals: Sequence[Proposal], by: By) -> None:
        """Add the proposals of a call, and register the call as waiting.

        The caller then waits for the decisions.
        """
        self._waits[call_of(wait.attribution)] = wait
        self._add(proposals, by)

    def _add(self, proposals: Sequence[Proposal], by: By) -> None:
        """Add proposals to their files."""
        for proposal in proposals:
            self.add_proposal(proposal, by)
        for proposal in proposals:
            self.follow(self._state.files[proposal.write.path])

    async def wait_for_decisions(self, attribution: Attribution, session: ReviewedSession) -> list[FileState]:
        """Wait until each hunk of the call is decided; return the resulting files."""
        call = call_of(attribution)
        wait = self._waits[call]
        wait.is_admitted.set()
        try:
            self.end_if_decided(call)
            await wait.is_over.wait()
        except anyio.get_cancelled_exc_class():
            if session.is_stopped:  # else the process is ending, and a resume restores the proposals
                self.drop(attribution, session)
            raise
        finally:
            self._waits.pop(call, None)
        return [await self._outcome(write, wait, session) for write in wait.writes]

    def writes_of(self, call: Call) -> Sequence[FileWrite]:
        """Return the writes that a waiting call proposed."""
        return self._waits[call].writes

    async def _sheet(
        self, write: FileWrite, attribution: Attribution, session: ReviewedSession
    ) -> ProposalSheet | None:
        """Return the proposal for one write, based on the current file; None if the write changes nothing."""
        if write.content == write.base:
            return None
        data = await maybe_bytes(session.files, write.path)
        if not (is_text(write.base) and is_text(write.content)):
            if data != write.base:
                raise StaleFileError(write.path)
            self._state.begin(write.path, text_of(data))
            return propose_bytes(write.path, write_kind(write), attribution)
        before, now = text_of(write.base), text_of(data)
        sheet = rebase_sheet(propose(write.path, before, text_of(write.content), attribution), now)
        if any(hunk.state == "stale" for hunk in sheet.hunks):
            raise StaleFileError(write.path, "the lines of this change were edited after it was proposed")
        self._state.begin(write.path, now)
        return sheet

    async def is_admitted(self, call: Call) -> bool:
        """Return whether the kept hunks of this call may be applied.

        After a resume, waits briefly for the policy check.
        """
        if wait := self._waits.get(call):
            with anyio.move_on_after(ADMISSION_S):
                await wait.is_admitted.wait()
            return wait.is_admitted.is_set()
        return True

    def drop(self, attribution: Attribution, session: ReviewedSession) -> None:
        """Drop the proposals of a waiting call."""
        wait = self._waits.pop(call_of(attribution))
        wait.is_admitted.set()
        for file, proposal in list(self.of_call(call_of(attribution))):
            proposal.is_dropped = True
            self.close(file, proposal, {hunk.id for hunk in proposal.pending_hunks}, "gone", "agent")
        if any(judged.outcome == "kept" for judged in wait.judged):
            session.notice(stopped_notice(wait.judged, session.files.working_directory()))

    async def _outcome(self, write: FileWrite, wait: CallReview, session: ReviewedSession) -> FileState:
        try:
            after = await maybe_bytes(session.files, write.path)
        except EnvError:
            after = write.base
        judged = [it for it in wait.judged if it.path == write.path]
        folder = session.files.working_directory()
        return FileState(write.path, write.base, after, note_of_file(folder, write, after, judged))

    def is_waiting(self, call: Call) -> bool:
        return call in self._waits

    def judge(self, proposal: Proposal, judged: JudgedHunk) -> None:
        """Record the decision about a hunk. The last decision of a call ends its wait."""
        if wait := self._waits.get(proposal.call):
            wait.judged.append(judged)
            self.end_if_decided(proposal.call)

    def end_if_decided(self, call: Call) -> None:
        if (wait := self._waits.get(call)) and not any(True for _ in self.of_call(call)):
            wait.is_over.set()

    # -- changes of files

    def follow(self, file: ReviewedFile) -> None:
        """Move the proposals of a file after its text has changed."""
        text = file.ledger.current_text
        for proposal in list(file.proposals):
            if file.pending_write and file.pending_write.proposal is proposal:
                continue
            proposal.sheets = tuple(rebase_sheet(sheet, text) for sheet in proposal.sheets)
            for hunk in self._tell_news(file, proposal, "editor"):
                if hunk.state == "kept":
                    self.judge(
                        proposal, JudgedHunk(file.path, build_proposed_hunk(file.ledger, hunk), "made")
                    )
        self.tidy(file)

    def record_write(self, path: str, before: str, after: str, attribution: Attribution) -> bool:
        """Record an edit that writes or reverts kept hunks of a proposal. Return False if the edit does
        neither.
        """
        call = call_of(attribution)
        files = [
            file
            for file in self._state.files.values()
            if file.pending_write and file.pending_write.call == call
        ]
        if not files:
            return False
        # The editor may have opened the file by another name, through a symbolic link.
        real = os.path.realpath(path)
        file = next((it for it in files if path == it.path or os.path.realpath(it.path) == real), None)
        if file is None or file.pending_write is None:
            return False
        if file.pending_write.is_done:
            self._take_back(file, file.pending_write, before, after)
        else:
            self.record_kept(file, file.pending_write, before, after)
        return True

    def record_kept(
        self, file: ReviewedFile, pending_write: PendingWrite, before: str | None, after: str | None
    ) -> None:
        """Record that the kept hunks are in the file.

        The write changed the file's text from `before` to `after`.
        """
        proposal = pending_write.proposal
        self._state.user_edit(file.path, before)
        rebased = (rebase_sheet(sheet, before) for sheet in pending_write.sheets)
        self._state.replace_ledger(file, apply_user_edit(file.ledger, after), "user")
        pending_write.is_done, pending_write.sheets_before = True, proposal.sheets
        proposal.sheets = tuple(
            part
            for sheet in rebased
            for part in mark_written(with_new_lines(sheet, pending_write.lines), pending_write.ids, after)
        )
        # The proposal was dropped while these hunks were being written: do not propose its other hunks again.
        if proposal.is_dropped:
            rest = {hunk.id for hunk in proposal.pending_hunks}
            proposal.sheets = tuple(mark_decided(sheet, rest, "gone") for sheet in proposal.sheets)
        self._tell_change(file, pending_write, before, after)
        self._tell_news(file, proposal, "user", pending_write.comment)

    def _take_back(self, file: ReviewedFile, pending_write: PendingWrite, before: str, after: str) -> None:
        """Make the written hunks proposals again, because another file of the same decision could not be
        written.
        """
        self._state.user_edit(file.path, after)
        pending_write.is_done = False
        pending_write.proposal.sheets = tuple(
            rebase_sheet(sheet, after) for sheet in pending_write.sheets_before
        )
        self._tell_change(file, pending_write, before, after)
        self._tell_news(file, pending_write.proposal, "agent")

    def close(
        self,
        file: ReviewedFile,
        proposal: Proposal,
        ids: Collection[str],
        state: Literal["undone", "gone"],
        by: By,
        comment: str = "",
    ) -> None:
        """Give these hunks their final state without changing the file."""
        proposal.sheets = tuple(mark_decided(sheet, ids, state) for sheet in proposal.sheets)
        self._tell_news(file, proposal, by, comment)
        self.tidy(file)

    def add_proposal(self, proposal: Proposal, by: By) -> None:
        """Add a proposal to its file, and publish hunks that have not been published yet."""
        file = self._state.files[proposal.write.path]
        file.proposals.append(proposal)
        self._tell_news(file, proposal, by)
        self.tidy(file)

    def tidy(self, file: ReviewedFile) -> None:
        """Remove proposals without pending hunks; remember the final states of their hunks."""
        for proposal in file.proposals:
            file.decided.update({hunk.id: hunk.state for hunk in proposal.hunks})
        pending_write = (
            file.pending_write.proposal if file.pending_write else None
        )  # a write in progress may still be reverted
        file.proposals = [it for it in file.proposals if it.pending_hunks or it is pending_write]
        self._state.texts_changed(file.path)

    def of_call(self, call: Call) -> Iterator[tuple[ReviewedFile, Proposal]]:
        """Yield the call's proposals that have pending hunks."""
        for file in list(self._state.files.values()):
            for proposal in list(file.proposals):
                if proposal.call == call and proposal.pending_hunks:
                    yield file, proposal

    def _tell_change(
        self, file: ReviewedFile, pending_write: PendingWrite, before: str | None, after: str | None
    ) -> None:
        if before != after and (session := self._state.find_session(pending_write.call[0])):
            folder = session.files.working_directory()
            change = LedgerChange(file.ledger, ())
            session.emit(file_change(before, after, change, call_id=pending_write.call[1], folder=folder))

    def _tell_news(
        self, file: ReviewedFile, proposal: Proposal, by: By, comment: str = ""
    ) -> list[LedgerHunk]:
        """Publish the hunks that changed since they were last published; return them."""
        now = {hunk.id: (hunk.state, hunk.base_lines, hunk.agent_lines) for hunk in proposal.hunks}
        news = [hunk for hunk in proposal.hunks if proposal.told.get(hunk.id) != now[hunk.id]]
        proposal.told = now
        if news:
            shown = tuple(build_proposed_hunk(file.ledger, hunk) for hunk in news)
            self._state.publish(proposal.call[0], HunkStateChanged(file.path, shown, by, comment))
        return news


def call_of(attribution: Attribution) -> Call:
    return (attribution.session_id, attribution.call_id)


def write_kind(write: FileWrite) -> Literal["create", "delete", "content"]:
    return "create" if write.base is None else "delete" if write.content is None else "content"


def links_of(writes: Sequence[FileWrite]) -> dict[str, str]:
    """Return the link names of moves by path; both ends of a move have the same link name."""
    deleted = {write.path for write in writes if write.content is None}
    links: dict[str, str] = {}
    for write in writes:
        if write.mode_from in deleted:
            links[write.path] = links[write.mode_from] = f"move:{write.mode_from}"
    return links


def _link_moves(sheet: ProposalSheet, links: dict[str, str]) -> tuple[LedgerHunk, ...]:
    return tuple(with_fields(hunk, link=links.get(sheet.path, "")) for hunk in sheet.hunks)
