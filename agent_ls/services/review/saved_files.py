"""Record the texts that editors save, in order, so that the user's saves are not attributed to a command; and make
the editor save files after an undo.

No disk access. A notebook is compared by its cells, because editors save it in their own layout.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import anyio.lowlevel

from agent_ls.environments.base import sha256
from agent_ls.loop.events.types import Warning
from agent_ls.notebook.cell_alignment import EditorCell, comparison_key, editor_cells
from agent_ls.notebook.cells import NotebookError, is_notebook, parse_notebook
from agent_ls.services.review.change_events import relative_name
from agent_ls.services.review.state import ReviewState
from agent_ls.text import normalize_line_endings

MAX_FILES = 1_000
MAX_TEXTS = 50
"""Number of newest saves that keep their text.

A change that a command makes later is computed relative to this text.
"""


@dataclass(frozen=True, slots=True)
class RecordedSave:
    """A save of a file.

    `number` grows with each save of any file. `text` is None after MAX_TEXTS saves of other files, or if the
    editor reported the saved notebook as cells.
    """

    number: int
    digest: str
    text: str | None


class SavedFiles:
    def __init__(self) -> None:
        self.number = 0
        """Number of the last save."""
        self._last: dict[str, RecordedSave] = {}

    def note(self, path: str, text: str) -> None:
        self._note(path, RecordedSave(self.number + 1, _digest(path, text), text))

    def note_cells(self, path: str, cells: Sequence[EditorCell]) -> None:
        self._note(path, RecordedSave(self.number + 1, sha256(comparison_key(cells).encode()), None))

    def since(self, path: str, number: int) -> RecordedSave | None:
        """Return the last save of the file, if its number is greater than `number`."""
        last = self._last.get(path)
        return last if last and last.number > number else None

    def was_saved_as(self, path: str, text: str | None) -> bool:
        """Return whether this is the text that an editor last saved to the file."""
        last = self._last.get(path)
        return text is not None and last is not None and last.digest == _digest(path, text)

    def _note(self, path: str, save: RecordedSave) -> None:
        self._last.pop(path, None)
        self._last[path] = save
        self.number = save.number
        if len(self._last) > MAX_FILES:
            del self._last[next(iter(self._last))]
        if len(self._last) > MAX_TEXTS:
            older = list(self._last)[-MAX_TEXTS - 1]
            self._last[older] = replace(self._last[older], text=None)


def _digest(path: str, text: str) -> str:
    return sha256(_normalize(path, text).encode("utf-8", "surrogatepass"))


def _normalize(path: str, text: str) -> str:
    if is_notebook(path):
        try:
            return comparison_key(editor_cells(parse_notebook(text)))
        except NotebookError:
            pass
    return normalize_line_endings(text)


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
