"""Changes that are shown before they are made: calls that wait for verdicts, and hunks that stand beside files.

A call with review `before` proposes its writes and waits until each hunk has a verdict (proposal_verdicts.py). When the
process ends meanwhile, its proposals stay in the log: they stand again after a resume, and the call waits on. When the
user stops the call they are dropped. What is decided about proposals of a call that waits no more is told as a notice.
"""

from __future__ import annotations

import os.path
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace as with_fields
from typing import TYPE_CHECKING, Literal

import anyio

from agent_ls.app.change_events import file_change, proposal_shown
from agent_ls.app.proposal_notes import Judged, note_of_file, stopped_notice
from agent_ls.app.reviewed_file import Call, Landing, Proposal, ReviewedFile, is_text, maybe_bytes, text_of
from agent_ls.environments.base import Attribution, FileState, FileWrite
from agent_ls.environments.errors import EnvError, StaleFileError
from agent_ls.loop.events import Hunk, HunkStateChanged
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.ledger import Change
from agent_ls.review.proposals import (
    Sheet,
    decided,
    landed,
    moved,
    propose,
    propose_bytes,
    text_with,
    with_lines,
)
from agent_ls.review.user_edits import user_edit

if TYPE_CHECKING:
    from agent_ls.app.hunk_news import By
    from agent_ls.app.review_desk import Audience, ReviewDesk

ADMISSION_S = 5
"""How long a verdict waits for its call to be judged after a resume: as long as a look at the disk may take."""


@dataclass(slots=True)
class Wait:
    """A call that waits for a person, until each of its hunks has a verdict.

    `is_admitted` is set once policy has said that it may be made: after a resume that is judged anew.
    """

    attribution: Attribution
    writes: Sequence[FileWrite]
    judged: list[Judged] = field(default_factory=list)
    is_over: anyio.Event = field(default_factory=anyio.Event)
    is_admitted: anyio.Event = field(default_factory=anyio.Event)


class Proposals:
    def __init__(self, desk: ReviewDesk) -> None:
        self._desk = desk
        self._waits: dict[Call, Wait] = {}

    # -- calls

    async def review_first(
        self, writes: Sequence[FileWrite], attribution: Attribution, audience: Audience
    ) -> list[FileState]:
        """Proposes these writes (absolute paths), waits for the verdicts, and tells what stands in the files then.

        Raises:
            StaleFileError: the change does not fit the file as it is. EnvError: a file cannot be read.
        """
        links = links_of(writes)
        proposals = [
            Proposal(attribution, write, (with_fields(sheet, hunks=_linked(sheet, links)),))
            for write in writes
            if (sheet := await self._sheet(write, attribution, audience))
        ]
        self.wait_again(Wait(attribution, writes), proposals, "agent")
        return await self.verdicts(attribution, audience)

    def wait_again(self, wait: Wait, proposals: Sequence[Proposal], by: By) -> None:
        """These stand beside their files, and their call waits for the verdicts: `verdicts` is to follow."""
        self._waits[call_of(wait.attribution)] = wait
        for proposal in proposals:
            self.stand(proposal, by)
        for proposal in proposals:
            self.follow(self._desk.files[proposal.write.path])

    async def verdicts(self, attribution: Attribution, audience: Audience) -> list[FileState]:
        """What stands in the files of a call that waits, when each of its hunks has a verdict."""
        call = call_of(attribution)
        wait = self._waits[call]
        wait.is_admitted.set()
        try:
            self.end_if_decided(call)
            await wait.is_over.wait()
        except anyio.get_cancelled_exc_class():
            if (
                audience.is_stopped
            ):  # else the process ends, and what is proposed is looked at by the next one
                self.drop(attribution, audience)
            raise
        finally:
            self._waits.pop(call, None)
        return [await self._outcome(write, wait, audience) for write in wait.writes]

    def writes_of(self, call: Call) -> Sequence[FileWrite]:
        """What a call that waits would write."""
        return self._waits[call].writes

    async def _sheet(self, write: FileWrite, attribution: Attribution, audience: Audience) -> Sheet | None:
        """What a write proposes, beside the file as it is; None when it changes nothing."""
        if write.content == write.base:
            return None
        data = await maybe_bytes(audience.files, write.path)
        if not (is_text(write.base) and is_text(write.content)):
            if data != write.base:
                raise StaleFileError(write.path)
            self._desk.begin(write.path, text_of(data))
            return propose_bytes(write.path, what_of(write), attribution)
        before, now = text_of(write.base), text_of(data)
        sheet = moved(propose(write.path, before, text_of(write.content), attribution), now)
        if any(hunk.state == "stale" for hunk in sheet.hunks):
            raise StaleFileError(write.path, "the lines that this changes were changed meanwhile")
        self._desk.begin(write.path, now)
        return sheet

    async def is_admitted(self, call: Call) -> bool:
        """Whether what a person keeps of this call may be made; waits a little while that is judged after a resume."""
        if wait := self._waits.get(call):
            with anyio.move_on_after(ADMISSION_S):
                await wait.is_admitted.wait()
            return wait.is_admitted.is_set()
        return True

    def drop(self, attribution: Attribution, audience: Audience) -> None:
        """A call that waits gives up what it proposed."""
        wait = self._waits.pop(call_of(attribution))
        wait.is_admitted.set()
        for file, proposal in list(self.of_call(call_of(attribution))):
            proposal.is_dropped = True
            self.close(file, proposal, {hunk.id for hunk in proposal.waiting}, "gone", "agent")
        if any(judged.outcome == "kept" for judged in wait.judged):
            audience.notice(stopped_notice(wait.judged, audience.files.working_directory()))

    async def _outcome(self, write: FileWrite, wait: Wait, audience: Audience) -> FileState:
        try:
            after = await maybe_bytes(audience.files, write.path)
        except EnvError:
            after = write.base
        judged = [it for it in wait.judged if it.path == write.path]
        folder = audience.files.working_directory()
        return FileState(write.path, write.base, after, note_of_file(folder, write, after, judged))

    def is_waiting(self, call: Call) -> bool:
        return call in self._waits

    def judge(self, proposal: Proposal, judged: Judged) -> None:
        """A hunk has its verdict; the call goes on when that was the last one."""
        if wait := self._waits.get(proposal.call):
            wait.judged.append(judged)
            self.end_if_decided(proposal.call)

    def end_if_decided(self, call: Call) -> None:
        if (wait := self._waits.get(call)) and not any(True for _ in self.of_call(call)):
            wait.is_over.set()

    # -- what happens to files

    def follow(self, file: ReviewedFile) -> None:
        """The file's text is another now."""
        text = file.ledger.current_text
        for proposal in list(file.proposals):
            if file.landing and file.landing.proposal is proposal:
                continue
            proposal.sheets = tuple(moved(sheet, text) for sheet in proposal.sheets)
            for hunk in self._tell_news(file, proposal, "editor"):
                if hunk.state == "kept":
                    self.judge(proposal, Judged(file.path, self.shown(file, hunk), "made"))
        self.tidy(file)

    def is_landing(self, path: str, before: str, after: str, attribution: Attribution) -> bool:
        """Whether this edit of a call is one that a verdict asked for; then it is taken up here."""
        call = call_of(attribution)
        files = [file for file in self._desk.files.values() if file.landing and file.landing.call == call]
        # An editor may have opened the file by another name.
        real = os.path.realpath(path)
        file = next((it for it in files if path == it.path or os.path.realpath(it.path) == real), None)
        if file is None or file.landing is None:
            return False
        if file.landing.is_done:
            self._take_back(file, file.landing, before, after)
        else:
            self.land(file, file.landing, before, after)
        return True

    def land(self, file: ReviewedFile, landing: Landing, before: str | None, after: str | None) -> None:
        """The hunks stand in the file; its text was `before` when they were written."""
        proposal = landing.proposal
        self._desk.user_edit(file.path, before)
        beside = (moved(sheet, before) for sheet in landing.sheets)
        self._desk.turn_page(file, user_edit(file.ledger, after), "user")
        landing.is_done, landing.sheets_before = True, proposal.sheets
        proposal.sheets = tuple(
            part for sheet in beside for part in landed(with_lines(sheet, landing.lines), landing.ids, after)
        )
        if proposal.is_dropped:  # while these were on their way; the others do not come back
            rest = {hunk.id for hunk in proposal.waiting}
            proposal.sheets = tuple(decided(sheet, rest, "gone") for sheet in proposal.sheets)
        self._tell_change(file, landing, before, after)
        self._tell_news(file, proposal, "user", landing.comment)

    def _take_back(self, file: ReviewedFile, landing: Landing, before: str, after: str) -> None:
        """Another file of the same verdict could not be written, so this one is as it was."""
        self._desk.user_edit(file.path, after)
        landing.is_done = False
        landing.proposal.sheets = tuple(moved(sheet, after) for sheet in landing.sheets_before)
        self._tell_change(file, landing, before, after)
        self._tell_news(file, landing.proposal, "agent")

    def close(
        self,
        file: ReviewedFile,
        proposal: Proposal,
        ids: Collection[str],
        state: Literal["undone", "gone"],
        by: By,
        comment: str = "",
    ) -> None:
        """These get their last state, without a change of the file."""
        proposal.sheets = tuple(decided(sheet, ids, state) for sheet in proposal.sheets)
        self._tell_news(file, proposal, by, comment)
        self.tidy(file)

    def stand(self, proposal: Proposal, by: By) -> None:
        """Puts a proposal beside its file, and tells of it what is not told yet."""
        file = self._desk.files[proposal.write.path]
        file.proposals.append(proposal)
        self._tell_news(file, proposal, by)
        self.tidy(file)

    def tidy(self, file: ReviewedFile) -> None:
        """Proposals of which nothing waits are over; what became of their hunks is remembered."""
        for proposal in file.proposals:
            file.decided.update({hunk.id: hunk.state for hunk in proposal.hunks})
        landing = file.landing.proposal if file.landing else None  # what lands may be taken back
        file.proposals = [it for it in file.proposals if it.waiting or it is landing]
        self._desk.texts_changed(file.path)

    # -- showing

    def shown(self, file: ReviewedFile, hunk: LedgerHunk) -> Hunk:
        return proposal_shown(file.ledger, hunk)

    def open_hunks(self, file: ReviewedFile) -> list[Hunk]:
        """Those that wait for a verdict, in the order of their places."""
        hunks = [hunk for proposal in file.proposals for hunk in proposal.waiting]
        return [self.shown(file, hunk) for hunk in sorted(hunks, key=lambda hunk: (hunk.start, hunk.end))]

    def text(self, file: ReviewedFile) -> str | None:
        """The file's text with all that is proposed."""
        sheets = (sheet for proposal in file.proposals for sheet in proposal.sheets)
        hunks = (hunk for sheet in sheets if not sheet.is_opaque for hunk in sheet.hunks)
        return text_with(file.ledger.current_text, (hunk for hunk in hunks if hunk.state == "proposed"))

    def of_call(self, call: Call) -> Iterator[tuple[ReviewedFile, Proposal]]:
        """Its proposals of which something waits."""
        for file in list(self._desk.files.values()):
            for proposal in list(file.proposals):
                if proposal.call == call and proposal.waiting:
                    yield file, proposal

    def _tell_change(
        self, file: ReviewedFile, landing: Landing, before: str | None, after: str | None
    ) -> None:
        if before != after and (audience := self._desk.audience(landing.call[0])):
            folder = audience.files.working_directory()
            change = Change(file.ledger, ())
            audience.emit(file_change(before, after, change, call_id=landing.call[1], folder=folder))

    def _tell_news(
        self, file: ReviewedFile, proposal: Proposal, by: By, comment: str = ""
    ) -> list[LedgerHunk]:
        """Tells of hunks that are not as they were told last; those."""
        now = {hunk.id: (hunk.state, hunk.base_lines, hunk.agent_lines) for hunk in proposal.hunks}
        news = [hunk for hunk in proposal.hunks if proposal.told.get(hunk.id) != now[hunk.id]]
        proposal.told = now
        if news:
            shown = tuple(self.shown(file, hunk) for hunk in news)
            self._desk.tell(proposal.call[0], HunkStateChanged(file.path, shown, by, comment))
        return news


def call_of(attribution: Attribution) -> Call:
    return (attribution.session_id, attribution.call_id)


def what_of(write: FileWrite) -> Literal["create", "delete", "content"]:
    return "create" if write.base is None else "delete" if write.content is None else "content"


def links_of(writes: Sequence[FileWrite]) -> dict[str, str]:
    """By path, the name of the group of both ends of a move."""
    deleted = {write.path for write in writes if write.content is None}
    links: dict[str, str] = {}
    for write in writes:
        if write.mode_from in deleted:
            links[write.path] = links[write.mode_from] = f"move:{write.mode_from}"
    return links


def _linked(sheet: Sheet, links: dict[str, str]) -> tuple[LedgerHunk, ...]:
    return tuple(with_fields(hunk, link=links.get(sheet.path, "")) for hunk in sheet.hunks)
