"""Implement NotebookHost over LSP: notebooks that the client syncs, and changes of their cells.

To change cells, the server sends a request to the client. A change counts as done when the client's notebook
notifications contain the change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import anyio
from lsprotocol import types as lsp

from agent_ls.environments.editor_host import OpenDocument, OpenNotebook
from agent_ls.environments.errors import EditRefusedError, StaleFileError
from agent_ls.notebook.cell_alignment import EditorCell, comparison_key, editor_cells
from agent_ls.notebook.cell_changes import diff_cells
from agent_ls.notebook.cells import Kind, NotebookError, parse_notebook
from agent_ls.notebook.notebook_text import TargetCell
from agent_ls.server.editor.saving import Savable
from agent_ls.server.lsp.from_lsp import maybe_path, maybe_same, true_name
from agent_ls.server.transport.jsonrpc import AgentProtocol
from agent_ls.text import decode

SEEN_S = 10.0
"""Longest time between the client's answer and the notification that shows the change."""

_UNKNOWN = (
    "the notebook is open in the editor, which did not send all of its cells; the user can close the "
    "notebook and open it again"
)
_CANNOT = (
    "the notebook is open in an editor in which agent-ls cannot change notebooks; the user can close the "
    "notebook there, or change the cell themselves"
)


class CellEditor(Protocol):
    """Interface of a client that edits notebooks (client_requests.py)."""

    @property
    def edits_notebooks(self) -> bool: ...

    async def edit_notebook(self, params: dict[str, Any]) -> str:
        """Send the edit and wait for the answer. Returns "", or why the edit was not done. Must not raise."""
        ...


Runs: TypeAlias = Mapping[str, object]
"""Execution order and success by cell URI. A changed value means that the user ran the cell, so its outputs are
unsaved.
"""


@dataclass(frozen=True, slots=True)
class SavableNotebook(OpenDocument):
    """A notebook that can be saved. `text` is the text of its cells. `cells` are the URIs and versions of the
    cells. The client compares these versions before it saves, because the version of the notebook may lag
    behind those of its cells.
    """

    cells: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class _Tracked:
    """An open notebook, with its cells and their executions as of the last handled change.

    If the editor now has other cells or executions, the notebook has changed since. `problem` says why the
    cells are not known, "" if they are.
    """

    uri: str
    cells: tuple[EditorCell, ...]
    runs: Runs
    saving: Savable
    problem: str = ""


@dataclass(slots=True)
class _Expected:
    """The cells that the agent's edit must produce in a notebook.

    `seen` is the notebook as the editor first reported it with these cells; None before that report. All later
    changes count as the user's.
    """

    path: str
    cells: list[tuple[Kind, str]]
    seen: OpenNotebook | None = None
    is_over: anyio.Event = field(default_factory=anyio.Event)


class OpenNotebooks:
    """The open notebooks of one editor. `on_open` and `on_close` get the URI of a notebook that is opened or closed."""

    def __init__(
        self, protocol: AgentProtocol, on_open: Callable[[str], object], on_close: Callable[[str], object]
    ) -> None:
        self._protocol = protocol
        self._tracked: dict[str, _Tracked] = {}
        self._editor: CellEditor | None = None
        self._on_saved: Callable[[str, Sequence[EditorCell]], None] = lambda path, cells: None
        self.on_change: Callable[[str], object] = lambda path: None
        """Called with the path of each notebook that was opened, changed or saved."""
        self._on_open = on_open
        self._on_close = on_close
        self._expected: _Expected | None = None
        self._editing = anyio.Lock()

    def attach(self, editor: CellEditor, on_saved: Callable[[str, Sequence[EditorCell]], None]) -> None:
        """Set the client. `on_saved` is called with the path and the cells of each notebook that the editor
        saves.
        """
        self._editor, self._on_saved = editor, on_saved

    # -- notifications of the editor (features/documents.py)

    def handle_open(self, uri: str) -> None:
        if path := maybe_path(uri):
            cells = self._cells(uri)
            saving = Savable(path, comparison_key(cells), text_in=_text_in)
            tracked = self._tracked[path] = _Tracked(uri, cells, {}, saving)
            tracked.runs = self._runs(tracked)
            self._on_open(uri)
            self.on_change(path)

    def handle_change(self, uri: str) -> None:
        """Handle a change of a notebook in the editor: check whether it now has the cells of the agent's edit.

        Check at once, not in the task that waits for the edit: the next change may arrive before that task runs.
        """
        expected, path = self._expected, maybe_path(uri) or ""
        self.on_change(path)
        if expected is None or expected.path != path or expected.seen:
            self._note_typing(path)
            return
        found = self.open_notebook(path)
        if found and not found.problem and _list_cells(found) == expected.cells:
            expected.seen = found
            tracked = self._tracked[path]
            tracked.cells, tracked.runs, tracked.saving.agent_wrote = found.cells, self._runs(tracked), True
            expected.is_over.set()

    def unread(self, uri: str, problem: str) -> None:
        """Record that the notebook, or a change of it, could not be read. The cells are unknown until the
        notebook is opened again.
        """
        path = maybe_path(uri)
        if path is None:
            return
        saving = Savable(path, "", text_in=_text_in)
        self._tracked.setdefault(path, _Tracked(uri, (), {}, saving)).problem = problem

    def handle_save(self, uri: str) -> None:
        if tracked := self._tracked.get(path := maybe_path(uri) or ""):
            tracked.cells, tracked.runs = self._cells(uri), self._runs(tracked)
            tracked.saving = tracked.saving.saved(comparison_key(tracked.cells))
            self._on_saved(path, tracked.cells)
            self.on_change(path)

    def handle_close(self, uri: str) -> None:
        self._tracked.pop(maybe_path(uri) or "", None)
        if self._expected and self.open_notebook(self._expected.path) is None:
            self._expected.is_over.set()
        self._on_close(uri)

    def savable(self) -> list[tuple[Savable, OpenDocument]]:
        """Return the notebooks whose cells are all known. The text of each is the text of its cells."""
        return [
            (
                tracked.saving,
                SavableNotebook(
                    path, notebook.version, comparison_key(notebook.cells), self._versions(tracked.uri)
                ),
            )
            for path, tracked in self._tracked.items()
            if (notebook := self.open_notebook(path)) and not notebook.problem
        ]

    def cell_documents(self, path: str, cells: Sequence[EditorCell]) -> Sequence[tuple[str, int]]:
        """Return the URI and version of each cell's document. Empty if the notebook is not open with exactly these
        cells.
        """
        tracked, notebook = self._maybe_tracked(path), self.open_notebook(path)
        if tracked is None or notebook is None or notebook.problem:
            return ()
        return self._versions(tracked.uri) if comparison_key(notebook.cells) == comparison_key(cells) else ()

    # -- NotebookHost

    def open_notebook(self, path: str) -> OpenNotebook | None:
        tracked = self._maybe_tracked(path)
        if tracked is None:
            return None
        notebook = self._protocol.documents.get_notebook_document(notebook_uri=tracked.uri)
        if notebook is None:
            return OpenNotebook(path, 0, (), tracked.problem) if tracked.problem else None
        known = self._cells(tracked.uri)
        problem = tracked.problem or (_UNKNOWN if len(known) < len(notebook.cells) else "")
        return OpenNotebook(path, notebook.version, known, problem)

    async def change_cells(self, notebook: OpenNotebook, wanted: Sequence[TargetCell]) -> OpenNotebook:
        async with self._editing:
            current = self._find_current(notebook)
            expected = [(cell.kind, cell.source) for cell in wanted]
            if _list_cells(current) == expected:
                return current
            if self._editor is None or not self._editor.edits_notebooks:
                raise EditRefusedError(notebook.path, _CANNOT)
            path = maybe_path(self._uri(notebook.path)) or notebook.path
            watched = self._expected = _Expected(path, expected)
            try:
                reason = await self._editor.edit_notebook(self._request(current, wanted))
                with anyio.move_on_after(0 if reason else SEEN_S):
                    await watched.is_over.wait()
            finally:
                self._expected = None
                # if the expected cells were not reported, the changes so far count as the user's
                if not watched.seen:
                    self._note_typing(path)
            if watched.seen:
                return watched.seen
            now = self._find_current(notebook, is_moved_fine=True)
            if reason and now.version != current.version:
                raise StaleFileError(notebook.path, "the user changed the notebook at the same time")
            raise EditRefusedError(notebook.path, reason or "the editor did not show the change in time")

    # -- internals

    def _uri(self, path: str) -> str:
        tracked = self._maybe_tracked(path)
        return tracked.uri if tracked else ""

    def _maybe_tracked(self, path: str) -> _Tracked | None:
        """Find the notebook by its path or by another path of the same file, for example through a symbolic link."""
        if (tracked := self._tracked.get(path)) or not self._tracked:
            return tracked
        names = {true_name(known): it for known, it in self._tracked.items()}
        return names.get(maybe_same(path, names) or "")

    def _note_typing(self, path: str) -> None:
        tracked = self._tracked.get(path)
        if tracked is None:
            return
        cells, runs = self._cells(tracked.uri), self._runs(tracked)
        has_run = any(tracked.runs[cell] != run for cell, run in runs.items() if cell in tracked.runs)
        if has_run or comparison_key(cells) != comparison_key(tracked.cells):
            tracked.saving.user_typed = True
        tracked.cells, tracked.runs = cells, runs

    def _cells(self, uri: str) -> tuple[EditorCell, ...]:
        """Return the cells whose text is known."""
        notebook = self._protocol.documents.get_notebook_document(notebook_uri=uri)
        shown = (self._cell(cell) for cell in notebook.cells) if notebook else ()
        return tuple(cell for cell in shown if cell)

    def _versions(self, uri: str) -> tuple[tuple[str, int], ...]:
        notebook = self._protocol.documents.get_notebook_document(notebook_uri=uri)
        cells = [cell.document for cell in notebook.cells] if notebook else []
        documents = ((cell, self._protocol.documents.maybe_open(cell)) for cell in cells)
        return tuple((cell, document.version or 0) for cell, document in documents if document)

    def _runs(self, tracked: _Tracked) -> Runs:
        """Return the last known execution of each cell. VS Code leaves one out when it has just saved the notebook."""
        notebook = self._protocol.documents.get_notebook_document(notebook_uri=tracked.uri)
        cells = notebook.cells if notebook else []
        return {cell.document: _run_of(cell) or tracked.runs.get(cell.document) for cell in cells}

    def _cell(self, cell: lsp.NotebookCell) -> EditorCell | None:
        document = self._protocol.documents.maybe_open(cell.document)
        if document is None:
            return None
        kind: Kind = "markdown" if cell.kind == lsp.NotebookCellKind.Markup else "code"
        if kind == "code" and document.language_id == "raw":
            kind = "raw"
        return EditorCell(kind, document.source.replace("\r\n", "\n"), _id_of(cell.metadata))

    def _find_current(self, notebook: OpenNotebook, *, is_moved_fine: bool = False) -> OpenNotebook:
        current = self.open_notebook(notebook.path)
        if current is None:
            raise EditRefusedError(notebook.path, "the notebook was closed before the change was made")
        if current.problem:
            raise EditRefusedError(notebook.path, current.problem)
        if not is_moved_fine and current.cells != notebook.cells:
            raise StaleFileError(notebook.path, "the user changed the notebook at the same time")
        return current

    def _request(self, notebook: OpenNotebook, wanted: Sequence[TargetCell]) -> dict[str, Any]:
        uri = self._uri(notebook.path)
        document = self._protocol.documents.get_notebook_document(notebook_uri=uri)
        cells = document.cells if document else []
        changes = diff_cells(notebook.cells, wanted)
        language = self._language(cells)
        texts = [
            {"index": text.at, "uri": cells[text.at].document, "was": text.was, "text": text.text}
            for text in changes.texts
        ]
        splices = [
            {
                "start": splice.start,
                "was": [cell.source for cell in notebook.cells[splice.start : splice.start + splice.delete]],
                "cells": [_cell_to_wire(cell, language) for cell in splice.cells],
            }
            for splice in changes.splices
        ]
        return {"uri": uri, "cellCount": len(cells), "texts": texts, "splices": splices}

    def _language(self, cells: Sequence[lsp.NotebookCell]) -> str:
        """Return the language of the notebook's first code cell, "python" if it has none."""
        for cell in cells:
            document = self._protocol.documents.maybe_open(cell.document)
            if (
                cell.kind == lsp.NotebookCellKind.Code
                and document
                and document.language_id not in (None, "raw")
            ):
                return document.language_id or ""
        return "python"


def _list_cells(notebook: OpenNotebook) -> list[tuple[Kind, str]]:
    return [(cell.kind, cell.source) for cell in notebook.cells]


def _run_of(cell: lsp.NotebookCell) -> object:
    summary = cell.execution_summary
    return (summary.execution_order, summary.success) if summary else None


def _text_in(data: bytes) -> str:
    """Return the text of the cells in a notebook file; "" (which no notebook has) if the file is not a notebook."""
    try:
        return comparison_key(editor_cells(parse_notebook(decode(data).text)))
    except NotebookError:
        return ""


def _cell_to_wire(cell: EditorCell, language: str) -> dict[str, str]:
    languages = {"markdown": "markdown", "raw": "raw"}
    fields = {"kind": cell.kind, "language": languages.get(cell.kind, language), "text": cell.source}
    return {**fields, "id": cell.id} if cell.id else fields


def _id_of(metadata: Any) -> str:
    """Return the cell's id in the notebook file, which VS Code sends in the metadata."""
    found = metadata.get("id") if isinstance(metadata, dict) else getattr(metadata, "id", None)
    return found if isinstance(found, str) else ""
