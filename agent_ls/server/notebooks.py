"""ADAPTER NotebookHost over the language server protocol: notebooks that the client syncs, and changes of their cells.

The client is asked by a client request to change them; it is believed when the notebook's own notifications show it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import anyio
from lsprotocol import types as lsp

from agent_ls.environments.editor_host import OpenDocument, OpenNotebook
from agent_ls.environments.errors import EditRefusedError, StaleFileError
from agent_ls.notebook.align import ShownCell, as_text, shown_cells
from agent_ls.notebook.assemble import Wanted
from agent_ls.notebook.cells import Kind, NotebookError, parse_notebook
from agent_ls.notebook.splices import cell_changes
from agent_ls.server.from_lsp import maybe_path, maybe_same, true_name
from agent_ls.server.jsonrpc import AgentProtocol
from agent_ls.server.saving import Savable
from agent_ls.text import decode

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


Runs: TypeAlias = Mapping[str, object]
"""By the uri of a cell: how often, and how, it was run. Who runs one has outputs that are not saved."""


@dataclass(frozen=True, slots=True)
class SavableNotebook(OpenDocument):
    """`text` is that of its cells; `cells` are their uris and versions: that of the notebook may lag behind them."""

    cells: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class _Tracked:
    """An open notebook. `told` and `runs` are what was looked at last: what is another then, somebody has changed."""

    uri: str
    told: tuple[ShownCell, ...]
    runs: Runs
    saving: Savable
    is_known: bool = True


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
        self._tracked: dict[str, _Tracked] = {}
        self._editor: CellEditor | None = None
        self._on_saved: Callable[[str, Sequence[ShownCell]], None] = lambda path, cells: None
        self._expected: _Expected | None = None
        self._editing = anyio.Lock()

    def attach(self, editor: CellEditor, on_saved: Callable[[str, Sequence[ShownCell]], None]) -> None:
        """`on_saved` is told what the editor has written to the disk."""
        self._editor, self._on_saved = editor, on_saved

    # -- what the editor tells (features/notebooks.py)

    def opened(self, uri: str) -> None:
        if path := maybe_path(uri):
            cells = self._cells(uri)
            saving = Savable(path, as_text(cells), text_in=_text_in)
            self._tracked[path] = _Tracked(uri, cells, self._runs(uri), saving)

    def changed(self, uri: str) -> None:
        """Looked at as it is told: the next change may come before anybody who waits goes on."""
        expected, path = self._expected, maybe_path(uri) or ""
        if expected is None or expected.path != path or expected.seen:
            self._note_typing(path)
            return
        found = self.open_notebook(path)
        if found and not found.problem and _said(found) == expected.cells:
            expected.seen = found
            tracked = self._tracked[path]
            tracked.told, tracked.runs, tracked.saving.agent_wrote = found.cells, self._runs(uri), True
            expected.is_over.set()

    def unread(self, uri: str) -> None:
        """A change of it could not be read: what its cells hold is not known until it is opened anew."""
        if tracked := self._tracked.get(maybe_path(uri) or ""):
            tracked.is_known = False

    def saved(self, uri: str) -> None:
        if tracked := self._tracked.get(path := maybe_path(uri) or ""):
            tracked.told, tracked.runs = self._cells(uri), self._runs(uri)
            tracked.saving = Savable(path, as_text(tracked.told), text_in=_text_in)
            self._on_saved(path, tracked.told)

    def closed(self, uri: str) -> None:
        self._tracked.pop(maybe_path(uri) or "", None)
        if self._expected and self.open_notebook(self._expected.path) is None:
            self._expected.is_over.set()

    def savable(self) -> list[tuple[Savable, OpenDocument]]:
        """Those whose cells are all known; the text of each is that of its cells."""
        return [
            (
                tracked.saving,
                SavableNotebook(path, notebook.version, as_text(notebook.cells), self._versions(tracked.uri)),
            )
            for path, tracked in self._tracked.items()
            if (notebook := self.open_notebook(path)) and not notebook.problem
        ]

    # -- NotebookHost

    def open_notebook(self, path: str) -> OpenNotebook | None:
        tracked = self._maybe_tracked(path)
        if tracked is None:
            return None
        notebook = self._protocol.documents.get_notebook_document(notebook_uri=tracked.uri)
        if notebook is None:
            return None
        known = self._cells(tracked.uri)
        problem = "" if tracked.is_known and len(known) == len(notebook.cells) else _UNKNOWN
        return OpenNotebook(path, notebook.version, known, problem)

    async def change_cells(self, notebook: OpenNotebook, wanted: Sequence[Wanted]) -> OpenNotebook:
        async with self._editing:
            current = self._current(notebook)
            expected = [(cell.kind, cell.source) for cell in wanted]
            if _said(current) == expected:
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
                if not watched.seen:  # whose a change is that is not what was asked for, nobody can tell
                    self._note_typing(path)
            if watched.seen:
                return watched.seen
            now = self._current(notebook, is_moved_fine=True)
            if reason and now.version != current.version:
                raise StaleFileError(notebook.path, "the user changed it meanwhile")
            raise EditRefusedError(notebook.path, reason or "the editor did not show the change in time")

    # -- inside

    def _uri(self, path: str) -> str:
        tracked = self._maybe_tracked(path)
        return tracked.uri if tracked else ""

    def _maybe_tracked(self, path: str) -> _Tracked | None:
        """An editor may have opened it by a link to it, or to a folder above it, or by a name for the same file."""
        if (tracked := self._tracked.get(path)) or not self._tracked:
            return tracked
        names = {true_name(known): it for known, it in self._tracked.items()}
        return names.get(maybe_same(path, names) or "")

    def _note_typing(self, path: str) -> None:
        tracked = self._tracked.get(path)
        if tracked is None:
            return
        cells, runs = self._cells(tracked.uri), self._runs(tracked.uri)
        has_run = any(tracked.runs[cell] != run for cell, run in runs.items() if cell in tracked.runs)
        if has_run or as_text(cells) != as_text(tracked.told):
            tracked.saving.user_typed = True
        tracked.told, tracked.runs = cells, runs

    def _cells(self, uri: str) -> tuple[ShownCell, ...]:
        """Those that are known."""
        notebook = self._protocol.documents.get_notebook_document(notebook_uri=uri)
        shown = (self._cell(cell) for cell in notebook.cells) if notebook else ()
        return tuple(cell for cell in shown if cell)

    def _versions(self, uri: str) -> tuple[tuple[str, int], ...]:
        notebook = self._protocol.documents.get_notebook_document(notebook_uri=uri)
        cells = [cell.document for cell in notebook.cells] if notebook else []
        documents = ((cell, self._protocol.documents.maybe_open(cell)) for cell in cells)
        return tuple((cell, document.version or 0) for cell, document in documents if document)

    def _runs(self, uri: str) -> Runs:
        notebook = self._protocol.documents.get_notebook_document(notebook_uri=uri)
        return {cell.document: _run_of(cell) for cell in notebook.cells} if notebook else {}

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
        uri = self._uri(notebook.path)
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


def _run_of(cell: lsp.NotebookCell) -> object:
    summary = cell.execution_summary
    return (summary.execution_order, summary.success) if summary else None


def _text_in(data: bytes) -> str:
    """Of its cells; "", which no cells have, for a file that is no notebook."""
    try:
        return as_text(shown_cells(parse_notebook(decode(data).text)))
    except NotebookError:
        return ""


def _told(cell: ShownCell, language: str) -> dict[str, str]:
    languages = {"markdown": "markdown", "raw": "raw"}
    told = {"kind": cell.kind, "language": languages.get(cell.kind, language), "text": cell.source}
    return {**told, "id": cell.id} if cell.id else told


def _id_of(metadata: Any) -> str:
    """Where VS Code keeps what the file has as the cell's id."""
    found = metadata.get("id") if isinstance(metadata, dict) else getattr(metadata, "id", None)
    return found if isinstance(found, str) else ""
