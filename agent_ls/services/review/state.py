"""The review state of all changed files of this process: one ledger per file, and the sessions that own its hunks.

All parts of the review work on this state: decisions, proposals, restore, and the service, which editors and
environments report to. This module depends on none of these parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

import anyio

from agent_ls.background import TaskStarter
from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileState, FileWrite
from agent_ls.loop.events.types import Hunk, HunkStateChanged, RecordedEvent
from agent_ls.loop.seams import Clock
from agent_ls.review.decisions import Decision, apply_decision
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.ledger import FileLedger, LedgerChange, open_ledger
from agent_ls.review.reopened_hunks import is_missing, reopen_missing, reopen_undone
from agent_ls.review.restore import StoredHunk
from agent_ls.services.review.change_events import find_hunk_positions, relative_name
from agent_ls.services.review.hunk_events import By, HunkEventPublisher
from agent_ls.services.review.notebooks import user_edited
from agent_ls.services.review.review_notices import returned_notice
from agent_ls.services.review.reviewed_file import ReviewedFile, maybe_bytes, read_form, text_of
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
    """The tracked files, and the observers of their texts.

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
        self.hunk_events = HunkEventPublisher(self.publish, clock, start)
        self._recorded_positions: dict[tuple[str, str], HunkPositions] = {}
        self._writing: Counter[str] = Counter()
        self._written = anyio.Event()
        self._missing: dict[str, tuple[StoredHunk, ...]] = {}
        self._followers: list[Callable[[ReviewedFile], None]] = []
        self._text_watchers: list[Callable[[str], None]] = []
        self._position_watchers: list[Callable[[str], None]] = []

    # -- files

    def begin(self, path: str, text: str | None) -> None:
        """Start tracking a file; `text` is its current content."""
        if path in self.files:
            self.user_edit(path, text)
        else:
            self.files[path] = ReviewedFile(open_ledger(path, text))

    def user_edit(self, path: str, text: str | None) -> None:
        """Record the file's current text.

        All changes since the last report count as edits by the user.
        """
        if (file := self.files.get(path)) and file.ledger.current_text != text:
            self.replace_ledger(file, user_edited(file.ledger, text), "editor")
            if back := reopen_missing(file.ledger, self._missing.get(path, ())):
                self.replace_ledger(file, back, "editor")
            self._reopen_undone(file)

    def _reopen_undone(self, file: ReviewedFile) -> None:
        """Reopen hunks that the user had undone and then restored with the editor's own undo."""
        for undone in reversed(file.undone):
            if change := reopen_undone(file.ledger, undone):
                ids = {hunk.id for hunk in undone.hunks}
                self.replace_ledger(file, change, "editor")
                self.notify(file, [it for it in change.changed if it.id in ids], returned_notice)
                return

    def replace_ledger(self, file: ReviewedFile, change: LedgerChange, by: By, comment: str = "") -> None:
        """Replace a file's ledger with its new version, and publish the changed hunks."""
        before, file.ledger = file.ledger, change.ledger
        self.hunk_events.take(before, change, by, comment)
        if file.proposals and before.current != change.ledger.current:
            for follow in self._followers:
                follow(file)
        if before.current is not change.ledger.current:
            for changed in self._position_watchers:
                changed(change.ledger.path)
        if before.base != change.ledger.base:
            self.texts_changed(change.ledger.path)

    async def catch_up(self, file: ReviewedFile, files: ExecutionEnvironment) -> bytes | None:
        """Read the file and record unknown changes as the user's. Return its content, or None if it does not exist.

        Raises:
            EnvError: the file cannot be read.
        """
        path = file.ledger.path
        self.hunk_events.flush(path)
        while True:
            while self._writing[path]:
                await self._written.wait()
            known = file.ledger
            data = await maybe_bytes(files, path)
            if file.ledger is known and not self._writing[path]:
                break
        self.user_edit(path, text_of(data))
        if data is not None:
            file.written_as = read_form(data)
        return data

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

    def forget(self, session_id: str) -> None:
        """Drop the hunks of a session that another process has taken over.

        In this process the hunks count as accepted.
        """
        self._recorded_positions = {
            key: it for key, it in self._recorded_positions.items() if key[0] != session_id
        }
        for path, items in self._missing.items():
            self._missing[path] = tuple(it for it in items if it.hunk.session_id != session_id)
        for path, file in list(self.files.items()):
            own = frozenset(hunk.id for hunk in file.ledger.hunks if hunk.session_id == session_id)
            beside = [it for it in file.proposals if it.call[0] != session_id]
            if not own and len(beside) == len(file.proposals):
                continue
            file.ledger, file.proposals = apply_decision(file.ledger, Decision(own, "kept")).ledger, beside
            if not file.ledger.hunks and not beside:
                del self.files[path]
            self.texts_changed(path)

    def ledger(self, path: str) -> FileLedger | None:
        """Return the file's ledger, or None."""
        file = self.files.get(path)
        return file.ledger if file else None

    # -- hunks that no file contains at present

    def await_missing(self, missing: Mapping[str, Sequence[StoredHunk]]) -> None:
        """Watch files, by path, for these missing hunks of resumed sessions.

        A hunk is reopened as soon as the file's text contains it.
        """
        for path, items in missing.items():
            self._missing[path] = (*self._missing.get(path, ()), *items)

    def list_awaited(self, session_id: str) -> list[str]:
        """Return the files whose text does not yet contain all hunks of a live session (see `await_missing`)."""
        if self.find_session(session_id) is None:
            return []
        return [
            path
            for path, items in self._missing.items()
            if (file := self.files.get(path))
            and any(it.hunk.session_id == session_id and is_missing(file.ledger, it) for it in items)
        ]

    # -- sessions

    def publish(self, session_id: str, event: RecordedEvent) -> None:
        """Emit an event in a session, if the session is live. After a hunk event, record the hunk positions."""
        if session := self.find_session(session_id):
            session.emit(event)
        if isinstance(event, HunkStateChanged) and (file := self.files.get(event.path)):
            self.record_positions(file, session_id)

    def record_positions(self, file: ReviewedFile, session_id: str) -> None:
        """Record the positions of all hunks of a session in a file.

        Called after each hunk event, because a change of one hunk can move the others.
        """
        positions, session = _find_hunk_positions(file, session_id), self.find_session(session_id)
        if positions and session:
            self._recorded_positions[session_id, positions.path] = positions
            session.record_hunk_positions(positions)

    def unrecorded_positions(self, session_id: str) -> list[HunkPositions]:
        """Return the hunk positions that are not in the session's log yet, one record per file."""
        found = (_find_hunk_positions(file, session_id) for file in self.files.values())
        return [it for it in found if it and self._recorded_positions.get((session_id, it.path)) != it]

    def notify(
        self, file: ReviewedFile, hunks: Sequence[H], words: Callable[[str, Sequence[H]], str]
    ) -> None:
        """Post a notice about these hunks to the model of each session that owns some of them."""
        for session_id in dict.fromkeys(hunk.session_id for hunk in hunks):
            if session := self.find_session(session_id):
                name = relative_name(file.ledger.path, session.files.working_directory())
                own = [hunk for hunk in hunks if hunk.session_id == session_id]
                session.notice(words(name, own), file.ledger.path)

    def owner_of(self, file: ReviewedFile, ids: Collection[str]) -> ReviewedSession | None:
        """Return a live session that owns one of these hunks, or None."""
        owners = (hunk.session_id for hunk in all_hunks(file.ledger) if hunk.id in ids)
        return next((found for owner in owners if (found := self.find_session(owner))), None)

    # -- observers, which must not raise

    def follow_texts(self, follow: Callable[[ReviewedFile], None]) -> None:
        """From now on, call `follow` each time the text of a file with proposals has changed."""
        self._followers.append(follow)

    def watch_texts(self, changed: Callable[[str], None]) -> None:
        """From now on, call `changed` with the path of a file each time its base or proposed text has changed."""
        self._text_watchers.append(changed)

    def watch_positions(self, changed: Callable[[str], None]) -> None:
        """From now on, call `changed` with the path of a file each time its text has changed.

        A text change moves the file's hunks.
        """
        self._position_watchers.append(changed)

    def texts_changed(self, path: str) -> None:
        """Notify the observers that the base or proposed text of a file has changed."""
        for changed in self._text_watchers:
            changed(path)


def all_hunks(ledger: FileLedger) -> tuple[LedgerHunk, ...]:
    """Return the open and the closed hunks of a file."""
    return (*ledger.hunks, *ledger.closed)


def _find_hunk_positions(file: ReviewedFile, session_id: str) -> HunkPositions | None:
    """Return the positions of the session's hunks in a file, including proposed hunks that are not
    stale.
    """
    proposed = [hunk for it in file.proposals for hunk in it.pending_hunks if hunk.state == "proposed"]
    return find_hunk_positions(file.ledger, session_id, proposed)
