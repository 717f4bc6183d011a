"""Describe the hunks of files for clients. The hunks of a notebook file are mapped to the notebook's cells, and to
the documents that the editor has for these cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from agent_ls.environments.base import sha256
from agent_ls.loop.events.types import Hunk
from agent_ls.notebook.cell_alignment import editor_cells
from agent_ls.notebook.cells import NotebookError, is_notebook, parse_notebook
from agent_ls.notebook.hunk_cells import CellHunk, HunkMapper
from agent_ls.server import protocol as wire
from agent_ls.server.editor.notebooks import OpenNotebooks
from agent_ls.server.rpc import to_wire
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.to_wire import HunkCells
from agent_ls.services.review.service import ReviewService

MAX_CHARS = 4_000_000
"""Limit for the notebook's length in characters, times the number of its hunks plus one, because the hunks
are mapped on the event loop. Above the limit no cells are sent.
"""


def cells_of_hunks(
    review: ReviewService, notebooks: OpenNotebooks, path: str, hunks: Sequence[Hunk]
) -> HunkCells:
    """Return which lines of which cells each hunk changes, by hunk id. Empty if the file is not a readable
    notebook, or exceeds MAX_CHARS.
    """
    text = review.current_text(path) if is_notebook(path) else None
    if text is None or len(text) * (len(hunks) + 1) > MAX_CHARS:
        return {}
    try:
        notebook = parse_notebook(text)
    except NotebookError:
        return {}
    mapper = HunkMapper(notebook, review.base_text(path))
    documents = notebooks.cell_documents(path, editor_cells(notebook))
    return {
        hunk.id: tuple(_to_wire(found, hunk, documents) for found in _map(mapper, hunk)) for hunk in hunks
    }


def _map(mapper: HunkMapper, hunk: Hunk) -> tuple[CellHunk, ...]:
    if hunk.state == "stale" or hunk.what == "delete":
        return ()
    if hunk.what == "create":
        return mapper.map_new_file()
    other_lines = hunk.lines if hunk.state == "proposed" else hunk.base_lines
    return mapper.map_hunk(hunk.start, hunk.end, other_lines)


def _to_wire(found: CellHunk, hunk: Hunk, documents: Sequence[tuple[str, int]]) -> wire.HunkCell:
    uri, version = documents[found.cell] if documents else (None, None)
    old, new = found.other_lines, found.lines
    if hunk.state == "proposed":
        old, new = new, old
    return wire.HunkCell(
        cell=found.cell,
        uri=uri,
        version=version,
        range=(found.start, found.end),
        old_lines=old,
        new_lines=new,
    )


def files_of_hunks(
    context: Context,
    found: Mapping[str, Sequence[Hunk]],
    reason: Callable[[Hunk], str | None] = lambda hunk: None,
) -> tuple[wire.FileHunks, ...]:
    """Return the hunks of files for clients. `reason` returns the reason of a hunk, None for none."""

    def base_hash(path: str) -> str:
        text = context.manager.review.base_text(path)
        return sha256(text.encode("utf-8", "surrogateescape")) if text is not None else ""

    def version(path: str) -> int | None:
        document = context.host.open_document(path)
        return document.version if document else None

    cells = partial(cells_of_hunks, context.manager.review, context.host.notebooks)
    return to_wire.file_hunks(found, base_hash, version, cells, reason)
