"""ADAPTER Surroundings: what one session's model is told of the editor around it (H12), each thing once."""

from __future__ import annotations

import os.path
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from agent_ls.loop.editor_events import EditNews
from agent_ls.system import below


class EditorEyes(Protocol):
    """What an editor shows its user, and what its tools find. `shown` is how paths are written."""

    def situation(self, shown: Callable[[str], str]) -> str:
        """One line, "" when nothing is known."""
        ...

    def watch_edit(
        self, paths: Sequence[str], shown: Callable[[str], str]
    ) -> Callable[[], Awaitable[EditNews]]:
        """Called before these files are edited; what it returns is awaited afterwards, and tells new problems."""
        ...


class EditorSurroundings:
    """`folder` is the session's: paths below it are shown relative to it."""

    def __init__(self, eyes: EditorEyes, folder: str) -> None:
        self._eyes = eyes
        self._folder = folder
        self._told = ""

    def news(self) -> str:
        now = self._eyes.situation(self._shown)
        if now == self._told:
            return ""
        self._told = now
        return now

    def watch_edit(self, paths: Sequence[str]) -> Callable[[], Awaitable[EditNews]]:
        return self._eyes.watch_edit(paths, self._shown)

    def _shown(self, path: str) -> str:
        path = os.path.normpath(path)
        return below(path, self._folder) or path
