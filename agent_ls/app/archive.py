"""What can be asked of a session whether it is open here or only stored: its history, and the draft of its next input.

Everything of the disk is read and written in threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from agent_ls.app.live_session import LiveSession
from agent_ls.app.store_errors import store_errors
from agent_ls.store import pages
from agent_ls.store.drafts import keep_draft, kept_draft
from agent_ls.store.layout import log_path
from agent_ls.store.pages import Page
from agent_ls.store.sessions import SessionStore


class Archive:
    """`live` finds a session that is open in this process."""

    def __init__(self, store: SessionStore, live: Callable[[str], LiveSession | None]) -> None:
        self._store = store
        self._live = live
        self._drafts: dict[str, Mapping[str, Any]] = {}
        self._writing_drafts = anyio.Lock()

    async def history(self, session_id: str, before: int | None, limit: int) -> Page:
        """The newest items that began before the event number `before` (None: the newest of all).

        Raises:
            UnknownSessionError, AppError.
        """
        with store_errors(session_id):
            path = log_path(await self._folder(session_id))
            return await anyio.to_thread.run_sync(pages.read_page, path, before, limit)

    async def keep_draft(self, session_id: str, draft: Mapping[str, Any]) -> None:
        """The last one wins, however long the disk takes; of those that wait meanwhile only the newest is written.

        Raises:
            UnknownSessionError, AppError.
        """
        self._drafts[session_id] = draft
        with store_errors(session_id):
            async with self._writing_drafts:
                newest = self._drafts.pop(session_id, None)
                if newest is not None:
                    folder = await self._folder(session_id)
                    await anyio.to_thread.run_sync(keep_draft, folder, newest)

    async def draft(self, session_id: str) -> dict[str, Any] | None:
        """
        Raises:
            UnknownSessionError.
        """
        with store_errors(session_id):
            folder = await self._folder(session_id)
            async with self._writing_drafts:
                return await anyio.to_thread.run_sync(kept_draft, folder)

    async def _folder(self, session_id: str) -> Path:
        if live := self._live(session_id):
            return live.folder
        return await anyio.to_thread.run_sync(self._store.folder, session_id)
