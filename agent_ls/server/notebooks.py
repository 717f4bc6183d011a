"""ADAPTER NotebookHost over the language server protocol: notebooks that the client syncs, and changes of their cells.

The client is asked by a client request to change them; it is believed when the notebook's own notifications show it.
"""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio
from lsprotocol import types as lsp

from agent_ls.environments.editor_host import OpenNotebook
from agent_ls.environments.errors import EditRefusedError, StaleFileError
from agent_ls.notebook.align import ShownCell
from agent_ls.notebook.assemble import Wanted
from agent_ls.notebook.cells import Kind
from agent_ls.notebook.splices import cell_changes
from agent_ls.server.from_lsp import maybe_path
from agent_ls.server.jsonrpc import AgentProtocol

SEEN_S = 10.0
"""From the client's answer until the notebook shows the change."""

_UNKNOWN = "it is open in the editor, which did not tell what all of its cells hold; open it anew"
_CANNOT = (
    "it is open in an editor that agent-ls cannot change notebooks in; the user can close it there, or change the cell "
    "himself"
)


class CellEditor(Protocol):
    """What a client does for notebooks (client_requests.py)."""

    @property
    def edits_notebooks(self) -> bool: ...

    async def edit_notebook(self, params: dict[str, Any]) -> str:
        """Waits for its answer; "" or why it did not. Must not raise."""
        ...


@dataclass(slots=True)
class _Expected:
    """What a notebook is to show. `seen` is its state when it did: what is typed right behind it is another change."""

    path: str
    cells: list[tuple[Kind, str]]
    seen: OpenNotebook | None = None
    is_over: anyio.Event = field(default_factory=anyio.Event)


class OpenNotebooks:
    def __init__(self, protocol: AgentProtocol) -> None:
        self._protocol = protocol
        self._uris: dict[str, str] = {}
        self._editor: CellEditor | None = None
        self._expected: _Expected | None = None
        self._editing = anyio.Lock()

    def attach(self, editor: CellEditor) -> None:
        self._editor = editor

    # -- what the editor tells (features/notebooks.py)

    def opened(self, uri: str) -> None:
        if path := maybe_path(uri):
            self._uris[path] = uri

    def changed(self) -> None:
        """Looked at as it is told: the next change may come before anybody who waits goes on."""
        expected = self._expected
        if expected is None or expected.seen:
            return
        found = self.open_notebook(expected.path)
        if found and not found.problem and _said(found) == expected.cells:
            expected.seen = found
            expected.is_over.set()

    def closed(self, uri: str) -> None:
        self._uris.pop(maybe_path(uri) or "", None)
        if self._expected and self.open_notebook(self._expected.path) is None:
            self._expected.is_over.set()

    # -- NotebookHost

    def open_notebook(self, path: str) -> OpenNotebook | None:
        uri = self._uris.get(path) or self._other_name(path)
        notebook = self._protocol.documents.get_notebook_document(notebook_uri=uri) if uri else None
        if notebook is None:
            return None
        shown = [self._cell(cell) for cell in notebook.cells]
        known = tuple(cell for cell in shown if cell)
        problem = "" if len(known) == len(shown) else _UNKNOWN
        return OpenNotebook(path, notebook.version, known, problem)

    def open_notebooks(self) -> Sequence[str]:
        return sorted(self._uris)

    async def change_cells(self, notebook: OpenNotebook, wanted: Sequence[Wanted]) -> OpenNotebook:
        async with self._editing:
            current = self._current(notebook)
            expected = [(cell.kind, cell.source) for cell in wanted]
            if _said(current) == expected:
                return current
            if self._editor is None or not self._editor.edits_notebooks:
                raise EditRefusedError(notebook.path, _CANNOT)
            watched = self._expected = _Expected(notebook.path, expected)
            try:
                reason = await self._editor.edit_notebook(self._request(current, wanted))
                with anyio.move_on_after(0 if reason else SEEN_S):
                    await watched.is_over.wait()
            finally:
                self._expected = None
            if watched.seen:
                return watched.seen
            now = self._current(notebook, is_moved_fine=True)
            if reason and now.version != current.version:
                raise StaleFileError(notebook.path, "the user changed it meanwhile")
            raise EditRefusedError(notebook.path, reason or "the editor did not show the change in time")

    # -- inside

    def _other_name(self, path: str) -> str:
        """An editor may have opened it by a link to it, or to a folder above it."""
        real = os.path.realpath(path)
        return next((uri for known, uri in self._uris.items() if os.path.realpath(known) == real), "")

    def _cell(self, cell: lsp.NotebookCell) -> ShownCell | None:
        document = self._protocol.documents.maybe_open(cell.document)
        if document is None:
            return None
        kind: Kind = "markdown" if cell.kind == lsp.NotebookCellKind.Markup else "code"
        if kind == "code" and document.language_id == "raw":
            kind = "raw"
        return ShownCell(kind, document.source.replace("\r\n", "\n"), _id_of(cell.metadata))

    def _current(self, notebook: OpenNotebook, *, is_moved_fine: bool = False) -> OpenNotebook:
        current = self.open_notebook(notebook.path)
        if current is None:
            raise EditRefusedError(notebook.path, "it was closed meanwhile")
        if current.problem:
            raise EditRefusedError(notebook.path, current.problem)
        if not is_moved_fine and current.cells != notebook.cells:
            raise StaleFileError(notebook.path, "the user changed it meanwhile")
        return current

    def _request(self, notebook: OpenNotebook, wanted: Sequence[Wanted]) -> dict[str, Any]:
        uri = self._uris.get(notebook.path) or self._other_name(notebook.path)
        document = self._protocol.documents.get_notebook_document(notebook_uri=uri)
        cells = document.cells if document else []
        changes = cell_changes(notebook.cells, wanted)
        language = self._language(cells)
        texts = [
            {"index": text.at, "uri": cells[text.at].document, "was": text.was, "text": text.text}
            for text in changes.texts
        ]
        splices = [
            {
                "start": splice.start,
                "was": [cell.source for cell in notebook.cells[splice.start : splice.start + splice.delete]],
                "cells": [_told(cell, language) for cell in splice.cells],
            }
            for splice in changes.splices
        ]
        return {"uri": uri, "cellCount": len(cells), "texts": texts, "splices": splices}

    def _language(self, cells: Sequence[lsp.NotebookCell]) -> str:
        """Of the notebook's own code cells."""
        for cell in cells:
            document = self._protocol.documents.maybe_open(cell.document)
            if (
                cell.kind == lsp.NotebookCellKind.Code
                and document
                and document.language_id not in (None, "raw")
            ):
                return document.language_id or ""
        return "python"


def _said(notebook: OpenNotebook) -> list[tuple[Kind, str]]:
    return [(cell.kind, cell.source) for cell in notebook.cells]


def _told(cell: ShownCell, language: str) -> dict[str, str]:
    languages = {"markdown": "markdown", "raw": "raw"}
    told = {"kind": cell.kind, "language": languages.get(cell.kind, language), "text": cell.source}
    return {**told, "id": cell.id} if cell.id else told


def _id_of(metadata: Any) -> str:
    """Where VS Code keeps what the file has as the cell's id."""
    found = metadata.get("id") if isinstance(metadata, dict) else getattr(metadata, "id", None)
    return found if isinstance(found, str) else ""
