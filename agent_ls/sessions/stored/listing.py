"""The list of sessions: those of this process, and the stored ones, which other processes may have open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import dropwhile
from typing import TypeAlias

import anyio.to_thread

from agent_ls.services.errors import BadChoiceError
from agent_ls.services.settings.model import Settings
from agent_ls.sessions.live import LiveSession, SessionSummary, stored_summary
from agent_ls.store.layout import ListedSession, StoredSummary, lock_path, log_path
from agent_ls.store.locks import Owner, make_own_owner, owner_of
from agent_ls.store.log import Header
from agent_ls.store.progress import StoredProgress, read_progress
from agent_ls.store.sessions import SessionStore

_Found: TypeAlias = tuple[StoredSummary, Owner | None, StoredProgress]


class SessionListing:
    """Pages of the session list.

    `live` returns a session of this process, or None while another process takes the session over. `worktree`
    returns the path of a stored session's worktree, or "".
    """

    def __init__(
        self,
        store: SessionStore,
        live: Callable[[str], LiveSession | None],
        settings: Callable[[], Settings],
        worktree: Callable[[Header], str],
    ) -> None:
        self._store = store
        self._live = live
        self._settings = settings
        self._worktree = worktree

    async def page(
        self,
        workspace_folder: str | None,
        cursor: str | None,
        limit: int,
        query: str = "",
        *,
        running: bool = False,
    ) -> tuple[Sequence[SessionSummary], str | None]:
        """Return live and stored sessions, newest first, and the cursor of the next page.

        `query` is searched in titles, ignoring case. `running`: return only sessions that a process has open. A
        session that is used between two page requests moves to the front of the list. Later pages neither
        repeat this session nor leave out another session.

        Raises: BadChoiceError: an invalid cursor.
        """
        read = partial(self._read, workspace_folder, cursor, max(limit, 1), query.casefold(), running=running)
        page, more = await anyio.to_thread.run_sync(read)
        return [self.summary(*found) for found in page], more

    def _read(
        self, workspace_folder: str | None, cursor: str | None, limit: int, query: str, *, running: bool
    ) -> tuple[Sequence[_Found], str | None]:
        """Read one page. Reading stops when the page is full. Blocks."""
        listed = sessions_after(self._store.layout.list_sessions(workspace_folder), cursor)
        page: list[_Found] = []
        last = None
        for session in listed:
            if running and not owner_of(lock_path(session.folder)):
                continue
            found = self._store.layout.summary(session.folder)
            if found is None or (query and query not in self.title(found).casefold()):
                continue
            if last and len(page) == limit:
                return page, cursor_after(last)
            page.append((found, *_look(found)))
            last = session
        return page, None

    def summary(
        self, stored: StoredSummary, owner: Owner | None = None, progress: StoredProgress | None = None
    ) -> SessionSummary:
        """Return the summary of a session. `owner` is the process that has it open."""
        header = stored.header
        progress = progress or StoredProgress()
        if live := self._live(header.session_id):
            return replace(live.summary(), cost_usd=progress.cost_usd)
        if owner and owner.is_same(make_own_owner()):
            owner = None  # the session is ending in this process, so no other process can own it
        return stored_summary(stored, self._settings(), owner, self._worktree(header), progress)

    def title(self, stored: StoredSummary) -> str:
        live = self._live(stored.header.session_id)
        return live.title if live else stored.title


def _look(stored: StoredSummary) -> tuple[Owner | None, StoredProgress]:
    owner = owner_of(lock_path(stored.folder))
    return owner, read_progress(log_path(stored.folder)) if owner else StoredProgress()


def cursor_after(session: ListedSession) -> str:
    """Return the cursor of the page that begins after a session."""
    return "/".join(_position(session))


def sessions_after(listed: Sequence[ListedSession], cursor: str | None) -> Sequence[ListedSession]:
    """Return the sessions after a cursor. `listed`: newest first. No cursor: all sessions.

    Raises:
        BadChoiceError: the cursor is invalid.
    """
    if cursor is None:
        return listed
    updated, slash, session_id = cursor.partition("/")
    if not slash:
        raise BadChoiceError(
            f"the session list cannot be continued at {cursor!r}",
            "list the sessions again from the beginning",
        )
    return list(dropwhile(lambda session: _position(session) >= (updated, session_id), listed))


def _position(session: ListedSession) -> tuple[str, str]:
    """Return the sort key of a session: the time of its last use, then its id."""
    return session.updated, session.session_id
