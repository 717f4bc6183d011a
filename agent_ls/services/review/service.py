"""The review of all sessions of this process: one ledger per changed file, updated by reports from outside.

The rules are in agent_ls/review, the state is in state.py; this module handles the reports of editors and
environments and the requests of users. Sessions receive events, and the model receives a notice of the
decisions with its next request (docs/hunks.md). All methods except `review` are synchronous or short, and run
on the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from agent_ls.background import TaskStarter
from agent_ls.environments.base import Attribution, FileState
from agent_ls.environments.errors import EnvError
from agent_ls.loop.events.types import FileChange, Hunk, HunkStateChanged
from agent_ls.loop.seams import Clock
from agent_ls.notebook.cell_alignment import EditorCell
from agent_ls.review.ledger import LedgerChange, open_ledger
from agent_ls.services.review.change_events import action, file_change
from agent_ls.services.review.decision_request import DecisionRequest, KeepOrUndo, Selection
from agent_ls.services.review.decisions import HunkDecisions
from agent_ls.services.review.findings import ReviewFindings
from agent_ls.services.review.open_hunks import open_hunks, proposed_text
from agent_ls.services.review.proposal_decisions import ProposalDecisions
from agent_ls.services.review.proposals import Proposals
from agent_ls.services.review.reports import (
    AgentWrote,
    AgentWroteBytes,
    DiskSeen,
    EditorUndid,
    SavedByUs,
    TextSeen,
)
from agent_ls.services.review.reviewed_file import call_of, is_text, read_form, text_of
from agent_ls.services.review.running_commands import RunningCommands
from agent_ls.services.review.saved_files import SavedFiles, SaveUndone, UndoneSaves, nothing_unsaved
from agent_ls.services.review.state import ReviewedSession, ReviewState


class ReviewService:
    """Tracks the changes of all sessions, and carries out the user's decisions about them.

    `find_session` returns a live session by its id, or None. `save_undone` saves documents after an undo; None
    for a process without an editor. `is_reviewed` returns whether changes of a file get hunks.
    """

    def __init__(
        self,
        find_session: Callable[[str], ReviewedSession | None],
        clock: Clock,
        start: TaskStarter,
        save_undone: SaveUndone | None = None,
        is_reviewed: Callable[[str], bool] = lambda path: True,
    ) -> None:
        self._start = start
        self.state = ReviewState(find_session, clock=clock, start=start, is_reviewed=is_reviewed)
        self.proposals = Proposals(self.state)
        self.undone_saves = UndoneSaves(self.state, save_undone or nothing_unsaved)
        self._decisions = HunkDecisions(
            self.state, ProposalDecisions(self.state, self.proposals), self.undone_saves
        )
        self._links: dict[str, str] = {}
        self._last_unreviewed: dict[str, tuple[str, str, str | None]] = {}
        self.saved = SavedFiles()
        self.under_way = RunningCommands()
        self.findings = ReviewFindings()

    # -- reports from editors

    def document_opened(self, path: str, text: str) -> None:
        # During an agent's write, the editor may open a file that it has just moved at the agent's request.
        if not self.state.is_writing(path):
            self.user_edit(path, text)

    def document_closed(self, path: str) -> None:
        """Start a task that reads the file from disk. Hunks that are not in the file on disk become `gone`."""
        if (file := self.state.files.get(path)) and (file.ledger.hunks or file.proposals):
            self._start(partial(self._read_closed, path))

    def document_saved(self, path: str, text: str, *, is_asked: bool = False) -> None:
        """Note that the editor has written the file. `is_asked`: the server asked for this save."""
        self.saved.note(path, text)
        if is_asked:
            self.state.report(path, SavedByUs())

    def notebook_saved(self, path: str, cells: Sequence[EditorCell]) -> None:
        """Note that the editor has written a notebook that it reports as cells."""
        self.saved.note_cells(path, cells)

    def user_edit(self, path: str, text: str | None) -> None:
        """Report the file's current text.

        All changes since the last report count as edits by the user.
        """
        self.state.report(path, TextSeen(text))

    def agent_edit(self, path: str, before: str | None, after: str | None, attribution: Attribution) -> None:
        """Report a call's change of a file. A second report of the same change is ignored."""
        if not self.state.is_reviewed(path):
            self._announce_unreviewed(path, before, after, attribution)
            return
        if self.proposals.record_write(path, before or "", after or "", attribution):
            return
        if path not in self.state.files:
            self.state.begin(path, before)
        self.state.report(path, AgentWrote(before, after, attribution, self._links.get(path, "")))

    def undo_applied(self, path: str, before: str, after: str) -> None:
        """Report that the editor has applied the edit that undoes hunks, at the user's request.

        `before` and `after` are the document's text around this edit.
        """
        self.state.report(path, EditorUndid(before, after))

    # -- reports from environments

    @contextmanager
    def writing(self, paths: Collection[str], links: Mapping[str, str] | None = None) -> Iterator[None]:
        """Mark files as being written by an agent, so that the change is not taken for the user's.

        `links` maps the paths of both ends of a move to the same link name.
        """
        self._links.update(links or {})
        try:
            with self.state.writing(paths):
                yield
        finally:
            for path in links or ():
                self._links.pop(path, None)

    def report_commit(self, state: FileState, attribution: Attribution) -> None:
        """Report a commit's change of a file, unless the editor has reported it already."""
        if state.before == state.after or self.knows_call(state.path, attribution):
            return
        if is_text(state.before) and is_text(state.after):
            self.agent_edit(state.path, text_of(state.before), text_of(state.after), attribution)
            self.state.report(state.path, SavedByUs(read_form(state.before or state.after or b"")))
        else:
            self._changed_bytes(state, attribution)

    def knows_call(self, path: str, attribution: Attribution) -> bool:
        """Return whether the ledger already contains this call's change of the file."""
        file = self.state.files.get(path)
        return file is not None and call_of(attribution) in file.recorded

    def current_texts(self) -> Mapping[str, object]:
        """Return the lines of each tracked file. If a later call returns the same object, the text has not changed."""
        return {path: file.ledger.current for path, file in self.state.files.items()}

    def paths(self, session_id: str) -> list[str]:
        """Return the tracked files that a session has changed."""
        return [
            path
            for path, file in self.state.files.items()
            if any(hunk.session_id == session_id for hunk in file.all_hunks)
        ]

    # -- requests of users

    def open_hunks(
        self, *, session_id: str | None = None, path: str | None = None, turn_id: str | None = None
    ) -> dict[str, list[Hunk]]:
        """Return undecided hunks by absolute path, ordered by position."""
        found = open_hunks(self.state.files.values(), session_id=session_id, path=path, turn_id=turn_id)
        return {path: list(map(self.state.looked.mark, hunks)) for path, hunks in found.items()}

    def look(self, hunk_ids: Collection[str]) -> None:
        """Note that the user has looked at undecided hunks, and publish it. Unknown ids are ignored."""
        self.state.flush()
        for path, hunks in self.open_hunks().items():
            new = [hunk for hunk in hunks if hunk.id in hunk_ids and not hunk.looked]
            self.state.looked.note(new)
            for session_id in dict.fromkeys(hunk.session_id for hunk in new):
                own = tuple(hunk for hunk in new if hunk.session_id == session_id)
                self.state.publish(session_id, HunkStateChanged(path, own, "look"))

    def is_created(self, session_id: str, path: str) -> bool:
        """Return whether all text of an existing file is from this session, and the user has kept none of it.

        Blocks, because the file is compared with the known text.
        """
        file = self.state.files.get(path)
        if file is None or file.ledger.base is not None or file.ledger.current is None or file.proposals:
            return False
        # "pending": neither kept by the user nor edited
        if any(it.session_id != session_id or it.state != "pending" for it in file.ledger.hunks):
            return False
        try:
            return text_of(Path(path).read_bytes()) == file.ledger.current_text
        except OSError:
            return False

    def knows(self, path: str) -> bool:
        """Return whether the file is tracked."""
        return path in self.state.files

    def base_text(self, path: str) -> str | None:
        """Return the accepted text of a file; None if it is not tracked or did not exist."""
        file = self.state.files.get(path)
        return file.ledger.base_text if file else None

    def current_text(self, path: str) -> str | None:
        """Return the text of a file, as last reported; None if it is not tracked or does not exist."""
        file = self.state.files.get(path)
        return file.ledger.current_text if file else None

    def proposed_text(self, path: str) -> str | None:
        """Return the text that a tracked file would have if all its proposed hunks were kept."""
        file = self.state.files.get(path)
        return proposed_text(file) if file else None

    async def review(
        self,
        decision: KeepOrUndo,
        selection: Selection,
        *,
        comment: str = "",
        confirm: bool = False,
        lines: tuple[int, int] | None = None,
        replacement: str | None = None,
    ) -> tuple[list[Hunk], list[tuple[str, str]]]:
        """Carry out a decision. Return the changed hunks, and the refused hunk ids with reasons.

        `lines` [first, last) limits the decision to some new lines of a hunk; `replacement` is the text to
        keep instead of the agent's text. Both need a selection of exactly one hunk by its id.
        """
        return await self._decisions.carry_out(
            selection, DecisionRequest(decision, comment, confirm, lines, replacement, selection.turn_id)
        )

    # -- internal: files

    async def look_at_disk(self, path: str) -> None:
        """Read the file, because something may have changed it.

        Changes that are not recorded yet count as the user's. Does nothing while a foreground command
        runs, because its changes are recorded when it ends.
        """
        await self.seen_on_disk(path)

    async def seen_on_disk(self, path: str) -> bytes | None:
        """Read the file, and record unknown changes as the user's. Return the content.

        Returns None if the file does not exist or was not read, for example while a foreground command runs.
        """
        await self.under_way.record_background_changes()
        if path in self.state.files and not self.under_way.is_waited_for:
            return await self._read(path)
        return None

    def record_disk(self, path: str, data: bytes | None) -> None:
        """Record what somebody else changed, given the content on disk. Does nothing during a write of the file."""
        if not self.state.is_writing(path):
            form = None if data is None else read_form(data)
            self.state.report(path, DiskSeen(text_of(data), form, is_unexpected=True))

    async def _read_closed(self, path: str) -> None:
        await self._read(path)

    async def _read(self, path: str) -> bytes | None:
        """Read the file, mark hunks that it does not contain as `gone`, and send the model a notice."""
        file = self.state.files.get(path)
        if file is None:
            return None
        beside = [hunk for proposal in file.proposals for hunk in proposal.pending_hunks]
        owners = dict.fromkeys(hunk.session_id for hunk in (*file.ledger.hunks, *beside))
        session = next((found for owner in owners if (found := self.state.find_session(owner))), None)
        if session is None:
            return None
        try:
            return await self.state.catch_up(path, session.files, is_unexpected=True)
        except EnvError:
            return None

    def _changed_bytes(self, state: FileState, attribution: Attribution) -> None:
        """Record the change of a binary file. Such a file has no hunks, so the change cannot be undone."""
        self.state.report(state.path, AgentWroteBytes())
        event = FileChange(attribution.call_id, state.path, action(state.before, state.after), 0, 0, "")
        self.state.publish(attribution.session_id, event)

    def _announce_unreviewed(
        self, path: str, before: str | None, after: str | None, attribution: Attribution
    ) -> None:
        """Publish the change of a file that gets no hunks.

        An editor may report the same change again; the second report is ignored.
        """
        change = (attribution.session_id, attribution.call_id, after)
        if self._last_unreviewed.get(path) == change:
            return
        self._last_unreviewed[path] = change
        if session := self.state.find_session(attribution.session_id):
            ledger = LedgerChange(open_ledger(path, after), ())
            folder = session.files.working_directory()
            session.emit(file_change(before, after, ledger, call_id=attribution.call_id, folder=folder))
