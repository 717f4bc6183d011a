"""After an undo, make the editor save files whose agent changes are on disk already, or warn about them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TypeAlias

import anyio.lowlevel

from agent_ls.loop.events.types import Warning
from agent_ls.services.review.change_events import relative_name
from agent_ls.services.review.state import ReviewState

SaveUndone: TypeAlias = Callable[[Sequence[str]], Awaitable[Sequence[str]]]
"""Saves documents after an undo (see EditorHost.save_undone). Returns the paths of documents that are still unsaved."""

UNSAVED = "undone_unsaved"
"""Code of the warning that the file on disk still has changes that were undone in the editor."""


async def nothing_unsaved(paths: Sequence[str]) -> Sequence[str]:
    """Implement SaveUndone for a process without an editor: no document is unsaved."""
    await anyio.lowlevel.checkpoint()
    return ()


class UndoneSaves:
    """Makes the editor save files after an undo."""

    def __init__(self, state: ReviewState, save: SaveUndone) -> None:
        self._state = state
        self._save = save

    async def save(self, paths: Collection[str], session_ids: Collection[str]) -> None:
        """Make the editor save the undone files, if their agent changes have been written to disk.

        The editor does not save a file with other unsaved changes; the sessions get a warning about this
        file.
        """
        files = self._state.files
        saved = [path for path in paths if (file := files.get(path)) and file.is_saved_by_us]
        for path in await self._save(saved) if saved else ():
            for session_id in session_ids:
                self._state.publish(session_id, Warning(self._warning(path, session_id), UNSAVED))

    def _warning(self, path: str, session_id: str) -> str:
        session = self._state.find_session(session_id)
        name = relative_name(path, session.files.working_directory()) if session else path
        return (
            f"The changes in {name} are undone in the editor. The file on disk still has them, because the editor has "
            "other unsaved changes of it or did not save it: save it there."
        )
