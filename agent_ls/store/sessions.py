"""Sessions on disk: create, open, list and delete them. All methods block: call them in a thread."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from agent_ls.loop.calls.redaction import Known, none_known
from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.types import Envelope, Title
from agent_ls.store import blobs, locks
from agent_ls.store.errors import MissingLogError, StoreError
from agent_ls.store.forgotten import remember_lines
from agent_ls.store.forks import fork_log
from agent_ls.store.handover import delete_request
from agent_ls.store.layout import (
    Layout,
    StoredSummary,
    blobs_path,
    lock_path,
    log_path,
    outputs_path,
    summary,
    title_path,
)
from agent_ls.store.locks import Owner, SessionLock, kernel_lock
from agent_ls.store.log import FILE_MODE, Header, SessionLog, detach, make_private_folder, parse_header
from agent_ls.store.pages import last_seq
from agent_ls.store.reader import StoredSession, read_session
from agent_ls.store.recorder import StoreRecorder, output_path, read_output
from agent_ls.store.worktrees import remove_worktree
from agent_ls.system import SPARE_FOR_SESSIONS, require_spare_files


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session that this process owns. `stored` is its stored content, None for a new session.

    `put_out` is the former owner after a forced take-over; that process may not have noticed the take-over
    yet. `taken_from` is the former owner after any take-over, forced or not.
    """

    folder: Path
    recorder: StoreRecorder
    lock: SessionLock
    stored: StoredSession | None = None
    put_out: Owner | None = None
    taken_from: Owner | None = None

    def close(self) -> None:
        """Close the log, then release the lock. May be called repeatedly."""
        self.recorder.close()
        self.lock.release()

    @property
    def is_ours(self) -> bool:
        """Whether this process still owns the session. False after another process took the session over by
        force. Blocks.
        """
        return self.lock.is_ours()

    def write_blob(self, data: bytes) -> str:
        """Store bytes as a blob; see blobs.write_blob."""
        return blobs.write_blob(blobs_path(self.folder), data)

    def read_blob(self, name: str) -> bytes | None:
        """Return the bytes of a blob; see blobs.read_blob."""
        return blobs.read_blob(blobs_path(self.folder), name)

    def output(self, output_ref: str, offset: int, limit: int) -> bytes:
        """Return part of a stored output; see recorder.read_output."""
        return read_output(outputs_path(self.folder), output_ref, offset, limit)


class SessionStore:
    """The store of sessions.

    `on_failure` is called when the log of a session cannot be written; the session continues.
    """

    def __init__(
        self,
        root: Path | None = None,
        *,
        on_failure: Callable[[str, OSError], None],
        secrets: Known = none_known,
        lock: Callable[[int], None] = kernel_lock,
    ) -> None:
        """Create a store in `root`.

        `secrets` returns the secret keys that are redacted in every log. `lock` locks a file descriptor and
        raises like `kernel_lock`.
        """
        self.layout = Layout(root)
        self._on_failure = on_failure
        self._lock = lock
        self.secrets = secrets
        self.program = ""
        """This program's name, which other processes display as the owner of this process's sessions."""

    def create(self, header: Header) -> OpenSession:
        """Create a session.

        Raises:
            StoreError: the id is invalid, or a process has a session with this id open.
            OSError: a session with this id is stored already, or the store cannot be written.
        """
        require_spare_files(SPARE_FOR_SESSIONS)
        self.layout.describe_workspace(header.workspace_folder)
        folder = self.layout.session_folder(header.workspace_folder, header.session_id)
        make_private_folder(folder)
        lock = locks.acquire_lock(lock_path(folder), header.session_id, self._lock, self.program)
        report = self._reporter(header.session_id)
        try:
            log = SessionLog.create(log_path(folder), header, report, self.secrets)
        except BaseException:
            lock.release()
            raise
        log.is_ours, log.on_restored = lock.is_ours, lock.restore
        recorder = StoreRecorder(log, outputs_path(folder), report, title_file=title_path(folder))
        return OpenSession(folder, recorder, lock)

    def open(self, session_id: str) -> OpenSession:
        """Open a stored session and acquire its lock.

        Raises:
            StoreError: unknown session, not readable, or owned by another process.
            OSError: the store cannot be read or written.
        """
        require_spare_files(SPARE_FOR_SESSIONS)
        folder = self.folder(session_id)
        lock = locks.acquire_lock(lock_path(folder), session_id, self._lock, self.program)
        return self._open_locked(session_id, folder, lock)

    def seize(self, session_id: str, asked: Owner | None) -> OpenSession:
        """Open a session by a forced take-over. `asked` is the owner that did not respond to the hand-over
        request.

        Raises:
            StoreError: `asked` is no longer the owner, or this platform cannot replace open files.
            OSError: the store cannot be read or written.
        """
        folder = self.folder(session_id)
        lock = locks.seize_lock(lock_path(folder), session_id, asked, self._lock, self.program)
        try:
            detach(log_path(folder))
        except BaseException:
            lock.release()
            raise
        return replace(self._open_locked(session_id, folder, lock), put_out=asked)

    def owner(self, session_id: str) -> Owner | None:
        """Return the process that has the session open according to its lock file; None if no process has it
        open.

        Raises:
            StoreError: unknown session.
        """
        return locks.owner_of(lock_path(self.folder(session_id)))

    def _open_locked(self, session_id: str, folder: Path, lock: SessionLock) -> OpenSession:
        report = self._reporter(session_id)
        try:
            stored = read_session(log_path(folder))
            log = SessionLog.reopen(log_path(folder), report, self.secrets)
        except BaseException:
            lock.release()
            raise
        log.is_ours, log.on_restored = lock.is_ours, lock.restore
        delete_request(folder)
        recorder = StoreRecorder(log, outputs_path(folder), report, stored.latest, title_path(folder))
        return OpenSession(folder, recorder, lock, stored)

    def rename(self, session_id: str, title: str, now: str) -> StoredSummary:
        """Rename a session that no process has open. `now` is ISO 8601.

        Raises:
            StoreError: unknown session, or the session is owned by another process.
            OSError: the log cannot be written.
        """
        folder = self.folder(session_id)
        with locks.hold_lock(lock_path(folder), session_id):
            log = SessionLog.reopen(log_path(folder), self._reporter(session_id), self.secrets)
            recorder = StoreRecorder(
                log, outputs_path(folder), self._reporter(session_id), title_file=title_path(folder)
            )
            envelope = Envelope(session_id, last_seq(log_path(folder)) + 1, now, Title(title))
            recorder.event(envelope, event_codec.encode(envelope))
            recorder.close()
        return self._summary(session_id, folder)

    def fork(self, session_id: str, header: Header, at_turn: str) -> None:
        """Create a session with the history of session `session_id` up to the end of turn `at_turn`, or of
        the last complete turn if it is "". The original session may be open.

        Raises:
            StoreError: unknown session. UnknownTurnError: unknown turn, or the turn has not ended.
            OSError: the store cannot be read or written.
        """
        source = self.folder(session_id)
        _, *lines = log_path(source).read_bytes().split(b"\n")[:-1]
        fork = fork_log(lines, header.session_id, at_turn)
        self.layout.describe_workspace(header.workspace_folder)
        folder = self.layout.session_folder(header.workspace_folder, header.session_id)
        make_private_folder(outputs_path(folder))
        for ref in fork.output_refs:
            if (path := output_path(outputs_path(source), ref)).exists():
                shutil.copyfile(path, copy := output_path(outputs_path(folder), ref))
                copy.chmod(FILE_MODE)
        failures: list[OSError] = []
        log = SessionLog.create(log_path(folder), header, failures.append, self.secrets)
        log.append(*fork.lines)
        log.close()
        if failures:
            shutil.rmtree(folder, ignore_errors=True)
            raise failures[0]

    def delete(self, session_id: str) -> None:
        """Delete a session with all files that belong to it.

        Raises:
            StoreError: unknown session, or owned by another process.
            OSError: a file cannot be deleted.
        """
        folder = self.folder(session_id)
        with locks.hold_lock(lock_path(folder), session_id):
            remember_lines(self.layout, folder)
            # Without its log, the session is in no list, even if this process is killed before the folder is
            # deleted.
            log_path(folder).unlink(missing_ok=True)
            self.layout.recording(session_id).unlink(missing_ok=True)
            remove_worktree(self.layout.worktree(session_id))
            shutil.rmtree(folder)

    def summary(self, session_id: str) -> StoredSummary:
        """Return the summary of a session for lists.

        Raises:
            StoreError: unknown session, or not readable.
        """
        return self._summary(session_id, self.folder(session_id))

    def _summary(self, session_id: str, folder: Path) -> StoredSummary:
        if found := summary(folder):
            return found
        log = log_path(folder)
        with suppress(OSError), log.open("rb") as file:
            parse_header(file.readline(), str(log))  # raises what is wrong with it
        raise MissingLogError(session_id)

    def read(self, session_id: str) -> StoredSession:
        """Read a session without owning it; another process may be writing it.

        Raises:
            StoreError: unknown session, or not readable.
            OSError: the log cannot be read.
        """
        return read_session(log_path(self.folder(session_id)))

    def sessions(self, workspace: str | None = None) -> list[StoredSummary]:
        return self.layout.sessions(workspace)

    def folder(self, session_id: str) -> Path:
        """Return the folder of a session.

        Raises:
            StoreError: unknown session.
        """
        folder = self.layout.find(session_id)
        if folder is None:
            raise StoreError(f"No session {session_id} is stored.")
        return folder

    def _reporter(self, session_id: str) -> Callable[[OSError], None]:
        return lambda error: self._on_failure(session_id, error)
