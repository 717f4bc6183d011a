"""The stored sessions of a program, listed, read, searched and deleted without opening them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from agent_ls.library.checks import absolute_folder, check_texts, typed
from agent_ls.library.streams import with_origin
from agent_ls.llm.requests import Usage
from agent_ls.loop.budget import known_cost
from agent_ls.loop.events.tool_records import ToolRecord, tool_records
from agent_ls.loop.events.types import (
    AssistantTextEnd,
    SessionEvent,
    SteeringInjected,
    UsageReport,
    UserInput,
)
from agent_ls.services.errors import UnappliedChangesError
from agent_ls.services.settings.state_folder import state_folder
from agent_ls.services.store_errors import store_errors
from agent_ls.sessions.stored.archive import Archive
from agent_ls.store import pages
from agent_ls.store.layout import Layout, StoredSummary, log_path
from agent_ls.store.pages import maybe_event, open_part
from agent_ls.store.sessions import SessionStore
from agent_ls.store.worktrees import has_unapplied

PROGRAMS = "programs"
"""The folder of the user's state folder with the sessions of programs."""

_TEXTS = tuple(f'"kind":"{it.kind}"'.encode() for it in (UserInput, SteeringInjected, AssistantTextEnd))
_USAGE = b'"kind":"usage"'  # not in the text of an event, where quotes have a backslash before them


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """A stored session. Times are ISO 8601, UTC. `provider` and `model` are those that it began with.

    `usage` and `cost_usd` are those of all model calls; `cost_usd` is None if a price is unknown. `known_cost_usd` is
    the cost of the calls with a known price.
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
    known_cost_usd: float


@dataclass(frozen=True, slots=True)
class SessionHistory:
    """A stored session that was read: its recorded `events` in order, and the records of its ended tool `calls`."""

    session: SessionEntry
    events: tuple[SessionEvent, ...]
    calls: tuple[ToolRecord, ...]


@dataclass(frozen=True, slots=True)
class SessionMatch:
    """A stored session in which a text was found, with the `events` that contain it; none if only the title does."""

    session: SessionEntry
    events: tuple[UserInput | SteeringInjected | AssistantTextEnd, ...]


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
async def read_session(
    session_id: str, *, state_dir: str | Path | None = None, personal: bool = False
) -> SessionHistory:
    """Return a stored session, which may be open, with all its events. It stays as it is, and is not opened.

    `state_dir` and `personal` are those that the session was opened with.

    Raises:
        UnknownSessionError: there is no such session; UnreadableSessionError, if its log cannot be read.
    """
    root = store_root(state_dir, personal) or state_folder()
    return await anyio.to_thread.run_sync(_read_history, root, session_id)


@typed
async def read_patch(
    session_id: str, turn_id: str = "", *, state_dir: str | Path | None = None, personal: bool = False
) -> str:
    """Return the net changes of a stored session, or of one turn of it, as `AgentSession.patch` does.

    The session is not opened. `state_dir` and `personal` are those that the session was opened with.

    Raises:
        BadChoiceError: there is no such turn.
        AppError: there is no such session, or what is stored of it cannot be read.
    """
    store = _store(store_root(state_dir, personal))
    return await Archive(store, lambda session_id: None).patch(session_id, turn_id)


@typed
async def search_sessions(
    text: str,
    folder: str | Path | None = None,
    *,
    state_dir: str | Path | None = None,
    personal: bool = False,
) -> list[SessionMatch]:
    """Return the stored sessions of a folder, or of all folders, that contain `text`, newest first.

    The titles, the user's messages and the texts of agents are searched, ignoring case.

    Raises:
        BadChoiceError: the text is empty.
    """
    check_texts(text=text)
    root = store_root(state_dir, personal) or state_folder()
    place = None if folder is None else absolute_folder(folder)
    return await anyio.to_thread.run_sync(_search, root, place, text.casefold())


@typed
async def delete_session(
    session_id: str, *, state_dir: str | Path | None = None, personal: bool = False, force: bool = False
) -> None:
    """Delete a stored session and its log. Files of the project stay as they are.

    `state_dir` and `personal` are those that the session was opened with.

    Raises:
        UnknownSessionError: there is no such session. SessionOwnedError: it is open.
        UnappliedChangesError: without `force`, its worktree may have changes that the user's folder does not have.
    """
    await anyio.to_thread.run_sync(_delete, store_root(state_dir, personal), session_id, force)


def _store(root: Path | None) -> SessionStore:
    return SessionStore(root, on_failure=lambda session_id, error: None)


def _delete(root: Path | None, session_id: str, force: bool) -> None:
    store = _store(root)
    with store_errors(session_id):
        if not force and has_unapplied(store.layout.worktree(session_id)):
            raise UnappliedChangesError(session_id)
        store.delete(session_id)


def _read(root: Path, folder: str | None) -> list[SessionEntry]:
    return [_session(found) for found in Layout(root).sessions(folder)]


def _read_history(root: Path, session_id: str) -> SessionHistory:
    store = _store(root)
    with store_errors(session_id):
        found = store.summary(session_id)
        envelopes = list(pages.all_events(log_path(found.folder)))
    return SessionHistory(_session(found), tuple(map(with_origin, envelopes)), tool_records(envelopes))


def _search(root: Path, folder: str | None, wanted: str) -> list[SessionMatch]:
    found = (
        (summary, _matches(log_path(summary.folder), wanted)) for summary in Layout(root).sessions(folder)
    )
    return [
        SessionMatch(_session(summary), events)
        for summary, events in found
        if events or wanted in summary.title.casefold()
    ]


def _matches(log: Path, wanted: str) -> tuple[UserInput | SteeringInjected | AssistantTextEnd, ...]:
    events: list[UserInput | SteeringInjected | AssistantTextEnd] = []
    try:
        with open_part(log) as lines:
            for line in lines.forward(0):
                envelope = maybe_event(line) if any(kind in line for kind in _TEXTS) else None
                event = with_origin(envelope) if envelope else None
                if isinstance(event, UserInput | SteeringInjected | AssistantTextEnd) and (
                    wanted in event.text.casefold()
                ):
                    events.append(event)
    except OSError:  # it was deleted after it was listed
        return ()
    return tuple(events)


def _session(found: StoredSummary) -> SessionEntry:
    header = found.header
    report, known_usd = _read_usage(log_path(found.folder))
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
        known_usd,
    )


def _read_usage(log: Path) -> tuple[UsageReport | None, float]:
    """Return the last report of usage in a log, and the known cost of all calls."""
    try:
        with open_part(log) as lines:
            found = [line for line in lines.forward(0) if _USAGE in line]
    except OSError:  # it was deleted after it was listed
        return None, 0.0
    last = _report(found[-1]) if found else None
    if last is None or last.total_cost_usd is not None:
        return last, last.total_cost_usd or 0.0 if last else 0.0
    reports = filter(None, map(_report, found))
    return last, sum(known_cost(report.call_cost_usd) or 0.0 for report in reports)


def _report(line: bytes) -> UsageReport | None:
    found = maybe_event(line)
    return found.event if found and isinstance(found.event, UsageReport) else None
