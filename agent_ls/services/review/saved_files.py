"""Record the texts that editors save, in order, so that the user's saves are not attributed to a
command.

No disk access. A notebook is compared by its cells, because editors save it in their own layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_ls.environments.base import sha256
from agent_ls.notebook.cell_alignment import EditorCell, comparison_key, editor_cells
from agent_ls.notebook.cells import NotebookError, is_notebook, parse_notebook
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
