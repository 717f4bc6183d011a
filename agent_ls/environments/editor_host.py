"""Interface EditorHost: access to an editor's documents, without LSP types, URIs or position encodings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_ls.environments.base import Attribution
from agent_ls.notebook.cell_alignment import EditorCell
from agent_ls.notebook.notebook_text import TargetCell
from agent_ls.text import TextLines


def ignore_paths(paths: Sequence[str]) -> None:
    """Do nothing: the default callback of `save_before_command`."""


@dataclass(frozen=True, slots=True)
class OpenDocument:
    """A document as the editor last reported it. `path` is absolute; every change increases `version`."""

    path: str
    version: int
    text: str


@dataclass(frozen=True, slots=True)
class LineEdit:
    """An edit that replaces lines [start, end) of the old text with `text`. Lines count from 0 and include
    their endings.

    `start == end` inserts before line `start`. The edits in one list are disjoint and sorted.
    """

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Sequence[LineEdit]) -> str:
    """Return `text` with `edits` applied."""
    lines = TextLines(text)
    parts, at = [], 0
    for edit in edits:
        parts += [text[at : lines.find_start(edit.start)], edit.text]
        at = lines.find_start(edit.end)
    return "".join([*parts, text[at:]])


@dataclass(frozen=True, slots=True)
class AppliedEdit:
    """An applied edit: the text before and after the edit, and the document as the editor last reported it.

    The text of `document` differs from `after` if the user has typed after the edit.
    """

    before: str
    after: str
    document: OpenDocument


@dataclass(frozen=True, slots=True)
class OpenNotebook:
    """A notebook as the editor last reported it. Every change increases `version`.

    `problem` is the reason why the cells are unknown, or "". A notebook with a problem is neither read nor
    written.
    """

    path: str
    version: int
    cells: tuple[EditorCell, ...]
    problem: str = ""


class NotebookHost(Protocol):
    def open_notebook(self, path: str) -> OpenNotebook | None:
        """Return the open notebook at this absolute path; None if the editor does not report it as open."""
        ...

    async def change_cells(self, notebook: OpenNotebook, wanted: Sequence[TargetCell]) -> OpenNotebook:
        """Ask the editor to change the notebook; return the state that the editor reports afterwards.

        Origins in `wanted` are indexes of the notebook's cells. The change counts as done only when the
        editor has reported a state that contains it, because the response of the client is not reliable.

        Raises:
            StaleFileError: the notebook has changed since the editor reported it; the wanted change was not
            made. EditRefusedError: the editor refused, or did not report the change within the time limit.
        """
        ...


class EditorHost(Protocol):
    @property
    def notebooks(self) -> NotebookHost | None:
        """Access to open notebooks; None if the editor does not report them."""
        ...

    @property
    def reloads(self) -> bool:
        """Whether the editor reloads a document without unsaved changes when its file changes on disk."""
        ...

    def open_document(self, path: str) -> OpenDocument | None:
        """Return the open document at this absolute path; None if the editor does not report the file as
        open.
        """
        ...

    def open_documents(self) -> Sequence[OpenDocument]:
        """Return all open documents. A search includes their unsaved text."""
        ...

    def is_unknown(self, path: str) -> bool:
        """Return whether the file is open in the editor but the server does not know its text there."""
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

        The edit applies only to `document.version`. The edit counts as done only when the editor has reported a
        text that contains it, because the response of the client is not reliable.

        Raises:
            StaleFileError: the document has changed, and the edit was not applied. The caller must read it
            again, rebase the edit and retry. EditRefusedError: the editor refused, closed the document, or did
            not report the change within the time limit.
        """
        ...

    async def rename_file(self, document: OpenDocument, path: str) -> None:
        """Ask the editor to rename the file of this document to `path`, so that open views show the new path.

        The caller must check on disk whether the file was renamed. Must not raise.
        """
        ...

    async def delete_file(self, document: OpenDocument) -> str:
        """Ask the editor to delete the file of this document if its text is still `document.text`.

        Returns the last text of the document. The caller must check on disk whether the file was deleted.
        Must not raise.
        """
        ...

    async def files_changed(self, paths: Sequence[str]) -> None:
        """Tell the editor that files were written on disk, so that it reloads them. Must not raise."""
        ...

    async def save_before_command(self, report: Callable[[Sequence[str]], None] = ignore_paths) -> str:
        """Ask the editor to save the documents whose files a command could read.

        `report` is called with the paths of these files right before the save request to the editor. Returns a
        sentence about files that are still unsaved, or "". Must not raise.
        """
        ...

    async def save_undone(self, paths: Sequence[str]) -> Sequence[str]:
        """Ask the editor to save the documents at `paths`, in which changes were undone.

        Until they are saved, the files on disk have the changes. Returns the paths of the files that still
        differ from their documents: the documents have other unsaved changes, or could not be saved. Must not
        raise.
        """
        ...
