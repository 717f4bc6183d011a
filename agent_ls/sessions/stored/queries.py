"""Stored sessions for the command line: read and delete them without opening them. All functions block."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent_ls.loop.calls.redaction import without_known
from agent_ls.loop.events.figures import Figures, figures_of
from agent_ls.loop.events.items import Item
from agent_ls.loop.events.tool_records import tool_records
from agent_ls.services.errors import BadChoiceError, SessionHasHunksError, UnappliedChangesError
from agent_ls.services.models.key_store import load_credentials
from agent_ls.services.store_errors import STATE_VARIABLE, store_errors
from agent_ls.sessions.stored.archive import ExportFormat, open_hunks, patch_text, session_text
from agent_ls.store import pages, upkeep
from agent_ls.store.errors import StoreError
from agent_ls.store.layout import Layout, StoredSummary, lock_path, log_path
from agent_ls.store.locks import owner_of
from agent_ls.store.progress import StoredProgress, read_progress
from agent_ls.store.sessions import SessionStore
from agent_ls.store.upkeep import DeletedSessions
from agent_ls.store.worktrees import has_unapplied


@dataclass(frozen=True, slots=True)
class StoredSessionInfo:
    """A stored session for the command line. `size_bytes` includes blobs and the worktree.

    `owner` describes the process that has the session open, "" if there is none.
    """

    stored: StoredSummary
    size_bytes: int
    owner: str
    progress: StoredProgress

    @property
    def as_json(self) -> dict[str, str | int | float | bool]:
        """The session as JSON for programs. `owner` is present only if a process has the session open."""
        header = self.stored.header
        return {
            "id": header.session_id,
            "title": self.stored.title,
            "provider": header.provider,
            "model": header.model,
            "workspaceFolder": header.workspace_folder,
            "created": header.created,
            "updated": self.stored.updated,
            "lastSeq": self.stored.last_seq,
            "sizeBytes": self.size_bytes,
            **({"worktree": True} if header.has_worktree else {}),
            **({"owner": self.owner, "activity": self.progress.activity} if self.owner else {}),
            **({} if self.progress.cost_usd is None else {"costUsd": self.progress.cost_usd}),
        }


def state_layout() -> Layout:
    """Return the store below the folder that AGENT_LS_STATE_DIR names, else below the user's state folder."""
    return Layout(_chosen_folder())


def _chosen_folder() -> Path | None:
    chosen = os.environ.get(STATE_VARIABLE)
    return Path(chosen) if chosen else None


class StoredSessions:
    """The stored sessions below the folder that AGENT_LS_STATE_DIR names, else below the user's state folder.

    Methods with a session id raise AppError if the session does not exist or cannot be read.
    """

    def __init__(self) -> None:
        self._store = SessionStore(_chosen_folder(), on_failure=lambda session_id, error: None)

    def list_sessions(self, workspace: str | None) -> list[StoredSessionInfo]:
        """Return the sessions of a workspace, newest first. None: of all workspaces."""
        return [self._read_info(found) for found in self._store.sessions(workspace)]

    def list_running(self) -> list[StoredSessionInfo]:
        """Return the sessions of all workspaces that a process has open, newest first."""
        layout = self._store.layout
        running = [session for session in layout.list_sessions() if owner_of(lock_path(session.folder))]
        return [self._read_info(found) for found in layout.summaries(running)]

    def read_one(self, session_id: str) -> StoredSessionInfo:
        with store_errors(session_id):
            return self._read_info(self._store.summary(session_id))

    def _read_info(self, found: StoredSummary) -> StoredSessionInfo:
        size = upkeep.session_bytes(self._store.layout, found.folder)
        owner = str(owner_of(lock_path(found.folder)) or "")
        progress = read_progress(log_path(found.folder)) if owner else StoredProgress()
        return StoredSessionInfo(found, size, owner, progress)

    def transcript(self, session_id: str) -> str:
        return self.export(session_id, "markdown")

    def items(self, session_id: str) -> tuple[Item, ...]:
        with store_errors(session_id):
            return pages.all_items(log_path(self._store.folder(session_id)))

    def figures(self, session_id: str) -> Figures:
        """Return the durations, tokens and costs of the session's rounds and tool calls."""
        with store_errors(session_id):
            return figures_of(pages.all_events(log_path(self._store.folder(session_id))))

    def export(
        self,
        session_id: str,
        format_: ExportFormat | Literal["calls", "patch"],
        *,
        redact: bool = False,
        has_trailers: bool = False,
    ) -> str:
        """Return the session as text. In the format `calls`, it has one line with a JSON record per ended tool
        call. `has_trailers`: the format `patch` begins with the lines for the end of a commit message.

        Raises:
            BadChoiceError: the format cannot be redacted, or has no trailers.
        """
        # The log may contain a secret that was configured only after the log was written.
        known = load_credentials().known_secrets()
        with store_errors(session_id):
            path = log_path(self._store.folder(session_id))
            if has_trailers and format_ != "patch":
                raise BadChoiceError(
                    "--trailers belongs to --format patch", "choose --format patch or trailers"
                )
            if format_ != "calls" and format_ != "patch":
                return session_text(path, format_, known, redact)
            if redact:
                raise BadChoiceError(
                    f"an export in the format `{format_}` cannot be redacted",
                    "choose --format html or markdown",
                )
            if format_ == "patch":
                return patch_text(path, known, has_trailers=has_trailers)
            return without_known(_calls(path), known)

    def delete(self, session_id: str, *, force: bool) -> None:
        """Delete a session. Files of the project are not changed.

        Raises:
            SessionHasHunksError: `force` is False, and the session has undecided hunks.
            UnappliedChangesError: `force` is False, and the session has changes that are only in its
            worktree.
        """
        with store_errors(session_id):
            waiting = open_hunks(log_path(self._store.folder(session_id)))
            if not force and has_unapplied(self._store.layout.worktree(session_id)):
                raise UnappliedChangesError(session_id)
            if waiting and not force:
                raise SessionHasHunksError(session_id, waiting)
            self._store.delete(session_id)

    def delete_all(self) -> DeletedSessions:
        return upkeep.delete_all(self._store.layout)

    def relink(self, old: str, new: str) -> list[str]:
        """Assign the sessions of folder `old` to folder `new`; return their session ids."""
        if not Path(new).is_dir():
            raise BadChoiceError(f"the folder does not exist: {new}", "give the new path of the moved folder")
        try:
            with store_errors(""):
                return upkeep.relink(self._store.layout, old, new)
        except StoreError as error:
            raise BadChoiceError(str(error), "`agent-ls sessions --all` lists what is stored") from None

    def find_moved(self, folder: Path) -> list[str]:
        """Return the paths from which `folder` may have been moved.

        These are folders of the same name that have sessions but no longer exist.
        """
        lost = upkeep.lost_workspaces(self._store.layout)
        return [path for path in lost if Path(path).name == folder.name]


def _calls(path: Path) -> str:
    records = tool_records(pages.all_events(path))
    return "".join(f"{json.dumps(record.as_json(), ensure_ascii=False)}\n" for record in records)
