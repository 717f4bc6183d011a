"""Implements EditorContext: describes the editor's state to a session's model when the state has changed."""

from __future__ import annotations

import os.path
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from agent_ls.loop.events.editor import EditNews
from agent_ls.system import display_path


class EditorStatus(Protocol):
    """Interface to the editor's status and diagnostics. `shown` converts a path to its form in the text."""

    def situation(self, shown: Callable[[str], str]) -> str:
        """Return one line about the editor's state; "" if nothing is known."""
        ...

    def watch_edit(
        self, paths: Sequence[str], shown: Callable[[str], str]
    ) -> Callable[[], Awaitable[EditNews]]:
        """Prepare for an edit of these files.

        After the edit, await the returned function to get the diagnostics that the edit caused.
        """
        ...


class SessionEditorContext:
    """The editor's status for one session. Paths below the session's folder, `folder`, are displayed relative to it."""

    def __init__(self, editor_status: EditorStatus, folder: str) -> None:
        self._editor_status = editor_status
        self._folder = folder
        self._reported = ""

    def news(self) -> str:
        now = self._editor_status.situation(self._display_path)
        if now == self._reported:
            return ""
        self._reported = now
        return now

    def watch_edit(self, paths: Sequence[str]) -> Callable[[], Awaitable[EditNews]]:
        return self._editor_status.watch_edit(paths, self._display_path)

    def _display_path(self, path: str) -> str:
        path = os.path.normpath(path)
        return display_path(path, self._folder)
