"""The stored sessions of a program, listed and deleted without opening them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from agent_ls.library.checks import absolute_folder, typed
from agent_ls.llm.requests import Usage
from agent_ls.loop.events.types import UsageReport
from agent_ls.services.errors import UnappliedChangesError
from agent_ls.services.settings.state_folder import state_folder
from agent_ls.services.store_errors import store_errors
from agent_ls.store.layout import Layout, StoredSummary, log_path
from agent_ls.store.pages import maybe_event, open_part
from agent_ls.store.sessions import SessionStore
from agent_ls.store.worktrees import has_unapplied

PROGRAMS = "programs"
"""The folder of the user's state folder with the sessions of programs."""

_USAGE = b'"kind":"usage"'  # not in the text of an event, where quotes have a backslash before them


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """A stored session. Times are ISO 8601, UTC. `provider` and `model` are those that it began with.

    `usage` and `cost_usd` are those of all model calls; `cost_usd` is None if a price is unknown.
    """

    id: str
    title: str
    folder: str
    provider: str
    model: str
    created: str
    updated: str
    usage: Usage
    cost_usd: float | None


def store_root(state_dir: str | Path | None, personal: bool) -> Path | None:
    """Return the folder in which a program's sessions are stored; None: the user's state folder."""
    if state_dir is not None:
        return Path(absolute_folder(state_dir))
    return None if personal else state_folder() / PROGRAMS


@typed
async def list_sessions(
    folder: str | Path | None = None, *, state_dir: str | Path | None = None, personal: bool = False
) -> list[SessionEntry]:
    """Return the stored sessions of a folder, or of all folders, newest first.

    `state_dir` and `personal` are those that the sessions were opened with.
    """
    root = store_root(state_dir, personal) or state_folder()
    return await anyio.to_thread.run_sync(_read, root, None if folder is None else absolute_folder(folder))


@typed
async def delete_session(
    session_id: str, *, state_dir: str | Path | None = None, personal: bool = False, force: bool = False
) -> None:
    """Delete a stored session and its log. Files of the project stay as they are.

    `state_dir` and `personal` are those that the session was opened with.

    Raises:
        AppError: there is no such session, it is open, or, without `force`, its worktree may have changes that the
            user's folder does not have.
    """
    await anyio.to_thread.run_sync(_delete, store_root(state_dir, personal), session_id, force)


def _delete(root: Path | None, session_id: str, force: bool) -> None:
    store = SessionStore(root, on_failure=lambda session_id, error: None)
    with store_errors(session_id):
        if not force and has_unapplied(store.layout.worktree(session_id)):
            raise UnappliedChangesError(session_id)
        store.delete(session_id)


def _read(root: Path, folder: str | None) -> list[SessionEntry]:
    return [_session(found) for found in Layout(root).sessions(folder)]


def _session(found: StoredSummary) -> SessionEntry:
    header, report = found.header, _last_usage(log_path(found.folder))
    return SessionEntry(
        header.session_id,
        found.title,
        header.workspace_folder,
        header.provider,
        header.model,
        header.created,
        found.updated,
        report.total if report else Usage(),
        report.total_cost_usd if report else 0.0,
    )


def _last_usage(log: Path) -> UsageReport | None:
    last = b""
    try:
        with open_part(log) as lines:
            for line in lines.forward(0):
                last = line if _USAGE in line else last
    except OSError:  # it was deleted after it was listed
        return None
    found = maybe_event(last)
    return found.event if found and isinstance(found.event, UsageReport) else None
