"""What editors have saved, and when: such a change of a file is no command's. It knows no disk.

A notebook is what its cells are: an editor saves it in a layout of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_ls.environments.base import sha256
from agent_ls.notebook.align import ShownCell, as_text, shown_cells
from agent_ls.notebook.cells import NotebookError, is_notebook, parse_notebook
from agent_ls.text import folded_endings

MAX_FILES = 1_000
MAX_TEXTS = 50
"""Of the last ones the text is kept: what a process makes of them afterwards can be told from what the user saved."""


@dataclass(frozen=True, slots=True)
class Save:
    """`number` grows with each; `text` None: it is not kept, or was told by cells."""

    number: int
    digest: str
    text: str | None


class SavedFiles:
    def __init__(self) -> None:
        self.number = 0
        """Of the last save."""
        self._last: dict[str, Save] = {}

    def note(self, path: str, text: str) -> None:
        self._note(path, Save(self.number + 1, _digest(path, text), text))

    def note_cells(self, path: str, cells: Sequence[ShownCell]) -> None:
        self._note(path, Save(self.number + 1, sha256(as_text(cells).encode()), None))

    def since(self, path: str, number: int) -> Save | None:
        """The last save of the file, if it came after that number."""
        last = self._last.get(path)
        return last if last and last.number > number else None

    def was_saved_as(self, path: str, text: str | None) -> bool:
        """Whether this is what an editor last saved there."""
        last = self._last.get(path)
        return text is not None and last is not None and last.digest == _digest(path, text)

    def _note(self, path: str, save: Save) -> None:
        self._last.pop(path, None)
        self._last[path] = save
        self.number = save.number
        if len(self._last) > MAX_FILES:
            del self._last[next(iter(self._last))]
        if len(self._last) > MAX_TEXTS:
            older = list(self._last)[-MAX_TEXTS - 1]
            self._last[older] = replace(self._last[older], text=None)


def _digest(path: str, text: str) -> str:
    return sha256(_compared(path, text).encode("utf-8", "surrogatepass"))


def _compared(path: str, text: str) -> str:
    if is_notebook(path):
        try:
            return as_text(shown_cells(parse_notebook(text)))
        except NotebookError:
            pass
    return folded_endings(text)
