"""Interface EditorHost: access to an editor's documents, without LSP types, URIs or position encodings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_ls.environments.base import Attribution
from agent_ls.notebook.cell_alignment import EditorCell
from agent_ls.notebook.notebook_text import TargetCell


def not_told(paths: Sequence[str]) -> None:
    """Callback that ignores which files the editor is asked to save."""


@dataclass(frozen=True, slots=True)
class OpenDocument:
    """A document as the editor last reported it. `path` is absolute; `version` grows with every change."""

    path: str
    version: int
    text: str


@dataclass(frozen=True, slots=True)
class LineEdit:
    """An edit that replaces lines [start, end) of the old text with `text`. Lines count from 0 and include
    their endings.

    `start == end` inserts before line `start`. Edits of one call are disjoint and sorted.
    """

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class AppliedEdit:
    """An applied edit: the text directly before and after it, and the document as the editor last reported
    it.

    The document's text differs from `after` by the text that the user typed since.
    """

    before: str
    after: str
    document: OpenDocument


@dataclass(frozen=True, slots=True)
class OpenNotebook:
    """A notebook as the editor last reported it. `version` grows with every change.

    `problem` is the reason why the cells are unknown, or "". With a problem, the notebook is neither read nor
    written.
    """

    path: str
    version: int
    cells: tuple[EditorCell, ...]
    problem: str = ""


class NotebookHost(Protocol):
    def open_notebook(self, path: str) -> OpenNotebook | None:
        """Return the notebook at this absolute path as the editor has it, or None if no editor reports it as open."""
        ...

    async def change_cells(self, notebook: OpenNotebook, wanted: Sequence[TargetCell]) -> OpenNotebook:
        """Make the editor change the notebook; return the state that it reports afterwards.

        Origins in `wanted` are positions in the notebook's cells. The change counts only when a later state of
        the notebook contains it; the client's answer is not trusted.

        Raises:
            StaleFileError: the notebook has changed in between; it was not modified.
            EditRefusedError: the editor refused, or did not report the change within the time
            limit.
        """
        ...


class EditorHost(Protocol):
    @property
    def notebooks(self) -> NotebookHost | None:
        """Access to open notebooks; None if the editor does not report them."""
        ...

    @property
    def reloads(self) -> bool:
        """Whether the editor reloads a document without unsaved changes when its file has changed on disk."""
        ...

    def open_document(self, path: str) -> OpenDocument | None:
        """Return the synced document at this absolute path; None if the editor does not report the file as
        open.
        """
        ...

    def open_documents(self) -> Sequence[OpenDocument]:
        """Return all synced documents; a search includes their unsaved text."""
        ...

    def is_unknown(self, path: str) -> bool:
        """Return whether the file is open with unknown text, which may differ from the disk."""
        ...

    def blocked(self, path: str) -> str:
        """Return the reason why a file that is not synced must not be written; "" if it may be written.

        For example, the editor has unsaved changes of the file but does not sync it, or holds a lock file.
        """
        ...

    async def apply_edit(
        self, document: OpenDocument, edits: Sequence[LineEdit], attribution: Attribution
    ) -> AppliedEdit:
        """Change an open document.

        The edit applies to exactly `document.version`. It counts only when a later text of the document
        contains it; the client's answer is not trusted.

        Raises:
            StaleFileError: the document has changed and the edit was not applied: read again,
            rebase, retry.
            EditRefusedError: the editor refused, closed the document, or did not report the change
            within the time limit.
        """
        ...

    async def rename_file(self, document: OpenDocument, path: str) -> None:
        """Ask the editor to rename the file of this document, so that its views follow.

        Check the disk for the result. Must not raise.
        """
        ...

    async def delete_file(self, document: OpenDocument) -> str:
        """Ask the editor to delete the file of this document, unless the user has typed in the document
        since.

        Check the disk for the result. Returns the last text of the document. Must not raise.
        """
        ...

    async def files_changed(self, paths: Sequence[str]) -> None:
        """Tell the editor that files were written on disk, so that it reloads them. Must not raise."""
        ...

    async def save_before_command(self, told: Callable[[Sequence[str]], None] = not_told) -> str:
        """Ask the editor to save the documents that a command could read.

        The callback is called with the files, right before the editor is asked. Returns "" or a sentence about
        unsaved files. Must not raise.
        """
        ...

    async def save_undone(self, paths: Sequence[str]) -> Sequence[str]:
        """Ask the editor to save documents after changes were undone in them, because the files on disk still
        have the changes.

        A file that is not open is written with its current text. Returns the files that still differ, because
        they have other unsaved changes or could not be saved. Must not raise.
        """
        ...
