"""The review state of all changed files of this process: one frozen value per file.

`advance.py` decides what a report changes; `ReviewState.report` keeps the new value and carries out the effects. All
parts of the review use this class: decisions, proposals, restore, and the service, which editors and environments
report to. This module depends on none of these parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol, TypeVar, assert_never

import anyio

from agent_ls.background import TaskStarter
from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileState, FileWrite
from agent_ls.loop.events.types import Hunk, HunkStateChanged, RecordedEvent
from agent_ls.loop.seams import Clock
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.ledger import FileLedger, LedgerChange, open_ledger
from agent_ls.review.reopened_hunks import is_missing
from agent_ls.services.review.change_events import file_change, find_hunk_positions, relative_name
from agent_ls.services.review.effects import (
    Effect,
    Forget,
    HunksMoved,
    JudgeHunk,
    NotifyModel,
    PublishChange,
    PublishDelayedHunks,
    PublishHunks,
    PublishProposed,
    RecordPositions,
    TextsChanged,
)
from agent_ls.services.review.hunk_events import HunkEventPublisher
from agent_ls.services.review.looked import LookedHunks
from agent_ls.services.review.reports import DiskSeen, Report, Restored, SessionTaken, TextSeen
from agent_ls.services.review.review_notices import gone_notice, returned_notice
from agent_ls.services.review.reviewed_file import (
    Call,
    Proposal,
    ReviewedFile,
    maybe_bytes,
    read_form,
    text_of,
)
from agent_ls.services.review.waiting import WaitingCalls
from agent_ls.store.journal import HunkPositions

H = TypeVar("H", Hunk, LedgerHunk)


class ReviewedSession(Protocol):
    """The part of a live session that the review uses."""

    def emit(self, event: RecordedEvent) -> object: ...

    def notice(self, text: str, about: str = "") -> None:
        """Post a notice for the model, sent with its next request.

        `about` is the file that the notice describes.
        """
        ...

    def record_hunk_positions(self, positions: HunkPositions) -> None:
        """Record in the log the positions of the session's hunks in a file."""
        ...

    async def apply(
        self, writes: Sequence[FileWrite], attribution: Attribution, *, is_running: bool
    ) -> Sequence[FileState]:
        """Write the proposed hunks that the user kept: announce them in the log, then commit them.

        `is_running`: the call is still waiting and may write only what was approved when it began. Otherwise
        the call has ended, and the write counts as the user's own action, like an undo.

        Raises:
            EnvError: the commit failed.
        """
        ...

    async def commit_decided(
        self,
        writes: Sequence[FileWrite],
        attribution: Attribution,
        record: Callable[[Sequence[FileState]], Awaitable[None]],
    ) -> Sequence[FileState]:
        """Write what the user has decided, an undo or a roll back, as the user's own action.

        `record` gets what was written, also if the commit raises. If all is written, its error has no effect.

        Raises:
            EnvError: a file was not written.
        """
        ...

    async def follow_undo(self, states: Sequence[FileState]) -> None:
        """Apply an undo that changed these files to the session's own copies of them, if it has copies.

        `states` have the text around the undo, without what the user typed at the same time. Must not raise.
        """
        ...

    def own_path(self, path: str) -> str:
        """Return the path of the session's own copy of a file, which has the same decisions; else `path`."""
        ...

    def is_asked(self, call_id: str) -> bool:
        """Return whether the call has an unanswered approval."""
        ...

    @property
    def is_stopped(self) -> bool:
        """Whether the user has stopped the turn.

        If False, a cancelled call means that the process is ending.
        """
        ...

    @property
    def files(self) -> ExecutionEnvironment:
        """The session's environment whose writes are not reviewed, used to read files and write undone hunks."""
        ...


class ReviewState:
    """The tracked files, each with its frozen value, and the effects of reports about them.

    `find_session` returns a live session by its id, or None. `is_reviewed` returns whether changes of a file get
    hunks: files in a session's own worktree get none.
    """

    def __init__(
        self,
        find_session: Callable[[str], ReviewedSession | None],
        *,
        clock: Clock,
        start: TaskStarter,
        is_reviewed: Callable[[str], bool] = lambda path: True,
    ) -> None:
        self.find_session = find_session
        self.is_reviewed = is_reviewed
        self.files: dict[str, ReviewedFile] = {}
        self.waits = WaitingCalls()
        self._deciding: dict[str, anyio.Lock] = {}
        self._hunk_events = HunkEventPublisher(self.publish, clock, start)
        self.looked = LookedHunks()
        self._recorded_positions: dict[tuple[str, str], HunkPositions] = {}
        self._writing: Counter[str] = Counter()
        self._written = anyio.Event()
        self._text_watchers: list[Callable[[str], None]] = []
        self._position_watchers: list[Callable[[str], None]] = []

    # -- files

    def report(self, path: str, report: Report) -> None:
        """Report what happened to a tracked file. Does nothing for another file."""
        if file := self.files.get(path):
            from agent_ls.services.review.advance import advance  # imported only when needed

            self.files[path], effects = advance(file, report)
            for effect in effects:
                self._carry_out(path, effect)

    def begin(self, path: str, text: str | None) -> None:
        """Start tracking a file; `text` is its current content."""
        if path in self.files:
            self.report(path, TextSeen(text))
        else:
            self.files[path] = ReviewedFile(open_ledger(path, text))

    def adopt(self, change: LedgerChange) -> None:
        """Track a file of a resumed session. `change.changed` are the hunks that differ from its log."""
        path = change.ledger.path
        self.files.setdefault(path, ReviewedFile(change.ledger))
        self.report(path, Restored(change))

    async def catch_up(
        self, path: str, files: ExecutionEnvironment, *, is_unexpected: bool = False
    ) -> bytes | None:
        """Read a tracked file and record unknown changes as the user's. Return its content, None for no file.

        Raises:
            EnvError: the file cannot be read.
        """
        self._hunk_events.flush(path)
        while True:
            while self._writing[path]:
                await self._written.wait()
            known = self.ledger(path)
            data = await maybe_bytes(files, path)
            if self.ledger(path) is known and not self._writing[path]:
                break
        form = None if data is None else read_form(data)
        self.report(path, DiskSeen(text_of(data), form, is_unexpected))
        return data

    def deciding(self, path: str) -> anyio.Lock:
        """Return the lock that is held while a decision about a file is carried out."""
        return self._deciding.setdefault(path, anyio.Lock())

    @contextmanager
    def writing(self, paths: Collection[str]) -> Iterator[None]:
        """Mark files as being written by an agent, so that the change is not taken for the user's."""
        self._writing.update(paths)
        try:
            yield
        finally:
            self._writing -= Counter(paths)
            self._written.set()
            self._written = anyio.Event()

    def is_writing(self, path: str) -> bool:
        """Return whether an agent is writing the file now."""
        return self._writing[path] > 0

    def flush(self) -> None:
        """Publish delayed hunk events now."""
        self._hunk_events.flush_all()

    def forget(self, session_id: str) -> None:
        """Drop the hunks of a session that another process has taken over.

        In this process the hunks count as accepted.
        """
        self._recorded_positions = {
            key: it for key, it in self._recorded_positions.items() if key[0] != session_id
        }
        for path in list(self.files):
            self.report(path, SessionTaken(session_id))

    def ledger(self, path: str) -> FileLedger | None:
        """Return the file's ledger, or None."""
        file = self.files.get(path)
        return file.ledger if file else None

    def list_awaited(self, session_id: str) -> list[str]:
        """Return the files whose text does not yet contain all hunks of a live session (see `HunksMissing`)."""
        if self.find_session(session_id) is None:
            return []
        return [
            path
            for path, file in self.files.items()
            if any(it.hunk.session_id == session_id and is_missing(file.ledger, it) for it in file.missing)
        ]

    def proposals_of(self, call: Call) -> list[tuple[ReviewedFile, Proposal]]:
        """Return the call's proposals that have pending hunks."""
        return [
            (file, proposal)
            for file in self.files.values()
            for proposal in file.proposals
            if proposal.call == call and proposal.pending_hunks
        ]

    def end_if_decided(self, call: Call) -> None:
        """End the wait of a call if none of its hunks is pending."""
        if not self.proposals_of(call):
            self.waits.end(call)

    # -- effects

    def _carry_out(self, path: str, effect: Effect) -> None:
        match effect:
            case PublishHunks(before, change, by, comment):
                self._hunk_events.take(before, change, by, comment)
            case PublishDelayedHunks():
                self._hunk_events.flush(path)
            case PublishChange():
                self._publish_change(effect)
            case PublishProposed(session_id, hunks, by, comment):
                self.publish(session_id, HunkStateChanged(path, hunks, by, comment))
            case RecordPositions(session_id):
                self._record_positions(path, session_id)
            case NotifyModel(gone_or_returned, about):
                self.notify(path, gone_or_returned, gone_notice if about == "gone" else returned_notice)
            case JudgeHunk(session_id, call_id, judged):
                self.waits.judge((session_id, call_id), judged)
                self.end_if_decided((session_id, call_id))
            case HunksMoved():
                for changed in self._position_watchers:
                    changed(path)
            case TextsChanged():
                for changed in self._text_watchers:
                    changed(path)
            case Forget():
                del self.files[path]
            case _:
                assert_never(effect)

    def _publish_change(self, it: PublishChange) -> None:
        if session := self.find_session(it.session_id):
            folder = session.files.working_directory()
            session.emit(file_change(it.before, it.after, it.change, call_id=it.call_id, folder=folder))

    # -- sessions

    def publish(self, session_id: str, event: RecordedEvent) -> None:
        """Emit an event in a session, if the session is live. After a hunk event, record the hunk positions."""
        if isinstance(event, HunkStateChanged):
            event = replace(event, hunks=tuple(map(self.looked.mark, event.hunks)))
        if session := self.find_session(session_id):
            session.emit(event)
        if isinstance(event, HunkStateChanged) and event.path in self.files:
            self._record_positions(event.path, session_id)

    def _record_positions(self, path: str, session_id: str) -> None:
        """Record the positions of all hunks of a session in a file.

        Called after each hunk event, because a change of one hunk can move the others.
        """
        file, session = self.files[path], self.find_session(session_id)
        positions = _find_hunk_positions(file, session_id)
        if positions and session:
            self._recorded_positions[session_id, positions.path] = positions
            session.record_hunk_positions(positions)

    def unrecorded_positions(self, session_id: str) -> list[HunkPositions]:
        """Return the hunk positions that are not in the session's log yet, one record per file."""
        found = (_find_hunk_positions(file, session_id) for file in self.files.values())
        return [it for it in found if it and self._recorded_positions.get((session_id, it.path)) != it]

    def texts_with_hunks(self, session_id: str) -> list[str]:
        """Return the texts of the files in which a session has open hunks."""
        return [
            text
            for file in self.files.values()
            if any(hunk.session_id == session_id for hunk in file.ledger.open_hunks)
            and (text := file.ledger.current_text) is not None
        ]

    def notify(
        self,
        path: str,
        hunks: Sequence[H],
        words: Callable[[str, Sequence[H]], str],
        *,
        is_decided: bool = False,
    ) -> None:
        """Post a notice about these hunks to the model of each session that owns some of them.

        `is_decided`: the notice is about a decision, which the session's own copy of the file has followed.
        """
        for session_id in dict.fromkeys(hunk.session_id for hunk in hunks):
            if session := self.find_session(session_id):
                known = session.own_path(path) if is_decided else path
                name = relative_name(known, session.files.working_directory())
                own = [hunk for hunk in hunks if hunk.session_id == session_id]
                session.notice(words(name, own), path)

    def owner_of(self, file: ReviewedFile, ids: Collection[str]) -> ReviewedSession | None:
        """Return a live session that owns one of these hunks, or None."""
        owners = (hunk.session_id for hunk in file.all_hunks if hunk.id in ids)
        return next((found for owner in owners if (found := self.find_session(owner))), None)

    # -- observers, which must not raise

    def watch_texts(self, changed: Callable[[str], None]) -> None:
        """From now on, call `changed` with the path of a file each time its base or proposed text has changed."""
        self._text_watchers.append(changed)

    def watch_positions(self, changed: Callable[[str], None]) -> None:
        """From now on, call `changed` with the path of a file each time its text has changed.

        A text change moves the file's hunks.
        """
        self._position_watchers.append(changed)


def _find_hunk_positions(file: ReviewedFile, session_id: str) -> HunkPositions | None:
    """Return the positions of the session's hunks in a file, including proposed hunks that are not
    stale.
    """
    proposed = [hunk for it in file.proposals for hunk in it.pending_hunks if hunk.state == "proposed"]
    return find_hunk_positions(file.ledger, session_id, proposed)
