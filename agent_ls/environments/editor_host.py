"""SEAM EditorHost: what the editor environment needs of an editor. No LSP word, no uri, no position encoding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_ls.environments.base import Attribution
from agent_ls.notebook.align import ShownCell
from agent_ls.notebook.assemble import Wanted


def not_told(paths: Sequence[str]) -> None:
    """For who need not know which files an editor is asked to save."""


@dataclass(frozen=True, slots=True)
class OpenDocument:
    """A document as the editor last told it. `path` is absolute; `version` grows with every change."""

    path: str
    version: int
    text: str


@dataclass(frozen=True, slots=True)
class LineEdit:
    """Lines [start, end) of the old text give way to `text`. Lines count from 0 and keep their endings.

    `start == end` inserts before line `start`. Edits of one call are disjoint and sorted.
    """

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class OpenNotebook:
    """A notebook as the editor last told it. `version` grows with every change.

    `problem` is why its cells are not known, "" when they are: then it is neither read here nor written.
    """

    path: str
    version: int
    cells: tuple[ShownCell, ...]
    problem: str = ""


class NotebookHost(Protocol):
    def open_notebook(self, path: str) -> OpenNotebook | None:
        """The notebook at this absolute path as its editor has it, None when none tells that it has it open."""
        ...

    async def change_cells(self, notebook: OpenNotebook, wanted: Sequence[Wanted]) -> OpenNotebook:
        """Has the editor change the notebook, and returns what it then told. Origins are places in its cells.

        Believed only when a later state of the notebook shows it, never by the client's answer.

        Raises:
            StaleFileError: it moved on, and was not changed. EditRefusedError: the editor cannot or would not, or
            showed nothing within the time limit.
        """
        ...


class EditorHost(Protocol):
    @property
    def notebooks(self) -> NotebookHost | None:
        """Who knows the notebooks that are open, None where no editor tells of them."""
        ...

    @property
    def reloads(self) -> bool:
        """Whether the editor, told that a file changed on disk, shows it anew when it has no unsaved changes."""
        ...

    def open_document(self, path: str) -> OpenDocument | None:
        """The synced document at this absolute path, None when the editor has not opened it here."""
        ...

    def open_documents(self) -> Sequence[OpenDocument]:
        """All synced documents: a search must see what is unsaved in any of them."""
        ...

    def blocked(self, path: str) -> str:
        """Why this file must not be written though it is not synced ("" when it may be).

        For example: the editor holds it with unsaved changes but does not sync it, or holds a lock file.
        """
        ...

    async def apply_edit(
        self, document: OpenDocument, edits: Sequence[LineEdit], attribution: Attribution
    ) -> OpenDocument:
        """Changes an open document, and returns what the editor then told.

        The edit is made against exactly `document.version`; it is believed only when a later text of the
        document shows it (never by the client's answer).

        Raises:
            StaleFileError: the document moved on and the edit was not applied: re-read, rebase, retry.
            EditRefusedError: the editor refused, closed the document, or showed nothing within the time limit.
        """
        ...

    async def files_changed(self, paths: Sequence[str]) -> None:
        """Told after files were written on disk, so that the editor reloads those it shows. Must not raise."""
        ...

    async def save_before_command(self, told: Callable[[Sequence[str]], None] = not_told) -> str:
        """Asks the editor to save what a command could read (PROTOCOL, Edits: Before a command).

        `told` is called with the files, right before the editor is asked.
        Returns "" or a sentence on what stayed unsaved. Must not raise.
        """
        ...
