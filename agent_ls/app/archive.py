"""What can be asked of a session whether it is open here or only stored: history, outputs, an export, a draft.

Everything of the disk is read and written in threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import anyio
import anyio.to_thread

from agent_ls.app.export import markdown
from agent_ls.app.ledgers import stored_hunks
from agent_ls.app.live_session import LiveSession
from agent_ls.app.store_errors import store_errors
from agent_ls.store import pages
from agent_ls.store.drafts import keep_draft, kept_draft
from agent_ls.store.errors import BadSessionError
from agent_ls.store.layout import log_path, summary
from agent_ls.store.outputs import OutputPart, read_part
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
                    await anyio.to_thread.run_sync(keep_draft, folder, newest, self._store.secrets())

    async def draft(self, session_id: str) -> dict[str, Any] | None:
        """
        Raises:
            UnknownSessionError.
        """
        with store_errors(session_id):
            folder = await self._folder(session_id)
            async with self._writing_drafts:
                return await anyio.to_thread.run_sync(kept_draft, folder)

    async def output(self, session_id: str, output_ref: str, offset: int, limit: int) -> OutputPart:
        """`limit` characters from `offset` on.

        Raises:
            UnknownOutputError, UnknownSessionError, AppError.
        """
        with store_errors(session_id):
            folder = await self._folder(session_id)
            return await anyio.to_thread.run_sync(read_part, folder, output_ref, offset, limit)

    async def export(self, session_id: str, format_: Literal["markdown", "jsonl"]) -> str:
        """
        Raises:
            UnknownSessionError, AppError.
        """
        with store_errors(session_id):
            path = log_path(await self._folder(session_id))
            return await anyio.to_thread.run_sync(session_text, path, format_)

    async def open_hunks(self, session_id: str) -> int:
        """How many hunks of a session that is only stored wait for a verdict, as its log tells.

        Raises:
            UnknownSessionError, AppError.
        """
        with store_errors(session_id):
            path = log_path(await self._folder(session_id))
            return await anyio.to_thread.run_sync(open_hunks, path)

    async def _folder(self, session_id: str) -> Path:
        if live := self._live(session_id):
            return live.folder
        return await anyio.to_thread.run_sync(self._store.folder, session_id)


def session_text(path: Path, format_: Literal["markdown", "jsonl"]) -> str:
    """The session of the log there as text. Blocks.

    Raises:
        BadSessionError. OSError.
    """
    return _markdown(path) if format_ == "markdown" else _jsonl(path)


def _markdown(path: Path) -> str:
    found = summary(path.parent)
    if found is None:
        raise BadSessionError(str(path), "it cannot be read")
    header = found.header
    facts = (
        ("Session", header.session_id),
        ("Folder", header.workspace_folder),
        ("Model", f"{header.provider}/{header.model}"),
        ("Begun", header.created),
    )
    return markdown(found.title, facts, pages.all_items(path))


def _jsonl(path: Path) -> str:
    lines = pages.events_between(path, 0)
    return "".join(f"{line.decode('utf-8', 'replace')}\n" for line in lines)


def open_hunks(path: Path) -> int:
    """How many hunks wait for a verdict, as the log there tells. Blocks."""
    try:
        by_path = stored_hunks(pages.events_between(path, 0))
    except FileNotFoundError:  # a deletion that was cut: what is left may go
        return 0
    return sum(item.awaits for items in by_path.values() for item in items)
