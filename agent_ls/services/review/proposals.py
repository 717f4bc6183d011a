"""Proposals: changes that are displayed before they are written, and the calls that wait for
decisions about them.

With the review setting `before`, a call proposes its writes and waits until each hunk is decided
(proposal_decisions.py). If the process ends before that, the proposals stay in the log; a resume
restores them, and the call waits again. If the user stops the call, its proposals are dropped.
Decisions about proposals of a call that no longer waits are sent to the model as a notice.
"""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from dataclasses import replace as with_fields
from typing import Literal

import anyio

from agent_ls.environments.base import Attribution, FileState, FileWrite
from agent_ls.environments.errors import EnvError, StaleFileError
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.proposals import HunkGroup, propose, propose_bytes, rebase_group
from agent_ls.services.review.effects import By
from agent_ls.services.review.proposal_notes import note_of_file, stopped_notice
from agent_ls.services.review.reports import ProposalClosed, ProposalsCompared, ProposalWritten, Proposed
from agent_ls.services.review.reviewed_file import Call, Proposal, call_of, is_text, maybe_bytes, text_of
from agent_ls.services.review.state import ReviewedSession, ReviewState
from agent_ls.services.review.waiting import CallReview


class Proposals:
    """The proposals of all calls."""

    def __init__(self, state: ReviewState) -> None:
        self._state = state
        self._waits = state.waits

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
            Proposal(attribution, write, (with_fields(group, hunks=_link_moves(group, links)),))
            for write in writes
            if (group := await self._propose_write(write, attribution, session))
        ]

    def wait_again(self, wait: CallReview, proposals: Sequence[Proposal], by: By) -> None:
        """Add the proposals of a call, and register the call as waiting.

        The caller then waits for the decisions.
        """
        self._waits.add(wait)
        self._add(proposals, by)

    def _add(self, proposals: Sequence[Proposal], by: By) -> None:
        """Add proposals to their files, then compare them with the texts of now."""
        for proposal in proposals:
            self.add_proposal(proposal, by)
        for proposal in proposals:
            self._state.report(proposal.write.path, ProposalsCompared())

    def add_proposal(self, proposal: Proposal, by: By) -> None:
        """Add a proposal to its file, and publish hunks that have not been published yet."""
        self._state.report(proposal.write.path, Proposed(proposal, by))

    async def wait_for_decisions(self, attribution: Attribution, session: ReviewedSession) -> list[FileState]:
        """Wait until each hunk of the call is decided; return the resulting files."""
        call = call_of(attribution)
        wait = self._waits.get(call)
        wait.is_admitted.set()
        try:
            self._state.end_if_decided(call)
            await wait.is_over.wait()
        except anyio.get_cancelled_exc_class():
            if session.is_stopped:  # else the process is ending, and a resume restores the proposals
                self.drop(attribution, session)
            raise
        finally:
            self._waits.remove(call)
        return [await self._outcome(write, wait, session) for write in wait.writes]

    def writes_of(self, call: Call) -> Sequence[FileWrite]:
        """Return the writes that a waiting call proposed."""
        return self._waits.get(call).writes

    async def _propose_write(
        self, write: FileWrite, attribution: Attribution, session: ReviewedSession
    ) -> HunkGroup | None:
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
        group = rebase_group(propose(write.path, before, text_of(write.content), attribution), now)
        if any(hunk.state == "stale" for hunk in group.hunks):
            raise StaleFileError(write.path, "the lines of this change were edited after it was proposed")
        self._state.begin(write.path, now)
        return group

    def drop(self, attribution: Attribution, session: ReviewedSession) -> None:
        """Drop the proposals of a waiting call."""
        call = call_of(attribution)
        wait = self._waits.get(call)
        self._waits.remove(call)
        wait.is_admitted.set()
        for file, proposal in self._state.proposals_of(call):
            self._state.report(file.path, ProposalClosed(proposal.dropped(), "agent"))
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
        return self._waits.is_waiting(call)

    def record_write(self, path: str, before: str, after: str, attribution: Attribution) -> bool:
        """Record an edit that writes or reverts kept hunks of a proposal. Return False if the edit does
        neither.
        """
        call = call_of(attribution)
        written = [
            name
            for name, file in self._state.files.items()
            if file.pending_write and file.pending_write.call == call
        ]
        if not written:
            return False
        # The editor may have opened the file by another name, through a symbolic link.
        real = os.path.realpath(path)
        name = next((it for it in written if path == it or os.path.realpath(it) == real), None)
        if name is None:
            return False
        self._state.report(name, ProposalWritten(before, after))
        return True


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


def _link_moves(group: HunkGroup, links: dict[str, str]) -> tuple[LedgerHunk, ...]:
    return tuple(with_fields(hunk, link=links.get(group.path, "")) for hunk in group.hunks)
